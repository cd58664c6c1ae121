//! Experiments: found by glob, carried out row by row, and printed beside what is expected.
//!
//! A folder is an experiment when it has `expected.csv`, for the simulator, or `kernel.csv`, for a real kernel.

use crate::expected::{self, Expectation};
use crate::kernel::Comparison;
use crate::measure::Value;
use crate::run::{Outcome, run};
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The tables of an experiment: what is expected in the simulator,
const SIMULATED: &str = "expected.csv";
/// and on a real kernel.
const ON_KERNEL: &str = "kernel.csv";

/// A folder of `experiments/`.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name: that of its folder.
    pub name: String,
    /// Where its files are.
    pub folder: PathBuf,
    /// What is measured in the simulator.
    pub rows: Vec<Expectation>,
    /// What is measured on a real kernel.
    pub on_kernel: Vec<Expectation>,
}

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

/// The files of a folder that end in this, in order of name.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Vec<String>> {
    let failed = |error: io::Error| vec![format!("{}: {error}", folder.display())];
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(failed)?;
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    Ok(paths)
}

/// Reads a file.
///
/// # Errors
/// Why it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Vec<String>> {
    fs::read(path).map_err(|error| vec![format!("{}: {error}", path.display())])
}

impl Experiment {
    /// All experiments of a folder, in order of name.
    ///
    /// # Errors
    /// All that is wrong with what is there.
    pub fn find_all(folder: &Path) -> Result<Vec<Experiment>, Vec<String>> {
        let is_one = |path: &PathBuf| [SIMULATED, ON_KERNEL].iter().any(|table| path.join(table).is_file());
        files(folder, "")?.into_iter().filter(is_one).map(Experiment::open).collect()
    }

    fn open(folder: PathBuf) -> Result<Experiment, Vec<String>> {
        let (rows, on_kernel) = (table(&folder.join(SIMULATED))?, table(&folder.join(ON_KERNEL))?);
        let is_used = |path: &PathBuf| {
            rows.iter().chain(&on_kernel).any(|row| path.file_stem().is_some_and(|stem| *stem == *row.file))
        };
        let unused: Vec<String> = files(&folder, ".kdl")?
            .iter()
            .filter(|path| !is_used(path))
            .map(|path| format!("{}: found no row of a table for this file", path.display()))
            .collect();
        if !unused.is_empty() {
            return Err(unused);
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Experiment { name, folder, rows, on_kernel })
    }

    /// Carries out every row. Rows of one file and length that follow each other share a run.
    ///
    /// # Errors
    /// All that keeps rows from being measured.
    pub fn carry_out(&self, options: &Options) -> Result<Vec<Finding>, Vec<String>> {
        let (mut findings, mut errors) = (Vec::new(), Vec::new());
        for rows in self.rows.chunk_by(|a, b| (&a.file, a.run) == (&b.file, b.run)) {
            let path = self.folder.join(format!("{}.kdl", rows[0].file));
            match run_file(&path, rows[0].run, options) {
                Ok(outcome) => {
                    for row in rows {
                        match row.measure.take(&outcome, &row.of) {
                            Ok(measured) => findings.push(Finding { row: row.clone(), measured }),
                            Err(error) => errors.push(format!("{}: {error}", path.display())),
                        }
                    }
                }
                Err(failures) => errors.extend(failures),
            }
        }
        if errors.is_empty() { Ok(findings) } else { Err(errors) }
    }
}

/// The rows of a table; none where there is no such file.
fn table(path: &Path) -> Result<Vec<Expectation>, Vec<String>> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let located = |error| format!("{}: {error}", path.display());
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    expected::read(&text).map_err(|errors| errors.into_iter().map(located).collect())
}

/// Runs a hierarchy file; with the rt-app file of the same name ending in `.json`, if there is one, as its workload.
///
/// # Errors
/// As [`run()`], and what is wrong with the workload, or cannot be simulated of it.
pub fn run_file(path: &Path, length: Nanos, options: &Options) -> Result<Outcome, Vec<String>> {
    let beside = path.with_extension("json");
    let mut workload = Workload::default();
    if beside.is_file() {
        let name = beside.display().to_string();
        workload = hls_workload::read_rt_app(&name, &read(&beside)?)
            .map_err(|errors| errors.iter().map(|error| error.to_string()).collect::<Vec<_>>())?;
        if !workload.unsupported.is_empty() {
            return Err(workload.unsupported);
        }
    }
    run(&path.display().to_string(), &read(path)?, &workload, length, options)
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
