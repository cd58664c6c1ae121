//! Exact numbers, and the few functions that round numbers or write them; their names say how they round. Relies on
//! num-rational. Never rounds otherwise.

use hls_units::Nanos;
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::collections::BTreeMap;

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

/// A time, exactly: as [`Nanos`] writes it where the time is a whole count that fits, else as a fraction such as
/// `10/3ms`.
pub fn time_exact(value: &Rational) -> String {
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

/// A time for people, no longer than the exact one: a time that is no whole count of nanoseconds is cut to three
/// decimals of its unit.
pub fn time_floor(value: &Rational) -> String {
    time_rounded(value, Rational::floor)
}

/// A time for people, no shorter than the exact one; otherwise as [`time_floor`].
pub fn time_ceil(value: &Rational) -> String {
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

/// A share for people, no greater than the exact one: the fraction where that is short, or where six decimals would
/// leave nothing of the share; else six decimals.
pub fn share_floor(value: &Rational) -> String {
    const DECIMALS: u64 = 1_000_000;
    if *value.denom() < BigInt::from(1_000) || value * whole(DECIMALS) < whole(1) {
        return value.to_string();
    }
    let millionths = (value * whole(DECIMALS)).floor().to_integer().to_u64().unwrap_or(u64::MAX);
    let text = format!("{}.{:06}", millionths / DECIMALS, millionths % DECIMALS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share as a percentage for people, with one decimal, rounded up: `110%`, `33.4%`.
pub(crate) fn percent_ceil(value: &Rational) -> String {
    percent((value * whole(1_000)).ceil().to_integer())
}

fn percent(tenths: BigInt) -> String {
    let (percent, tenth) = tenths.div_rem(&BigInt::from(10));
    if tenth.is_zero() { format!("{percent}%") } else { format!("{percent}.{tenth}%") }
}

/// A sum of fractions that is compared and shown but not calculated with.
///
/// Thousands of unrelated denominators make the exact sum a huge number. So the sum is kept as two fixed-point numbers,
/// one rounded down and one up, and its exact value is worked out only for a question that the two leave open.
pub(crate) struct Total {
    /// The sum of the numerators over each denominator.
    parts: BTreeMap<BigInt, BigInt>,
    /// At most the sum, in units of 2^-[`FRACTION_BITS`].
    floor: BigInt,
    /// At least the sum, in the same units.
    ceil: BigInt,
}

/// Enough to tell sums of thousands of fractions of 64-bit numbers apart, unless they are made to be close.
const FRACTION_BITS: u32 = 128;

impl FromIterator<Rational> for Total {
    fn from_iter<I: IntoIterator<Item = Rational>>(terms: I) -> Total {
        let mut parts = BTreeMap::new();
        for (numerator, denominator) in terms.into_iter().map(Rational::into_raw) {
            *parts.entry(denominator).or_insert_with(BigInt::zero) += numerator;
        }
        let (mut floor, mut ceil) = (BigInt::zero(), BigInt::zero());
        for (denominator, numerator) in &parts {
            let (quotient, rest) = (numerator << FRACTION_BITS).div_mod_floor(denominator);
            ceil += &quotient + BigInt::from(u8::from(!rest.is_zero()));
            floor += quotient;
        }
        Total { parts, floor, ceil }
    }
}

impl Total {
    /// Whether the sum is at most this.
    pub(crate) fn at_most(&self, bound: &Rational) -> bool {
        let shifted = bound.numer() << FRACTION_BITS;
        if &self.ceil * bound.denom() <= shifted {
            return true;
        }
        if &self.floor * bound.denom() > shifted {
            return false;
        }
        let (numerator, denominator) = self.exact();
        numerator * bound.denom() <= bound.numer() * denominator
    }

    /// The sum, exact where it has few denominators; of many, rounded up to a multiple of 2^-128.
    pub(crate) fn value_ceil(&self) -> Rational {
        const FEW: usize = 32;
        if self.parts.len() <= FEW {
            let (numerator, denominator) = self.exact();
            return Rational::new(numerator, denominator);
        }
        Rational::new(self.ceil.clone(), BigInt::one() << FRACTION_BITS)
    }

    /// The sum; `None` where it has too many denominators to be worked out in a moment.
    pub(crate) fn value(&self) -> Option<Rational> {
        const MOST: usize = 4_096;
        let (numerator, denominator) = (self.parts.len() <= MOST).then(|| self.exact())?;
        Some(Rational::new(numerator, denominator))
    }

    /// The sum as [`percent_ceil`] shows it.
    pub(crate) fn percent_ceil(&self) -> String {
        let tenths = |numerator: &BigInt, denominator: &BigInt| -> BigInt {
            Integer::div_ceil(&(numerator * BigInt::from(1_000)), denominator)
        };
        let one = BigInt::one() << FRACTION_BITS;
        let (low, high) = (tenths(&self.floor, &one), tenths(&self.ceil, &one));
        if low == high {
            return percent(low);
        }
        let (numerator, denominator) = self.exact();
        percent(tenths(&numerator, &denominator))
    }

    /// Numerator and denominator, in pairs of alike size and not reduced: that would take longer than all the rest.
    fn exact(&self) -> (BigInt, BigInt) {
        let mut parts: Vec<(BigInt, BigInt)> = self
            .parts
            .iter()
            .map(|(denominator, numerator)| (numerator.clone(), denominator.clone()))
            .collect();
        while parts.len() > 1 {
            let added = |pair: &[(BigInt, BigInt)]| match pair {
                [(a, b), (c, d)] => (a * d + c * b, b * d),
                rest => rest[0].clone(),
            };
            parts = parts.chunks(2).map(added).collect();
        }
        parts.pop().unwrap_or_else(|| (BigInt::zero(), BigInt::one()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: u64, denominator: u64) -> Rational {
        whole(numerator) / whole(denominator)
    }

    #[test]
    fn sums_are_compared_as_the_exact_sum_is() {
        let mut state = 0x5eed_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..500 {
            let terms: Vec<Rational> = (0..below(6)).map(|_| ratio(below(9), 1 + below(9))).collect();
            let (sum, exact) = (terms.iter().cloned().collect::<Total>(), terms.iter().sum::<Rational>());
            let nudge = ratio(1, u64::MAX);
            for bound in [exact.clone(), &exact + &nudge, &exact - &nudge, ratio(below(30), 1 + below(9))] {
                assert_eq!(sum.at_most(&bound), exact <= bound, "{terms:?} and {bound}");
            }
            assert_eq!(sum.percent_ceil(), percent_ceil(&exact), "{terms:?}");
            assert_eq!(sum.value_ceil(), exact);
        }
    }

    #[test]
    fn a_difference_below_the_fixed_point_is_seen() {
        let third = || ratio(1, 3);
        let tiny = ratio(1, u64::MAX) * ratio(1, u64::MAX) * ratio(1, u64::MAX);
        let exactly_one = [third(), third(), third()].into_iter().collect::<Total>();
        assert!(exactly_one.at_most(&ratio(1, 1)));
        assert_eq!(exactly_one.percent_ceil(), "100%");
        let more = [third(), third(), third(), tiny.clone()].into_iter().collect::<Total>();
        assert!(!more.at_most(&ratio(1, 1)) && more.at_most(&(ratio(1, 1) + tiny)));
        assert_eq!(more.percent_ceil(), "100.1%");
    }

    /// To work out the exact sum as a reduced fraction would take minutes.
    #[test]
    fn thousands_of_unrelated_denominators_take_no_time() {
        let denominators = (0..5_000).map(|n| 1_000_000_007 + 2 * n * n);
        let half: Vec<Rational> = denominators.map(|n| ratio(100_000, n)).collect();
        let rest = ratio(1, 1) - ratio(1, 4);
        let total = half.iter().cloned().collect::<Total>();
        assert!(total.at_most(&rest) && total.at_most(&total.value_ceil()));
        let complements = half.iter().map(|share| ratio(1, 5_000) - share);
        assert!(half.iter().cloned().chain(complements).collect::<Total>().at_most(&ratio(1, 1)));
    }
}
