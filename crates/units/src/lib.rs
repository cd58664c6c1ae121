//! Time as integer nanoseconds, and the one way to read and to write a time; and which characters of a name nobody
//! sees.
//!
//! Relies on nothing. Never uses a float: `1.5ms` is read exactly, and a number that is not a whole count of
//! nanoseconds is refused.

mod hidden;

pub use hidden::is_hidden;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A length of time, or an instant counted from the start of a run, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Why a text is not a time. `offset` and `len` are bytes in the text that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeError {
    /// First byte of the offending part.
    pub offset: usize,
    /// Length of the offending part in bytes.
    pub len: usize,
    /// What was found.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for TimeError {}

/// The units a time may carry, largest first, with their length in nanoseconds.
const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// The end of time: later than every event.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// `self` less `other`, or zero where `other` is the larger.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// The sum, or [`Nanos::MAX`] where it would be larger.
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// Reads `10ms`, `1.5s`, `33us`, `20ns`, `2min`, `1h`. White space around it is allowed; a bare number, a sign, or
    /// a value that is not a whole count of nanoseconds or needs more than 64 bits is an error.
    pub fn parse(text: &str) -> Result<Nanos, TimeError> {
        let trimmed = text.trim();
        let offset = text.len() - text.trim_start().len();
        let fail = |found: String, expected: &str| TimeError {
            offset,
            len: trimmed.len(),
            found,
            expected: expected.to_owned(),
        };
        const WANTED: &str = "a time with a unit, such as 10ms (units: ns, us, ms, s, min, h)";
        if trimmed.is_empty() {
            return Err(fail("nothing".into(), WANTED));
        }
        let digits_end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..digits_end], trimmed[digits_end..].trim_start());
        if number.is_empty() {
            return Err(fail(format!("`{trimmed}`"), WANTED));
        }
        if unit.is_empty() {
            return Err(fail(format!("the bare number `{trimmed}`"), WANTED));
        }
        let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(fail(format!("the unit `{unit}`"), "one of ns, us, ms, s, min, h"));
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let ends_in_point = number.contains('.') && fraction.is_empty();
        if whole.is_empty() || ends_in_point || fraction.contains('.') {
            return Err(fail(format!("`{number}`"), "a decimal number such as 10 or 1.5"));
        }
        let too_large = || fail(format!("`{trimmed}`"), "a time of at most 2^64-1 nanoseconds (584 years)");
        let whole: u128 = if whole.len() > 20 {
            return Err(too_large());
        } else {
            whole.parse().map_err(|_| too_large())?
        };
        let mut nanos = whole * u128::from(scale);
        let mut place = u128::from(scale);
        for digit in fraction.bytes() {
            let digit = u128::from(digit - b'0');
            if digit != 0 && !place.is_multiple_of(10) {
                return Err(fail(format!("`{trimmed}`"), "a whole number of nanoseconds"));
            }
            place /= 10;
            nanos += digit * place;
        }
        u64::try_from(nanos).map(Nanos).map_err(|_| too_large())
    }
}

impl fmt::Display for Nanos {
    /// Writes the time exactly, in the largest of the units s, ms, us and ns of which there is at least one, with as
    /// many decimals as that takes: `10ms`, `1.5s`, `976.562us`, `1810.004775s`; no time at all is `0s`. The parser
    /// reads it back as the same time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WRITTEN: [(&str, u64, usize); 4] =
            [("s", 1_000_000_000, 9), ("ms", 1_000_000, 6), ("us", 1_000, 3), ("ns", 1, 0)];
        let Some((unit, scale, decimals)) = WRITTEN.into_iter().find(|(_, scale, _)| self.0 >= *scale) else {
            return f.pad("0s");
        };
        let (whole, fraction) = (self.0 / scale, self.0 % scale);
        let text = match fraction {
            0 => format!("{whole}{unit}"),
            _ => format!("{whole}.{}{unit}", format!("{fraction:0decimals$}").trim_end_matches('0')),
        };
        f.pad(&text)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Nanos) {
        self.0 -= other.0;
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        Nanos(iter.map(|n| n.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit_exactly() {
        for (text, nanos) in [
            ("10ms", 10_000_000),
            ("1.5s", 1_500_000_000),
            (" 33us ", 33_000),
            ("7µs", 7_000),
            ("20ns", 20),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0.25us", 250),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(Nanos::parse(text), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for text in [
            "",
            "10",
            "ms",
            "-3ms",
            "1.ms",
            ".5ms",
            "1.2.3s",
            "0.5ns",
            "10 parsecs",
            "18446744073709551616ns",
        ] {
            let error = Nanos::parse(text).unwrap_err();
            assert!(!error.found.is_empty() && !error.expected.is_empty(), "{text}: {error}");
        }
    }

    #[test]
    fn writes_what_it_can_read_back() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (999, "999ns"),
            (1_000, "1us"),
            (976_562, "976.562us"),
            (1_000_001, "1.000001ms"),
            (10_000_000, "10ms"),
            (37_333_334, "37.333334ms"),
            (976_562_500, "976.5625ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "90s"),
            (1_810_004_775_000, "1810.004775s"),
            (u64::MAX, "18446744073.709551615s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
            assert_eq!(Nanos::parse(text), Ok(Nanos(nanos)));
        }
    }
}
