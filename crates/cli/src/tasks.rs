//! What `hls check` says of the tasks that threads serve. Relies on their having been held against the promises.

use hls_calculus::tasks::{MOST_RESPONSE_STEPS, Response};
use hls_calculus::{Rational, ceil_nanos};
use hls_plan::Serves;
use hls_report::layout::{Column, number, text, write_rows};
use std::io::{self, Write};

/// No table has more rows.
const MAX_ROWS: usize = 40;

/// Writes a row for each task, those that are not shown to be in time before the rest when there are too many.
pub fn write_tasks(out: &mut impl Write, all: &[Serves]) -> io::Result<()> {
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
    let mut rows: Vec<[String; 8]> = all.iter().flat_map(rows_of).collect();
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        rows.sort_by_key(|row| row[7] == IN_TIME);
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

/// What marks a bound that is no more than the deadline.
const MARK: &str = "*";

fn is_deadline_only(response: &Response) -> bool {
    matches!(response, Response::DeadlineOnly(_))
}

const IN_TIME: &str = "in time";

fn rows_of<'s>(serves: &'s Serves) -> impl Iterator<Item = [String; 8]> + 's {
    serves.set.tasks.iter().zip(&serves.verdict.responses).enumerate().map(|(index, (task, response))| {
        let shown = |time: &Rational| ceil_nanos(time).to_string();
        let bound = response.bound();
        let margin = bound.filter(|bound| **bound <= task.deadline).map(|bound| {
            let margin = ceil_nanos(&task.deadline).saturating_sub(ceil_nanos(bound));
            margin.to_string()
        });
        let is_in_time = margin.is_some();
        [
            serves.task_name(index).to_owned(),
            serves.name.to_owned(),
            shown(&task.run),
            shown(&task.every),
            shown(&task.deadline),
            bound.map_or("-".into(), shown) + if is_deadline_only(response) { MARK } else { "" },
            margin.unwrap_or("-".into()),
            if is_in_time { IN_TIME } else { "NOT CERTAIN" }.to_owned(),
        ]
    })
}
