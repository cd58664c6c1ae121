//! A run in the simulator, watched and judged.

use crate::checked::{Checked, Verdict, observer};
use crate::judge::Judge;
use hls_hierarchy::Diagnostic;
use hls_hierarchy::model::{Hierarchy, Placed, Scheduler, Who};
use hls_monitor::event::Record;
use hls_monitor::result::RunResult;
use hls_sim::{Failure, Options, Simulation};
use hls_units::Nanos;

/// Runs a plan for `length`, and holds what happens against what was derived; `listener` hears every record. A promise
/// may be missed by `slack`.
///
/// # Errors
/// Why the run ended early.
pub fn run(
    checked: &Checked,
    length: Nanos,
    slack: Nanos,
    options: &Options,
    listener: &mut dyn FnMut(&Record),
) -> Result<(RunResult, Verdict), Failure> {
    let mut observer = observer(&checked.plan, &checked.derived, slack);
    let mut simulation = Simulation::new(checked.plan.clone(), options.clone())?;
    let mut record = |record: &Record| {
        observer.observe(record);
        listener(record);
    };
    simulation.run_until(length, &mut record)?;
    simulation.end(&mut record);
    let mut result = observer.finish(length);
    simulation.complete(&mut result);
    let verdict = Judge::new(checked, false).judge(&mut result, slack);
    Ok((result, verdict))
}

/// Errors for schedulers that need a program to be started as their policy: no process runs in simulated time.
pub fn needs_processes(hierarchy: &Hierarchy) -> Vec<Diagnostic> {
    let threads = hierarchy.threads.iter().enumerate();
    let started = threads.filter_map(|(at, thread)| {
        let who = thread.who.as_ref().filter(|who| matches!(who.value, Who::Command(_)))?;
        Some((&hierarchy.schedulers[hierarchy.scheduler_of_agent(at)?], who))
    });
    let refuse = |(scheduler, who): (&Scheduler, &Placed<Who>)| {
        let expected = "none in the simulator, where no process runs: `--engine kernel` starts it";
        let message = format!("scheduler `{}`", scheduler.name);
        Diagnostic::error(who.span.clone(), message, "a command that decides there", expected)
    };
    started.map(refuse).collect()
}
