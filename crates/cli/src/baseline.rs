//! `hls baseline`: the threads of a hierarchy as plain threads of Linux, to compare a run with.

use crate::exit::{Error, StandardError, Verdict, say};
use crate::input::{self, HierarchyFile};
use crate::options::{HierarchyArgs, seed, time};
use crate::output::output;
use hls_facade::DEFAULT_LENGTH;
use hls_report::json::write_json;
use hls_report::table::write_threads_alone;
use hls_units::Nanos;
use std::io::Write;
use std::path::PathBuf;
use std::thread::available_parallelism;

const AFTER_HELP: &str = "\
The baseline to compare a run with: real threads do what the threads of `hls run`
do, with the same random numbers, on as many CPUs, and only the system schedules
them. What the file says of schedulers, shares and guarantees has no effect.

Exit codes: 0, 2 bad usage or input, 3 the system failed.";

/// Arguments of `hls baseline`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct BaselineArgs {
    /// The hierarchy file, and for which machine
    #[command(flatten)]
    pub hierarchy: HierarchyArgs,
    /// How long to run, such as 30s or 500ms [default: the workload's duration, else 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub length: Option<Nanos>,
    /// Seed of everything random: the seed of the run to compare with
    #[arg(long, default_value = "0", value_parser = seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// What the threads do, as rt-app's JSON; its tasks are the threads of the same name
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn baseline(args: &BaselineArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, source, cpus_from, .. } = input::hierarchy(&args.hierarchy)?;
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
