//! `hls run`: checks, runs, reports.

use crate::exit::{Error, StandardError, Verdict, report, say};
use crate::input::{self, HierarchyFile};
use crate::options::{HierarchyArgs, RulesArgs, seed, time};
use crate::output::output;
use crate::progress::{Progress, Waiting, seconds};
use crate::script::Script;
use clap::ValueEnum;
use hls_client::DEFAULT_SOCKET;
use hls_facade::{Checked, DEFAULT_LENGTH, Judge, made_up};
use hls_hierarchy::Source;
use hls_hierarchy::model::Hierarchy;
use hls_report::json::write_json;
use hls_report::table::{write_tables, write_verdict};
use hls_report::tree::write_tree;
use hls_session::{Files, Options, Outcome, Step, Subject};
use hls_units::Nanos;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AFTER_HELP: &str = "\
A hierarchy that fails the check runs all the same, to show what comes of it.

Time that is stolen from the hierarchy and that the file does not declare breaks
no promise; it is shown, and so is what is missed by no more than the slack.

Exit codes: 0 every guarantee was kept, 1 one was broken or fails the check, or a
change of the script was refused, 2 bad usage or input, 3 the system failed.";

/// Arguments of `hls run`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArgs {
    /// The hierarchy file, and for which machine
    #[command(flatten)]
    pub hierarchy: HierarchyArgs,
    /// How long to run, such as 30s or 500ms [default: the workload's duration, else 10s; in the
    /// kernel: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub length: Option<Nanos>,
    /// Seed of everything random: the same seed gives the same run
    #[arg(long, default_value = "0", value_parser = seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// What the threads do, as rt-app's JSON; its tasks are the threads of the same name
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// What carries the schedule out
    #[arg(long, value_enum, default_value = "sim")]
    pub engine: Engine,
    /// How guarantees are derived
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Write a trace for Perfetto (open it at ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write the schedule as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// What the picture shows of the run
    #[arg(long, value_name = "FROM..TO", default_value = "0s..200ms", value_parser = interval)]
    pub window: Interval,
    /// Write every switch as a line of text, like `perf sched timehist`
    #[arg(long, value_name = "FILE")]
    pub timehist: Option<PathBuf>,
    /// The most by which a promise may be missed before it counts as broken, such as 50us; misses within it are counted
    /// apart [default: 0s; in the kernel, where timers go off late: 100us]
    #[arg(long, value_name = "TIME", value_parser = Nanos::parse, allow_hyphen_values = true)]
    pub slack: Option<Nanos>,
    /// Check every invariant of the core after every event (slow)
    #[arg(long)]
    pub paranoid: bool,
    /// Changes to make at given times of a simulated run: a line each, a time and then the words behind `hls`, as in
    /// `2s ctl move drummer --to A`; also load and unload
    #[arg(long, value_name = "FILE", conflicts_with = "global")]
    pub script: Option<PathBuf>,
    /// Where `hls ctl` is answered while the hierarchy runs in the kernel
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// What carries the schedule out.
#[derive(Clone, Copy, ValueEnum)]
pub enum Engine {
    /// The simulator: needs nothing, and repeats itself exactly
    Sim,
    /// The Linux kernel, by sched_ext: schedules all threads of this machine, the file's threads where the file says,
    /// the rest in the default scheduler; needs root
    Kernel,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The beginning of the stretch.
    pub from: Nanos,
    /// The end of the stretch, later than its beginning.
    pub to: Nanos,
}

/// By how much a promise may be missed in the kernel before it counts as broken: timers and switches come late there.
const KERNEL_SLACK: Nanos = Nanos::from_micros(100);

impl RunArgs {
    /// Whether the kernel is to carry the schedule out.
    #[cfg(feature = "kernel")]
    pub fn is_in_kernel(&self) -> bool {
        matches!(self.engine, Engine::Kernel)
    }

    /// The slack of the run.
    fn slack(&self) -> Nanos {
        self.slack.unwrap_or(match self.engine {
            Engine::Sim => Nanos::ZERO,
            Engine::Kernel => KERNEL_SLACK,
        })
    }

    /// The files that the run is to write.
    fn files(&self) -> Files {
        let Interval { from, to } = self.window;
        let timeline = self.timeline.clone().map(|path| (path, from, to));
        Files { trace: self.trace.clone(), timeline, timehist: self.timehist.clone() }
    }
}

fn interval(text: &str) -> Result<Interval, String> {
    let expected = "expected FROM..TO, such as 0s..200ms";
    let (from, to) = text.split_once("..").ok_or_else(|| format!("found `{text}`, {expected}"))?;
    let parse = |part| Nanos::parse(part).map_err(|error| error.to_string());
    let (from, to) = (parse(from)?, parse(to)?);
    if from >= to {
        return Err(format!("found an interval from {from} to {to}, {expected}"));
    }
    Ok(Interval { from, to })
}

/// Starts a run in the kernel as a process of its own and supervises it; returns that process's exit code.
#[cfg(feature = "kernel")]
pub fn keep() -> Result<u8, Error> {
    // The program, then `run`.
    let arguments = std::env::args_os().skip(2);
    Ok(hls_session::keep(arguments, &StandardError)?)
}

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, source, policies, cpus_from, .. } = match args.engine {
        Engine::Sim => input::hierarchy(&args.hierarchy)?,
        Engine::Kernel => input::hierarchy_for_kernel(&args.hierarchy)?,
    };
    let workload = input::workload(args.workload.as_deref())?;
    let length = args.length.or(workload.0.duration);
    let hierarchy = if args.script.is_some() { to_be_changed(hierarchy, args.engine)? } else { hierarchy };
    match args.engine {
        Engine::Sim => made_up(&hierarchy, &workload.0).iter().for_each(say),
        Engine::Kernel => {
            input::refuse_agents(&hierarchy, &source)?;
            input::is_here(&hierarchy, &source)?;
        }
    }
    let checked = Checked::new(input::plan(hierarchy, &workload)?, args.rules);
    report(&source, &[&checked.problems[..], &checked.derived.backlogs(&checked.plan)].concat());
    match (checked.problems.is_empty(), &args.script) {
        (true, _) => {}
        (false, None) => say("note: the check fails, as said above; the run shows what comes of it"),
        (false, Some(_)) => {
            let expected = "expected one that passes: there is nothing to hold a change against";
            return Err(Error::Input(format!("found a hierarchy that fails its check, {expected}")));
        }
    }

    let machine = &checked.plan.hierarchy.machine;
    let is_real = matches!(args.engine, Engine::Kernel);
    if is_real && (machine.tick_hz.is_some() || !machine.interrupts.is_empty()) {
        say("note: the ticks and interrupts of the file are the simulator's; this machine has its own");
    }
    let tick = machine.tick_hz.filter(|_| !is_real);
    let topology = checked.derived.with_refusals(&checked.plan);
    let judge = Judge::new(&checked, args.script.is_some());
    let failed_check = (!checked.problems.is_empty()).then(|| checked.sentence(&checked.task_problems()));
    let Checked { plan, derived, .. } = checked;
    let subject = Subject { plan, derived: &derived, policies: &policies };
    let Outcome { mut result, refused } = carry_out(args, subject, length, &source)?;
    // A job of a real thread takes longer than its file says, by the cost of switches and of the kernel, which is not
    // known.
    let verdict = judge.judge(&mut result, if is_real { Nanos::MAX } else { args.slack() });

    let mut out = output();
    if args.json {
        write_json(&mut out, &result)?;
    } else {
        write_tree(&mut out, &topology, cpus_from.as_deref())?;
        writeln!(out)?;
        write_tables(&mut out, &result)?;
        writeln!(out)?;
        say_where(&mut out, args)?;
        failed_check.iter().try_for_each(|sentence| writeln!(out, "check: {sentence}"))?;
        write!(out, "run: ")?;
        write_verdict(&mut out, &result)?;
    }
    out.flush()?;
    if !result.is_kept() {
        say_what_was_idealised(tick, result.overhead);
    }
    if refused > 0 {
        say(format_args!("{refused} of the script's changes were refused, as said above"));
    }
    Ok(if refused > 0 { Verdict::Violated } else { verdict })
}

/// Prints what guarantees and bounds leave out of account, where this machine has it: ticks, and the cost of switches.
fn say_what_was_idealised(tick_hz: Option<u32>, overhead: Nanos) {
    if let Some(hz) = tick_hz {
        say(format_args!(
            "note: guarantees are derived for precise timers; this machine has ticks of {hz} Hz"
        ));
    }
    if overhead != Nanos::ZERO {
        say(format_args!(
            "note: guarantees are derived for switches that cost nothing; here they took {overhead}"
        ));
    }
}

/// The hierarchy for a run with a script. It gets a default scheduler, as in the kernel, to which a change may release
/// threads.
fn to_be_changed(hierarchy: Hierarchy, engine: Engine) -> Result<Hierarchy, Error> {
    match engine {
        Engine::Sim => Ok(hierarchy.with_default()),
        Engine::Kernel => {
            let instead = "in the kernel, `hls ctl`, `hls load` and `hls unload` change it while it runs";
            Err(Error::Input(format!("--script is for the simulator; {instead}")))
        }
    }
}

/// Has the engine carry the run out.
fn carry_out(
    args: &RunArgs,
    subject: Subject,
    length: Option<Nanos>,
    source: &Source,
) -> Result<Outcome, Error> {
    let (files, console) = (args.files(), Arc::new(StandardError) as _);
    let options = Options {
        rules: args.rules.into(),
        seed: args.seed,
        paranoid: args.paranoid,
        slack: args.slack(),
        files: &files,
    };
    if let Engine::Kernel = args.engine {
        #[cfg(feature = "kernel")]
        let keeper = hls_session::Keeper::of_this_process()?;
        let mut waiting = None;
        let engine = hls_session::Engine::Kernel {
            length,
            socket: &args.socket,
            steps: &mut |step| say_step(&mut waiting, step),
            #[cfg(feature = "kernel")]
            keeper: &keeper,
        };
        let outcome = hls_session::run(subject, engine, &options, &console);
        drop(waiting);
        return input::with_source(source, outcome);
    }
    let length = length.unwrap_or(DEFAULT_LENGTH);
    let read = |path| Script::read(path, &subject.plan, length);
    let script = args.script.as_deref().map(read).transpose()?;
    let script = script.as_ref().map(Script::changes);
    let mut progress = Progress::default();
    let progress = &mut |part, parts| progress.is_at(part, parts);
    let folder = args.hierarchy.file.parent().unwrap_or(Path::new(""));
    let agents = input::with_source(source, hls_session::open_agents(&subject.plan.hierarchy, folder))?;
    let engine = hls_session::Engine::Simulator { length, script, agents, progress };
    input::with_source(source, hls_session::run(subject, engine, &options, &console))
}

/// Says how long the user has waited for a run in the kernel to begin and to end.
fn say_step(waiting: &mut Option<Waiting>, step: Step) {
    *waiting = None;
    match step {
        Step::Loads => *waiting = Some(Waiting::begin("loading the hierarchy into the kernel".into())),
        Step::Attached { load, attach } => say(format_args!(
            "attached in {} ({} to load, {} to attach)",
            seconds(load + attach),
            seconds(load),
            seconds(attach)
        )),
        Step::Detached(detach) => say(format_args!("detached in {}", seconds(detach))),
    }
}

/// Writes which files the run has written, and how to look at them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_or_refused() {
        let read = interval("1s..1.5s").unwrap();
        assert_eq!(read, Interval { from: Nanos::from_secs(1), to: Nanos::from_millis(1500) });
        for bad in ["", "1s", "2s..1s", "1..2", "1s..1s"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
