//! Runs a hierarchy in the simulator, and compares what each thread got with what the calculus promises it. Other
//! engines give their results in the same form.

use hls_calculus::Mode;
use hls_check::{Derived, LeftOut};
use hls_facade::Checked;
use hls_hierarchy::Source;
use hls_hierarchy::model::Child;
use hls_monitor::event::ObservedVp;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) plan: Plan,
    /// What each thread and scheduler got, and the bounds that its jobs were held to.
    pub result: RunResult,
    /// If the CPU time of a thread was traced, how much CPU time beyond its budget it had in each period of its hard
    /// reservation, in order of size; otherwise empty.
    pub overruns: Vec<Nanos>,
}

/// Runs the hierarchy of a text for `length`. Messages about the text begin with `name`.
///
/// # Errors
/// All errors of the text, of how the workload fits it, or of the guarantees that it asks for; or why the run ended
/// early.
pub fn run(
    name: &str,
    text: &[u8],
    workload: &Workload,
    length: Nanos,
    options: &Options,
) -> Result<Outcome, Vec<String>> {
    let checked = checked(name, text, workload)?;
    let (result, _) = hls_facade::run(&checked, length, Nanos::ZERO, options, &mut |_| ())
        .map_err(|error| vec![format!("{name}: {error}")])?;
    Ok(Outcome { plan: checked.plan, result, overruns: Vec::new() })
}

/// Plans a run.
///
/// # Errors
/// All errors of the text, or of how the workload fits it.
pub(crate) fn planned(name: &str, text: &[u8], workload: &Workload) -> Result<Plan, Vec<String>> {
    let source = Source::new(name, text);
    let (hierarchy, _warnings) = hls_hierarchy::read(text)
        .map_err(|errors| errors.iter().map(|error| source.line(error)).collect::<Vec<_>>())?;
    Plan::new(hierarchy, workload)
        .map_err(|errors| errors.iter().map(|error| format!("{name}: {error}")).collect())
}

/// Plans a run, and derives what each VP is promised.
///
/// # Errors
/// The errors of [`run`] before the run begins.
pub(crate) fn checked(name: &str, text: &[u8], workload: &Workload) -> Result<Checked, Vec<String>> {
    let checked = Checked::new(planned(name, text, workload)?, Mode::Tight);
    if !checked.problems.is_empty() {
        let source = Source::new(name, text);
        return Err(checked.problems.iter().map(|problem| source.line(problem)).collect());
    }
    Ok(checked)
}

impl Outcome {
    /// Whether the machine of the run is the one that guarantees are derived for: with precise timers, and no
    /// interrupts.
    pub fn is_on_ideal_machine(&self) -> bool {
        let machine = &self.plan.hierarchy.machine;
        machine.tick_hz.is_none() && machine.interrupts.is_empty()
    }

    /// The threads with a task that took longer than its bound, in words. Bounds are for an ideal machine: on others
    /// there are none.
    pub fn late(&self) -> impl Iterator<Item = String> {
        let is_ideal = LeftOut::of(&self.plan.hierarchy.machine).is_empty();
        let late = self.result.threads.iter().filter(move |thread| is_ideal && thread.bounds_exceeded() > 0);
        late.map(|thread| {
            format!("{} took longer than its bound", self.result.topology.child_name(thread.vp))
        })
    }

    /// Whether a VP belongs to the scheduler, the thread (any instance) or the instance of this name; `*`: any VP.
    pub fn names(&self, vp: ObservedVp, name: &str) -> bool {
        let Plan { hierarchy, groups, topology, .. } = &self.plan;
        let group = groups.iter().find(|group| group.vps().any(|of_group| of_group == vp));
        let of_thread = group.is_some_and(|group| match hierarchy.edge(group.edge).child {
            Child::Thread(index) => hierarchy.threads[index].name == name,
            Child::Scheduler(_) => false,
        });
        name == "*" || of_thread || topology.child_name(vp) == name
    }

    /// The guarantees on the VPs of this name, each once, in file order, joined by ` + `.
    pub fn guarantees(&self, name: &str, mode: Mode) -> String {
        let derived = Derived::new(&self.plan, mode);
        let mut found: Vec<(ObservedVp, String)> = derived
            .labels(&self.plan)
            .filter(|(vp, _)| self.names(*vp, name))
            .map(|(vp, guarantee)| (vp, guarantee.rounded_for_people()))
            .collect();
        found.sort();
        found.dedup_by(|second, first| second.1 == first.1);
        found.into_iter().map(|(_, guarantee)| guarantee).collect::<Vec<_>>().join(" + ")
    }
}
