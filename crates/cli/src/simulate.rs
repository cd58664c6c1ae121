//! A run in the simulator.

use crate::args::RunArgs;
use crate::books::{Books, layout, places};
use crate::exit::Error;
use crate::listeners::Listeners;
use crate::modules::Modules;
use crate::progress::Progress;
use crate::script::Script;
use crate::simulated::Simulated;
use hls_check::Derived;
use hls_control::Manager;
use hls_core::Params;
use hls_monitor::event::VpId;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_sim::{Failure, Options, Simulation};
use hls_units::Nanos;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// In how many parts a run is carried out, between which its progress is shown.
const PARTS: u64 = 1_000;

/// Simulates the plan for `length`, makes the changes of a script meanwhile, and writes the files that are asked for.
/// With the result comes how many changes were refused.
pub fn simulate(
    args: &RunArgs,
    plan: Plan,
    modules: &Modules,
    derived: &Derived,
    script: Option<&Script>,
    length: Nanos,
) -> Result<(RunResult, usize), Error> {
    let topology = plan.topology.clone();
    let listeners = Listeners::new(args, &topology, derived.promises(&plan))?;
    let mut hierarchy = Hierarchy::new(args, plan, modules, derived, listeners)?;
    let mut changes = script.map_or(&[][..], |script| &script.changes).iter().peekable();
    let mut progress = Progress::new(PARTS);
    let mut refused = 0;
    for part in 1..=PARTS {
        let until = Nanos((u128::from(length.0) * u128::from(part) / u128::from(PARTS)) as u64);
        while let (Some(script), Some(change)) = (script, changes.next_if(|change| change.at <= until)) {
            hierarchy.run_until(change.at)?;
            if let Hierarchy::Managed(manager) = &hierarchy {
                refused += usize::from(!script.make(change, manager)?);
            }
            hierarchy.run().settle().map_err(failed)?;
        }
        hierarchy.run_until(until)?;
        hierarchy.run().books.listeners.check()?;
        progress.is_at(part);
    }
    let Simulated { mut simulation, mut books, .. } = hierarchy.into_run();
    simulation.end(&mut |record| books.listeners.hear(record));
    let result = books.listeners.finish(length, |result| {
        simulation.complete(result);
        Ok(())
    })?;
    Ok((result, refused))
}

/// What is run.
enum Hierarchy<'t> {
    /// Stays as it is.
    Fixed(Box<Simulated<'t>>),
    /// May change.
    Managed(Box<Mutex<Manager<Simulated<'t>>>>),
}

impl<'t> Hierarchy<'t> {
    fn new(
        args: &RunArgs,
        plan: Plan,
        modules: &Modules,
        derived: &Derived,
        listeners: Listeners<'t>,
    ) -> Result<Hierarchy<'t>, Error> {
        // Policies that are loaded may be taken out.
        let may_change = args.script.is_some() || !modules.loaded.is_empty();
        let rules = hls_calculus::Rules::from(args.rules);
        let is_sound = derived.analysis.problems.is_empty() && !rules.global;
        let library = modules.library.clone();
        let options = Options { seed: args.seed, paranoid: args.paranoid, library, ..Options::default() };
        let machine = derived.machine(&plan).clone();
        let cpus = u64::MAX >> (64 - plan.topology.cpus.clamp(1, 64));
        let default = plan.hierarchy.default_scheduler().unwrap_or_default();
        let params = &plan.hierarchy.schedulers[default].policy.vp_params;
        let params: Vec<u64> = params.iter().map(|info| info.default.unwrap_or(info.min)).collect();
        // A run may have 65,536 threads: what only changes need is kept for them alone.
        let kept = (may_change && is_sound).then(|| plan.clone());
        let simulation = Simulation::new(plan, options).map_err(failed)?;
        let slots: HashMap<VpId, usize> = kept.iter().flat_map(|plan| places(plan, derived)).collect();
        let by_edge = slots.iter().map(|(vp, edge)| (*edge, *vp)).collect();
        let layout = kept.map(|plan| {
            layout(&plan, modules, derived, simulation.schedulers(), |edge| simulation.vps_of(edge))
        });
        let books = Books::new(listeners, simulation.schedulers(), by_edge);
        let default = (simulation.schedulers()[default], Params::from_slice(&params));
        let run = Simulated { simulation, books, machine, slots, cpus, default };
        let Some(layout) = layout else { return Ok(Hierarchy::Fixed(Box::new(run))) };
        let manager =
            Manager::new(run, layout, rules.mode).map_err(|error| Error::System(error.to_string()))?;
        Ok(Hierarchy::Managed(Box::new(Mutex::new(manager))))
    }

    /// Runs up to that time.
    fn run_until(&mut self, end: Nanos) -> Result<(), Error> {
        while !self.run().run_until(end).map_err(failed)? {
            if let Hierarchy::Managed(manager) = self {
                manager.get_mut().unwrap_or_else(PoisonError::into_inner).hear_of_taken_out();
            }
        }
        Ok(())
    }

    fn run(&mut self) -> &mut Simulated<'t> {
        match self {
            Hierarchy::Fixed(run) => run,
            Hierarchy::Managed(manager) => manager.get_mut().unwrap_or_else(PoisonError::into_inner).engine(),
        }
    }

    fn into_run(self) -> Simulated<'t> {
        match self {
            Hierarchy::Fixed(run) => *run,
            Hierarchy::Managed(manager) => {
                manager.into_inner().unwrap_or_else(PoisonError::into_inner).into_engine()
            }
        }
    }
}

/// A run that ends early for a broken invariant is our error, else the workload's.
fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Broken { .. } | Failure::Untold { .. } => Error::System(failure.to_string()),
        _ => Error::Input(failure.to_string()),
    }
}
