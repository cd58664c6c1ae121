//! `hls check`: can every promise that the file asks for be kept?

use crate::exit::{Error, Verdict, report};
use crate::explain::{Explained, explain};
use crate::input::{self, HierarchyFile};
use crate::options::{HierarchyArgs, RulesArgs};
use crate::output::output;
use crate::tasks::write_tasks;
use hls_facade::{Check, Checked, Message, left_out};
use hls_hierarchy::{Diagnostic, Severity, Source};
use hls_plan::Plan;
use hls_report::ascii::write_indented;
use hls_report::tree::write_tree;
use std::io::Write;

const AFTER_HELP: &str = "\
Bounds are for an ideal machine, with timers to the nanosecond and switches that
cost nothing; if the file's machine is not ideal, the verdict says so.

Exit codes: 0 every guarantee that is asked for can be given and all tasks are
in time, 1 not, 2 bad usage or input, 3 the system failed.";

/// Arguments of `hls check`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArgs {
    /// The hierarchy file, and for which machine
    #[command(flatten)]
    pub hierarchy: HierarchyArgs,
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
    let read = read(args);
    if args.json { answer(args, read) } else { describe(args, read?) }
}

/// Reads the file and numbers its threads.
fn read(args: &CheckArgs) -> Result<Read, Error> {
    let file = input::hierarchy(&args.hierarchy)?;
    let HierarchyFile { hierarchy, source, warnings, cpus_from, .. } = file;
    Ok(Read { plan: input::plan(hierarchy, &Default::default())?, source, warnings, cpus_from })
}

/// A file that can be checked.
struct Read {
    plan: Plan,
    source: Source,
    warnings: Vec<Diagnostic>,
    /// What decided how many CPUs the machine has, where the file did not.
    cpus_from: Option<String>,
}

/// Prints the answer for programs, which have one also where the file is wrong.
fn answer(args: &CheckArgs, read: Result<Read, Error>) -> Result<Verdict, Error> {
    let (answer, outcome) = match read {
        Ok(Read { plan, source, warnings, .. }) => {
            let checked = Checked::new(plan, args.rules);
            let of_tasks = checked.task_problems();
            (Check::of(&checked, &of_tasks, (&source, &warnings)), Ok(checked.verdict(&of_tasks)))
        }
        Err(Error::Wrong(source, errors)) => {
            let messages = errors.iter().map(|error| Message::at(&source, error));
            (Check::wrong(messages.collect()), Err(Error::Wrong(source, errors)))
        }
        Err(Error::Input(what)) => {
            (Check::wrong(vec![Message::error(what.clone())]), Err(Error::Input(what)))
        }
        Err(error) => return Err(error),
    };
    let mut out = output();
    write_indented(&mut out, &answer)?;
    out.flush()?;
    outcome
}

/// Prints the answer for people.
fn describe(args: &CheckArgs, read: Read) -> Result<Verdict, Error> {
    let Read { plan, source, cpus_from, .. } = read;
    let explained = Explained::find_all(&plan, &args.explain)?;
    let checked = Checked::new(plan, args.rules);
    let of_tasks = checked.task_problems();
    let verdict = checked.verdict(&of_tasks);
    let mut out = output();
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
    report(&source, &[&problems[..], &late, &doubts].concat());
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
