//! Exact numbers with three decimals, which is what the tables of the papers have. Uses no floating point.

use std::fmt;
use std::ops::Sub;

/// A number in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(pub i64);

impl Decimal {
    /// A whole number.
    pub fn whole(number: u64) -> Decimal {
        Decimal::ratio_nearest(number, 1)
    }

    /// `numerator / denominator`, rounded to the nearest thousandth; the greatest number where that is too large.
    pub fn ratio_nearest(numerator: u64, denominator: u64) -> Decimal {
        let denominator = u128::from(denominator.max(1));
        let thousandths = (u128::from(numerator) * 1_000 + denominator / 2) / denominator;
        Decimal(i64::try_from(thousandths).unwrap_or(i64::MAX))
    }

    /// Reads `32.6`, `0.313`, `7`; `None` for all else, more than three decimals included.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || fraction.len() > 3 {
            return None;
        }
        let whole: i64 = whole.parse().ok()?;
        let thousandths: i64 = format!("{fraction:0<3}").parse().ok()?;
        whole.checked_mul(1_000)?.checked_add(thousandths).map(Decimal)
    }
}

impl Sub for Decimal {
    type Output = Decimal;

    fn sub(self, other: Decimal) -> Decimal {
        Decimal(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.0.unsigned_abs();
        let (whole, rest) = (amount / 1_000, amount % 1_000);
        let text = match rest {
            0 => format!("{whole}"),
            _ => format!("{whole}.{rest:03}").trim_end_matches('0').to_owned(),
        };
        f.pad_integral(self.0 >= 0, "", &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written_exactly() {
        for (text, thousandths) in [("0", 0), ("7", 7_000), ("32.6", 32_600), ("0.313", 313), ("3.11", 3_110)]
        {
            assert_eq!(Decimal::parse(text), Some(Decimal(thousandths)));
            assert_eq!(Decimal(thousandths).to_string(), text);
        }
        for bad in ["", ".", "1.", ".5", "-1", "1.2345", "x", "1e3", "99999999999999999999"] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn differences_have_a_sign() {
        let difference = |a: i64, b: i64| format!("{:+}", Decimal(a) - Decimal(b));
        assert_eq!(difference(500, 1_250), "-0.75");
        assert_eq!(difference(2_000, 1_000), "+1");
        assert_eq!(Decimal(i64::MIN) - Decimal(1), Decimal(i64::MIN));
    }

    #[test]
    fn ratios_round_to_the_nearest() {
        assert_eq!(Decimal::ratio_nearest(2, 3), Decimal(667));
        assert_eq!(Decimal::ratio_nearest(1, 3), Decimal(333));
        assert_eq!(Decimal::ratio_nearest(1, 0), Decimal(1_000));
        assert_eq!(Decimal::ratio_nearest(u64::MAX, 1), Decimal(i64::MAX));
    }
}
