//! `hls run`: checks, runs, reports.

use crate::args::{Engine, RunArgs};
use crate::exit::{Error, StandardError, Verdict, say};
use crate::input::{self, HierarchyFile};
use crate::output::output;
use crate::progress::{Progress, Waiting, seconds};
use crate::script::Script;
use crate::virtual_time::borrowers;
use hls_facade::{Checked, DEFAULT_LENGTH, Judge, made_up};
use hls_hierarchy::Source;
use hls_hierarchy::model::Hierarchy;
use hls_report::json::write_json;
use hls_report::table::{write_tables, write_verdict};
use hls_report::tree::write_tree;
use hls_session::{Options, Outcome, Step, Subject};
use hls_units::Nanos;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

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
        Engine::Sim => input::hierarchy(&args.file, args.machine.cpus)?,
        Engine::Kernel => input::hierarchy_for_kernel(&args.file, args.machine.cpus)?,
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
    input::report(&source, &checked.problems);
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
    let borrowers = if args.virtual_time.is_some() { borrowers(&subject.plan)? } else { Vec::new() };
    let (files, console) = (args.files(borrowers), Arc::new(StandardError) as _);
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
        return input::reported(source, outcome);
    }
    let length = length.unwrap_or(DEFAULT_LENGTH);
    let read = |path| Script::read(path, &subject.plan, length);
    let script = args.script.as_deref().map(read).transpose()?;
    let script = script.as_ref().map(Script::changes);
    let mut progress = Progress::default();
    let progress = &mut |part, parts| progress.is_at(part, parts);
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let agents = input::reported(source, hls_session::open_agents(&subject.plan.hierarchy, folder))?;
    let engine = hls_session::Engine::Simulator { length, script, agents, progress };
    input::reported(source, hls_session::run(subject, engine, &options, &console))
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
        (&args.virtual_time, "virtual time", "open it in a browser"),
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
