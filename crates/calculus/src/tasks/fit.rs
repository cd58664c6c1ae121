//! The inverse question: the least reservation that carries a task set.
//!
//! A reservation that fails names a window, and no reservation with the same period that falls short in that window
//! can do (for fixed priority: in every window in which the job could be done in time). So the amount is raised to
//! the least that suffices in that window, and tried again: no amount is skipped that could have done, and the first
//! that passes the exact test is the least. Where the amount is close to the rate of the tasks the test may take too
//! many steps; then the amount is raised a little, and the first that passes may be more than the least by that little.
//! Relies on the tests being exact for one reservation, whose supply is superadditive.

use super::fixed_priority::{due, wanted};
use super::{MAX_STEPS, Miss, Order, Steps, Task, TaskSet};
use crate::guarantee::{Continuity, Guarantee};
use crate::rational::{Rational, quotient, whole};
use crate::together::{Shortfall, Sum};
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Where the test cannot tell whether an amount suffices, the amount is raised by this part of what is left of the
/// period.
const UNDECIDED_PART: u64 = 1_024;
/// The most raises by [`UNDECIDED_PART`]; each takes some milliseconds.
const MAX_UNDECIDED: u32 = 64;

/// A reservation that carries a task set. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// CPU time a period: the least that suffices.
    pub amount: Rational,
    /// The period.
    pub period: Rational,
}

impl Fit {
    /// The share of one CPU that the reservation takes.
    pub fn utilisation(&self) -> Rational {
        quotient(&self.amount, &self.period)
    }
}

/// The least amount with which a soft reservation of this period carries the tasks: exactly, but where the test takes
/// too many steps at the rate of the tasks.
///
/// # Errors
/// Why not even the whole of a CPU suffices, or that the number of steps is not enough to tell.
pub fn least_amount(set: &TaskSet, continuity: Continuity, period: &Rational) -> Result<Fit, Miss> {
    let mut amount = set.utilisation() * period;
    let mut undecided = Steps::of(MAX_UNDECIDED);
    for _ in 0..MAX_STEPS {
        if !amount.is_positive() || amount >= *period {
            amount = period.clone();
        }
        let guarantee = Guarantee::Reservation {
            continuity,
            hard: false,
            amount: amount.clone(),
            period: period.clone(),
        };
        let miss = match set.decide(&Sum(vec![guarantee])) {
            Ok(()) => return Ok(Fit { amount, period: period.clone() }),
            Err(miss) => miss,
        };
        let raised = match (&miss, set.order) {
            (Miss::Short { window, .. }, Order::Edf) => enough_within(window, continuity, period),
            (Miss::Short { task, job, .. }, Order::FixedPriority) => {
                enough_for_job(&set.tasks[..=*task], *job, continuity, period)
            }
            (Miss::Undecided { .. }, _) => {
                undecided.take().map(|()| &amount + (period - &amount) / whole(UNDECIDED_PART))
            }
            _ => None,
        };
        match raised.filter(|raised| *raised > amount && amount < *period) {
            Some(raised) => amount = raised,
            None => return Err(miss),
        }
    }
    Err(Miss::Undecided { load: quotient(&(set.utilisation() * period), &amount) })
}

/// Of the reservations with these periods that carry the tasks, one that takes the least share of a CPU; of several,
/// the one with the longest period.
///
/// # Errors
/// Why no reservation with the last of the periods carries the tasks, where none with another period does either.
pub fn least_utilisation(
    set: &TaskSet,
    continuity: Continuity,
    periods: impl IntoIterator<Item = Rational>,
) -> Result<Option<Fit>, Miss> {
    let (mut best, mut last): (Option<Fit>, Option<Miss>) = (None, None);
    for period in periods {
        match least_amount(set, continuity, &period) {
            Ok(fit) => best = Some(better(best, fit)),
            Err(miss) => last = Some(miss),
        }
    }
    match (best, last) {
        (None, Some(miss)) => Err(miss),
        (best, _) => Ok(best),
    }
}

fn better(best: Option<Fit>, other: Fit) -> Fit {
    let rank = |fit: &Fit| (fit.utilisation(), -fit.period.clone());
    best.filter(|best| rank(best) <= rank(&other)).unwrap_or(other)
}

/// The least amount that gives the q-th job of the last task its time in some window that ends by its deadline. What
/// is wanted grows just after `k*T - J` of the higher tasks, so the windows that end there, or with the deadline,
/// suffice.
fn enough_for_job(tasks: &[Task], job: u64, continuity: Continuity, period: &Rational) -> Option<Rational> {
    let (task, higher) = tasks.split_last()?;
    let latest = due(task, job);
    let mut least = enough_until(latest.clone(), tasks, job, continuity, period);
    let mut steps = Steps::of(MAX_STEPS);
    for other in higher {
        let skipped = quotient(&other.jitter, &other.every).floor() + Rational::one();
        let mut window = skipped * &other.every - &other.jitter;
        while window < latest {
            steps.take()?;
            let enough = enough_until(window.clone(), tasks, job, continuity, period);
            least = least.into_iter().chain(enough).min();
            window += &other.every;
        }
    }
    least
}

fn enough_until(
    window: Rational,
    tasks: &[Task],
    job: u64,
    continuity: Continuity,
    period: &Rational,
) -> Option<Rational> {
    let wanted = wanted(tasks, job, &window);
    enough_within(&Shortfall { window, wanted, supply: Rational::zero() }, continuity, period)
}

/// The least amount `x` a period `y` with which `sbf(t) >= w`; `None` where not even a whole CPU gives that.
///
/// With k whole amounts before the last part, w is there after `c*(y-x) + k*y + w - k*x`, where c is 2 for a basic
/// reservation and 1 for a continuous one, if `w <= (k+1)*x`. For a given k both conditions bound x from below, one
/// falling with k, the other rising: the least x is where they cross.
fn enough_within(window: &Shortfall, continuity: Continuity, period: &Rational) -> Option<Rational> {
    let Shortfall { window, wanted, .. } = window;
    if wanted > window {
        return None;
    }
    let late = whole(if continuity == Continuity::Basic { 2 } else { 1 });
    let by_share = |k: u64| wanted / (whole(k) + Rational::one());
    let by_time = |k: u64| period - (window - wanted) / (whole(k) + &late);
    let (mut low, mut high) = (0, quotient(window, period).ceil().to_integer().to_u64()?);
    while low < high {
        let middle = low + (high - low) / 2;
        if by_time(middle) >= by_share(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let at = |k: u64| by_share(k).max(by_time(k));
    Some(low.checked_sub(1).map_or_else(|| at(low), |before| at(low).min(at(before))))
}
