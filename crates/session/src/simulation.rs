//! A run in the simulator, from the plan to the result, with the changes of a script in between.
//!
//! Relies on the changes being in order of time. A hierarchy that cannot change has no manager.

use crate::agents::AgentPrograms;
use crate::console::{Console, Error};
use crate::listeners::Listeners;
use crate::registry::{Places, RunRegistry};
use crate::run::{Options, Outcome, ScriptedChange, Subject};
use crate::simulated::SimulatedRun;
use hls_control::{Manager, Peer, client_of};
use hls_engine::ChangeableEngine;
use hls_facade::{needs_processes, observer};
use hls_monitor::event::ObservedVp;
use hls_sim::{Failure, Simulation};
use hls_units::Nanos;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of parts of a run; progress is shown after each.
const PARTS: u64 = 1_000;

/// Simulates the plan for `length`, makes the changes of a script meanwhile, and writes the files that are asked for.
pub fn simulate(
    subject: Subject,
    length: Nanos,
    (script, agents): (Option<Vec<ScriptedChange>>, AgentPrograms),
    progress: &mut dyn FnMut(u64, u64),
    options: &Options,
    console: &Arc<dyn Console>,
) -> Result<Outcome, Error> {
    let refused = needs_processes(&subject.plan.hierarchy);
    if !refused.is_empty() {
        return Err(Error::Hierarchy(refused));
    }
    let topology = subject.plan.topology.clone();
    let Subject { derived, plan, .. } = &subject;
    let observer = observer(plan, derived, options.slack);
    let listeners = Listeners::new(options.files, &topology, observer)?;
    let mut hierarchy = Hierarchy::new(subject, (script.is_some(), agents), options, listeners, console)?;
    let mut changes = script.unwrap_or_default().into_iter().peekable();
    let mut refused = 0;
    for part in 1..=PARTS {
        let until = Nanos((u128::from(length.0) * u128::from(part) / u128::from(PARTS)) as u64);
        while let Some(change) = changes.next_if(|change| change.at <= until) {
            hierarchy.run_until(change.at)?;
            refused += usize::from(!hierarchy.ask_for(change)?);
            hierarchy.run().settle().map_err(failed)?;
        }
        hierarchy.run_until(until)?;
        let SimulatedRun { simulation, registry, .. } = hierarchy.run();
        registry.listeners.note_choices(until, || simulation.built().decided());
        registry.listeners.check()?;
        progress(part, PARTS);
    }
    let SimulatedRun { mut simulation, mut registry, .. } = hierarchy.into_run();
    simulation.end(&mut |record| registry.listeners.record(record));
    let result = registry.listeners.finish(length, |result| {
        simulation.complete(result);
        Ok(())
    })?;
    Ok(Outcome { result, refused })
}

/// The hierarchy that is run.
enum Hierarchy {
    /// One that stays as it is.
    Fixed(Box<SimulatedRun>),
    /// One that may change: by a script, or because a loaded policy is disabled.
    Managed(Box<Mutex<Manager<SimulatedRun>>>),
}

impl Hierarchy {
    fn new(
        Subject { plan, derived, policies }: Subject,
        (has_script, programs): (bool, AgentPrograms),
        options: &Options,
        listeners: Listeners,
        console: &Arc<dyn Console>,
    ) -> Result<Hierarchy, Error> {
        // Policies that are loaded may be disabled.
        let may_change = has_script || !policies.loaded.is_empty();
        let rules = options.rules;
        let is_sound = derived.analysis.problems.is_empty() && !rules.global;
        let of_engine = hls_sim::Options {
            seed: options.seed,
            paranoid: options.paranoid,
            library: policies.open()?,
            programs,
            ..hls_sim::Options::default()
        };
        let machine = derived.machine(&plan).clone();
        // A run may have 65,536 threads: data that only changes need is kept only if changes may come.
        let kept = (may_change && is_sound).then(|| plan.clone());
        let mut simulation = Simulation::new(plan, of_engine).map_err(failed)?;
        let places = kept.as_ref().map(|plan| Places::new(plan, derived)).unwrap_or_default();
        let registry = RunRegistry::new(listeners, places, console.clone());
        let layout = kept.map(|plan| registry.layout(&plan, policies, derived, simulation.built()));
        let run = SimulatedRun { simulation, registry, machine };
        let Some(layout) = layout else { return Ok(Hierarchy::Fixed(Box::new(run))) };
        let manager =
            Manager::new(run, layout, rules.mode).map_err(|error| Error::System(error.to_string()))?;
        Ok(Hierarchy::Managed(Box::new(Mutex::new(manager))))
    }

    /// Requests a change of the script. Returns whether it was granted. A hierarchy without a manager gets no
    /// changes.
    fn ask_for(&mut self, change: ScriptedChange) -> Result<bool, Error> {
        let Hierarchy::Managed(manager) = self else { return Ok(true) };
        let manager = &**manager;
        let is_there = |vp: ObservedVp| {
            let mut manager = manager.lock().unwrap_or_else(PoisonError::into_inner);
            manager.engine().simulation.thread(vp.0).is_some()
        };
        (change.ask)(&mut client_of(manager, Peer::ROOT), &is_there)
    }

    /// Runs up to `end`.
    fn run_until(&mut self, end: Nanos) -> Result<(), Error> {
        while !self.run().run_until(end).map_err(failed)? {
            if let Hierarchy::Managed(manager) = self {
                manager.get_mut().unwrap_or_else(PoisonError::into_inner).note_disabled_policies();
            }
        }
        Ok(())
    }

    fn run(&mut self) -> &mut SimulatedRun {
        match self {
            Hierarchy::Fixed(run) => run,
            Hierarchy::Managed(manager) => manager.get_mut().unwrap_or_else(PoisonError::into_inner).engine(),
        }
    }

    fn into_run(self) -> SimulatedRun {
        match self {
            Hierarchy::Fixed(run) => *run,
            Hierarchy::Managed(manager) => {
                manager.into_inner().unwrap_or_else(PoisonError::into_inner).into_engine()
            }
        }
    }
}

fn failed(failure: Failure) -> Error {
    if failure.is_ours() { Error::System(failure.to_string()) } else { Error::Input(failure.to_string()) }
}
