//! What a check finds out about a plan, and its verdict.

use hls_calculus::Rules;
use hls_check::{Derived, LeftOut};
use hls_hierarchy::model::{Hierarchy, Machine, Thread};
use hls_hierarchy::{Diagnostic, Severity};
use hls_monitor::observe::Observer;
use hls_plan::Plan;
use hls_units::Nanos;
use hls_workload::program::Workload;

/// Whether promises are kept: all that a check or a run looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every one is kept, or there is none.
    Kept,
    /// One is not.
    Violated,
}

impl Verdict {
    /// Kept where something is so, else violated.
    pub fn kept_if(is_kept: bool) -> Verdict {
        if is_kept { Verdict::Kept } else { Verdict::Violated }
    }

    /// The exit code of a command with this verdict.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Kept => 0,
            Verdict::Violated => 1,
        }
    }
}

/// A plan with all that the calculus says of it.
pub struct Checked {
    /// The plan; its topology has the guarantees.
    pub plan: Plan,
    /// What was derived.
    pub derived: Derived,
    /// The schedulers that cannot do what is asked of them, and the guarantees that cannot be given.
    pub problems: Vec<Diagnostic>,
}

impl Checked {
    /// Derives what can be promised to the threads and schedulers of a plan.
    pub fn new(mut plan: Plan, rules: impl Into<Rules>) -> Checked {
        let derived = Derived::new(&plan, rules);
        derived.write_on(&mut plan);
        let problems = derived.problems(&plan);
        Checked { plan, derived, problems }
    }

    /// The threads with tasks that may miss their deadlines: an error for each that states its tasks, a warning for
    /// each other.
    pub fn task_problems(&self) -> Vec<Diagnostic> {
        self.derived.task_problems(&self.plan)
    }

    /// Whether all that is asked for can be given, and all tasks that are stated as such are in time.
    pub fn verdict(&self, task_problems: &[Diagnostic]) -> Verdict {
        Verdict::kept_if(self.problems.is_empty() && late(task_problems) == 0)
    }

    /// The verdict in a line.
    pub fn sentence(&self, task_problems: &[Diagnostic]) -> String {
        let guarantees = self.guarantees();
        let is_ideal = LeftOut::of(&self.plan.hierarchy.machine).is_empty();
        let late = late(task_problems);
        let tasks = match late {
            0 => String::new(),
            1 => "the tasks of 1 thread may miss their deadlines".into(),
            late => format!("the tasks of {late} threads may miss their deadlines"),
        };
        match (self.problems.is_empty(), late) {
            (true, 0) => format!("{}: {guarantees}", kept(is_ideal)),
            (false, 0) => format!("NOT KEPT: {guarantees}"),
            (false, _) => format!("NOT KEPT: {guarantees}, and {tasks}"),
            (true, _) => format!("NOT KEPT: {tasks}; {guarantees}"),
        }
    }

    /// In words, how many of the guarantees that are asked for can be given.
    fn guarantees(&self) -> String {
        let (asked, refused) = self.derived.asked_and_refused();
        match (!self.problems.is_empty(), asked, refused) {
            (false, 0, _) => "no guarantee is asked for".into(),
            (false, 1, _) => "the one guarantee that is asked for can be given".into(),
            (false, ..) => format!("each of the {asked} guarantees that are asked for can be given"),
            (true, _, 0) => "a scheduler cannot do what is asked of it".into(),
            (true, 1, _) => "the one guarantee that is asked for cannot be given".into(),
            _ if refused == asked => {
                format!("none of the {asked} guarantees that are asked for can be given")
            }
            _ => format!("{refused} of the {asked} guarantees that are asked for cannot be given"),
        }
    }
}

/// The observer of a run of the plan: holds what each VP gets against its promise. A promise may be missed by `slack`.
pub fn observer(plan: &Plan, derived: &Derived, slack: Nanos) -> Observer {
    let observer = Observer::new(plan.topology.clone(), derived.promises(plan)).with_slack(slack);
    // What switches cost counts as CPU time of the thread, and a tick makes its wake-ups late.
    let is_ideal = LeftOut::of(&plan.hierarchy.machine).is_empty();
    if is_ideal { observer.expecting(derived.expected(plan)) } else { observer }
}

/// How many threads have tasks that may be late although the file states them as tasks.
fn late(task_problems: &[Diagnostic]) -> usize {
    task_problems.iter().filter(|problem| problem.severity == Severity::Error).count()
}

/// The word for a hierarchy that passes. Where the file's machine is not ideal, the word says that the verdict is for
/// an ideal one.
pub fn kept(is_ideal: bool) -> &'static str {
    if is_ideal { "kept" } else { "kept on an ideal machine" }
}

/// A line that says what the bounds assume although the file's machine is not so; `None` where the machine is ideal.
pub fn left_out(machine: &Machine) -> Option<String> {
    let assumed: Vec<String> = LeftOut::of(machine).iter().map(ToString::to_string).collect();
    let all = match &assumed[..] {
        [] => return None,
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    Some(format!("note: all bounds are for an ideal machine, where {all}"))
}

/// A line that names the threads that stand for real ones and have no behaviour in file or workload: the simulator
/// makes their behaviour up. `None` where there are none.
pub fn made_up(hierarchy: &Hierarchy, workload: &Workload) -> Option<String> {
    let is_described = |thread: &Thread| {
        thread.program.is_some() || workload.tasks.iter().any(|task| task.name == thread.name)
    };
    let threads = hierarchy.threads.iter().enumerate();
    // What an agent does is no workload.
    let made_up = threads
        .filter(|(at, thread)| {
            thread.who.is_some() && !is_described(thread) && hierarchy.scheduler_of_agent(*at).is_none()
        })
        .map(|(_, thread)| thread.name.as_str());
    let names = hls_hierarchy::listed(made_up);
    (!names.is_empty()).then(|| {
        format!(
            "note: the simulator knows no real threads, and takes these to compute all the time: {names} \
             (a workload in their braces, or --workload, says what they do)"
        )
    })
}
