//! A run in the simulator, with everyone who listens to it.
//!
//! The files are created before the run, so that a bad name costs no time, and take their places only after it, all of
//! them written: a run that fails leaves none.

use crate::args::RunArgs;
use crate::exit::Error;
use crate::progress::Progress;
use hls_plan::Plan;
use hls_record::event::Record;
use hls_record::observe::{Observer, Promise};
use hls_record::result::{RunResult, Topology};
use hls_report::atomic_file::AtomicFile;
use hls_report::perfetto::TraceWriter;
use hls_report::timehist::TimeHist;
use hls_report::timeline::Timeline;
use hls_sim::{Failure, Options, Simulation};
use hls_units::Nanos;
use std::io;
use std::path::PathBuf;

/// In how many parts a run is carried out, between which its progress is shown.
const PARTS: u64 = 1_000;

/// Simulates the plan for `length` and writes the files that are asked for.
pub fn simulate(
    args: &RunArgs,
    plan: Plan,
    promises: Vec<Promise>,
    length: Nanos,
) -> Result<RunResult, Error> {
    let topology = plan.topology.clone();
    let mut listeners = Listeners::new(args, &topology, promises)?;
    let options = Options { seed: args.seed, paranoid: args.paranoid, ..Options::default() };
    let mut simulation = Simulation::new(plan, options).map_err(failed)?;
    let mut progress = Progress::new(PARTS);
    for part in 1..=PARTS {
        let until = Nanos((u128::from(length.0) * u128::from(part) / u128::from(PARTS)) as u64);
        simulation.run_until(until, &mut |record| listeners.hear(record)).map_err(failed)?;
        listeners.check()?;
        progress.is_at(part);
    }
    simulation.end(&mut |record| listeners.hear(record));
    let mut result = listeners.finish(length)?;
    simulation.complete(&mut result);
    Ok(result)
}

/// A run that ends early for a broken invariant is our error, else the workload's.
fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Broken { .. } | Failure::Untold { .. } => Error::System(failure.to_string()),
        _ => Error::Input(failure.to_string()),
    }
}

/// Everyone who listens to the records of a run.
struct Listeners<'t> {
    observer: Observer,
    timeline: Option<(Timeline<'t>, AtomicFile)>,
    trace: Option<TraceWriter<'t, AtomicFile>>,
    timehist: Option<TimeHist<'t, AtomicFile>>,
    /// The first write that failed.
    error: Option<io::Error>,
}

impl<'t> Listeners<'t> {
    fn new(args: &RunArgs, topology: &'t Topology, promises: Vec<Promise>) -> io::Result<Listeners<'t>> {
        let create = |path: &Option<PathBuf>| path.as_deref().map(AtomicFile::create).transpose();
        let window = args.window;
        let timeline = create(&args.timeline)?;
        Ok(Listeners {
            observer: Observer::new(topology.clone(), promises),
            timeline: timeline.map(|file| (Timeline::new(topology, window.from, window.to), file)),
            trace: create(&args.trace)?.map(|file| TraceWriter::new(file, topology)).transpose()?,
            timehist: create(&args.timehist)?.map(|file| TimeHist::new(file, topology)).transpose()?,
            error: None,
        })
    }

    fn hear(&mut self, record: &Record) {
        self.observer.observe(record);
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.record(record);
        }
        let traced = self.trace.as_mut().map_or(Ok(()), |trace| trace.record(record));
        let listed = self.timehist.as_mut().map_or(Ok(()), |timehist| timehist.record(record));
        if self.error.is_none() {
            self.error = traced.and(listed).err();
        }
    }

    /// Whether all writes have gone well so far.
    fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Ends the files, then puts all of them in their places.
    fn finish(mut self, length: Nanos) -> io::Result<RunResult> {
        self.check()?;
        let mut files = Vec::new();
        if let Some((timeline, mut file)) = self.timeline {
            timeline.write(&mut file, length)?;
            files.push(file);
        }
        if let Some(trace) = self.trace {
            files.push(trace.finish(length)?);
        }
        if let Some(timehist) = self.timehist {
            files.push(timehist.finish(length)?);
        }
        files.iter_mut().try_for_each(io::Write::flush)?;
        files.into_iter().try_for_each(AtomicFile::commit)?;
        Ok(self.observer.finish(length))
    }
}
