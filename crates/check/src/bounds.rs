//! The bounds on response times that a check derives, for a run to be held to.

use crate::derived::Derived;
use hls_calculus::ceil_nanos;
use hls_monitor::event::ObservedVp;
use hls_monitor::result::{ResponseBound, RunResult};
use hls_plan::Plan;
use hls_units::Nanos;
use std::sync::Arc;

/// The bound on the response time of one task, where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskBound {
    /// The VP of the thread that serves the task.
    pub vp: ObservedVp,
    /// Which of its tasks, in the order of the file.
    pub task: usize,
    /// From the release of a job to its completion, at most.
    pub bound: Nanos,
    /// The VPs of the threads that must want no more than expected for the bound to hold.
    pub resting_on: Arc<[ObservedVp]>,
}

impl Derived {
    /// The bounds of all tasks that the check compares with what their threads are promised.
    pub fn response_bounds(&self, plan: &Plan) -> Vec<TaskBound> {
        let mut bounds = Vec::new();
        for serves in self.tasks(plan) {
            let resting_on: Arc<[ObservedVp]> =
                serves.resting_on.iter().map(|expected| expected.vp).collect();
            for &vp in &serves.vps {
                let known = serves.verdict.responses.iter().enumerate();
                bounds.extend(known.filter_map(|(task, response)| {
                    let bound = ceil_nanos(response.bound()?);
                    Some(TaskBound { vp, task, bound, resting_on: resting_on.clone() })
                }));
            }
        }
        bounds
    }
}

/// Says in the result of a run by when jobs had to be done; being later by at most `excused` breaks no bound. If a
/// thread's promise began or ended during the run, the thread is held to no bound: the bound belongs to another
/// promise. Nor is a thread held to a bound that rests on a thread that wanted more than expected.
pub fn hold_to_bounds(result: &mut RunResult, bounds: &[TaskBound], excused: Nanos) {
    for TaskBound { vp, task, bound, resting_on } in bounds {
        let (vp, task, bound) = (*vp, *task, *bound);
        if result.exceeded.iter().any(|exceeded| resting_on.contains(&exceeded.expected.vp)) {
            continue;
        }
        let mut promises = result.guarantees.iter().filter(|promise| promise.vp == vp);
        if promises.any(|promise| promise.from > Nanos::ZERO || promise.to < result.length) {
            continue;
        }
        let Ok(place) = result.threads.binary_search_by_key(&vp, |thread| thread.vp) else { continue };
        let thread = &mut result.threads[place];
        let bound = Some(ResponseBound { bound, excused });
        match thread.tasks.get_mut(task) {
            Some(served) => served.bound = bound,
            None => thread.bound = bound,
        }
    }
}
