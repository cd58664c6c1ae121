//! Finds the experiments by glob, and carries out their rows in the simulator.
//!
//! A folder is an experiment when it has `expected.csv`, for the simulator, or `kernel.csv`, for a real kernel. Where
//! it has `machine.kdl`, that file is the hierarchy of a real machine while the threads of the other files run there.

use crate::expected::{self, Expectation};
use crate::files::{files, read};
use crate::finding::Finding;
use crate::run::{Outcome, run};
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::path::{Path, PathBuf};

/// The table of what is expected in the simulator.
const SIMULATED: &str = "expected.csv";
/// The table of what is expected on a real kernel.
const ON_KERNEL: &str = "kernel.csv";

/// A hierarchy without the threads of the experiment: on a real kernel it has them in the default place, like all
/// threads that were not placed. A file of this name has no row.
pub(crate) const MACHINE: &str = "machine.kdl";

/// An experiment: a folder of `experiments/` with its tables.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name of the experiment and of its folder.
    pub name: String,
    /// The folder of its files.
    pub folder: PathBuf,
    /// The rows that are measured in the simulator.
    pub rows: Vec<Expectation>,
    /// The rows that are measured on a real kernel.
    pub on_kernel: Vec<Expectation>,
}

impl Experiment {
    /// All experiments of a folder, in order of name.
    ///
    /// # Errors
    /// All errors of the first experiment with tables that are wrong, or have no row for one of its hierarchy files.
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
            .filter(|path| !path.ends_with(MACHINE) && !is_used(path))
            .map(|path| format!("{}: found no row of a table for this file", path.display()))
            .collect();
        if !unused.is_empty() {
            return Err(unused);
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Experiment { name, folder, rows, on_kernel })
    }

    /// Measures every row of [`Experiment::rows`]. Rows of one file and length that follow each other share a run.
    ///
    /// # Errors
    /// Why rows could not be measured, and which jobs took longer than the bound that `hls check` has for them.
    pub fn carry_out(&self, options: &Options) -> Result<Vec<Finding>, Vec<String>> {
        let (mut findings, mut errors) = (Vec::new(), Vec::new());
        for rows in self.rows.chunk_by(|a, b| (&a.file, a.run) == (&b.file, b.run)) {
            let path = self.folder.join(format!("{}.kdl", rows[0].file));
            match run_file(&path, rows[0].run, options) {
                Ok(outcome) => {
                    errors.extend(outcome.late().map(|late| format!("{}: {late}", path.display())));
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

/// Runs a hierarchy file. The rt-app file of the same name that ends in `.json`, if there is one, is its workload.
///
/// # Errors
/// The errors of [`run()`] and of the workload, and the parts of the workload that cannot be simulated.
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
