//! Plain text columns: as wide as their widest cell, the first one cut so that a line fits.

use crate::format::shorten;
use std::io::{self, Write};

/// No line is longer, the tables' indent included.
const LINE_WIDTH: usize = 118;
/// The first column is not cut below this.
const MIN_FIRST_WIDTH: usize = 12;

/// A column.
pub struct Column {
    title: &'static str,
    /// What stands above the title, once for neighbours with the same group; empty for none.
    group: &'static str,
    is_text: bool,
}

/// A column of text, flush left.
pub const fn text(title: &'static str) -> Column {
    Column { title, group: "", is_text: true }
}

/// A column of numbers, flush right.
pub const fn number(group: &'static str, title: &'static str) -> Column {
    Column { title, group, is_text: false }
}

/// Writes `rows` below the titles of `columns`; there is a cell for each column in each row.
///
/// # Errors
/// The errors of `out`.
pub fn write_rows<const N: usize>(
    out: &mut impl Write,
    columns: &[Column; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let gaps = std::array::from_fn(|i| gap_before(columns, i));
    let widths = widths(columns, rows, &gaps);
    if columns.iter().any(|column| !column.group.is_empty()) {
        writeln!(out, "{}", groups(columns, &widths, &gaps).trim_end())?;
    }
    let titles = std::array::from_fn(|i| columns[i].title.to_owned());
    for row in std::iter::once(&titles).chain(rows) {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let (width, cell) = (widths[i], shorten(cell, widths[i]));
            line += &" ".repeat(gaps[i]);
            line += &if columns[i].is_text { format!("{cell:width$}") } else { format!("{cell:>width$}") };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Columns of one group stand closer together.
fn gap_before(columns: &[Column], i: usize) -> usize {
    let is_inside = i > 0 && !columns[i].group.is_empty() && columns[i].group == columns[i - 1].group;
    if is_inside { 1 } else { 2 }
}

fn widths<const N: usize>(columns: &[Column; N], rows: &[[String; N]], gaps: &[usize; N]) -> [usize; N] {
    let cells = |i: usize| rows.iter().map(move |row| row[i].chars().count());
    let mut widths: [usize; N] =
        std::array::from_fn(|i| cells(i).max().unwrap_or(0).max(columns[i].title.chars().count()));
    let total: usize = widths.iter().chain(gaps).sum();
    if let Some(first) = widths.first_mut() {
        let excess = total.saturating_sub(LINE_WIDTH);
        *first = (*first).min(first.saturating_sub(excess).max(MIN_FIRST_WIDTH));
    }
    widths
}

/// The line above the titles: each group's name, centred over its columns between dashes.
fn groups(columns: &[Column], widths: &[usize], gaps: &[usize]) -> String {
    let mut line = String::new();
    let mut i = 0;
    while i < columns.len() {
        let group = columns[i].group;
        let alike =
            columns[i..].iter().take_while(|column| !group.is_empty() && column.group == group).count();
        let end = i + alike.max(1);
        let width = widths[i..end].iter().chain(&gaps[i + 1..end]).sum();
        line += &" ".repeat(gaps[i]);
        line += &if group.is_empty() {
            " ".repeat(width)
        } else {
            format!("{:─^width$}", format!(" {group} "))
        };
        i = end;
    }
    line
}
