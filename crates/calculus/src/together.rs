//! Several guarantees on one edge: what they are worth together, exactly.
//!
//! Below a join every parent's guarantee holds, and where the parents' grants never overlap their supplies add up. No
//! single guarantee says that: the sum of two reservations as PSBE forgets their periods. So an edge's supply is kept
//! as the best of sums of guarantees, and converted once, to what the receiver needs. Relies on `supply.rs`. Never
//! claims more than one of the sums carries alone.

use crate::guarantee::Guarantee;
use crate::rational::{Rational, quotient};
use crate::work::{STEPS_A_SUPPLY, Work};
use num_traits::{One, Signed, Zero};
use std::cmp::Reverse;
use std::fmt;

/// The most sums that are kept; the weakest beyond are forgotten, which is sound.
const MAX_SUMS: usize = 16;
/// The most corners of a supply that are looked at before a question is answered on the safe side.
const MAX_CORNERS: usize = 100_000;

/// Guarantees of disjoint CPU time: their supplies add up. Amounts are in real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum(pub Vec<Guarantee>);

/// A window in which a supply falls short of a demand. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The length of the window.
    pub window: Rational,
    /// CPU time that is wanted in the window.
    pub wanted: Rational,
    /// CPU time that is certain in the window.
    pub supply: Rational,
}

impl Sum {
    /// The least CPU time in any window of this length.
    pub fn sbf(&self, window: &Rational) -> Rational {
        let total: Rational = self.0.iter().map(|guarantee| guarantee.sbf(window)).sum();
        // The parts of labels that hold never add up to more than one CPU; the parts of a malformed graph may.
        if total > *window && window.is_positive() { window.clone() } else { total }
    }

    /// The share of one CPU in the long run.
    pub fn rate(&self) -> Rational {
        let total: Rational = self.0.iter().map(Guarantee::rate).sum();
        total.min(Rational::one())
    }

    /// What the sum promises in finite windows, as a line: its rate, and how far the supply may fall behind that rate.
    pub fn bounded(&self) -> Option<(Rational, Rational)> {
        let parts = self.0.iter().filter_map(|part| Some((part.rate(), part.rate() * part.blackout()?)));
        let (share, delta) =
            parts.fold((Rational::zero(), Rational::zero()), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (share.is_positive() && share <= Rational::one()).then_some((share, delta))
    }

    /// The key by which sums are sorted, the strongest first: first sums that promise something in finite time, then by
    /// greater rate, then by lesser delay.
    fn strength(&self) -> (bool, Reverse<Rational>, Rational) {
        let bounded = self.bounded();
        let rate = bounded.as_ref().map_or_else(|| self.rate(), |(share, _)| share.clone());
        (bounded.is_none(), Reverse(rate), bounded.map_or_else(Rational::zero, |(_, delta)| delta))
    }

    /// The first length beyond `window` at which the supply changes its slope.
    fn corner_after(&self, window: &Rational) -> Option<Rational> {
        self.0.iter().filter_map(|part| part.corner_after(window)).min()
    }

    /// The shortest window that certainly holds `amount` of CPU time. Never too short; exact unless more than 100,000
    /// corners lie before its end. `None` where no window holds `amount`.
    pub fn window_for(&self, amount: &Rational) -> Option<Rational> {
        self.window_for_within(amount, &Work::unlimited())
    }

    /// Like [`Sum::window_for`]; without steps left the window may be longer than need be.
    fn window_for_within(&self, amount: &Rational, work: &Work) -> Option<Rational> {
        if !amount.is_positive() {
            return Some(Rational::zero());
        }
        let (share, delta) = self.bounded()?;
        // sbf(t) <= rate * t, and sbf(t) >= rate * t - delta.
        let mut from = quotient(amount, &share);
        let until = quotient(&(amount + delta), &share);
        let mut held = self.sbf(&from);
        for _ in 0..MAX_CORNERS {
            if held >= *amount {
                return Some(from);
            }
            let to = self.corner_after(&from).map_or(until.clone(), |corner| corner.min(until.clone()));
            let then = self.sbf(&to);
            if then >= *amount {
                return Some(&from + (amount - &held) * (&to - &from) / (&then - &held));
            }
            if to >= until || !work.take(STEPS_A_SUPPLY * self.0.len()) {
                break;
            }
            (from, held) = (to, then);
        }
        Some(until)
    }

    /// The first window of at least `start` in which a demand of `slope * t + offset` may not be met; `None` where the
    /// demand is always met. A demand that grows as fast as the supply is met only by a supply without pauses. The
    /// difference of two lines is least at their ends, so only corners are looked at. Where there are more than
    /// 100,000, the last window that was looked at is returned, in which no more is wanted than there is.
    pub fn shortfall(&self, slope: &Rational, offset: &Rational, start: &Rational) -> Option<Shortfall> {
        self.shortfall_within(slope, offset, start, &Work::unlimited())
    }

    /// Like [`Sum::shortfall`]; without steps left it is given up, too. At each corner each part costs steps.
    fn shortfall_within(
        &self,
        slope: &Rational,
        offset: &Rational,
        start: &Rational,
        work: &Work,
    ) -> Option<Shortfall> {
        let at = |window: Rational| {
            let (wanted, supply) = (slope * &window + offset, self.sbf(&window));
            Shortfall { window, wanted, supply }
        };
        let first = at(start.clone());
        let (share, delta) = self.bounded().unwrap_or_default();
        let slack = &share - slope;
        let is_straight = slack.is_zero() && delta.is_zero() && !offset.is_positive();
        if first.wanted > first.supply || !(slack.is_positive() || is_straight) {
            return Some(first);
        }
        // From here on share * t - delta carries the demand.
        let until = quotient(&(&delta + offset), &slack);
        let mut last = first;
        for _ in 0..MAX_CORNERS {
            let corner = self.corner_after(&last.window).filter(|corner| *corner < until)?;
            last = at(corner);
            if last.wanted > last.supply || !work.take(STEPS_A_SUPPLY * self.0.len()) {
                return Some(last);
            }
        }
        Some(last)
    }
}

/// The supply of an edge: several sums, all of which hold at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    sums: Vec<Sum>,
}

impl From<Guarantee> for Supply {
    fn from(guarantee: Guarantee) -> Supply {
        // JOB says nothing of windows.
        let is_none = matches!(guarantee, Guarantee::Null | Guarantee::Job { .. });
        let sums = if is_none { Vec::new() } else { vec![Sum(vec![guarantee])] };
        Supply { sums }
    }
}

impl Supply {
    /// The supply where all of these hold.
    pub fn best(all: impl IntoIterator<Item = Supply>) -> Supply {
        let mut sums: Vec<Sum> = all.into_iter().flat_map(|supply| supply.sums).collect();
        sums.sort_by_key(Sum::strength);
        sums.dedup();
        sums.truncate(MAX_SUMS);
        Supply { sums }
    }

    /// The supply where all of these hold, each of CPU time that the others do not count.
    pub fn sum(parts: &[Supply]) -> Supply {
        let none = vec![Sum(Vec::new())];
        let sums = parts.iter().filter(|part| !part.is_nothing()).fold(none, |sums, part| {
            let longer = |sum: &Sum| {
                let sum = sum.0.clone();
                part.sums.iter().map(move |more| Sum(sum.iter().chain(&more.0).cloned().collect()))
            };
            Supply::best([Supply { sums: sums.iter().flat_map(longer).collect() }]).sums
        });
        Supply { sums: sums.into_iter().filter(|sum| !sum.0.is_empty()).collect() }
    }

    /// The same supply without upper limits.
    pub fn softened(&self) -> Supply {
        let soften = |sum: &Sum| Sum(sum.0.iter().map(Guarantee::softened).collect());
        Supply { sums: self.sums.iter().map(soften).collect() }
    }

    /// The sums, strongest first.
    pub fn sums(&self) -> &[Sum] {
        &self.sums
    }

    /// Whether nothing is promised at all.
    pub fn is_nothing(&self) -> bool {
        self.sums.is_empty()
    }

    /// The least CPU time in any window of this length.
    pub fn sbf(&self, window: &Rational) -> Rational {
        self.sums.iter().map(|sum| sum.sbf(window)).max().unwrap_or_else(Rational::zero)
    }

    /// The share of one CPU in the long run.
    pub fn rate(&self) -> Rational {
        self.sums.iter().map(Sum::rate).max().unwrap_or_else(Rational::zero)
    }

    /// [`Sum::bounded`] of the strongest sum that has it.
    pub fn bounded(&self) -> Option<(Rational, Rational)> {
        self.sums.iter().find_map(Sum::bounded)
    }

    /// [`Sum::window_for`] of the best sum.
    pub fn window_for(&self, amount: &Rational) -> Option<Rational> {
        self.window_for_within(amount, &Work::unlimited())
    }

    /// Like [`Supply::window_for`]; without steps left the window may be longer than need be.
    pub(crate) fn window_for_within(&self, amount: &Rational, work: &Work) -> Option<Rational> {
        self.sums.iter().filter_map(|sum| sum.window_for_within(amount, work)).min()
    }

    /// [`Sum::shortfall`] of the strongest sum; `None` where one of the sums meets the demand.
    pub fn shortfall(&self, slope: &Rational, offset: &Rational, start: &Rational) -> Option<Shortfall> {
        self.shortfall_within(slope, offset, start, &Work::unlimited())
    }

    /// Like [`Supply::shortfall`]; without steps left it is given up, too.
    pub(crate) fn shortfall_within(
        &self,
        slope: &Rational,
        offset: &Rational,
        start: &Rational,
        work: &Work,
    ) -> Option<Shortfall> {
        let nothing = Sum(Vec::new());
        let first = self.sums.first().unwrap_or(&nothing).shortfall_within(slope, offset, start, work)?;
        let is_met = |sum: &Sum| sum.shortfall_within(slope, offset, start, work).is_none();
        (!self.sums.iter().skip(1).any(is_met)).then_some(first)
    }
}

impl fmt::Display for Supply {
    /// The supply for people: `RESBS 3ms 8ms + RESBS 1ms 5ms, or PSBE 1/2 4ms`; rounded against the receiver.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sums: Vec<String> = self.sums.iter().map(Sum::to_string).collect();
        f.write_str(if sums.is_empty() { "NULL" } else { "" })?;
        f.write_str(&sums.join(", or "))
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(Guarantee::rounded_for_people).collect();
        f.write_str(&parts.join(" + "))
    }
}
