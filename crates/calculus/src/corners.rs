//! The corners of a guarantee's supply, where it changes its slope: sums of supplies are compared and supplies are
//! drawn corner by corner.
//!
//! Relies on `supply.rs` for every value; this file knows only where the slopes change. Never approximates: between two
//! corners the supply is a straight line.

use crate::guarantee::{Continuity, Guarantee};
use crate::rational::{Rational, positive_part, whole};
use crate::supply::Periodic;
use num_traits::{Signed, Zero};

/// The most periods that a list of corners covers.
const MAX_PERIODS: u64 = 1_000;

/// A corner: the length of a window, and CPU time in it. Both in nanoseconds.
pub type Corner = (Rational, Rational);

impl Guarantee {
    /// The first window length beyond this one at which the slope of sbf changes; `None` where sbf is straight from
    /// there on.
    pub(crate) fn corner_after(&self, window: &Rational) -> Option<Rational> {
        let blackout = self.blackout()?;
        if *window < blackout {
            return Some(blackout);
        }
        let Periodic { period, amount, .. } = self.periodic()?;
        let into = (window - &blackout) - ((window - &blackout) / &period).floor() * &period;
        let next = if into < amount { amount } else { period };
        (!self.is_whole_cpu()).then(|| window - into + next)
    }

    /// The corners of [`Guarantee::sbf`] from the empty window to one of length `up_to`, both ends included: straight
    /// lines between them are the function. The list ends after a thousand periods where there are more.
    pub fn sbf_corners(&self, up_to: &Rational) -> Vec<Corner> {
        let first = self.check().ok().and_then(|()| self.corner_after(&Rational::zero()));
        let lengths =
            std::iter::successors(first, |last| self.corner_after(last).filter(|next| next < up_to));
        let lengths = lengths.take(2 * MAX_PERIODS as usize).collect();
        corners(lengths, up_to, |window| self.sbf(window))
    }

    /// The corners of the least CPU time of a request in its turn by the time since it began, likewise; empty for what
    /// is not JOB.
    pub fn request_corners(&self, up_to: &Rational) -> Vec<Corner> {
        let Guarantee::Job { amount, response, .. } = self else { return Vec::new() };
        if self.check().is_err() {
            return Vec::new();
        }
        let wait = response - amount;
        let least = |since: &Rational| positive_part(since - &wait).min(amount.clone());
        corners(vec![wait.clone(), response.clone()], up_to, least)
    }

    /// The corners of [`Guarantee::ubf`], likewise.
    pub fn ubf_corners(&self, up_to: &Rational) -> Vec<Corner> {
        let lengths = match self {
            _ if self.check().is_err() => Vec::new(),
            Guarantee::Reservation { continuity, hard: true, amount, period } => {
                let first = if *continuity == Continuity::Basic { amount.clone() } else { Rational::zero() };
                rises(&first, amount, period, up_to)
            }
            _ => Vec::new(),
        };
        corners(lengths, up_to, |window| self.ubf(window))
    }
}

/// Where each rise begins and ends: the first at `first`, one every `period`, each as long as `amount`.
fn rises(first: &Rational, amount: &Rational, period: &Rational, up_to: &Rational) -> Vec<Rational> {
    let starts = (0..MAX_PERIODS).map(|number| first + period * whole(number));
    starts.take_while(|start| start < up_to).flat_map(|start| [start.clone(), start + amount]).collect()
}

/// The points of a curve at zero, at the lengths in between and at `up_to`, without those that lie on a straight line.
fn corners(lengths: Vec<Rational>, up_to: &Rational, curve: impl Fn(&Rational) -> Rational) -> Vec<Corner> {
    let end = if lengths.len() < 2 * MAX_PERIODS as usize { Some(up_to.clone()) } else { None };
    let inside = lengths.into_iter().filter(|length| length < up_to);
    let mut found: Vec<Corner> = vec![(Rational::zero(), Rational::zero())];
    for length in inside.chain(end).filter(Signed::is_positive) {
        let supply = curve(&length);
        let point = (length, supply);
        if let [.., before, last] = &found[..]
            && is_straight(before, last, &point)
        {
            found.pop();
        }
        found.push(point);
    }
    found
}

fn is_straight((x0, y0): &Corner, (x1, y1): &Corner, (x2, y2): &Corner) -> bool {
    (y1 - y0) * (x2 - x1) == (y2 - y1) * (x1 - x0)
}
