//! The inverse question: the least reservation that carries a task set.
//!
//! A reservation that fails names a window, and no reservation with the same period that falls short in that window can
//! do (for fixed priority: in every window in which the job could be done in time). So the amount is raised to the
//! least that suffices in that window, and tried again: no amount is skipped that could have done, and the first that
//! passes the exact test is the least. Relies on the tests being exact for one reservation: its supply is
//! superadditive.
//!
//! Where that takes too many steps, a larger amount suffices if a smaller one does, so the least is searched between
//! an amount that fails and the whole of a CPU, to the nanosecond. Where the test itself takes too many steps, as for
//! amounts close to the rate of the tasks, the amount is raised a little, and [`Fit::is_least`] says that less may do.
//! Only a window in which not even a whole CPU suffices is a "no"; whatever was given up is [`Miss::Undecided`].

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
/// The most windows, of all jobs together, in which it is looked how much a job needs.
const MAX_WINDOWS: u32 = 10 * MAX_STEPS;

/// A reservation that carries a task set. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// CPU time a period: it suffices.
    pub amount: Rational,
    /// The period.
    pub period: Rational,
    /// Whether no less suffices, to the nanosecond; else for some lesser amounts that was not found out.
    pub is_least: bool,
}

impl Fit {
    /// The share of one CPU that the reservation takes.
    pub fn utilisation(&self) -> Rational {
        quotient(&self.amount, &self.period)
    }
}

/// The least amount with which a soft reservation of this period carries the tasks: exactly, but where that takes too
/// many steps to find out.
///
/// # Errors
/// Why not even the whole of a CPU suffices, or that the number of steps is not enough to tell.
pub fn least_amount(set: &TaskSet, continuity: Continuity, period: &Rational) -> Result<Fit, Miss> {
    let mut amount = set.utilisation() * period;
    let (mut undecided, mut windows) = (Steps::of(MAX_UNDECIDED), Steps::of(MAX_WINDOWS));
    let mut is_least = true;
    for _ in 0..MAX_STEPS {
        if !amount.is_positive() || amount >= *period {
            amount = period.clone();
        }
        let miss = match decide(set, continuity, &amount, period) {
            Ok(()) => return Ok(Fit { amount, period: period.clone(), is_least }),
            Err(miss) => miss,
        };
        let raised = match (&miss, set.order) {
            _ if amount >= *period => return Err(miss),
            (Miss::Malformed { .. }, _) => return Err(miss),
            (Miss::Short { window, .. }, Order::Edf) => Needed::of(enough_within(window, continuity, period)),
            (Miss::Short { task, job, .. }, Order::FixedPriority) => {
                enough_for_job(&set.tasks[..=*task], *job, (continuity, period), &mut windows)
            }
            (Miss::Undecided { .. }, _) => {
                is_least = false;
                if undecided.take().is_none() {
                    return Err(miss);
                }
                Needed::AtLeast(&amount + (period - &amount) / whole(UNDECIDED_PART))
            }
        };
        match raised {
            Needed::MoreThanACpu => return Err(miss),
            Needed::AtLeast(raised) if raised > amount => amount = raised,
            Needed::AtLeast(_) | Needed::Unknown => break,
        }
    }
    by_bisection(set, continuity, &amount, period)
        .map(|fit| Fit { is_least: is_least && fit.is_least, ..fit })
}

/// The least amount, in whole nanoseconds, above one that does not suffice.
fn by_bisection(
    set: &TaskSet,
    continuity: Continuity,
    above: &Rational,
    period: &Rational,
) -> Result<Fit, Miss> {
    decide(set, continuity, period, period)?;
    let (mut low, mut high, mut is_least) = (above.floor(), period.clone(), true);
    while &high - &low > Rational::one() {
        let middle = ((&low + &high) / whole(2)).floor();
        match decide(set, continuity, &middle, period) {
            Ok(()) => high = middle,
            Err(miss) => {
                is_least &= !miss.is_undecided();
                low = middle;
            }
        }
    }
    Ok(Fit { amount: high, period: period.clone(), is_least })
}

fn decide(set: &TaskSet, continuity: Continuity, amount: &Rational, period: &Rational) -> Result<(), Miss> {
    let (amount, period) = (amount.clone(), period.clone());
    set.decide(&Sum(vec![Guarantee::Reservation { continuity, hard: false, amount, period }]))
}

/// What a job or a window needs of a reservation.
enum Needed {
    /// This much a period, or more.
    AtLeast(Rational),
    /// More than a whole CPU gives.
    MoreThanACpu,
    /// It was given up.
    Unknown,
}

impl Needed {
    fn of(amount: Option<Rational>) -> Needed {
        amount.map_or(Needed::MoreThanACpu, Needed::AtLeast)
    }
}

/// Of the reservations with these periods that carry the tasks, the one that takes the least share of a CPU; among
/// equals, the one with the longest period.
///
/// # Errors
/// If none of the periods does: why no reservation with the last of them carries the tasks, or, where the search was
/// given up for one of them, that it was.
pub fn least_utilisation(
    set: &TaskSet,
    continuity: Continuity,
    periods: impl IntoIterator<Item = Rational>,
) -> Result<Option<Fit>, Miss> {
    let (mut best, mut last, mut is_least) = (None::<Fit>, None::<Miss>, true);
    for period in periods {
        match least_amount(set, continuity, &period) {
            Ok(fit) => {
                is_least &= fit.is_least;
                best = Some(better(best, fit));
            }
            Err(miss) => {
                is_least &= !miss.is_undecided();
                last = last.filter(Miss::is_undecided).or(Some(miss));
            }
        }
    }
    match (best, last) {
        (None, Some(miss)) => Err(miss),
        (best, _) => Ok(best.map(|fit| Fit { is_least, ..fit })),
    }
}

fn better(best: Option<Fit>, other: Fit) -> Fit {
    let rank = |fit: &Fit| (fit.utilisation(), -fit.period.clone());
    best.filter(|best| rank(best) <= rank(&other)).unwrap_or(other)
}

/// The least amount that gives the q-th job of the last task its time in some window that ends by its deadline. What
/// is wanted grows just after `k*T - J` of the higher tasks, so the windows that end there, or with the deadline,
/// suffice.
fn enough_for_job(
    tasks: &[Task],
    job: u64,
    (continuity, period): (Continuity, &Rational),
    windows: &mut Steps,
) -> Needed {
    let Some((task, higher)) = tasks.split_last() else { return Needed::MoreThanACpu };
    let latest = due(task, job);
    let mut least = enough_until(latest.clone(), wanted(tasks, job, &latest), continuity, period);
    for other in higher {
        let skipped = quotient(&other.jitter, &other.every).floor() + Rational::one();
        let mut window = skipped * &other.every - &other.jitter;
        while window < latest {
            if windows.take().is_none() {
                return Needed::Unknown;
            }
            let wanted = wanted(tasks, job, &window);
            // No window holds more than its part of the amount.
            if least.as_ref().is_none_or(|least| &wanted * period < least * &window) {
                let enough = enough_until(window.clone(), wanted, continuity, period);
                least = least.into_iter().chain(enough).min();
            }
            window += &other.every;
        }
    }
    Needed::of(least)
}

fn enough_until(
    window: Rational,
    wanted: Rational,
    continuity: Continuity,
    period: &Rational,
) -> Option<Rational> {
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
