//! `hls check`: is every promise one that can be kept?

use crate::args::CheckArgs;
use crate::exit::{Error, Verdict};
use crate::explain::{Explained, explain};
use crate::input::{self, HierarchyFile};
use crate::output::output;
use crate::tasks::write_tasks;
use hls_check::Derived;
use hls_hierarchy::{Diagnostic, Severity};
use hls_report::tree::write_tree;
use std::io::Write;

/// Runs the command.
pub fn check(args: &CheckArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, source, cpus_from, .. } = input::hierarchy(&args.file, args.machine.cpus)?;
    let mut plan = input::plan(hierarchy, &Default::default())?;
    let explained = Explained::find_all(&plan, &args.explain)?;
    let derived = Derived::new(&plan, args.rules);
    derived.write_on(&mut plan);

    let mut out = output();
    write_tree(&mut out, &derived.with_refusals(&plan), cpus_from.as_deref())?;
    write_tasks(&mut out, &derived.tasks(&plan))?;
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
    writeln!(out, "{}", verdict(&derived, &problems))?;
    if !late.is_empty() {
        let threads = if late.len() == 1 { "thread" } else { "threads" };
        writeln!(out, "NOT KEPT: the tasks of {} {threads} may miss their deadlines", late.len())?;
    }
    if !problems.is_empty() && args.explain.is_empty() {
        writeln!(out, "`--explain NAME` shows how a guarantee came about, or why there is none")?;
    }
    out.flush()?;
    Ok(if problems.is_empty() && late.is_empty() { Verdict::Kept } else { Verdict::Violated })
}

/// What the check comes to, in a sentence.
pub fn verdict(derived: &Derived, problems: &[Diagnostic]) -> String {
    let (asked, refused) = derived.asked_and_refused();
    match (problems, asked, refused) {
        ([], 0, _) => "kept: no guarantee is asked for".into(),
        ([], 1, _) => "kept: the one guarantee that is asked for can be given".into(),
        ([], ..) => format!("kept: each of the {asked} guarantees that are asked for can be given"),
        (_, _, 0) => "NOT KEPT: a scheduler cannot do what is asked of it".into(),
        (_, 1, _) => "NOT KEPT: the one guarantee that is asked for cannot be given".into(),
        _ if refused == asked => {
            format!("NOT KEPT: none of the {asked} guarantees that are asked for can be given")
        }
        _ => format!("NOT KEPT: {refused} of the {asked} guarantees that are asked for cannot be given"),
    }
}
