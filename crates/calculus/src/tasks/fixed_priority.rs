//! Fixed priority inside a thread.
//!
//! Response-time analysis (Joseph and Pandya 1986; for deadlines beyond the next arrival Lehoczky, RTSS 1990; with
//! jitter Tindell 1994) on a supply: the q-th job, counted from 0, of a window that begins when a job of the task or
//! of a higher one becomes ready, is done after `min { t : (q+1)*C + sum ceil((t+J_h)/T_h)*C_h <= sbf(t) }` at the
//! latest, and arrived no sooner than `q*T - J`. The window is over when a job is done before the next can be ready.

use super::{MAX_STEPS, Miss, Response, Steps, Task, Verdict, repeats_after};
use crate::rational::{Rational, quotient, whole};
use crate::together::{Shortfall, Sum};
use num_traits::{Signed, Zero};

/// Analyses each task together with the tasks before it, which are of higher priority. Reports the miss of the first
/// task that has one.
pub(super) fn verdict(tasks: &[Task], sum: &Sum) -> Verdict {
    let mut steps = Steps::of(MAX_STEPS);
    let mut verdict = Verdict { responses: Vec::new(), miss: None };
    for index in 0..tasks.len() {
        let (response, miss) = of_task(&tasks[..=index], sum, &mut steps);
        verdict.responses.push(response.map_or(Response::Unknown, Response::Bound));
        verdict.miss = verdict.miss.or(miss);
    }
    verdict
}

/// Analyses the last task alone, in as many steps as there are for one of the set.
pub(super) fn verdict_of_last(tasks: &[Task], sum: &Sum) -> Verdict {
    let (response, miss) = of_task(tasks, sum, &mut Steps::of_tasks(MAX_STEPS, tasks.len()));
    Verdict { responses: vec![response.map_or(Response::Unknown, Response::Bound)], miss }
}

/// What the q-th job of the last task, the higher ones and the earlier ones may want in a window.
pub(super) fn wanted(tasks: &[Task], job: u64, window: &Rational) -> Rational {
    let Some((task, higher)) = tasks.split_last() else { return Rational::zero() };
    let above: Rational = higher.iter().map(|task| task.ready_within(window) * &task.run).sum();
    whole(job) * &task.run + &task.run + above
}

/// By when, from the start of the window, the q-th job of a task is due.
pub(super) fn due(task: &Task, job: u64) -> Rational {
    (whole(job) * &task.every + &task.deadline - &task.jitter).max(Rational::zero())
}

/// The bound for the last task, and why its deadline is not certain.
fn of_task(tasks: &[Task], sum: &Sum, steps: &mut Steps) -> (Option<Rational>, Option<Miss>) {
    let Some((task, _)) = tasks.split_last() else { return (None, None) };
    let (index, utilisation) = (tasks.len() - 1, tasks.iter().map(Task::utilisation).sum::<Rational>());
    let spare = sum.bounded().map(|(share, _)| share - &utilisation);
    let may_never_end = !spare.as_ref().is_some_and(Rational::is_positive);
    let repeats = spare.filter(Rational::is_zero).and_then(|_| repeats_after(tasks, sum));
    let (mut worst, mut miss) = (Rational::zero(), None);
    for job in 0.. {
        let latest = due(task, job);
        let limit = may_never_end.then_some(&latest);
        let jobs = whole(job) * &task.run + &task.run;
        let done = sum
            .window_for(&jobs)
            .and_then(|from| steps.least_window(sum, from, limit, |window| wanted(tasks, job, window)));
        let arrived = whole(job) * &task.every - &task.jitter;
        let response = done.as_ref().map(|done| done - &arrived);
        if miss.is_none() && response.as_ref().is_none_or(|response| *response > task.deadline) {
            let window = latest.clone();
            let (wanted, supply) = (wanted(tasks, job, &window), sum.sbf(&window));
            // Where no steps were left, it is not known whether a shorter window fails; where the window of a sum of
            // supplies has too many corners, the job may be done sooner than was found.
            miss = Some(match (response.is_some() || sum.bounded().is_none()) && wanted > supply {
                true => Miss::Short { task: index, job, window: Shortfall { window, wanted, supply }.into() },
                false => Miss::Undecided { load: quotient(&utilisation, &sum.rate()) },
            });
        }
        let Some(response) = response.filter(|_| miss.is_none() || !may_never_end) else {
            return (None, miss);
        };
        worst = worst.max(response);
        let next = arrived + &task.every;
        let is_repeated = repeats.as_ref().is_some_and(|after| next >= after - &task.jitter);
        if is_repeated || done.is_some_and(|done| done <= next) {
            return (Some(worst), miss);
        }
    }
    (None, miss)
}
