//! The verdict on a run.

use crate::checked::{Checked, Verdict};
use hls_check::{TaskBound, hold_to_bounds};
use hls_monitor::result::RunResult;
use hls_units::Nanos;

/// What a run is judged by, beside the promises that its observer watches.
pub struct Judge {
    /// By when jobs have to be done.
    bounds: Vec<TaskBound>,
    /// Whether the check passed.
    passed: bool,
}

impl Judge {
    /// The judge of a run of what was checked. `may_change`: requests may change the hierarchy meanwhile.
    pub fn new(Checked { plan, derived, problems }: &Checked, may_change: bool) -> Judge {
        let mut bounds = derived.response_bounds(plan);
        if may_change {
            // A change may bring siblings that nothing is known of.
            bounds.retain(|bound| bound.resting_on.is_empty());
        }
        Judge { bounds, passed: problems.is_empty() }
    }

    /// Says in the result by when jobs had to be done, and returns the verdict on the run and on the check before it.
    /// Being late by at most `excused` breaks no bound.
    pub fn judge(&self, result: &mut RunResult, excused: Nanos) -> Verdict {
        hold_to_bounds(result, &self.bounds, excused);
        Verdict::kept_if(self.passed && result.is_kept())
    }
}
