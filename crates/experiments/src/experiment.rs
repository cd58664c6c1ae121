//! Experiments: found by glob, carried out row by row, and printed beside what is expected.

use crate::expected::{self, Expectation};
use crate::measure::Value;
use crate::run::{Outcome, run};
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder of `experiments/`.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name: that of its folder.
    pub name: String,
    folder: PathBuf,
    rows: Vec<Expectation>,
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
    /// All experiments of a folder: its folders that have an `expected.csv`. In order of name.
    ///
    /// # Errors
    /// All that is wrong with what is there.
    pub fn find_all(folder: &Path) -> Result<Vec<Experiment>, Vec<String>> {
        let folders = files(folder, "")?.into_iter().filter(|path| path.join("expected.csv").is_file());
        folders.map(Experiment::open).collect()
    }

    fn open(folder: PathBuf) -> Result<Experiment, Vec<String>> {
        let table = folder.join("expected.csv");
        let text = String::from_utf8_lossy(&read(&table)?).into_owned();
        let located = |error| format!("{}: {error}", table.display());
        let rows =
            expected::read(&text).map_err(|errors| errors.into_iter().map(located).collect::<Vec<_>>())?;
        let is_used =
            |path: &PathBuf| rows.iter().any(|row| path.file_stem().is_some_and(|stem| *stem == *row.file));
        let unused: Vec<String> = files(&folder, ".kdl")?
            .iter()
            .filter(|path| !is_used(path))
            .map(|path| format!("{}: found no row of expected.csv for this file", path.display()))
            .collect();
        if !unused.is_empty() {
            return Err(unused);
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Experiment { name, folder, rows })
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
    let cells = |Finding { row, measured }: &Finding| {
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
    };
    let rows: Vec<_> = std::iter::once(head).chain(findings.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let marks =
        std::iter::once("").chain(findings.iter().map(|f| if f.is_within() { "" } else { "  <-- out" }));
    writeln!(out, "\n{name}")?;
    for (row, mark) in rows.iter().zip(marks) {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            if column < 5 { write!(out, "  {cell:<width$}")? } else { write!(out, "  {cell:>width$}")? }
        }
        writeln!(out, "{mark}")?;
    }
    Ok(())
}
