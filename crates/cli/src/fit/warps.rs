//! `hls fit` below BVT schedulers: warps by which the threads that ask for JOB are done in time, the windows in which
//! all have their parts, and what all are promised then.
//!
//! Relies on `hls_check` for the plan. Times are rounded to the disadvantage of a reader that relies on them.

use hls_calculus::{Rational, share_floor, time_ceil, time_floor};
use hls_check::{Derived, PlannedChild, PlannedScheduler, WarpChange};
use hls_plan::Plan;
use hls_report::layout::{Column, number, text, write_rows};
use std::io::{self, Write};

/// The plans for the schedulers with a child among these threads that asks for JOB; for all schedulers where no thread
/// is named.
pub fn planned(derived: &Derived, plan: &Plan, threads: &[String]) -> Vec<PlannedScheduler> {
    let is_wanted = |child: &PlannedChild| child.asked.is_some() && threads.contains(&child.name);
    let mut planned = derived.warp_plans(plan);
    planned.retain(|scheduler| threads.is_empty() || scheduler.children.iter().any(is_wanted));
    planned
}

/// All changes of these plans, each thread of the file once.
pub fn changes(planned: &[PlannedScheduler]) -> Vec<WarpChange> {
    let children = planned.iter().flat_map(|scheduler| &scheduler.children);
    let mut changes: Vec<WarpChange> =
        children.filter_map(|child| Some(child.planned.as_ref()?.1.clone())).collect();
    changes.dedup_by_key(|change| change.edge);
    changes
}

/// Writes the plans; returns why some threads are not done in time.
pub fn write(
    out: &mut impl Write,
    planned: &[PlannedScheduler],
    changed: &Derived,
) -> io::Result<Vec<String>> {
    let mut reasons = Vec::new();
    for scheduler in planned {
        writeln!(out, "below {}, whose allowance is {}:\n", scheduler.name, scheduler.allowance)?;
        write_parts(out, scheduler, changed)?;
        if let Some((child, reason)) = &scheduler.refused {
            reasons.push(format!("no warp suffices for `{}`: {reason}", scheduler.children[*child].name));
            continue;
        }
        write_warps(out, scheduler)?;
        let late = |child: &PlannedChild| {
            let reason = child.planned.as_ref()?.0.in_time.as_ref().err()?;
            Some(format!("no warp suffices for `{}`: {reason}", child.name))
        };
        reasons.extend(scheduler.children.iter().filter_map(late));
    }
    let changes = changes(planned);
    if !changes.is_empty() {
        writeln!(out, "\nthe warps below bvt schedulers:")?;
    }
    for WarpChange { name, warp, limit, unwarp, .. } in &changes {
        writeln!(out, "    thread \"{name}\" warp=\"{warp}\" warp-limit=\"{limit}\" unwarp=\"{unwarp}\"")?;
    }
    reasons.iter().try_for_each(|reason| writeln!(out, "{reason}"))?;
    Ok(reasons)
}

const PARTS: [Column; 5] = [
    text("thread"),
    number("", "part"),
    number("window", "advance"),
    number("window", "has"),
    text("promised with these"),
];

/// Writes each child's part, and the windows of section 6.1 of the paper.
fn write_parts(out: &mut impl Write, scheduler: &PlannedScheduler, changed: &Derived) -> io::Result<()> {
    let windows = &scheduler.windows;
    let row = |(n, child): (usize, &PlannedChild)| {
        [
            child.name.clone(),
            share_floor(&child.part),
            windows.advances[n].to_string(),
            time_floor(&windows.each[n]),
            changed.label_of(child).guarantee.rounded_for_people(),
        ]
    };
    let rows: Vec<[String; 5]> = scheduler.children.iter().enumerate().map(row).collect();
    write_rows(out, &PARTS, &rows)?;
    writeln!(
        out,
        "\nwindow: {} of virtual time, {} in all, where no child warps, all want the CPU and turns are of exactly \
         the allowance\n",
        time_ceil(&windows.virtual_window),
        time_ceil(&windows.physical)
    )
}

const WARPS: [Column; 9] = [
    text("thread"),
    number("", "level"),
    number("request", "run"),
    number("request", "every"),
    number("request", "within"),
    number("request", "done"),
    number("virtual time", "debt"),
    number("virtual time", "warp"),
    number("virtual time", "warp by the paper"),
];

/// Writes the planned warps of the children that ask for JOB, and beside them what the paper, which has no debt, would
/// say.
fn write_warps(out: &mut impl Write, scheduler: &PlannedScheduler) -> io::Result<()> {
    let row = |child: &PlannedChild| {
        let (asked, (planned, _)) = (child.asked.as_ref()?, child.planned.as_ref()?);
        let ceil = |time: &Rational| time_ceil(time);
        Some([
            child.name.clone(),
            planned.level.to_string(),
            ceil(&asked.amount),
            time_floor(&asked.period),
            time_floor(&asked.response),
            planned.in_time.as_ref().map_or("late".into(), |in_time| ceil(&in_time.response)),
            ceil(&planned.debt),
            ceil(&planned.virtual_warp),
            ceil(&planned.uncorrected),
        ])
    };
    let rows: Vec<[String; 9]> = scheduler.children.iter().filter_map(row).collect();
    write_rows(out, &WARPS, &rows)
}
