//! `hls run`: checks, runs, reports.

use crate::analysis::Derived;
use crate::args::{Engine, RunArgs};
use crate::exit::{Error, Verdict};
use crate::input::{self, File};
use hls_record::event::Record;
use hls_record::observe::{Observer, Promise};
use hls_record::result::{RunResult, Topology};
use hls_report::atomic_file::write_atomically;
use hls_report::json::write_json;
use hls_report::perfetto::TraceWriter;
use hls_report::table::write_tables;
use hls_report::timehist::TimeHist;
use hls_report::timeline::Timeline;
use hls_report::tree::write_tree;
use hls_sim::{Failure, Options, Plan, Simulation};
use hls_units::Nanos;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, BufWriter, IsTerminal, Write, stdout};

/// How long a run lasts when nobody says.
const DEFAULT_LENGTH: Nanos = Nanos::from_secs(10);

/// In how many parts a run is carried out, between which its progress is shown.
const PARTS: u64 = 200;

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<Verdict, Error> {
    let Engine::Sim = args.engine;
    let File { hierarchy, source } = input::hierarchy(&args.file)?;
    let workload = input::workload(args.workload.as_deref())?;
    let length = args.length.or(workload.duration).unwrap_or(DEFAULT_LENGTH);
    let mut plan = Plan::new(hierarchy, &workload).map_err(|errors| {
        errors.iter().for_each(|error| eprintln!("{}: error: {error}", args.file.display()));
        Error::Reported
    })?;
    let derived = Derived::new(&plan, args.mode);
    derived.write_on(&mut plan);
    let problems = derived.problems(&plan);
    problems.iter().for_each(|problem| input::report(&source, problem));

    let promises = derived.promises(&plan);
    let tick = plan.hierarchy.machine.tick_hz;
    let result = simulate(args, plan, promises, length)?;
    let mut out = BufWriter::new(stdout().lock());
    if args.json {
        write_json(&mut out, &result)?;
    } else {
        write_tree(&mut out, &result.topology)?;
        write_tables(&mut out, &result)?;
        say_where(&mut out, args)?;
    }
    out.flush()?;
    let kept = result.guarantees.iter().all(|guarantee| guarantee.is_kept());
    if let (false, Some(hz)) = (kept, tick) {
        eprintln!(
            "note: guarantees are derived for precise timers; this machine keeps time by ticks of {hz} Hz"
        );
    }
    Ok(if kept && problems.is_empty() { Verdict::Kept } else { Verdict::Violated })
}

/// Where to look at what was written.
fn say_where(out: &mut impl Write, args: &RunArgs) -> io::Result<()> {
    let files = [
        (&args.timeline, "timeline", "open it in a browser"),
        (&args.trace, "trace", "open it at ui.perfetto.dev"),
        (&args.timehist, "switches", "a line of text each"),
    ];
    for (path, what, how) in files {
        if let Some(path) = path {
            writeln!(out, "{what}: {} ({how})", path.display())?;
        }
    }
    Ok(())
}

/// Everyone who listens to the records of a run.
struct Listeners<'t> {
    observer: Observer,
    timeline: Option<Timeline<'t>>,
    trace: Option<TraceWriter<'t, &'t mut dyn Write>>,
    timehist: Option<TimeHist<'t, &'t mut dyn Write>>,
    /// The first write that failed.
    error: Option<io::Error>,
}

impl Listeners<'_> {
    fn hear(&mut self, record: &Record) {
        self.observer.observe(record);
        if let Some(timeline) = &mut self.timeline {
            timeline.record(record);
        }
        let traced = self.trace.as_mut().map_or(Ok(()), |trace| trace.record(record));
        let listed = self.timehist.as_mut().map_or(Ok(()), |timehist| timehist.record(record));
        if self.error.is_none() {
            self.error = traced.and(listed).err();
        }
    }

    fn finish(self, length: Nanos) -> io::Result<Observer> {
        self.error.map_or(Ok(()), Err)?;
        self.trace.map_or(Ok(()), |trace| trace.finish(length).map(drop))?;
        self.timehist.map_or(Ok(()), |timehist| timehist.finish(length).map(drop))?;
        Ok(self.observer)
    }
}

/// Opens the files that are written while the run goes on, and leaves none of them behind half written.
fn simulate(args: &RunArgs, plan: Plan, promises: Vec<Promise>, length: Nanos) -> Result<RunResult, Error> {
    let mut outcome = None;
    let mut with_outputs = |trace: Option<&mut dyn Write>, timehist: Option<&mut dyn Write>| {
        let result = simulate_into(args, plan.clone(), promises.clone(), length, trace, timehist);
        let failed = result.is_err();
        outcome = Some(result);
        if failed { Err(io::Error::other("the run failed")) } else { Ok(()) }
    };
    let written = match (&args.trace, &args.timehist) {
        (None, None) => with_outputs(None, None),
        (Some(trace), None) => write_atomically(trace, |out| with_outputs(Some(out), None)),
        (None, Some(list)) => write_atomically(list, |out| with_outputs(None, Some(out))),
        (Some(trace), Some(list)) => write_atomically(trace, |trace| {
            write_atomically(list, |list| with_outputs(Some(trace), Some(list)))
        }),
    };
    match outcome {
        Some(Ok(result)) => {
            written?;
            Ok(result)
        }
        Some(Err(error)) => Err(error),
        None => Err(written.map_or_else(Error::from, |()| Error::System("the run did not begin".into()))),
    }
}

fn simulate_into(
    args: &RunArgs,
    plan: Plan,
    promises: Vec<Promise>,
    length: Nanos,
    trace: Option<&mut dyn Write>,
    timehist: Option<&mut dyn Write>,
) -> Result<RunResult, Error> {
    let topology: Topology = plan.topology.clone();
    let listed = args.trace.is_some() || args.timeline.is_some() || args.timehist.is_some();
    let watched = (!listed).then(|| promises.iter().map(|promise| promise.vp).collect());
    let options = Options { seed: args.seed, paranoid: args.paranoid, watched };
    let mut trace = trace;
    let mut timehist = timehist;
    let mut listeners = Listeners {
        observer: Observer::new(topology.clone(), promises),
        timeline: args.timeline.as_ref().map(|_| Timeline::new(&topology, args.window.from, args.window.to)),
        trace: trace
            .as_mut()
            .map(|out| TraceWriter::new(&mut **out as &mut dyn Write, &topology))
            .transpose()?,
        timehist: timehist
            .as_mut()
            .map(|out| TimeHist::new(&mut **out as &mut dyn Write, &topology))
            .transpose()?,
        error: None,
    };
    let failed = |failure: Failure| match failure {
        Failure::Broken { .. } => Error::System(failure.to_string()),
        _ => Error::Input(failure.to_string()),
    };
    let mut simulation = Simulation::new(plan, options).map_err(failed)?;
    let progress = progress_bar();
    for part in 1..=PARTS {
        let until = Nanos((u128::from(length.0) * u128::from(part) / u128::from(PARTS)) as u64);
        simulation.run_until(until, &mut |record| listeners.hear(record)).map_err(failed)?;
        progress.set_position(part);
    }
    progress.finish_and_clear();
    simulation.end(&mut |record| listeners.hear(record));
    if let (Some(path), Some(timeline)) = (&args.timeline, listeners.timeline.take()) {
        write_atomically(path, |mut out| timeline.write(&mut out, length))?;
    }
    let mut result = listeners.finish(length)?.finish(length);
    simulation.complete(&mut result);
    Ok(result)
}

/// A bar on the terminal, which shows itself only when a run takes longer than a moment.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed:>4} [{wide_bar}] {percent}% of the run, {eta} to go");
    let bar = ProgressBar::new(PARTS).with_style(style.expect("the template is a constant"));
    bar.with_elapsed(std::time::Duration::ZERO)
}
