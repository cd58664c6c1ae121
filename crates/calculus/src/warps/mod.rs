//! When a thread below a BVT scheduler that has a whole CPU is done with each request within a time: the guarantee JOB
//! (Duda and Cheriton, SOSP 1999, section 6, with what its response times leave out).
//!
//! A thread f that warps, with the limit L_f and the unwarp time U_f, has JOB p,T,R if all of this holds:
//!
//! - p <= L_f, and its part of the CPU is r_f >= p/T.
//! - W_f >= L_f/r_f + D_f: so it stays ahead of every sibling that is not warped.
//! - R <= T is the least time in which p is left over when all siblings n that it is not ahead of when they are warped
//!   (W_f < W_n + L_f/r_f + D_f) run warped for as long as L_n and U_n let them. So it does not matter whether they
//!   fail.
//! - U_f <= T - R: its limit is renewed at each request that comes in its turn.
//!
//! W_n is warp/r_n. D_f is the greatest *debt* with which f wakes up for such a request: how far its virtual time is
//! then ahead of the scheduler's. In the time since it woke up without a debt it had at most its part, and each sibling
//! n at most r_n of what the scheduler's virtual time gained, and X_n = w_n + C, with C the allowance, or, if n is one
//! of the siblings G that their limits keep within their part (L_n/(L_n+U_n) <= r_n), r_n of the time and X_n = C +
//! L_n*(1-r_n). So D_f = (sum of X_n - the least X_n) / (1 - r_f - sum of r_n in G); the least over all G counts. The
//! paper has no debt, and its response times do not hold: with four equal threads and C 3, a thread that wants 1 in
//! every 4 with a warp of 1 is done after 5.
//!
//! Both were compared with every schedule of small sets. Relies on the core for charging exactly. Never rounds but
//! where the core does: it counts virtual time in parts of 1/256 ns for a unit of share, which `Conditions` counts
//! against f.

mod conditions;
mod plan;

pub use plan::{Planned, Request, WarpPlan, Windows, longest_unwarp, plan, windows};

pub(crate) use conditions::Conditions;

use crate::rational::Rational;
use crate::work::Work;
use num_traits::{One, Signed};

/// Into how many parts the core counts a nanosecond of CPU time for a unit of share (core/virtual_time.h).
pub(crate) const GRANULES_A_NANOSECOND: u64 = 256;

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
    /// After how long without warp the limit is renewed.
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

    /// L*(1-r): what a child may get beyond its part by its limits; `None` where they let it run warped for more.
    pub fn beyond(&self, child: usize) -> Option<Rational> {
        let (Warper { limit, unwarp, .. }, weight) = (&self.each[child], self.weight(child));
        let beyond = limit * (Rational::one() - &weight);
        (limit.is_positive() && beyond <= weight * unwarp).then_some(beyond)
    }

    /// Whether a child is done in time with requests of at most `amount` that come `period` apart, and within what
    /// time.
    ///
    /// # Errors
    /// The first condition that does not hold, with its numbers.
    pub fn in_time(&self, child: usize, amount: &Rational, period: &Rational) -> Result<InTime, String> {
        Conditions::new(self).in_time(child, (amount, period), &Work::unlimited())
    }
}
