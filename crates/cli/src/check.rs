//! `hls check`: can every promise that the file asks for be kept?

use crate::args::CheckArgs;
use crate::exit::{Error, Verdict};
use crate::explain::{Explained, explain};
use crate::input::{self, HierarchyFile};
use crate::output::output;
use crate::tasks::write_tasks;
use crate::verdict::{Checked, left_out};
use hls_check::Derived;
use hls_hierarchy::Severity;
use hls_report::tree::write_tree;
use std::io::Write;

/// Runs the command.
pub fn check(args: &CheckArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, source, cpus_from, .. } = input::hierarchy(&args.file, args.machine.cpus)?;
    let mut plan = input::plan(hierarchy, &Default::default())?;
    let explained = Explained::find_all(&plan, &args.explain)?;
    let derived = Derived::new(&plan, args.rules);
    derived.write_on(&mut plan);
    let machine = &plan.hierarchy.machine;
    let left_out = left_out(machine);

    let mut out = output();
    write_tree(&mut out, &derived.with_refusals(&plan), cpus_from.as_deref())?;
    write_tasks(&mut out, &derived.tasks(&plan), left_out.is_none())?;
    for node in &explained {
        explain(&mut out, &plan, &derived, node)?;
    }
    writeln!(out)?;
    out.flush()?;

    let problems = derived.problems(&plan);
    let of_tasks = derived.task_problems(&plan);
    let (late, doubts): (Vec<_>, Vec<_>) =
        of_tasks.into_iter().partition(|it| it.severity == Severity::Error);
    input::report(&source, &[&problems[..], &late, &doubts].concat());
    if !problems.is_empty() && args.explain.is_empty() {
        writeln!(out, "`--explain NAME` shows how a guarantee came about, or why there is none")?;
    }
    if let Some(left_out) = left_out {
        writeln!(out, "{left_out}")?;
    }
    let checked = Checked::new(&derived, !problems.is_empty(), late.len(), machine);
    writeln!(out, "{}", checked.sentence())?;
    out.flush()?;
    Ok(checked.verdict())
}
