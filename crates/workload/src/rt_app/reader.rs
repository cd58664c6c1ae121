//! What is known while one task of rt-app is read, and how messages say where that is.
//!
//! The other files of this folder give it the methods that read: `event` one event, `phase` one phase, `task` a task.

use super::deadline::Jobs;
use super::shared::Shared;
use crate::diagnostics::Diagnostics;
use crate::json::quote;
use crate::program::Step;

/// What is known while one task is read.
pub(super) struct TaskReader<'r> {
    /// The name of the task.
    pub name: &'r str,
    /// The name of the phase, when it has one.
    pub phase: Option<&'r str>,
    /// How many threads the task has.
    pub threads: u32,
    /// How its jobs lie in time, as far as the task is read.
    pub jobs: Jobs,
    /// The program so far.
    pub steps: Vec<Step>,
    pub shared: &'r mut Shared,
    pub diagnostics: &'r mut Diagnostics,
}

impl TaskReader<'_> {
    /// The task and phase, for a message.
    pub fn whereabouts(&self) -> String {
        match self.phase {
            None => format!("task {}", quote(self.name)),
            Some(phase) => format!("task {}, phase {}", quote(self.name), quote(phase)),
        }
    }

    /// The task and phase, to begin a sentence with.
    pub fn context(&self) -> String {
        format!("{}: ", self.whereabouts())
    }

    /// Names a key that is not simulated.
    pub fn not_simulated(&mut self, at: usize, key: &str, reason: &str) {
        let sentence = format!("{}`{}` is not simulated: {reason}.", self.context(), key.escape_debug());
        self.diagnostics.unsupported(at, sentence);
    }
}
