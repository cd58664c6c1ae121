//! What was measured, beside what was expected, and the tables of it.
//!
//! Relies on [`crate::expected`] for what is within a tolerance.

use crate::expected::Expectation;
use crate::measure::Value;
use std::io::{self, Write};

/// A row with what came out.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was expected.
    pub row: Expectation,
    /// What was measured.
    pub measured: Value,
}

impl Finding {
    /// Whether it is within its tolerance.
    pub fn is_within(&self) -> bool {
        self.row.tolerance.admits(&self.row.expected, &self.measured)
    }

    /// The columns of a table.
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

    /// How much more was measured than was expected.
    fn difference(&self) -> String {
        match (&self.row.expected, &self.measured) {
            (Value::Number(expected), Value::Number(measured)) => format!("{:+}", *measured - *expected),
            _ => String::new(),
        }
    }
}

/// A row with what came of it.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// In the kernel engine.
    pub finding: Finding,
    /// In the fair class, where that can be measured.
    pub fair: Option<Value>,
    /// In the fair class but for the thread that is measured, which is under SCHED_FIFO; where it is about wake-ups.
    pub fifo: Option<Value>,
}

/// Writes findings as a table; a row that is out of its tolerance ends in an arrow.
///
/// # Errors
/// Those of `out`.
pub fn write_table(out: &mut impl Write, name: &str, findings: &[Finding]) -> io::Result<()> {
    let head =
        ["file", "run", "measure", "of", "source", "expected", "tolerance", "measured"].map(String::from);
    let rows = findings.iter().map(|finding| (finding.cells(), finding.is_within()));
    write_columns(out, name, head, &rows.collect::<Vec<_>>())
}

/// Writes what came of rows on a real kernel: the difference from what is expected, and others beside it.
///
/// # Errors
/// Those of `out`.
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

/// Writes rows, each with whether it is as expected; from the sixth column on there are numbers.
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
