//! One task directly below a scheduler that enforces budgets: what the begin of its periods gives beyond the supply in
//! any window.
//!
//! A reservation of x in every y gives a thread x within y of the beginning of each of its periods. Where the periods
//! begin, the supply in any window cannot know, so it has x only in windows of 2y-x. But a thread that serves one
//! task decides it: it sleeps until a job is ready, and by the wake-up rule (`policies/reservation.c`) one that asks
//! for the CPU when its period is over begins a new one at that moment.
//!
//! Claim: if `C <= x` and `T - J >= y`, every job is done within y of being ready. Proof by induction over the jobs.
//! The first begins a period, for there was none before. Let a job begin one when it is ready, at r. The thread wants
//! the CPU from r until the job is done, so it gets x, or all of C, by r + y. It is done then, and sleeps. The next
//! job is ready at r + T - J at the earliest, when the period that began at r is over, and so begins another one.
//!
//! A limit scheduler (`policies/limit.c`) begins periods by the same rule, and has no other child: its child has its
//! budget as soon as the limit itself has had that much CPU time. So every job is done within the window that certainly
//! holds C of what the limit holds, if that is at most y: the period that the job began is not over then, and the proof
//! goes through with that window in the place of y.
//!
//! Relies on the thread having no other parent, and on x being real time.

use super::Task;
use crate::rational::Rational;
use crate::together::Supply;

/// A bound from the arrival of a job to its completion; `None` where the claim does not apply. For a thread that
/// serves this task alone, directly below a reservation scheduler that promises it `budget` in every `period`.
pub fn reserved_response(task: &Task, budget: &Rational, period: &Rational) -> Option<Rational> {
    let fits = task.run <= *budget && &task.every - &task.jitter >= *period;
    (fits && task.check().is_ok()).then(|| &task.jitter + period)
}

/// A bound from the arrival of a job to its completion, for a thread that serves this task alone, directly below a
/// limit scheduler that lets it have `budget` in every `period` of what the scheduler holds.
pub fn limited_response(
    task: &Task,
    budget: &Rational,
    period: &Rational,
    held: &Supply,
) -> Option<Rational> {
    reserved_response(task, budget, period)?;
    let done = held.window_for(&task.run).filter(|done| done <= period)?;
    Some(&task.jitter + done)
}
