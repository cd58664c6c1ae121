//! `hls baseline`: the threads of a hierarchy as plain threads of Linux, to compare a run with.

use crate::args::BaselineArgs;
use crate::exit::{Error, StandardError, Verdict, say};
use crate::input::{self, HierarchyFile};
use crate::output::output;
use hls_facade::DEFAULT_LENGTH;
use hls_report::json::write_json;
use hls_report::table::write_threads_alone;
use std::io::Write;
use std::thread::available_parallelism;

/// Runs the command.
pub fn baseline(args: &BaselineArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, source, cpus_from, .. } = input::hierarchy(&args.file, args.machine.cpus)?;
    input::refuse_agents(&hierarchy, &source)?;
    let workload = input::workload(args.workload.as_deref())?;
    let length = args.length.or(workload.0.duration).unwrap_or(DEFAULT_LENGTH);
    let plan = input::plan(hierarchy, &workload)?;
    let (asked, there) = (usize::from(plan.topology.cpus), available_parallelism()?.get());
    if there < asked {
        say(format_args!("note: the hierarchy is for {asked} CPUs, and here are {there}"));
    }
    let result = hls_session::baseline(&plan, args.seed, length, &StandardError)?;
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
