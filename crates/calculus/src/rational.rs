//! Exact numbers, and the few named ways out of them. Relies on num-rational. Never rounds without saying so.

use hls_units::Nanos;
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

/// An exact rational number of any size. Times are in nanoseconds.
pub type Rational = BigRational;

/// A whole number.
pub(crate) fn whole(n: u64) -> Rational {
    Rational::from_integer(BigInt::from(n))
}

/// A time as a rational number of nanoseconds.
pub(crate) fn from_nanos(time: Nanos) -> Rational {
    whole(time.0)
}

/// `[v]+`: the value, or zero where it is negative.
pub(crate) fn positive_part(value: Rational) -> Rational {
    if value.is_negative() { Rational::zero() } else { value }
}

/// `a / b`, or zero where `b` is zero: a guarantee that breaks its invariants promises nothing.
pub(crate) fn quotient(a: &Rational, b: &Rational) -> Rational {
    if b.is_zero() { Rational::zero() } else { a / b }
}

/// Whole nanoseconds, rounded down; outside of 0 to 2^64-1 the nearest end.
pub fn floor_nanos(value: &Rational) -> Nanos {
    saturate(value.floor())
}

/// Whole nanoseconds, rounded up; outside of 0 to 2^64-1 the nearest end.
pub fn ceil_nanos(value: &Rational) -> Nanos {
    saturate(value.ceil())
}

fn saturate(value: Rational) -> Nanos {
    if value.is_negative() {
        return Nanos::ZERO;
    }
    value.to_integer().to_u64().map_or(Nanos::MAX, Nanos)
}

/// A time, exactly: as [`Nanos`] writes it where it is a whole count that fits, else as a fraction such as `10/3ms`.
pub(crate) fn time_exact(value: &Rational) -> String {
    let Some(numerator) = value.numer().to_u64() else {
        return format!("{value}ns");
    };
    let shown = Nanos(numerator).to_string();
    if value.is_integer() {
        return shown;
    }
    let digits = shown.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(shown.len());
    format!("{}/{}{}", &shown[..digits], value.denom(), &shown[digits..])
}

/// A time for people, at least as small as the exact one: what is not a whole count of nanoseconds is cut to three
/// decimals of its unit.
pub(crate) fn time_floor(value: &Rational) -> String {
    time_rounded(value, Rational::floor)
}

/// A time for people, at least as large as the exact one; otherwise as [`time_floor`].
pub(crate) fn time_ceil(value: &Rational) -> String {
    time_rounded(value, Rational::ceil)
}

fn time_rounded(value: &Rational, round: fn(&Rational) -> Rational) -> String {
    if value.is_integer() {
        return time_exact(value);
    }
    let step =
        [1_000_000_000, 1_000_000, 1_000].into_iter().find(|unit| *value >= whole(*unit)).unwrap_or(1_000);
    let step = whole(step / 1_000);
    time_exact(&(round(&(value / &step)) * step))
}

/// A share for people, at most the exact one: a short fraction as it is, anything else as six decimals.
pub(crate) fn share_floor(value: &Rational) -> String {
    const DECIMALS: u64 = 1_000_000;
    if *value.denom() < BigInt::from(1_000) {
        return value.to_string();
    }
    let millionths = (value * whole(DECIMALS)).floor().to_integer().to_u64().unwrap_or(u64::MAX);
    let text = format!("{}.{:06}", millionths / DECIMALS, millionths % DECIMALS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share as a percentage for people, with one decimal, rounded up: `110%`, `33.4%`.
pub(crate) fn percent_ceil(value: &Rational) -> String {
    let (percent, tenth) = (value * whole(1_000)).ceil().to_integer().div_rem(&BigInt::from(10));
    if tenth.is_zero() { format!("{percent}%") } else { format!("{percent}.{tenth}%") }
}
