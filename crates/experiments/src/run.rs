//! Runs a hierarchy: derives what it promises, carries it out in the simulator, holds the one against the other. Or
//! takes what another engine made of it.

use hls_calculus::Mode;
use hls_check::Derived;
use hls_hierarchy::Source;
use hls_hierarchy::model::Child;
use hls_monitor::event::VpId;
use hls_monitor::observe::{Observer, Promise};
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_sim::{Options, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) plan: Plan,
    /// What was delivered.
    pub result: RunResult,
    /// Of a thread that was watched for it, in every period of its hard reservation: how much more CPU time than its
    /// budget it had. In order of size.
    pub overruns: Vec<Nanos>,
}

/// Runs a hierarchy for so long. `name` stands before messages about the text.
///
/// # Errors
/// Everything that is wrong with the text, with how the workload fits it, or with the guarantees that it asks for; or
/// why the run ended early.
pub fn run(
    name: &str,
    text: &[u8],
    workload: &Workload,
    length: Nanos,
    options: &Options,
) -> Result<Outcome, Vec<String>> {
    let (plan, promises) = planned(name, text, workload)?;
    let result =
        simulate(&plan, promises, length, options).map_err(|error| vec![format!("{name}: {error}")])?;
    Ok(Outcome { plan, result, overruns: Vec::new() })
}

/// Who takes part in a run, and what each is promised.
///
/// # Errors
/// As [`run`], before it begins.
pub(crate) fn planned(
    name: &str,
    text: &[u8],
    workload: &Workload,
) -> Result<(Plan, Vec<Promise>), Vec<String>> {
    let source = Source::new(name, text);
    let (hierarchy, _warnings) = hls_hierarchy::read(text)
        .map_err(|errors| errors.iter().map(|error| source.line(error)).collect::<Vec<_>>())?;
    let plan = Plan::new(hierarchy, workload)
        .map_err(|errors| errors.iter().map(|error| format!("{name}: {error}")).collect::<Vec<_>>())?;
    let derived = Derived::new(&plan, Mode::Tight);
    let problems = derived.problems(&plan);
    if !problems.is_empty() {
        return Err(problems.iter().map(|problem| source.line(problem)).collect());
    }
    let promises = derived.promises(&plan);
    Ok((plan, promises))
}

fn simulate(
    plan: &Plan,
    promises: Vec<Promise>,
    length: Nanos,
    options: &Options,
) -> Result<RunResult, hls_sim::Failure> {
    let mut observer = Observer::new(plan.topology.clone(), promises);
    let mut simulation = Simulation::new(plan.clone(), options.clone())?;
    simulation.run_until(length, &mut |record| observer.observe(record))?;
    simulation.end(&mut |record| observer.observe(record));
    let mut result = observer.finish(length);
    simulation.complete(&mut result);
    Ok(result)
}

impl Outcome {
    /// Whether guarantees are derived for the machine that this was: with precise timers, and nobody to steal from it.
    pub fn is_on_ideal_machine(&self) -> bool {
        let machine = &self.plan.hierarchy.machine;
        machine.tick_hz.is_none() && machine.interrupts.is_empty()
    }

    /// Whether a VP is one of that name: of a scheduler, of a thread (any instance), or of one instance; `*`: any.
    pub fn names(&self, vp: VpId, name: &str) -> bool {
        let Plan { hierarchy, groups, topology, .. } = &self.plan;
        let group = groups.iter().find(|group| (group.first_vp..group.first_vp + group.count).contains(&vp));
        let of_thread = group.is_some_and(|group| match hierarchy.edges[group.edge].child {
            Child::Thread(index) => hierarchy.threads[index].name == name,
            Child::Scheduler(_) => false,
        });
        name == "*" || of_thread || topology.child_name(vp) == name
    }

    /// The guarantees on the VPs of that name, each once, in file order, parted by ` + `.
    pub fn guarantees(&self, name: &str, mode: Mode) -> String {
        let derived = Derived::new(&self.plan, mode);
        let mut found: Vec<(VpId, String)> = derived
            .labels(&self.plan)
            .filter(|(vp, _)| self.names(*vp, name))
            .map(|(vp, guarantee)| (vp, guarantee.rounded_for_people()))
            .collect();
        found.sort();
        found.dedup_by(|second, first| second.1 == first.1);
        found.into_iter().map(|(_, guarantee)| guarantee).collect::<Vec<_>>().join(" + ")
    }
}
