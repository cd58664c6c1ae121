//! The least and the most that a guarantee allows, in whole numbers of a common denominator, so that every window of a
//! run can be held against it. Relies on the parameters of a guarantee only, not on the calculus' own sbf and ubf: that
//! both agree is a test. Exact.

use hls_calculus::{Continuity, Guarantee, Rational};

/// Denominators beyond this would let products of times exceed 128 bits.
const MAX_DENOMINATOR: i128 = 1 << 60;

/// A sum of guarantees that hold at the same time for disjoint grants; mostly one guarantee.
#[derive(Clone, Debug)]
pub struct Supply {
    /// The common denominator: all numbers of the terms are numerators above it.
    pub one: i128,
    pub terms: Vec<Term>,
}

/// What one guarantee promises.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    /// `slope * t - delta`, or nothing.
    Line { slope: i128, delta: i128 },
    /// `amount` by `deadline` in every `period`, whatever its phase.
    Steps { period: i128, amount: i128, deadline: i128 },
}

/// `(slope * t - delta) / one`.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub slope: i128,
    pub delta: i128,
    pub one: i128,
}

/// The most that a hard reservation allows.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    pub one: i128,
    amount: i128,
    period: i128,
    /// How much may be received before the first whole period of a window: `amount` for basic reservations, else 0.
    early: i128,
}

impl Supply {
    /// The supply of a sum of guarantees; `None`: nothing is promised in finite time, or the numbers are too large.
    pub fn new(sum: &[Guarantee]) -> Option<Supply> {
        let one = common(&sum.iter().flat_map(numbers).collect::<Vec<_>>())?;
        let scaled = |number: &Rational| (number * Rational::from_integer(one.into())).to_integer();
        let scaled = |number: &Rational| i128::try_from(scaled(number)).ok();
        let term = |guarantee: &Guarantee| {
            Some(match guarantee {
                Guarantee::All => Term::Line { slope: one, delta: 0 },
                Guarantee::Psbe { share, delta } => {
                    Term::Line { slope: scaled(share)?, delta: scaled(delta)? }
                }
                Guarantee::Reservation { continuity, amount, period, .. } => {
                    let deadline = if *continuity == Continuity::Basic { period } else { amount };
                    let (period, amount, deadline) = (scaled(period)?, scaled(amount)?, scaled(deadline)?);
                    Term::Steps { period, amount, deadline }
                }
                Guarantee::Edp { period, amount, deadline } => {
                    let (period, amount, deadline) = (scaled(period)?, scaled(amount)?, scaled(deadline)?);
                    Term::Steps { period, amount, deadline }
                }
                // MPR is a need of a group, and on no label; JOB is about requests.
                Guarantee::Resu { .. }
                | Guarantee::Ps { .. }
                | Guarantee::Null
                | Guarantee::Mpr { .. }
                | Guarantee::Job { .. } => {
                    return None;
                }
            })
        };
        Some(Supply { one, terms: sum.iter().map(term).collect::<Option<_>>()? })
    }

    /// The least supply in a window of this many nanoseconds, times [`Supply::one`].
    pub fn least(&self, window: u64) -> i128 {
        self.terms.iter().map(|term| term.least(i128::from(window), self.one)).sum()
    }

    /// A line that the supply nowhere exceeds where it is positive. The line touches the steps of a reservation at
    /// their tops.
    pub fn line(&self) -> Line {
        const MAX_FACTOR: i128 = 1 << 24;
        match self.terms[..] {
            [Term::Line { slope, delta }] => Line { slope, delta, one: self.one },
            [Term::Steps { period, amount, deadline }] if self.one <= MAX_FACTOR => {
                let delta = amount * (deadline - amount);
                Line { slope: amount * self.one, delta, one: period * self.one }
            }
            _ => Line { slope: self.terms.len() as i128, delta: 0, one: 1 },
        }
    }

    /// The lengths of windows below `longest`, rounded both ways, at which a sum that rises faster than time becomes
    /// flatter. Empty where the supply nowhere rises faster than time.
    pub fn kinks(&self, longest: u64) -> Vec<u64> {
        let slope = |term: &Term| match term {
            Term::Line { slope, .. } => *slope,
            Term::Steps { .. } => self.one,
        };
        let mut kinks = Vec::new();
        if self.terms.iter().map(slope).sum::<i128>() > self.one {
            for term in &self.terms {
                if let Term::Steps { period, amount, deadline } = *term {
                    let ends = (0..).map(|n| (period - amount + deadline + n * period) / self.one);
                    let ends = ends.take_while(|end| *end < i128::from(longest));
                    kinks.extend(ends.flat_map(|end| [end as u64, end as u64 + 1]));
                }
            }
        }
        kinks
    }
}

impl Term {
    fn least(&self, window: i128, one: i128) -> i128 {
        match *self {
            Term::Line { slope, delta } => (slope * window - delta).max(0),
            Term::Steps { period, amount, deadline } => {
                let after = window * one - (period - amount);
                if after < 0 {
                    return 0;
                }
                let (whole, rest) = match i64::try_from(after).ok().zip(i64::try_from(period).ok()) {
                    Some((after, period)) => (i128::from(after / period), i128::from(after % period)),
                    None => (after / period, after % period),
                };
                whole * amount + (rest - (deadline - amount)).clamp(0, amount)
            }
        }
    }
}

impl Cap {
    /// The cap of a guarantee; `None` where it is not hard.
    pub fn new(guarantee: &Guarantee) -> Option<Cap> {
        let Guarantee::Reservation { continuity, hard: true, amount, period } = guarantee else {
            return None;
        };
        let one = common(&[amount.clone(), period.clone()])?;
        let scaled = |number: &Rational| {
            i128::try_from((number * Rational::from_integer(one.into())).to_integer()).ok()
        };
        let (amount, period) = (scaled(amount)?, scaled(period)?);
        let early = if *continuity == Continuity::Basic { amount } else { 0 };
        Some(Cap { one, amount, period, early })
    }

    /// The most supply in a window of this many nanoseconds, times [`Cap::one`].
    pub fn most(&self, window: u64) -> i128 {
        let window = i128::from(window) * self.one;
        let after = window - self.early;
        if after <= 0 {
            return window;
        }
        self.early + after / self.period * self.amount + (after % self.period).min(self.amount)
    }
}

fn numbers(guarantee: &Guarantee) -> Vec<Rational> {
    match guarantee {
        Guarantee::Reservation { amount, period, .. } => vec![amount.clone(), period.clone()],
        Guarantee::Edp { amount, period, deadline } => {
            vec![amount.clone(), period.clone(), deadline.clone()]
        }
        Guarantee::Psbe { share, delta } => vec![share.clone(), delta.clone()],
        Guarantee::All
        | Guarantee::Resu { .. }
        | Guarantee::Ps { .. }
        | Guarantee::Null
        | Guarantee::Mpr { .. }
        | Guarantee::Job { .. } => Vec::new(),
    }
}

/// The least common multiple of the denominators.
fn common(numbers: &[Rational]) -> Option<i128> {
    numbers.iter().try_fold(1_i128, |one, number| {
        let denominator = i128::try_from(number.denom()).ok()?;
        let (mut a, mut b) = (one, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Some(one / a).and_then(|rest| rest.checked_mul(denominator)).filter(|one| *one <= MAX_DENOMINATOR)
    })
}

/// The numbers of this file equal the calculus's, at every nanosecond of some periods.
#[test]
fn both_ways_to_compute_agree() {
    let texts = [
        "ALL",
        "RESBH 3ns 8ns",
        "RESBS 3ns 5ns",
        "RESCS 3ns 8ns",
        "RESCH 2ns 7ns",
        "RESBH 7/3ns 29/4ns",
        "PSBE 3/8 15/4ns",
        "EDP 11ns 2ns 5ns",
    ];
    for text in texts {
        let guarantee = Guarantee::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let supply = Supply::new(std::slice::from_ref(&guarantee)).expect("a supply");
        for window in 0..60 {
            let exact = |of: Rational, one: i128| of * Rational::from_integer(one.into());
            let length = Rational::from_integer(window.into());
            let least = Rational::from_integer(supply.least(window).into());
            assert_eq!(least, exact(guarantee.sbf(&length), supply.one), "{text}, sbf({window})");
            let Line { slope, delta, one } = supply.line();
            let bound = (slope * i128::from(window) - delta).max(0) * supply.one;
            assert!(supply.least(window) * one <= bound, "{text}, line({window})");
            if let Some(cap) = Cap::new(&guarantee) {
                let most = Rational::from_integer(cap.most(window).into());
                assert_eq!(most, exact(guarantee.ubf(&length), cap.one), "{text}, ubf({window})");
            }
        }
    }
    assert!(Supply::new(&[Guarantee::Null]).is_none());
    assert!(Cap::new(&Guarantee::All).is_none());
}
