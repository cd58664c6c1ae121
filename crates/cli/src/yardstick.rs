//! `hls yardstick`: the threads of a hierarchy as plain threads of Linux, under whatever scheduler is in force. What
//! comes of it is what a hierarchy is to be compared with.

use crate::args::YardstickArgs;
use crate::exit::{Error, Verdict, say};
use crate::input::{self, HierarchyFile};
use crate::output::output;
use crate::run::DEFAULT_LENGTH;
use hls_monitor::event::VpId;
use hls_monitor::observe::Observer;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_real_threads::{Load, Outcome, ThreadEnd};
use hls_report::json::write_json;
use hls_report::table::write_threads_alone;
use hls_units::Nanos;
use std::collections::HashMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::available_parallelism;

/// How long the threads may tell of themselves before it is taken down.
const PATIENCE: Nanos = Nanos::from_millis(50);

/// Runs the command.
pub fn yardstick(args: &YardstickArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, cpus_from, .. } = input::hierarchy(&args.file, args.machine.cpus)?;
    let workload = input::workload(args.workload.as_deref())?;
    let length = args.length.or(workload.0.duration).unwrap_or(DEFAULT_LENGTH);
    let plan = input::plan(hierarchy, &workload)?;
    let (asked, there) = (usize::from(plan.topology.cpus), available_parallelism()?.get());
    if there < asked {
        say(format_args!("note: the hierarchy is for {asked} CPUs, and here are {there}"));
    }
    let result = carry_out(&plan, args.seed, length)?;
    let mut out = output();
    if args.json {
        write_json(&mut out, &result)?;
    } else {
        let cpus = asked.min(there);
        let cpus = format_args!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" });
        writeln!(out, "{length} on {cpus} under the system's own scheduler (seed {})", result.seed)?;
        cpus_from.iter().try_for_each(|from| writeln!(out, "the number of CPUs: {from}"))?;
        write_threads_alone(&mut out, &result)?;
    }
    out.flush()?;
    Ok(Verdict::Kept)
}

/// Is the process of the threads.
pub fn threads() -> Result<Verdict, Error> {
    hls_real_threads::serve()?;
    Ok(Verdict::Kept)
}

/// What starts that process.
pub fn threads_process() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("hls").arg("load-threads");
    command
}

fn carry_out(plan: &Plan, seed: u64, length: Nanos) -> Result<RunResult, Error> {
    let mut load = Load::start(threads_process(), plan, seed)?;
    let mut observer = Observer::new(plan.topology.clone(), Vec::new());
    load.go(length);
    while load.elapsed() < length && !load.is_over() {
        for (vp, _) in load.arrivals(PATIENCE.min(length.saturating_sub(load.elapsed())))? {
            load.admit(vp);
        }
        load.events(&mut |record| observer.observe(record));
    }
    let outcome = load.finish(&mut |record| observer.observe(record))?;
    if outcome.lost > 0 {
        say(format_args!("note: {} jobs, misses and the like came too fast to be counted", outcome.lost));
    }
    let mut result = observer.finish(length);
    (result.engine, result.seed) = ("linux".into(), seed);
    complete(&mut result, &outcome);
    Ok(result)
}

/// Fills in what the threads, and the kernel, know of themselves. Nothing was asked of any scheduler of the file.
fn complete(result: &mut RunResult, outcome: &Outcome) {
    result.schedulers.clear();
    outcome.complete(result);
    let ends: HashMap<VpId, &ThreadEnd> = outcome.threads.iter().map(|end| (end.vp, end)).collect();
    for thread in &mut result.threads {
        let Some(end) = ends.get(&thread.vp) else { continue };
        (thread.ran, thread.activations) = (end.ran, end.activations);
        (thread.preemptions, thread.migrations) = (end.preemptions, end.migrations);
    }
    let ran = outcome.threads.iter().map(|end| end.ran).fold(Nanos::ZERO, Nanos::saturating_add);
    result.idle = result.idle.saturating_sub(ran);
    result.switches = outcome.threads.iter().map(|end| end.switches).sum();
}
