//! Tasks: threads of one name that run one program, and their settings.
//!
//! Relies on the names of the hierarchy to say how threads are scheduled: every setting of a Linux policy is named and
//! left out. Never invents a thread: a task with an `instance` of 0 is kept, with no thread.

use super::deadline::Jobs;
use super::event::event_of;
use super::fields::{count, micros, object, refuse_repeated, setting, unknown};
use super::phase::{PHASE_COUNTER, PHASE_KEYS, Rounds, TASK_COUNTER};
use super::reader::TaskReader;
use super::shared::Shared;
use crate::diagnostics::Diagnostics;
use crate::json::{Member, Node, Value};
use crate::program::{Program, Step, Task, WhenLate};
use std::collections::HashSet;

/// The keys of a task that are neither events nor reported, besides those it shares with a phase.
const TASK_KEYS: [&str; 3] = ["instance", "delay", "phases"];

/// Settings of tasks and phases that ask for something that is not simulated, with the reason.
const NOT_SIMULATED: [(&str, &str); 11] = [
    ("policy", HIERARCHY),
    ("priority", HIERARCHY),
    ("dl-runtime", HIERARCHY),
    ("dl-period", HIERARCHY),
    ("dl-deadline", HIERARCHY),
    ("period", HIERARCHY),
    ("deadline", HIERARCHY),
    ("util_min", "CPUs have one speed"),
    ("util_max", "CPUs have one speed"),
    ("taskgroup", HIERARCHY),
    ("nodes_membind", "memory nodes are not part of the model"),
];
const HIERARCHY: &str = "the hierarchy decides how threads are scheduled";

/// A task with timers that may still change their mode.
pub(super) struct Draft {
    /// Its program is empty until the draft is settled.
    task: Task,
    steps: Vec<Step>,
}

impl Draft {
    /// The task, once all uses of its timers are known.
    pub fn settle(mut self, shared: &Shared) -> Task {
        for step in &mut self.steps {
            if let Step::AwaitTimer { timer, when_late, .. } = step
                && *when_late == WhenLate::Restart
                && shared.is_absolute(*timer)
            {
                *when_late = WhenLate::CatchUp;
            }
        }
        let mut steps = arming(&self.steps);
        let shift = steps.len();
        let mut counters = 0;
        steps.extend(self.steps.into_iter().map(|step| match step {
            Step::Repeat { target, times, counter } => {
                counters = counters.max(counter + 1);
                Step::Repeat { target: target + shift, times, counter }
            }
            step => step,
        }));
        self.task.program = Program { steps: steps.into(), counters };
        self.task
    }
}

/// A first use of every timer in the program, to arm it: rt-app counts periods from the start of the thread, not from
/// where the timer stands. The timer that the program comes to first is armed last, so that the first activation is
/// that timer's.
fn arming(program: &[Step]) -> Vec<Step> {
    let mut armed = HashSet::new();
    let is_first_use = |step: &&Step| matches!(step, Step::AwaitTimer { timer, .. } if armed.insert(*timer));
    let mut steps: Vec<Step> = program.iter().filter(is_first_use).cloned().collect();
    steps.reverse();
    steps
}

/// Reads the `tasks` object.
pub(super) fn read_all(
    node: &Node,
    default_jobs: Jobs,
    shared: &mut Shared,
    diagnostics: &mut Diagnostics,
) -> Vec<Draft> {
    let Some(members) = object(node, "an object with the tasks by their names", diagnostics) else {
        return Vec::new();
    };
    if members.is_empty() {
        diagnostics.error(node.at, "no task", "at least one task");
    }
    refuse_repeated(members, |_| true, diagnostics);
    members.iter().filter_map(|member| read(member, default_jobs, shared, diagnostics)).collect()
}

fn read(
    member: &Member,
    mut jobs: Jobs,
    shared: &mut Shared,
    diagnostics: &mut Diagnostics,
) -> Option<Draft> {
    let members = object(&member.node, "an object that describes a task", diagnostics)?;
    refuse_repeated(members, |key| event_of(key).is_none(), diagnostics);
    jobs.follow(members);
    let mut reader = TaskReader {
        name: &member.key,
        phase: None,
        threads: 1,
        jobs,
        steps: Vec::new(),
        shared,
        diagnostics,
    };
    let threads = setting(members, "instance")
        .and_then(|node| count(node, "a number of threads for `instance`", reader.diagnostics));
    reader.threads = threads.unwrap_or(1);
    let start_at = setting(members, "delay").and_then(|node| micros(node, "delay", reader.diagnostics));
    let cpus = setting(members, "cpus").and_then(|node| reader.cpus(node));
    let phases = setting(members, "phases");
    reader.report_settings(members, &TASK_KEYS, phases.is_some());
    match phases {
        Some(phases) => reader.phased(member.at, members, phases, &cpus),
        None => reader.unphased(member.at, members),
    }
    let task = Task {
        name: member.key.to_string(),
        instances: reader.threads,
        start_at: start_at.unwrap_or_default(),
        program: Program::default(),
        cpus,
        at: member.at,
    };
    Some(Draft { task, steps: reader.steps })
}

impl<'r> TaskReader<'r> {
    /// The steps of a task that is one phase.
    fn unphased(&mut self, at: usize, members: &[Member]) {
        let errors_before = self.diagnostics.errors();
        self.phase(at, members, None);
        // A `loop` here is the phase's, and the task goes through its phase once; else it does so for ever.
        if setting(members, "loop").is_none() {
            self.close_loop(at, 0, Rounds::Endless, PHASE_COUNTER, errors_before);
        }
    }

    /// The steps of a task with `phases`.
    fn phased(&mut self, at: usize, members: &[Member], phases: &'r Node<'r>, cpus: &Option<Vec<u32>>) {
        let errors_before = self.diagnostics.errors();
        self.phases(phases, cpus);
        let times = match self.loop_count(members).unwrap_or(-1) {
            // rt-app compares before the first round.
            0 => return self.steps.clear(),
            count @ 1.. => Rounds::Count(count.unsigned_abs()),
            _ => Rounds::Endless,
        };
        self.close_loop(at, 0, times, TASK_COUNTER, errors_before);
    }

    fn phases(&mut self, node: &'r Node<'r>, task_cpus: &Option<Vec<u32>>) {
        let Some(phases) = object(node, "an object with the phases by their names", self.diagnostics) else {
            return;
        };
        if phases.is_empty() {
            self.diagnostics.error(node.at, "no phase", "at least one phase");
        }
        let has_cpus = |phase: &Member| match &phase.node.value {
            Value::Object(members) => setting(members, "cpus").is_some(),
            _ => false,
        };
        let moves = phases.iter().any(has_cpus);
        for phase in phases {
            let Some(members) = object(&phase.node, "an object that describes a phase", self.diagnostics)
            else {
                continue;
            };
            self.phase = Some(&phase.key);
            refuse_repeated(members, |key| event_of(key).is_none(), self.diagnostics);
            self.report_settings(members, &[], false);
            self.jobs.follow(members);
            let own = setting(members, "cpus").and_then(|node| self.cpus(node));
            // A phase without CPUs of its own goes back to the task's.
            let cpus = moves.then(|| Step::SetAffinity(own.or_else(|| task_cpus.clone())));
            self.phase(phase.at, members, cpus);
        }
        self.phase = None;
    }

    /// A set of CPUs, in ascending order.
    fn cpus(&mut self, node: &Node) -> Option<Vec<u32>> {
        let elements = match &node.value {
            Value::Array(elements) if !elements.is_empty() => elements,
            Value::Array(_) => {
                self.diagnostics.error(node.at, "no CPU", "at least one CPU for `cpus`");
                return None;
            }
            _ => {
                self.diagnostics.error(node.at, node.describe(), "an array of CPU numbers for `cpus`");
                return None;
            }
        };
        let mut cpus = Vec::new();
        for element in elements {
            cpus.push(count(element, "the number of a CPU", self.diagnostics)?);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Some(cpus)
    }

    /// Names every setting that has no effect. `known` are the keys that have one, besides the keys of every phase.
    fn report_settings(&mut self, members: &[Member], known: &[&str], has_phases: bool) {
        for Member { at, key, node } in members {
            if known.contains(&key.as_ref()) || PHASE_KEYS.contains(&key.as_ref()) || asks_nothing(key, node)
            {
                continue;
            }
            if event_of(key).is_some() {
                if has_phases {
                    let key = key.escape_debug();
                    let sentence = format!("{}`{key}` has no effect beside `phases`.", self.context());
                    self.diagnostics.unsupported(*at, sentence);
                }
            } else if let Some((_, reason)) = NOT_SIMULATED.iter().find(|(name, _)| *name == key.as_ref()) {
                self.not_simulated(*at, key, reason);
            } else {
                let sentence = unknown(&self.context(), key);
                self.diagnostics.unsupported(*at, sentence);
            }
        }
    }
}

/// Whether a setting is absent to rt-app: `null`, or a task group without a name.
fn asks_nothing(key: &str, node: &Node) -> bool {
    match &node.value {
        Value::Null => event_of(key).is_none(),
        Value::Text(text) => key == "taskgroup" && text.is_empty(),
        _ => false,
    }
}
