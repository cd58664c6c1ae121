//! A run in the simulator.

use crate::args::RunArgs;
use crate::exit::Error;
use crate::listeners::Listeners;
use crate::progress::Progress;
use hls_core::Library;
use hls_plan::Plan;
use hls_record::observe::Promise;
use hls_record::result::RunResult;
use hls_sim::{Failure, Options, Simulation};
use hls_units::Nanos;
use std::sync::Arc;

/// In how many parts a run is carried out, between which its progress is shown.
const PARTS: u64 = 1_000;

/// Simulates the plan, with this build of the core, for `length` and writes the files that are asked for.
pub fn simulate(
    args: &RunArgs,
    plan: Plan,
    library: Option<Arc<Library>>,
    promises: Vec<Promise>,
    length: Nanos,
) -> Result<RunResult, Error> {
    let topology = plan.topology.clone();
    let mut listeners = Listeners::new(args, &topology, promises)?;
    let options = Options { seed: args.seed, paranoid: args.paranoid, library, ..Options::default() };
    let mut simulation = Simulation::new(plan, options).map_err(failed)?;
    let mut progress = Progress::new(PARTS);
    for part in 1..=PARTS {
        let until = Nanos((u128::from(length.0) * u128::from(part) / u128::from(PARTS)) as u64);
        simulation.run_until(until, &mut |record| listeners.hear(record)).map_err(failed)?;
        listeners.check()?;
        progress.is_at(part);
    }
    simulation.end(&mut |record| listeners.hear(record));
    listeners.finish(length, |result| {
        simulation.complete(result);
        Ok(())
    })
}

/// A run that ends early for a broken invariant is our error, else the workload's.
fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Broken { .. } | Failure::Untold { .. } => Error::System(failure.to_string()),
        _ => Error::Input(failure.to_string()),
    }
}
