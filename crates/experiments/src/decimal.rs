//! Numbers with three decimals, exact: what the papers' tables hold, without floating point.

use std::fmt;

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

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000, self.0 % 1_000);
        match rest {
            0 => f.pad(&format!("{whole}")),
            _ => f.pad(format!("{whole}.{rest:03}").trim_end_matches('0')),
        }
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
    fn ratios_round_to_the_nearest() {
        assert_eq!(Decimal::ratio_nearest(2, 3), Decimal(667));
        assert_eq!(Decimal::ratio_nearest(1, 3), Decimal(333));
        assert_eq!(Decimal::ratio_nearest(1, 0), Decimal(1_000));
        assert_eq!(Decimal::ratio_nearest(u64::MAX, 1), Decimal(i64::MAX));
    }
}
