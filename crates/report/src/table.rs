//! The result of a run as tables for a person, at most 118 columns wide.
//!
//! Long lists are cut: then what missed a deadline or broke a promise comes first, and a line says what was left out.
//! Shares are of one CPU, so that a scheduler with two CPUs can have 200%. What was seen is rounded against the
//! promise, but has all its digits where the promise is broken.

use crate::broken::{cause_in_words, disabled_in_words};
use crate::format::{count, percent_rounded, shorten, time_ceil, time_exact, time_floor, time_rounded};
use crate::layout::{Column, number, text, write_rows};
use hls_monitor::demand::{Exceeded, Excess};
use hls_monitor::event::{ObservedScheduler, ObservedVp};
use hls_monitor::result::{
    Below, Child, Decided, GuaranteeResult, Percentiles, QueueResult, RequestsResult, ResponseBound,
    RunResult, SchedulerResult, TaskResult, ThreadResult, Topology, Verdict, WindowResult,
};
use hls_units::Nanos;
use std::io::{self, Write};

/// No table has more rows.
const MAX_ROWS: usize = 40;
/// The verdict names at most this many broken promises.
const MAX_NAMES: usize = 3;
/// A name in the verdict is cut to this many columns.
const NAME_WIDTH: usize = 24;

/// Writes the summary and all tables.
///
/// # Errors
/// The errors of `out`.
pub fn write_tables(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    write_summary(out, run)?;
    write_threads_alone(out, run)?;
    write_schedulers(out, run)?;
    write_choices(out, run)?;
    write_promises(out, run)?;
    write_windows(out, run)?;
    write_causes(out, run)?;
    write_disabled_policies(out, run)
}

/// Writes what the threads lived through, and their tasks: the tables of a run of which nothing else is known.
///
/// # Errors
/// The errors of `out`.
pub fn write_threads_alone(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    write_threads(out, run)?;
    write_tasks(out, run)?;
    write_exceeded(out, run)?;
    write_queues(out, run)
}

/// The threads that wanted more than their file says, so that bounds of their siblings do not hold.
fn write_exceeded(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    for Exceeded { expected, at, by } in run.exceeded.iter().take(MAX_ROWS) {
        let name = shorten(run.topology.child_name(expected.vp), NAME_WIDTH);
        let how = match *by {
            Excess::Soon(after) => {
                format!(
                    "woke up {} after the last time, expected {} at least",
                    time_exact(after),
                    expected.every
                )
            }
            Excess::Long(had) => {
                format!("took {} for a job, expected {} at most", time_exact(had), expected.run)
            }
        };
        writeln!(out, "  {name}: {how}, at {}: bounds that rest on it are left out", time_exact(*at))?;
    }
    write_rest(
        out,
        run.exceeded.len().saturating_sub(MAX_ROWS),
        "threads that wanted more than their file says",
    )
}

/// What became of the entries of the threads' queues; queues that had no room for some entries come first.
fn write_queues(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 4] =
        [text("queue"), number("", "put"), number("", "dropped"), number("", "waiting")];
    let shown = pick(&run.queues, |queue| u8::from(queue.dropped == 0));
    let row = |queue: &&QueueResult| {
        let QueueResult { name, put, dropped, waiting } = queue;
        [name.clone(), short_count(*put), short_count(*dropped), short_count(*waiting)]
    };
    let rows: Vec<_> = shown.iter().map(row).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, run.queues.len() - shown.len(), "queues")
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
    let row = |thread: &ThreadResult| {
        let above = run.topology.parent_name(thread.vp).unwrap_or("").to_owned();
        let share = percent_rounded(thread.ran, run.length);
        lived_through(run.topology.child_name(thread.vp).to_owned(), above, share, &Below::from(thread))
    };
    let shown = pick(&run.threads, |thread| u8::from(thread.misses == 0));
    let rows: Vec<_> = shown.iter().map(|thread| row(thread)).collect();
    write_section(out, &columns("thread"), &rows)?;
    write_rest(out, run.threads.len() - shown.len(), "threads")
}

/// What became of the tasks that threads serve, and by when their jobs were to be done.
fn write_tasks(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 7] = [
        text("task"),
        text("of"),
        number("", "jobs"),
        number("response", "worst"),
        number("response", "bound"),
        number("", "misses"),
        text(""),
    ];
    let all: Vec<(&str, TaskResult)> = run.threads.iter().flat_map(|thread| tasks_of(run, thread)).collect();
    let shown = pick(&all, |(_, task)| u8::from(exceeded_by(task).is_none()) + u8::from(task.misses == 0));
    let row = |(thread, task): &(&str, TaskResult)| {
        let late = exceeded_by(task);
        let time = |time| if late.is_some() { time_exact(time) } else { time_rounded(time) };
        [
            task.name.clone(),
            (*thread).to_owned(),
            short_count(task.jobs),
            match task {
                TaskResult { worst_is_open: true, .. } => at_least(time(task.worst)),
                TaskResult { jobs: 0, .. } => "-".into(),
                _ => time(task.worst),
            },
            task.bound.map_or("-".into(), |bound| time_exact(bound.bound)),
            short_count(task.misses),
            match (late, task.bound) {
                (Some(late), _) => format!("BEYOND ITS BOUND by {}", time_rounded(late)),
                (None, Some(ResponseBound { bound, .. })) if task.worst > bound => {
                    format!("{} beyond its bound, excused", time_rounded(task.worst.saturating_sub(bound)))
                }
                (None, Some(_)) if task.jobs > 0 => "within its bound".into(),
                (None, _) => String::new(),
            },
        ]
    };
    let rows: Vec<_> = shown.iter().map(|shown| row(shown)).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, all.len() - shown.len(), "tasks")
}

/// By how much the longest response of a task was beyond its bound.
fn exceeded_by(task: &TaskResult) -> Option<Nanos> {
    task.bound.and_then(|bound| bound.exceeded_by(task.worst))
}

/// The tasks of a thread, each with the thread's name; one without a name has the thread's.
fn tasks_of<'r>(run: &'r RunResult, thread: &ThreadResult) -> Vec<(&'r str, TaskResult)> {
    let of = run.topology.child_name(thread.vp);
    let only = |bound| TaskResult {
        name: of.to_owned(),
        jobs: thread.response.count,
        misses: thread.misses,
        worst: thread.response.worst,
        worst_is_open: thread.response.worst_is_open,
        bound: Some(bound),
    };
    thread.bound.into_iter().map(only).chain(thread.tasks.iter().cloned()).map(|task| (of, task)).collect()
}

/// The CPU time that each scheduler had, and what the threads below it lived through, together.
fn write_schedulers(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    let row = |result: &SchedulerResult| {
        let name = run.topology.schedulers.get(result.scheduler.index()).map_or("", |info| &info.name);
        let above = schedulers_above(&run.topology, result.scheduler);
        lived_through(name.to_owned(), above, percent_rounded(result.ran, run.length), &result.below)
    };
    let shown = pick(&run.schedulers, |result| u8::from(result.below.misses == 0));
    let rows: Vec<_> = shown.iter().map(|result| row(result)).collect();
    write_section(out, &columns("scheduler"), &rows)?;
    write_rest(out, run.schedulers.len() - shown.len(), "schedulers")
}

/// How schedulers with a process as their policy came to their choices, and what part of their CPU time that cost.
fn write_choices(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 7] = [
        text("choices of"),
        number("decisions", "followed"),
        number("decisions", "stale"),
        number("", "by urgency"),
        number("its agent", "asked"),
        number("its agent", "CPU time"),
        number("its agent", "share"),
    ];
    let with_process = |result: &SchedulerResult| Some((result.scheduler, result.ran, result.decided?));
    let all: Vec<(ObservedScheduler, Nanos, Decided)> =
        run.schedulers.iter().filter_map(with_process).collect();
    let row = |(scheduler, ran, decided): &(ObservedScheduler, Nanos, Decided)| {
        let Decided { followed, stale, by_urgency, by_agent, agent_ran } = *decided;
        let name = run.topology.scheduler_name(*scheduler).to_owned();
        let [followed, stale, by_urgency, asked] = [followed, stale, by_urgency, by_agent].map(short_count);
        let share = percent_rounded(agent_ran, *ran);
        [name, followed, stale, by_urgency, asked, time_rounded(agent_ran), share]
    };
    let rows: Vec<_> = all.iter().take(MAX_ROWS).map(row).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, all.len() - rows.len(), "schedulers")
}

/// The names of the schedulers that a scheduler is scheduled by, each once.
fn schedulers_above(topology: &Topology, scheduler: ObservedScheduler) -> String {
    let vps = (0..)
        .map(ObservedVp)
        .zip(&topology.vps)
        .filter(|(_, info)| info.child == Child::Scheduler(scheduler));
    let mut names: Vec<&str> = vps.map(|(vp, _)| topology.parent_name(vp).unwrap_or("machine")).collect();
    names.dedup();
    names.join(", ")
}

fn columns(title: &'static str) -> [Column; 14] {
    [
        text(title),
        text("by"),
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
    ]
}

/// A row below [`columns`].
fn lived_through(name: String, above: String, share: String, below: &Below) -> [String; 14] {
    let [wake_p50, wake_p99, wake_worst] = percentiles(&below.wake_latency);
    let [response_p50, response_p99, response_worst] = percentiles(&below.response);
    [
        name,
        above,
        share,
        time_rounded(below.work),
        short_count(below.activations),
        wake_p50,
        wake_p99,
        wake_worst,
        response_p50,
        response_p99,
        response_worst,
        short_count(below.misses),
        short_count(below.preemptions),
        short_count(below.migrations),
    ]
}

/// A row for each promise, with what was seen of its requests: whether it was put to the test, and kept, can be seen at
/// a glance.
fn write_promises(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    const COLUMNS: [Column; 7] = [
        text("promised to"),
        text("by"),
        text("guarantee"),
        number("requests", "all"),
        number("requests", "tested"),
        number("requests", "margin"),
        text(""),
    ];
    let shown =
        pick(&run.guarantees, |result| result.verdicts().map(rank).min().unwrap_or(rank(Verdict::Untested)));
    let row = |result: &GuaranteeResult| {
        let [to, by, guarantee] = promise(&run.topology, result);
        let of_requests =
            |cell: &dyn Fn(&RequestsResult) -> String| result.requests.as_ref().map_or("-".to_owned(), cell);
        let all = of_requests(&|requests| short_count(requests.requests));
        let tested = of_requests(&|requests| short_count(requests.tested));
        let margin = of_requests(&|requests| requests.margin.map_or("-".into(), time_floor));
        [to, by, guarantee, all, tested, margin, promise_in_words(result)]
    };
    let rows: Vec<_> = shown.iter().map(|result| row(result)).collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, run.guarantees.len() - shown.len(), "promises")
}

/// The least number for what a reader has to look at first.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Short | Verdict::Over => 0,
        Verdict::Late => 1,
        Verdict::Stolen => 2,
        Verdict::Kept => 3,
        Verdict::Untested => 4,
    }
}

/// What the requests say, or else the windows, which have a table of their own.
fn promise_in_words(result: &GuaranteeResult) -> String {
    let RequestsResult { missing, worst_at, stolen, .. } = result.requests.unwrap_or_default();
    match result.requests.as_ref().map_or(Verdict::Untested, RequestsResult::verdict) {
        Verdict::Short | Verdict::Over => {
            format!("BROKEN: {} short, woken at {}", time_rounded(missing), time_exact(worst_at))
        }
        _ if !result.is_kept() => "BROKEN: see its windows".into(),
        Verdict::Kept => "kept".into(),
        Verdict::Stolen => format!("kept but for {} stolen", time_rounded(stolen)),
        Verdict::Late => format!("within slack: {} short", time_rounded(missing)),
        Verdict::Untested if result.is_tested() => "see its windows".into(),
        Verdict::Untested => "not tested".into(),
    }
}

/// The windows in which the CPU was wanted throughout: the least and the most that was seen in windows of each length.
fn write_windows(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
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
    let all: Vec<_> =
        run.guarantees.iter().flat_map(|result| result.windows.iter().map(move |w| (result, w))).collect();
    let is_tested = |(_, window): &&(_, &WindowResult)| window.verdict() != Verdict::Untested;
    let tested: Vec<_> = all.iter().filter(is_tested).copied().collect();
    let shown = pick(&tested, |(_, window)| rank(window.verdict()));
    let mut last = None;
    let rows: Vec<_> = (shown.iter())
        .map(|(result, window)| {
            let of = (result.vp, result.from);
            let is_first = last.replace(of) != Some(of);
            let [to, by, guarantee] =
                if is_first { promise(&run.topology, result) } else { Default::default() };
            let [length, promised, least, allowed, most, verdict] = seen(window);
            [to, by, guarantee, length, promised, least, allowed, most, verdict]
        })
        .collect();
    write_section(out, &COLUMNS, &rows)?;
    write_rest(out, tested.len() - shown.len(), "windows")
}

/// Why promises broke, where that is known.
fn write_causes(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    let known: Vec<_> = run.guarantees.iter().filter_map(|result| Some((result, result.cause?))).collect();
    for (result, cause) in known.iter().take(MAX_ROWS) {
        let name = shorten(run.topology.child_name(result.vp), NAME_WIDTH);
        writeln!(out, "  {name}: {}", cause_in_words(&run.topology, *cause))?;
    }
    write_rest(out, known.len().saturating_sub(MAX_ROWS), "causes")
}

/// The policies that were disabled.
fn write_disabled_policies(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    if !run.disabled_policies.is_empty() {
        writeln!(out)?;
    }
    for disabled in run.disabled_policies.iter().take(MAX_ROWS) {
        writeln!(out, "  {}", disabled_in_words(disabled))?;
    }
    write_rest(out, run.disabled_policies.len().saturating_sub(MAX_ROWS), "policies that were disabled")
}

/// The VP that was promised something, the promiser, and the promise.
fn promise(topology: &Topology, result: &GuaranteeResult) -> [String; 3] {
    let to = topology.child_name(result.vp).to_owned();
    let by = result.by.map_or("machine", |by| topology.scheduler_name(by));
    [to, by.to_owned(), result.guarantee.clone()]
}

/// What was seen in the windows of one length.
fn seen(window: &WindowResult) -> [String; 6] {
    let verdict = window.verdict();
    let down = |time| if verdict.is_broken() { time_exact(time) } else { time_floor(time) };
    let up = |time| if verdict.is_broken() { time_exact(time) } else { time_ceil(time) };
    [
        time_exact(window.window),
        down(window.promised),
        window.least.map_or("-".into(), down),
        window.allowed.map_or("-".into(), up),
        window.allowed.map_or("-".into(), |_| up(window.most)),
        in_words(window),
    ]
}

/// What a window says about its promise, and by how much it was missed.
fn in_words(window: &WindowResult) -> String {
    let WindowResult { missing, stolen, .. } = *window;
    match window.verdict() {
        Verdict::Kept => "kept".into(),
        Verdict::Stolen => format!("kept but for {} stolen", time_rounded(stolen)),
        Verdict::Late if missing > Nanos::ZERO => {
            format!("within slack: {} short", time_rounded(missing))
        }
        Verdict::Late => format!("within slack: {} over", time_rounded(window.excess())),
        Verdict::Short => format!("BROKEN: {} short", time_rounded(missing)),
        Verdict::Over => format!("BROKEN: {} over", time_rounded(window.excess())),
        Verdict::Untested => "not tested".into(),
    }
}

/// Writes in one line whether the promises were kept, and how many deadlines were missed.
///
/// # Errors
/// The errors of `out`.
pub fn write_verdict(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    let has = |result: &GuaranteeResult, verdict| result.verdicts().any(|found| found == verdict);
    let how_many = |what: &dyn Fn(&GuaranteeResult) -> bool| {
        count(run.guarantees.iter().filter(|result| what(result)).count() as u64)
    };
    let broken: Vec<_> = run.guarantees.iter().filter(|result| !result.is_kept()).collect();
    let tested = how_many(&GuaranteeResult::is_tested);
    let promises = if tested == "1" { "promise" } else { "promises" };
    let of_promises = if broken.is_empty() {
        format!("{tested} {promises} tested, none broken")
    } else {
        let names = names(run, broken.iter().map(|result| result.vp));
        format!("{} of {tested} {promises} tested ({names})", count(broken.len() as u64))
    };
    match (bounds_exceeded(run), broken.is_empty()) {
        (None, true) => write!(out, "kept: {of_promises}")?,
        (None, false) => write!(out, "BROKEN: {of_promises}")?,
        (Some(late), true) => write!(out, "BROKEN: {late}; {of_promises}")?,
        (Some(late), false) => write!(out, "BROKEN: {of_promises}; {late}")?,
    }
    let is_late = |result: &GuaranteeResult| result.is_kept() && has(result, Verdict::Late);
    let is_stolen = |result: &GuaranteeResult| {
        result.is_kept() && !has(result, Verdict::Late) && has(result, Verdict::Stolen)
    };
    let apart = [
        (how_many(&is_stolen), "kept but for stolen time"),
        (how_many(&is_late), "within the slack"),
        (how_many(&|result| !result.is_tested()), "not tested (no CPU time was wanted, or due yet)"),
    ];
    for (number, text) in apart {
        if number != "0" {
            write!(out, "; {number} {text}")?;
        }
    }
    if run.unlisted > 0 {
        write!(out, "; {} that ended are not listed", count(run.unlisted))?;
    }
    let misses: u64 = run.threads.iter().map(|thread| thread.misses).sum();
    if misses > 0 {
        write!(out, "; {} deadline{} missed", count(misses), if misses == 1 { "" } else { "s" })?;
    }
    writeln!(out)
}

/// How many tasks took longer than their bounds, and of which threads; `None` where none did.
fn bounds_exceeded(run: &RunResult) -> Option<String> {
    let late: Vec<_> = run.threads.iter().filter(|thread| thread.bounds_exceeded() > 0).collect();
    let number: usize = late.iter().map(|thread| thread.bounds_exceeded()).sum();
    let names = names(run, late.iter().map(|thread| thread.vp));
    let tasks =
        if number == 1 { "task took longer than its bound" } else { "tasks took longer than their bounds" };
    (number > 0).then(|| format!("{} {tasks} ({names})", count(number as u64)))
}

/// The names of those VPs, or of the first of them.
fn names(run: &RunResult, vps: impl ExactSizeIterator<Item = ObservedVp>) -> String {
    let more = (vps.len() > MAX_NAMES).then(|| "…".to_owned());
    let shown = vps.take(MAX_NAMES).map(|vp| shorten(run.topology.child_name(vp), NAME_WIDTH));
    shown.chain(more).collect::<Vec<_>>().join(", ")
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

/// At most [`MAX_ROWS`] of `all`, in their order; items of the least rank are taken first.
fn pick<T>(all: &[T], rank: impl Fn(&T) -> u8) -> Vec<&T> {
    let mut taken: Vec<usize> = (0..all.len()).collect();
    taken.sort_by_key(|&place| rank(&all[place]));
    taken.truncate(MAX_ROWS);
    taken.sort_unstable();
    taken.into_iter().map(|place| &all[place]).collect()
}

/// Median, 99th percentile and worst; `-` where there was no sample.
fn percentiles(found: &Percentiles) -> [String; 3] {
    let [p50, p99, worst] = [found.p50, found.p99, found.worst]
        .map(|time| if found.count == 0 { "-".into() } else { time_rounded(time) });
    [p50, p99, if found.worst_is_open { at_least(time_rounded(found.worst)) } else { worst }]
}

/// A time that something had lasted for when the run ended, without being over.
fn at_least(time: String) -> String {
    format!("≥{time}")
}

/// A count in at most six columns, cut to thousands or millions: `99,999`, `123k`, `45M`.
fn short_count(number: u64) -> String {
    match number {
        0..100_000 => count(number),
        100_000..10_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}
