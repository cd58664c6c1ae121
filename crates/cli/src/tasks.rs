//! What `hls check` says of the tasks that threads serve. Relies on an analysis that has compared the tasks with the
//! promises to their threads.

use hls_calculus::tasks::{MOST_RESPONSE_STEPS, Response};
use hls_calculus::{Rational, ceil_nanos};
use hls_check::ThreadTasks;
use hls_report::layout::{Column, number, text, write_rows};
use std::io::{self, Write};

/// The most rows that the table has.
const MAX_ROWS: usize = 40;

/// Writes a row for each task. Where there are too many, tasks that may be late come before the rest. Where the file's
/// machine is not ideal, the table says that its verdicts are for an ideal machine.
pub fn write_tasks(out: &mut impl Write, all: &[ThreadTasks], is_ideal: bool) -> io::Result<()> {
    const COLUMNS: [Column; 8] = [
        text("task"),
        text("of"),
        number("", "run"),
        number("", "every"),
        number("done within", "deadline"),
        number("done within", "bound"),
        number("", "margin"),
        text(""),
    ];
    let mut rows: Vec<[String; 8]> = all.iter().flat_map(|of_thread| rows_of(of_thread, is_ideal)).collect();
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        rows.sort_by_key(|row| row[7] != NOT_CERTAIN);
        rows.truncate(MAX_ROWS);
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_rows(out, &COLUMNS, &rows)?;
    if left_out > 0 {
        writeln!(out, "  … and {left_out} more tasks")?;
    }
    if all.iter().flat_map(|serves| &serves.verdict.responses).any(is_deadline_only) {
        writeln!(
            out,
            "  {MARK} bound not computed within {MOST_RESPONSE_STEPS} steps: the deadline stands in"
        )?;
    }
    Ok(())
}

/// The verdict on a task that may be late.
const NOT_CERTAIN: &str = "NOT CERTAIN";

/// Marks a bound for which the deadline stands in.
const MARK: &str = "*";

fn is_deadline_only(response: &Response) -> bool {
    matches!(response, Response::DeadlineOnly(_))
}

/// The verdict on the tasks of a thread if they are certain to be in time.
fn in_time(of_thread: &ThreadTasks, is_ideal: bool) -> String {
    let siblings =
        if of_thread.resting_on.is_empty() { "" } else { ", if no sibling wants more than it says" };
    let machine = if is_ideal { "" } else { ", on an ideal machine" };
    format!("in time{siblings}{machine}")
}

/// The rows of a thread's tasks.
fn rows_of<'s>(of_thread: &'s ThreadTasks, is_ideal: bool) -> impl Iterator<Item = [String; 8]> + 's {
    of_thread.set.tasks.iter().zip(&of_thread.verdict.responses).enumerate().map(
        move |(index, (task, response))| {
            let shown = |time: &Rational| ceil_nanos(time).to_string();
            let bound = response.bound();
            let margin = bound.filter(|bound| **bound <= task.deadline).map(|bound| {
                let margin = ceil_nanos(&task.deadline).saturating_sub(ceil_nanos(bound));
                margin.to_string()
            });
            let verdict =
                if margin.is_some() { in_time(of_thread, is_ideal) } else { NOT_CERTAIN.to_owned() };
            [
                of_thread.task_name(index).to_owned(),
                of_thread.name.to_owned(),
                shown(&task.run),
                shown(&task.every),
                shown(&task.deadline),
                bound.map_or("-".into(), shown) + if is_deadline_only(response) { MARK } else { "" },
                margin.unwrap_or("-".into()),
                verdict,
            ]
        },
    )
}
