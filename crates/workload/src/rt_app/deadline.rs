//! The jobs of threads of SCHED_DEADLINE: how they lie in time, which decides when a `yield` ends.
//!
//! Relies on rt-app's defaults: a period is as long as the budget where the file does not say it, and a deadline as the
//! period; the older names `period` and `deadline` count in tasks. Settings stay until a phase changes them. Never says
//! how a thread is scheduled: that is for the hierarchy.

use super::fields::setting;
use crate::json::{Member, Value};
use hls_units::Nanos;

/// The name of the policy.
pub(super) const SCHED_DEADLINE: &str = "SCHED_DEADLINE";

/// Jobs that come at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobGrid {
    /// Their distance, above zero.
    pub period: Nanos,
    /// The time from the beginning of a job to its deadline.
    pub deadline: Nanos,
}

/// What the settings read so far say of the jobs of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jobs {
    is_deadline: bool,
    grid: Option<JobGrid>,
}

impl Jobs {
    /// The jobs of a thread for which a file states only a default policy.
    pub fn of_default(is_deadline: bool) -> Jobs {
        Jobs { is_deadline, grid: None }
    }

    /// Takes the settings of a task or a phase into account.
    pub fn follow(&mut self, members: &[Member]) {
        if let Some(node) = setting(members, "policy") {
            self.is_deadline = matches!(&node.value, Value::Text(policy) if policy == SCHED_DEADLINE);
        }
        let micros = |keys: &[&str]| {
            let node = keys.iter().find_map(|key| setting(members, key))?;
            let Value::Number(text) = node.value else { return None };
            text.parse()
                .ok()
                .filter(|micros| *micros > 0)
                .map(|micros: u32| Nanos::from_micros(micros.into()))
        };
        if let Some(period) = micros(&["dl-period", "period", "dl-runtime"]) {
            let deadline = micros(&["dl-deadline", "deadline"]).unwrap_or(period);
            self.grid = Some(JobGrid { period, deadline });
        }
    }

    /// How the jobs lie; `None` for a thread of another policy, and where the file does not say it.
    pub fn grid(self) -> Option<JobGrid> {
        self.grid.filter(|_| self.is_deadline)
    }
}
