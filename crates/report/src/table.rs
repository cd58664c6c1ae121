//! The result of a run as tables for a person, at most 118 columns wide.
//!
//! Long lists are cut: what missed a deadline or broke a promise comes before the rest then, and a line says what was
//! left out. Shares are of one CPU, so that a scheduler with two CPUs can have 200%.

use crate::format::{count, percent_rounded, time_exact, time_rounded};
use crate::layout::{Column, number, text, write_rows};
use hls_record::result::{
    GuaranteeResult, Percentiles, RunResult, SchedulerResult, ThreadResult, Topology, Verdict, WindowResult,
};
use hls_units::Nanos;
use std::io::{self, Write};

/// No table has more rows.
const MAX_ROWS: usize = 40;

/// Writes the summary and all tables.
///
/// # Errors
/// Those of `out`.
pub fn write_tables(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    write_summary(out, run)?;
    write_threads(out, run)?;
    write_schedulers(out, run)?;
    write_guarantees(out, run)
}

fn write_summary(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    let cpus = run.topology.cpus;
    let of_machine = |time| percent_rounded(time, Nanos(run.length.0.saturating_mul(u64::from(cpus))));
    writeln!(
        out,
        "{} on {cpus} CPU{} ({}, seed {}): {} events, {} switches; {} idle, {} overhead, {} stolen",
        time_exact(run.length),
        if cpus == 1 { "" } else { "s" },
        run.engine,
        run.seed,
        count(run.events),
        count(run.switches),
        of_machine(run.idle),
        of_machine(run.overhead),
        of_machine(run.stolen),
    )
}

fn write_threads(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 14] = [
        text("thread"),
        text("scheduler"),
        number("", "share"),
        number("", "work"),
        number("", "wakes"),
        number("wake latency", "p50"),
        number("wake latency", "p99"),
        number("wake latency", "worst"),
        number("response", "p50"),
        number("response", "p99"),
        number("response", "worst"),
        number("", "misses"),
        number("", "preempt."),
        number("", "migr."),
    ];
    let row = |thread: &ThreadResult| {
        let [wake_p50, wake_p99, wake_worst] = percentiles(&thread.wake_latency);
        let [response_p50, response_p99, response_worst] = percentiles(&thread.response);
        [
            run.topology.child_name(thread.vp).to_owned(),
            run.topology.parent_name(thread.vp).unwrap_or("").to_owned(),
            percent_rounded(thread.ran, run.length),
            time_rounded(thread.work),
            short_count(thread.activations),
            wake_p50,
            wake_p99,
            wake_worst,
            response_p50,
            response_p99,
            response_worst,
            short_count(thread.misses),
            short_count(thread.preemptions),
            short_count(thread.migrations),
        ]
    };
    let shown = pick(&run.threads, |thread| thread.misses > 0);
    let rows: Vec<_> = shown.iter().map(|thread| row(thread)).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, run.threads.len() - shown.len(), "threads")
}

fn write_schedulers(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 5] =
        [text("scheduler"), text("policy"), number("", "share"), number("", "grants"), number("", "revokes")];
    let row = |result: &SchedulerResult| {
        let info = run.topology.schedulers.get(result.scheduler as usize);
        [
            info.map_or("", |info| &info.name).to_owned(),
            info.map_or("", |info| &info.policy).to_owned(),
            percent_rounded(result.ran, run.length),
            count(result.grants),
            count(result.revokes),
        ]
    };
    let shown = pick(&run.schedulers, |_| false);
    let rows: Vec<_> = shown.iter().map(|result| row(result)).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, run.schedulers.len() - shown.len(), "schedulers")
}

fn write_guarantees(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 9] = [
        text("promised to"),
        text("by"),
        text("guarantee"),
        number("", "window"),
        number("at least", "promised"),
        number("at least", "seen"),
        number("at most", "allowed"),
        number("at most", "seen"),
        text(""),
    ];
    let windows = |result| windows_of(&run.topology, result);
    let all: Vec<_> = run.guarantees.iter().flat_map(windows).collect();
    let is_broken = |(_, verdict): &_| matches!(verdict, Verdict::Short | Verdict::Over);
    let shown = pick(&all, is_broken);
    let rows: Vec<_> = shown.iter().map(|(row, _)| row.clone()).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, all.len() - shown.len(), "windows")
}

/// A row for each window of a guarantee; who promised whom stands in the first.
fn windows_of(topology: &Topology, result: &GuaranteeResult) -> Vec<([String; 9], Verdict)> {
    let row = |window: &WindowResult| {
        let verdict = window.verdict();
        let row = [
            topology.child_name(result.vp).to_owned(),
            topology.parent_name(result.vp).unwrap_or("machine").to_owned(),
            result.guarantee.clone(),
            time_exact(window.window),
            time_exact(window.promised),
            window.least.map_or("-".into(), time_exact),
            window.allowed.map_or("-".into(), time_exact),
            window.allowed.map_or("-".into(), |_| time_exact(window.most)),
            match verdict {
                Verdict::Kept => "kept",
                Verdict::Short => "BROKEN: too little",
                Verdict::Over => "BROKEN: too much",
                Verdict::Untested => "not tested",
            }
            .to_owned(),
        ];
        (row, verdict)
    };
    result.windows.iter().map(row).collect()
}

/// A table with an empty line before it; nothing where there is nothing to show.
fn write_section<const N: usize>(
    out: &mut impl Write,
    columns: &[Column; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_rows(out, columns, rows)
}

/// Says how many rows were left out.
fn write_rest(out: &mut impl Write, left_out: usize, what: &str) -> io::Result<()> {
    if left_out == 0 {
        return Ok(());
    }
    writeln!(out, "  … and {} more {what}: --json lists them all", count(left_out as u64))
}

/// At most [`MAX_ROWS`] of `all`, in their order; those that matter are taken first.
fn pick<T>(all: &[T], matters: impl Fn(&T) -> bool) -> Vec<&T> {
    let mut that_matter = all.iter().filter(|item| matters(item)).count().min(MAX_ROWS);
    let mut others = MAX_ROWS - that_matter;
    let take = |item: &&T| {
        let left = if matters(item) { &mut that_matter } else { &mut others };
        let is_taken = *left > 0;
        *left -= usize::from(is_taken);
        is_taken
    };
    all.iter().filter(take).collect()
}

/// Median, 99th percentile and worst; `-` where there was no sample.
fn percentiles(found: &Percentiles) -> [String; 3] {
    [found.p50, found.p99, found.worst].map(
        |time| {
            if found.count == 0 { "-".into() } else { time_rounded(time) }
        },
    )
}

/// A count in at most six columns, cut to thousands or millions: `99,999`, `123k`, `45M`.
fn short_count(number: u64) -> String {
    match number {
        0..100_000 => count(number),
        100_000..10_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}
