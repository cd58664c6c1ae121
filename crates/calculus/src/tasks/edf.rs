//! EDF inside a thread.
//!
//! Deadlines are met if in every window the jobs that become ready and are due in it want no more than is certain:
//! `sum C*[floor((t+J-D)/T)+1]+ <= sbf(t)` (Baruah, Rosier and Howell 1990, on a supply: Shin and Lee, RTSS 2003).
//! For take a job that misses its deadline, and the last moment before the deadline at which no job due by the deadline
//! was ready: since that moment the thread has wanted the CPU all the time, and has used it for such jobs alone.
//!
//! Response times follow Spuri (INRIA RR-2772, 1996): a job that arrives `a` after such a moment is delayed by the jobs
//! that became ready since and are due no later than it is. That takes some steps for each job that can arrive while
//! another is ready; where these are too many, the deadlines stand in, and [`Response::DeadlineOnly`] says so.

use super::{MAX_STEPS, Miss, Response, Steps, Task, TaskSet, Verdict, repeats_after};
use crate::guarantee::Guarantee;
use crate::rational::{Rational, quotient};
use crate::together::{Shortfall, Sum};
use num_traits::{Signed, Zero};

/// The most deadlines at which demand and supply are compared.
const MAX_DEADLINES: u32 = 10 * MAX_STEPS;

/// Whether every deadline is met, and the response times, for which `steps` may be used up.
pub(super) fn verdict(set: &TaskSet, sum: &Sum, steps: &mut Steps) -> Verdict {
    let miss = decide(set, sum).err();
    let found = responses(&set.tasks, sum, steps);
    let gave_up = found.is_none() && steps.are_used_up();
    let mut bounds = found.into_iter().flatten();
    let response = |task: &Task| {
        let analysed = bounds.next().map_or(Response::Unknown, Response::Bound);
        // Where every deadline is met, the deadline is a bound of its own.
        let by_deadline = match &miss {
            Some(_) => Response::Unknown,
            None if gave_up => Response::DeadlineOnly(task.deadline.clone()),
            None => Response::Bound(task.deadline.clone()),
        };
        analysed.and(by_deadline)
    };
    Verdict { responses: set.tasks.iter().map(response).collect(), miss }
}

/// Compares demand and supply at each window length at which the demand grows, from the shortest window to a length
/// beyond which no window can be the first to fail.
pub(super) fn decide(set: &TaskSet, sum: &Sum) -> Result<(), Miss> {
    let until = enough(set, sum);
    let mut next: Vec<(Rational, u64)> =
        set.tasks.iter().map(|task| (&task.deadline - &task.jitter, 0)).collect();
    let mut wanted = Rational::zero();
    let mut steps = Steps::of(MAX_DEADLINES);
    loop {
        let first = next.iter().enumerate().min_by(|(_, a), (_, b)| a.0.cmp(&b.0));
        let Some((task, (at, job))) = first.map(|(task, due)| (task, due.clone())) else { return Ok(()) };
        if until.as_ref().is_some_and(|until| at > *until) {
            return Ok(());
        }
        if steps.take().is_none() {
            return Err(Miss::Undecided { load: quotient(&set.utilisation(), &sum.rate()) });
        }
        wanted += &set.tasks[task].run;
        next[task] = (&at + &set.tasks[task].every, job + 1);
        let window = at.max(Rational::zero());
        let supply = sum.sbf(&window);
        if wanted > supply {
            // Jobs that are due at the same time belong to the same window.
            let wanted = set.tasks.iter().map(|task| task.due_within(&window) * &task.run).sum();
            return Err(Miss::Short { task, job, window: Shortfall { window, wanted, supply }.into() });
        }
    }
}

/// A window such that no window fails if no shorter one does; `None` where no such window is known.
fn enough(set: &TaskSet, sum: &Sum) -> Option<Rational> {
    let (share, delta) = sum.bounded()?;
    let due = |task: &Task| &task.deadline - &task.jitter;
    let all_began = set.tasks.iter().map(due).max()?;
    // From some length t on, no more is wanted than U*t + offset, and share*t - delta is certain.
    let offset: Rational = set.tasks.iter().map(|task| &task.run - task.utilisation() * due(task)).sum();
    let slack = share - set.utilisation();
    if slack.is_positive() || (slack.is_zero() && !(&delta + &offset).is_positive()) {
        return Some(all_began.max(quotient(&(delta + offset), &slack)));
    }
    let blackout = sum.0.iter().filter_map(Guarantee::blackout).max()?;
    slack.is_zero().then(|| Some(all_began.max(blackout) + repeats_after(&set.tasks, sum)?))?
}

/// For each task a bound of its response times.
fn responses(tasks: &[Task], sum: &Sum, steps: &mut Steps) -> Option<Vec<Rational>> {
    let utilisation: Rational = tasks.iter().map(Task::utilisation).sum();
    // Where the tasks want all that is certain, and the supply has pauses, some job may be ready at all times.
    sum.bounded()
        .filter(|(share, delta)| *share > utilisation || (*share == utilisation && delta.is_zero()))?;
    let wanted = |window: &Rational| tasks.iter().map(|task| task.ready_within(window) * &task.run).sum();
    let each_once: Rational = tasks.iter().map(|task| &task.run).sum();
    let busy = steps.least_window(sum, sum.window_for(&each_once)?, None, wanted)?;
    tasks.iter().map(|task| response(task, tasks, sum, &busy, steps)).collect()
}

/// The latest that a job of `task` is done after its arrival, when nothing is ready for longer than `busy`.
fn response(task: &Task, tasks: &[Task], sum: &Sum, busy: &Rational, steps: &mut Steps) -> Option<Rational> {
    let mut worst = Rational::zero();
    // Between two arrivals at which a job of some task is added, the earlier one waits longer.
    let earliest = -&task.jitter;
    let first = |other: &Task| {
        let lead = &other.deadline - &task.deadline - &other.jitter;
        let skipped = quotient(&(&earliest - &lead), &other.every).ceil().max(Rational::zero());
        lead + skipped * &other.every
    };
    let mut next: Vec<Rational> = tasks.iter().map(first).collect();
    let mut done = sum.window_for(&task.run)?;
    loop {
        let arrival = next.iter().min()?.clone();
        if arrival >= *busy {
            return Some(worst);
        }
        for (next, other) in next.iter_mut().zip(tasks).filter(|(next, _)| **next == arrival) {
            *next += &other.every;
        }
        let due = &arrival + &task.deadline;
        let wanted = |window: &Rational| {
            let delays = |one: &Task| one.ready_within(window).min(one.due_within(&due)) * &one.run;
            tasks.iter().map(delays).sum()
        };
        // A later arrival waits for the same jobs, or for more: it is done no sooner.
        done = steps.least_window(sum, done, None, wanted)?;
        worst = worst.max(&done - &arrival);
    }
}
