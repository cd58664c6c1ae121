//! `hls fit`: which least reservations suffice for the tasks of each thread? Which warps do for the requests of threads
//! below BVT schedulers (`fit/warps.rs`)?

mod warps;

use crate::exit::{Error, Verdict, report};
use crate::input::{self, HierarchyFile};
use crate::options::{HierarchyArgs, RulesArgs};
use crate::output::output;
use crate::periods::{Periods, periods};
use hls_calculus::tasks::{Fit, Miss};
use hls_calculus::{Continuity, Guarantee, Rational, ceil_nanos};
use hls_check::{Derived, ReservationChange, ThreadTasks};
use hls_facade::{kept, left_out};
use hls_hierarchy::{Severity, listed};
use hls_plan::Plan;
use hls_report::layout::{Column, number, text, write_rows};
use hls_report::tree::write_machine;
use std::io::Write;

const AFTER_HELP: &str = "\
Amounts are rounded up; with the same period no amount that is smaller by more
than a nanosecond would do. Of several periods it takes the one with the least
share of a CPU, though shorter periods cost more switches.

Below bvt, threads that ask for JOB get warps instead, as section 6 of its paper
has them, but with the debt that it leaves out.

Exit codes: 0 with the least reservations the hierarchy holds, 1 it does not,
2 bad usage or input, 3 the system failed.";

/// Arguments of `hls fit`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct FitArgs {
    /// The hierarchy file, and for which machine
    #[command(flatten)]
    pub hierarchy: HierarchyArgs,
    /// Only for this thread (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub thread: Vec<String>,
    /// The period, such as 5ms, or FROM..TO for every multiple of FROM up to TO [default: each thread's own]
    #[arg(long, value_name = "TIME", value_parser = periods, allow_hyphen_values = true)]
    pub period: Option<Periods>,
    /// How guarantees are derived
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Runs the command.
pub fn fit(args: &FitArgs) -> Result<Verdict, Error> {
    let HierarchyFile { hierarchy, source, cpus_from, .. } = input::hierarchy(&args.hierarchy)?;
    let plan = input::plan(hierarchy, &Default::default())?;
    let derived = Derived::new(&plan, args.rules);
    let warped = warps::planned(&derived, &plan, &args.thread);
    let mut serving = derived.tasks(&plan);
    serving.retain(|of_thread| !asks_for_job(&plan, of_thread));
    let serving = if warped.is_empty() || !serving.is_empty() && args.thread.is_empty() {
        wanted(&plan, serving, &args.thread)?
    } else {
        Vec::new()
    };

    let (mut rows, mut changes, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    // Whether some thread is known to have no reservation that suffices, not only none that was found.
    let (mut notes, mut is_no) = (Vec::new(), false);
    for of_thread in &serving {
        let periods = match (&args.period, of_thread.period(&plan)) {
            (Some(periods), _) => periods.0.clone(),
            (None, Some(period)) => vec![period],
            (None, None) => {
                let expected = "expected one that asks for a reservation, or has a `period`, or --period";
                return Err(Error::Input(format!(
                    "found thread `{}`, to which the file gives no reservation's period, {expected}",
                    of_thread.name
                )));
            }
        };
        let [basic, continuous] =
            [Continuity::Basic, Continuity::Continuous].map(|it| of_thread.fit(it, &periods));
        rows.push(row(of_thread, &basic, &continuous));
        notes.extend([&basic, &continuous].into_iter().find_map(|fit| less_may_do(of_thread, fit)));
        match basic {
            Ok(fit) => changes.extend(fit.and_then(|fit| of_thread.change(&plan, &fit))),
            Err(miss) => {
                is_no |= !miss.is_undecided();
                reasons.push(reason(of_thread, &miss));
            }
        }
    }
    let mut out = output();
    if let Some(from) = cpus_from {
        write_machine(&mut out, plan.topology.cpus, Some(&from))?;
    }
    if !rows.is_empty() {
        write_rows(&mut out, &COLUMNS, &rows)?;
    }
    notes.iter().chain(&reasons).try_for_each(|line| writeln!(out, "{line}"))?;
    if !changes.is_empty() {
        write_changes(&mut out, &changes)?;
    }
    let changed = derived.changed(&changes).with_warps(&warps::changes(&warped));
    let of_warps = warps::write(&mut out, &warped, &changed)?;
    out.flush()?;
    let of_guarantees = changed.problems(&plan);
    is_no |= !of_warps.is_empty() || !of_guarantees.is_empty();
    reasons.extend(of_warps);
    let problems = [of_guarantees, changed.task_problems(&plan)].concat();
    report(&source, &problems);
    let is_broken = problems.iter().any(|problem| problem.severity == Severity::Error);
    let holds = !is_broken && reasons.is_empty();
    let left_out = left_out(&plan.hierarchy.machine);
    let kept = kept(left_out.is_none());
    left_out.iter().try_for_each(|left_out| writeln!(out, "{left_out}"))?;
    match (holds, problems.is_empty()) {
        (true, true) => writeln!(
            out,
            "{kept}: with these each guarantee that is asked for can be given, and all tasks are in time"
        )?,
        (true, false) => writeln!(out, "{kept}: with these each guarantee that is asked for can be given")?,
        (false, _) if !reasons.is_empty() && !is_no => {
            writeln!(out, "NOT KEPT: whether everything that is asked for can be given was not found out")?
        }
        (false, _) => writeln!(out, "NOT KEPT: not everything that is asked for can be given with these")?,
    }
    out.flush()?;
    Ok(if holds { Verdict::Kept } else { Verdict::Violated })
}

const COLUMNS: [Column; 8] = [
    text("thread"),
    number("", "tasks take"),
    text("promised"),
    number("", "share"),
    text("least basic"),
    number("", "share"),
    text("least continuous"),
    number("", "share"),
];

/// The threads that `--thread` names, or all.
fn wanted<'p>(
    plan: &Plan,
    all: Vec<ThreadTasks<'p>>,
    asked: &[String],
) -> Result<Vec<ThreadTasks<'p>>, Error> {
    let known = || listed(all.iter().map(|of_thread| of_thread.name));
    if let Some(unknown) = asked.iter().find(|name| all.iter().all(|of_thread| of_thread.name != **name)) {
        let expected = format!("expected a thread with tasks: {}", known());
        return Err(Error::Input(format!("--thread: found `{unknown}`, {expected}")));
    }
    if all.is_empty() {
        let threads = listed(plan.hierarchy.threads.iter().map(|thread| thread.name.as_str()));
        let expected = "expected one with `tasks`, or a `periodic` one that asks for a guarantee";
        return Err(Error::Input(format!(
            "found no thread whose tasks could be fitted ({threads}), {expected}"
        )));
    }
    Ok(all
        .into_iter()
        .filter(|of_thread| asked.is_empty() || asked.iter().any(|name| name == of_thread.name))
        .collect())
}

/// Whether a thread asks for JOB, which is not a matter of reservations.
fn asks_for_job(plan: &Plan, of_thread: &ThreadTasks) -> bool {
    matches!(plan.hierarchy.edge(of_thread.edge).requested, Some(Guarantee::Job { .. }))
}

fn row(
    of_thread: &ThreadTasks,
    basic: &Result<Option<Fit>, Miss>,
    continuous: &Result<Option<Fit>, Miss>,
) -> [String; 8] {
    let [least_basic, basic_share] = cells("RESBS", basic);
    let [least_continuous, continuous_share] = cells("RESCS", continuous);
    [
        of_thread.name.to_owned(),
        percent_ceil(&of_thread.set.utilisation()),
        of_thread.guarantee.rounded_for_people(),
        if of_thread.guarantee == Guarantee::Null {
            "-".into()
        } else {
            percent_ceil(&of_thread.guarantee.rate())
        },
        least_basic,
        basic_share,
        least_continuous,
        continuous_share,
    ]
}

/// The cells for a least reservation, with its amount rounded up to what a file can state.
fn cells(name: &str, fit: &Result<Option<Fit>, Miss>) -> [String; 2] {
    match fit {
        Ok(Some(fit)) => {
            let (amount, period) = (ceil_nanos(&fit.amount), ceil_nanos(&fit.period));
            [format!("{name} {amount} {period}"), percent_ceil(&fit.utilisation())]
        }
        Err(miss) if miss.is_undecided() => ["not found".into(), "-".into()],
        _ => ["none".into(), "-".into()],
    }
}

/// Says where a reservation suffices and may not be the least.
fn less_may_do(of_thread: &ThreadTasks, fit: &Result<Option<Fit>, Miss>) -> Option<String> {
    let is_least = fit.as_ref().ok()?.as_ref()?.is_least;
    (!is_least)
        .then(|| format!("whether less would do for `{}` was not found out: too many steps", of_thread.name))
}

fn reason(of_thread: &ThreadTasks, miss: &Miss) -> String {
    let of_task = match miss {
        Miss::Short { task, .. } => format!(", task `{}`", of_thread.task_name(*task)),
        _ => String::new(),
    };
    if miss.is_undecided() {
        return format!("whether a reservation suffices for `{}` was not found out: {miss}", of_thread.name);
    }
    format!("no reservation suffices for `{}`{of_task}: {miss}", of_thread.name)
}

fn write_changes(out: &mut impl Write, changes: &[ReservationChange]) -> std::io::Result<()> {
    writeln!(out, "\nthe least below reservation schedulers:")?;
    changes.iter().try_for_each(|change| {
        writeln!(out, "    thread \"{}\" guarantee=\"{}\"", change.name, change.guarantee())
    })
}

/// A share as a percentage with one decimal, rounded up.
fn percent_ceil(share: &Rational) -> String {
    let tenths = ceil_nanos(&(share * Rational::from_integer(1_000.into()))).0;
    format!("{}.{}%", tenths / 10, tenths % 10)
}
