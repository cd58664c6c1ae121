//! When a thread below a BVT scheduler that has a whole CPU is done with each request within a time: the guarantee JOB
//! (Duda and Cheriton, SOSP 1999, section 6, with what its response times leave out).
//!
//! A thread f that warps, with the limit L_f and the unwarp time U_f, has JOB p,T,R if all of this holds:
//!
//! - p <= L_f, and its part of the CPU is r_f >= p/T.
//! - W_f >= L_f/r_f + D_f: so it stays ahead of every sibling that is not warped.
//! - R <= T is the least time in which p is left over when all siblings n that it is not ahead of when they are warped
//!   (W_f < W_n + L_f/r_f + D_f) run warped for as long as L_n and U_n let them. So it does not matter whether they fail.
//! - U_f <= T - R: its limit is there anew at each request that comes in its turn.
//!
//! W_n is warp/r_n. D_f is the greatest *debt* with which f wakes up for such a request: how far its virtual time is
//! then ahead of the scheduler's. In the time since it woke up without a debt it had at most its part, and each sibling
//! n at most r_n of what the scheduler's virtual time gained, and X_n = w_n + C, with C the allowance, or, if n is one
//! of the siblings G whose limits keep them within their part (L_n/(L_n+U_n) <= r_n), r_n of the time and X_n = C +
//! L_n*(1-r_n). So D_f = (sum of X_n - the least X_n) / (1 - r_f - sum of r_n in G), of all G the least that is found.
//! The paper has no debt, and its response times do not hold: of four equal threads with C 3 one that wants 1 in every 4
//! with a warp of 1 is done after 5.
//!
//! Both were compared with every schedule of small sets. Relies on the core for charging exactly. Never rounds but where
//! the core does: it counts virtual time in parts of 1/256 ns for a unit of share, which [`Warpers::granule`] has.

mod plan;

pub use plan::{Planned, Request, WarpPlan, Windows, longest_unwarp, plan, windows};

use crate::rational::{Rational, share_floor, time_ceil, time_floor, whole};
use num_traits::{One, Signed, Zero};

/// Into how many parts the core counts a nanosecond of CPU time for a unit of share (core/virtual_time.h).
pub(crate) const GRANULES_A_NANOSECOND: u64 = 256;
/// The virtual times of f, of a sibling and of the scheduler, and the warp of f, are rounded to granules.
const ROUNDINGS: u64 = 4;
/// After so many corners a response time is given up.
const MAX_CORNERS: usize = 100_000;

/// A child of a BVT scheduler. Times in nanoseconds of CPU time, `unwarp` of real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warper {
    /// Its name, for messages.
    pub name: String,
    /// Its share, above zero.
    pub share: Rational,
    /// How far it may get ahead of its turn.
    pub warp: Rational,
    /// For how long it may run warped; 0: any.
    pub limit: Rational,
    /// When the limit is there anew.
    pub unwarp: Rational,
}

/// The children of a BVT scheduler that has a whole CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warpers {
    /// The scheduler's context switch allowance, in nanoseconds.
    pub allowance: Rational,
    /// All that are registered.
    pub each: Vec<Warper>,
}

/// How a child is certain to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTime {
    /// The time within which the amount of a request in its turn comes.
    pub response: Rational,
    /// The derivation, for people.
    pub formula: String,
}

impl Warpers {
    /// A child's part of the CPU where all want it.
    pub fn weight(&self, child: usize) -> Rational {
        let total: Rational = self.each.iter().map(|warper| &warper.share).sum();
        &self.each[child].share / total
    }

    /// A child's warp in virtual time.
    pub fn virtual_warp(&self, child: usize) -> Rational {
        &self.each[child].warp / self.weight(child)
    }

    /// The finest part of virtual time that the core counts, in nanoseconds.
    fn granule(&self) -> Rational {
        self.each.iter().map(|warper| &warper.share).sum::<Rational>() / whole(GRANULES_A_NANOSECOND)
    }

    /// L*(1-r): what a child may get beyond its part by its limits; `None` where they let it run warped for more.
    pub fn beyond(&self, child: usize) -> Option<Rational> {
        let (warper, weight) = (&self.each[child], self.weight(child));
        let beyond = &warper.limit * (Rational::one() - &weight);
        (warper.limit.is_positive() && beyond <= weight * &warper.unwarp).then_some(beyond)
    }

    /// The greatest debt with which a child wakes up for a request in its turn: the least that is found over sets G of
    /// siblings, which are taken into G by how much less each of them adds for its weight.
    pub fn debt(&self, child: usize) -> Rational {
        let gain = |n: &usize| Some((*n, &self.each[*n].warp - self.beyond(*n)?));
        let mut gains: Vec<(usize, Rational)> =
            (0..self.each.len()).filter(|n| *n != child).filter_map(|n| gain(&n)).collect();
        gains.sort_by(|(one, gain), (other, more)| {
            (more * self.weight(*one)).cmp(&(gain * self.weight(*other)))
        });
        let sets = (0..=gains.len()).map(|count| gains[..count].iter().map(|(n, _)| *n).collect::<Vec<_>>());
        sets.filter_map(|within| self.debt_with(child, &within)).min().unwrap_or_default()
    }

    /// The debt with these siblings in G; `None` where they leave nothing to the others.
    pub(crate) fn debt_with(&self, child: usize, within: &[usize]) -> Option<Rational> {
        let beyond = |n: usize| {
            let by_limits = || self.beyond(n).unwrap_or_else(|| self.each[n].limit.clone());
            &self.allowance + if within.contains(&n) { by_limits() } else { self.each[n].warp.clone() }
        };
        let each: Vec<Rational> = (0..self.each.len()).filter(|n| *n != child).map(beyond).collect();
        let rest =
            Rational::one() - self.weight(child) - within.iter().map(|n| self.weight(*n)).sum::<Rational>();
        let all: Rational = each.iter().sum();
        let least = each.iter().min()?;
        rest.is_positive().then(|| (all - least + self.granule()) / rest)
    }

    /// By how much a child's virtual warp must be beyond that of a sibling so that the child stays ahead of it.
    pub(crate) fn lead(&self, child: usize, debt: &Rational) -> Rational {
        &self.each[child].limit / self.weight(child) + debt + whole(ROUNDINGS) * self.granule()
    }

    /// Whether a child is done with requests of at most `amount`, which come `period` apart, in time, and within which.
    ///
    /// # Errors
    /// The first condition that does not hold, with its numbers.
    pub fn in_time(&self, child: usize, amount: &Rational, period: &Rational) -> Result<InTime, String> {
        let own = &self.each[child];
        let (weight, debt) = (self.weight(child), self.debt(child));
        self.may(child, amount, period)?;
        let lead = self.lead(child, &debt);
        let warp = self.virtual_warp(child);
        if self.each.len() > 1 && warp < lead {
            return Err(format!(
                "a warp of {} is needed to stay ahead of who is not warped: the limit, {}, and {} of its debt, {}; it \
                 is {}",
                time_ceil(&(&lead * &weight)),
                time_ceil(&own.limit),
                share_floor(&weight),
                time_ceil(&debt),
                time_floor(&own.warp)
            ));
        }
        let others = (0..self.each.len()).filter(|n| *n != child);
        let ahead: Vec<usize> = others
            .filter(|n| self.each[*n].warp.is_positive() && warp < self.virtual_warp(*n) + &lead)
            .collect();
        let endless =
            |n: &&usize| !(self.each[**n].limit.is_positive() && self.each[**n].unwarp.is_positive());
        if let Some(n) = ahead.iter().find(endless) {
            let least = (self.virtual_warp(*n) + &lead) * &weight;
            return Err(format!(
                "`{}`, which it is not ahead of, may run warped for any time; a `warp-limit` and an `unwarp` of that, \
                 or a warp of {} here, would do",
                self.each[*n].name,
                time_ceil(&least)
            ));
        }
        let Some(response) = self.response(amount, &ahead, period) else {
            return Err(format!(
                "with what {} that it is not ahead of may take warped, {} may not come within {}",
                self.names(&ahead),
                time_ceil(amount),
                time_ceil(period)
            ));
        };
        if &own.unwarp + &response > *period {
            let (unwarp, rest) = (time_ceil(&own.unwarp), time_floor(&(period - &response)));
            return Err(format!(
                "an `unwarp` of at most {rest} is needed, what a period leaves after {}, within which it is done beside \
                 {}; it is {unwarp}",
                time_ceil(&response),
                self.names(&ahead)
            ));
        }
        let formula = format!(
            "W = {} >= L/r + D = {} + {}; R = {}, with what {} may take warped; U <= T - R",
            time_floor(&warp),
            time_ceil(&(&own.limit / &weight)),
            time_ceil(&debt),
            time_ceil(&response),
            self.names(&ahead)
        );
        Ok(InTime { response, formula })
    }

    /// Whether the limit and the share are enough for requests of this kind.
    fn may(&self, child: usize, amount: &Rational, period: &Rational) -> Result<(), String> {
        let (own, weight) = (&self.each[child], self.weight(child));
        if own.limit < *amount {
            let limit = if own.limit.is_zero() { "none".into() } else { time_floor(&own.limit) };
            return Err(format!("a `warp-limit` of {} or more is needed; it is {limit}", time_ceil(amount)));
        }
        if &weight * period < *amount {
            return Err(format!(
                "{} in every {} take more than its part, {} of the CPU",
                time_ceil(amount),
                time_floor(period),
                share_floor(&weight)
            ));
        }
        Ok(())
    }

    /// The least time of which these siblings leave `amount` when all run warped for as long as they may, the limit
    /// first; `None` where it is longer than `most`. From one corner of what they take to the next, what is left grows
    /// only where none of them is warped.
    fn response(&self, amount: &Rational, ahead: &[usize], most: &Rational) -> Option<Rational> {
        let (mut at, mut left) = (Rational::zero(), Rational::zero());
        for _ in 0..MAX_CORNERS {
            let phases = ahead.iter().map(|n| {
                let Warper { limit, unwarp, .. } = &self.each[*n];
                let cycle = limit + unwarp;
                let into = &at - (&at / &cycle).floor() * &cycle;
                if into < *limit { (true, limit - into) } else { (false, cycle - into) }
            });
            let phases: Vec<(bool, Rational)> = phases.collect();
            let warped = whole(phases.iter().filter(|(is_warped, _)| *is_warped).count() as u64);
            let next = phases.into_iter().map(|(_, length)| length).min();
            let slope = Rational::one() - warped;
            if slope.is_positive() {
                let end = &at + amount - &left;
                if next.as_ref().is_none_or(|next| end <= &at + next) {
                    return (end <= *most).then_some(end);
                }
            }
            let next = next?;
            left += slope * &next;
            at += next;
            if at > *most {
                return None;
            }
        }
        None
    }

    fn names(&self, children: &[usize]) -> String {
        let names: Vec<String> = children.iter().map(|n| format!("`{}`", self.each[*n].name)).collect();
        if names.is_empty() { "no sibling".into() } else { names.join(", ") }
    }
}
