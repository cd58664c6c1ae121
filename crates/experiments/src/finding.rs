//! Writes tables of what was measured beside what was expected.
//!
//! Relies on [`crate::expected`] to say what is within a tolerance.

use crate::expected::Expectation;
use crate::measure::Value;
use std::io::{self, Write};

/// A row with the value that was measured for it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The row, with the value that is expected.
    pub row: Expectation,
    /// The value that was measured.
    pub measured: Value,
}

impl Finding {
    /// Whether the measured value is within the tolerance of the row.
    pub fn is_within(&self) -> bool {
        self.row.tolerance.admits(&self.row.expected, &self.measured)
    }

    /// The cells of the finding's line in a table.
    fn cells(&self) -> [String; 8] {
        let Finding { row, measured } = self;
        [
            row.file.clone(),
            row.run.to_string(),
            row.measure.name().to_owned(),
            row.of.clone(),
            row.source.clone(),
            row.expected.to_string(),
            row.tolerance.to_string(),
            measured.to_string(),
        ]
    }

    /// The measured value less the expected one; empty where they are no numbers.
    fn difference(&self) -> String {
        match (&self.row.expected, &self.measured) {
            (Value::Number(expected), Value::Number(measured)) => format!("{:+}", *measured - *expected),
            _ => String::new(),
        }
    }
}

/// A row with the values that were measured for it on a real kernel.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The value under the kernel engine.
    pub finding: Finding,
    /// The value where all threads are in the fair class, if that can be measured.
    pub fair: Option<Value>,
    /// The value where the measured thread is under SCHED_FIFO and all others are in the fair class; only for a row
    /// about wake-ups.
    pub fifo: Option<Value>,
}

/// Writes findings as a table; a row that is not within its tolerance ends in an arrow.
///
/// # Errors
/// The errors of `out`.
pub fn write_table(out: &mut impl Write, name: &str, findings: &[Finding]) -> io::Result<()> {
    let head =
        ["file", "run", "measure", "of", "source", "expected", "tolerance", "measured"].map(String::from);
    let rows = findings.iter().map(|finding| (finding.cells(), finding.is_within()));
    write_columns(out, name, head, &rows.collect::<Vec<_>>())
}

/// Writes what was measured on a real kernel as a table: under the engine, the difference from what is expected, and
/// the values in the fair class and under SCHED_FIFO.
///
/// # Errors
/// The errors of `out`.
pub fn write_comparison(out: &mut impl Write, name: &str, comparisons: &[Comparison]) -> io::Result<()> {
    let head = [
        "file",
        "run",
        "measure",
        "of",
        "source",
        "expected",
        "tolerance",
        "kernel",
        "difference",
        "fair",
        "fifo",
    ];
    let cells = |Comparison { finding, fair, fifo }: &Comparison| {
        let beside = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let [file, run, measure, of, source, expected, tolerance, measured] = finding.cells();
        let (difference, fair, fifo) = (finding.difference(), beside(fair), beside(fifo));
        [file, run, measure, of, source, expected, tolerance, measured, difference, fair, fifo]
    };
    let rows = comparisons.iter().map(|comparison| (cells(comparison), comparison.finding.is_within()));
    write_columns(out, name, head.map(String::from), &rows.collect::<Vec<_>>())
}

/// Writes rows, each with whether it is within its tolerance. From the sixth column on, cells are numbers.
fn write_columns<const COLUMNS: usize>(
    out: &mut impl Write,
    name: &str,
    head: [String; COLUMNS],
    rows: &[([String; COLUMNS], bool)],
) -> io::Result<()> {
    let all = || std::iter::once((&head, true)).chain(rows.iter().map(|(row, is_within)| (row, *is_within)));
    let width = |column: usize| all().map(|(row, _)| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    writeln!(out, "\n{name}")?;
    for (row, is_within) in all() {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            if column < 5 { write!(out, "  {cell:<width$}")? } else { write!(out, "  {cell:>width$}")? }
        }
        writeln!(out, "{}", if is_within { "" } else { "  <-- out" })?;
    }
    Ok(())
}
