//! `hls check`: can every promise that the file asks for be kept?

use crate::exit::{Error, Verdict};
use crate::explain::{Explained, explain};
use crate::input::{self, HierarchyFile};
use crate::options::{CpusArgs, RulesArgs};
use crate::output::output;
use crate::tasks::write_tasks;
use hls_facade::{Check, Checked, left_out};
use hls_hierarchy::Severity;
use hls_report::tree::write_tree;
use std::io::Write;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Bounds are for an ideal machine, with timers to the nanosecond and switches that
cost nothing; if the file's machine is not ideal, the verdict says so.

Exit codes: 0 every guarantee that is asked for can be given and all tasks are
in time, 1 not, 2 bad usage or input, 3 the system failed.";

/// Arguments of `hls check`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArgs {
    /// The hierarchy file
    pub file: PathBuf,
    /// For which machine
    #[command(flatten)]
    pub machine: CpusArgs,
    /// Show how the guarantee of this scheduler or thread follows (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub explain: Vec<String>,
    /// Print the answer as JSON, for programs
    #[arg(long, conflicts_with = "explain")]
    pub json: bool,
    /// How guarantees are derived
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Runs the command.
pub fn check(args: &CheckArgs) -> Result<Verdict, Error> {
    let file = input::hierarchy(&args.file, args.machine.cpus)?;
    let HierarchyFile { hierarchy, source, warnings, cpus_from, .. } = file;
    let plan = input::plan(hierarchy, &Default::default())?;
    let explained = Explained::find_all(&plan, &args.explain)?;
    let checked = Checked::new(plan, args.rules);
    let of_tasks = checked.task_problems();
    let verdict = checked.verdict(&of_tasks);
    let mut out = output();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &Check::of(&checked, &of_tasks, (&source, &warnings)))
            .map_err(std::io::Error::from)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(verdict);
    }

    let Checked { plan, derived, problems } = &checked;
    let left_out = left_out(&plan.hierarchy.machine);
    write_tree(&mut out, &derived.with_refusals(plan), cpus_from.as_deref())?;
    write_tasks(&mut out, &derived.tasks(plan), left_out.is_none())?;
    for node in &explained {
        explain(&mut out, plan, derived, node)?;
    }
    writeln!(out)?;
    out.flush()?;

    let sentence = checked.sentence(&of_tasks);
    let (late, doubts): (Vec<_>, Vec<_>) =
        of_tasks.into_iter().partition(|it| it.severity == Severity::Error);
    input::report(&source, &[&problems[..], &late, &doubts].concat());
    if !problems.is_empty() && args.explain.is_empty() {
        writeln!(out, "`--explain NAME` shows how a guarantee came about, or why there is none")?;
    }
    if let Some(left_out) = left_out {
        writeln!(out, "{left_out}")?;
    }
    writeln!(out, "{sentence}")?;
    out.flush()?;
    Ok(verdict)
}
