//! Phases: events that are carried out in order, over and over, and the loops around them.
//!
//! Relies on rt-app's loop rules, which differ by level: a phase with a `loop` of 0 or less never ends, a task with a
//! `loop` of 0 never begins, and one with less never ends. Never lets a loop without end stand that takes no time: a
//! simulation of it would not get past the present instant.

use super::event::event_of;
use super::fields::{integer, setting};
use super::reader::TaskReader;
use crate::json::Member;
use crate::program::{Span, Step};
use hls_units::Nanos;

/// The counter of the loop of a phase. Phases do not enclose each other, so they share it.
pub(super) const PHASE_COUNTER: u32 = 0;
/// The counter of the loop of the task around its phases.
pub(super) const TASK_COUNTER: u32 = 1;

/// The keys of a phase that are neither events nor reported.
pub(super) const PHASE_KEYS: [&str; 2] = ["loop", "cpus"];

/// How often a loop is gone through.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rounds {
    /// At least once.
    Count(u32),
    Endless,
}

impl TaskReader<'_> {
    /// The `loop` of a task or phase as it is written; `None` when it is absent or wrong.
    pub fn loop_count(&mut self, members: &[Member]) -> Option<i32> {
        let node = setting(members, "loop")?;
        integer(node, i32::MIN, "a whole number, -1 for a loop without end,", self.diagnostics)
    }

    /// Appends the steps of a phase that begins at byte `at`. Its CPUs are set before it when `cpus` says so.
    pub fn phase(&mut self, at: usize, members: &[Member], cpus: Option<Step>) {
        let errors_before = self.diagnostics.errors();
        if !members.iter().any(|member| event_of(&member.key).is_some()) {
            let expected = "at least one event, such as `run` or `sleep`";
            self.diagnostics.error(at, format!("no event in {}", self.whereabouts()), expected);
        }
        self.steps.extend(cpus);
        let start = self.steps.len();
        for member in members {
            if let Some(event) = event_of(&member.key) {
                self.event(event, member);
            }
        }
        let times = match self.loop_count(members).unwrap_or(1) {
            count @ 1.. => Rounds::Count(count.unsigned_abs()),
            _ => Rounds::Endless,
        };
        self.close_loop(at, start, times, PHASE_COUNTER, errors_before);
    }

    /// Ends a loop that begins with step `start`. When errors have left out steps since `errors_before`, nothing is
    /// said about the time it takes.
    pub fn close_loop(&mut self, at: usize, start: usize, times: Rounds, counter: u32, errors_before: usize) {
        let takes_time = self.steps[start..].iter().any(takes_time);
        if times == Rounds::Endless && !takes_time && self.diagnostics.errors() == errors_before {
            let found = format!("a loop without end in {} that takes no time", self.whereabouts());
            self.diagnostics.error(at, found, "an event in it that computes, sleeps or waits");
        }
        let times = match times {
            Rounds::Count(times) => Some(times - 1),
            Rounds::Endless => None,
        };
        if times != Some(0) && start < self.steps.len() {
            self.steps.push(Step::Repeat { target: start, times, counter });
        }
    }
}

/// Whether time passes before the step is done, even when no other thread gets in its way.
fn takes_time(step: &Step) -> bool {
    match step {
        Step::Run(span) | Step::Sleep(span) | Step::Stall(span) => *span != Span::exactly(Nanos::ZERO),
        Step::RunUntilElapsed(length) => *length > Nanos::ZERO,
        Step::AwaitTimer { .. } | Step::Wait { .. } | Step::AwaitPost(_) | Step::Barrier(_) => true,
        _ => false,
    }
}
