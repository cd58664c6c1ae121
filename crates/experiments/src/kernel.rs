//! Measures the rows of an experiment on a real kernel: boots the test machine, runs each hierarchy there under the
//! kernel engine, and then the same threads in the fair class. Where the folder has a hierarchy for the machine
//! (`machine.kdl`), the threads run as plain threads under that one instead.
//!
//! Relies on `guest.sh` to do that in the guest, and on the reports of `hls run --json` and `hls baseline --json`.

use crate::boot::ExactVm;
use crate::expected::Expectation;
use crate::experiment::MACHINE;
use crate::files::read;
use crate::finding::{Comparison, Finding};
use crate::measure::Measure;
use crate::report::{RunReport, ThreadReport, bursts};
use crate::run::{Outcome, checked};
use hls_calculus::{Guarantee, Mode, floor_nanos};
use hls_check::Derived;
use hls_facade::Checked;
use hls_monitor::observe::Observer;
use hls_plan::Plan;
use hls_units::Nanos;
use hls_vm::{Guest, OUT, Script};
use hls_workload::program::Workload;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The folder of the guest with the hierarchy files.
const FILES: &str = "/usr/experiment";

/// The test machine, and the `hls` that measures there.
pub struct Kernel<'a> {
    /// The test machine.
    pub vm: ExactVm<'a>,
    /// The path of the command `hls`.
    pub hls: &'a Path,
}

/// A run that some rows share.
struct Run<'a> {
    rows: &'a [Expectation],
    /// Whether the folder has a hierarchy for the machine, in which the threads of the run have no place.
    has_machine: bool,
    /// How the names of the run's files in `$OUT` begin.
    name: String,
    plan: Plan,
}

impl Kernel<'_> {
    /// Measures rows of the experiment in `folder`. Rows of one file and length that follow each other share a run.
    ///
    /// # Errors
    /// Why rows could not be measured, and what the kernel complained about.
    pub fn carry_out(&self, folder: &Path, rows: &[Expectation]) -> Result<Vec<Comparison>, Vec<String>> {
        let runs: Vec<Run> = rows
            .chunk_by(|a, b| (&a.file, a.run) == (&b.file, b.run))
            .map(|rows| Run::new(folder, rows))
            .collect::<Result<_, _>>()?;
        self.boot(folder, &runs)?;
        let left = self.vm.results.join(OUT);
        let mut comparisons = Vec::new();
        for run in runs {
            comparisons.extend(run.compare(&left).map_err(|error| vec![error])?);
        }
        Ok(comparisons)
    }

    /// Boots the guest and carries out all runs in it.
    fn boot(&self, folder: &Path, runs: &[Run]) -> Result<(), Vec<String>> {
        let guest = Guest {
            scripts: runs.iter().map(Run::script).collect(),
            programs: vec![self.hls.to_owned(), PathBuf::from("chrt"), PathBuf::from("renice")],
            files: vec![(folder.to_owned(), FILES.into())],
        };
        // Only with this option the kernel traces the CPU time of threads.
        self.vm.run(&guest, "schedstats=enable").map(drop)
    }
}

impl<'a> Run<'a> {
    fn new(folder: &Path, rows: &'a [Expectation]) -> Result<Run<'a>, Vec<String>> {
        let Expectation { file, run, .. } = &rows[0];
        let path = folder.join(format!("{file}.kdl"));
        let Checked { plan, .. } = checked(&path.display().to_string(), &read(&path)?, &Workload::default())?;
        let has_machine = folder.join(MACHINE).is_file();
        Ok(Run { rows, has_machine, name: format!("{file}-{run}"), plan })
    }

    /// The name of the thread in the first row with one of these measures; empty where there is none.
    fn subject(&self, is_one: fn(Measure) -> bool) -> &'a str {
        self.rows.iter().find(|row| is_one(row.measure)).map_or("", |row| &row.of)
    }

    fn script(&self) -> Script {
        let Expectation { file, run, .. } = &self.rows[0];
        let (watched, fifo) = (self.subject(Measure::is_of_budget), self.subject(Measure::is_of_wake_ups));
        let machine = if self.has_machine { format!("{FILES}/{MACHINE}") } else { String::new() };
        let variables = format!(
            "NAME='{}' FILE='{FILES}/{file}.kdl' LENGTH={run} WATCHED='{watched}' FIFO='{fifo}' MACHINE='{machine}'",
            self.name
        );
        Script {
            name: self.name.clone(),
            text: format!("#!/bin/sh\n{variables}\n{}", include_str!("guest.sh")),
        }
    }

    /// Takes the measures of the rows from the files that the guest left in the folder `left`.
    fn compare(&self, left: &Path) -> Result<Vec<Comparison>, String> {
        let outcome = |way: &str| self.outcome(&left.join(format!("{}.{way}.json", self.name)));
        let (mut kernel, fair) = (outcome("kernel")?, outcome("fair")?);
        let is_fifo = !self.subject(Measure::is_of_wake_ups).is_empty();
        let fifo = if is_fifo { Some(outcome("fifo")?) } else { None };
        let watched = self.subject(Measure::is_of_budget);
        if !watched.is_empty() {
            kernel.overruns = self.overruns(watched, &left.join(format!("{}.trace", self.name)))?;
        }
        let compare = |row: &Expectation| {
            let measured = row.measure.take(&kernel, &row.of)?;
            Ok(Comparison {
                finding: Finding { row: row.clone(), measured },
                fair: row.measure.take(&fair, &row.of).ok(),
                fifo: fifo.as_ref().and_then(|fifo| row.measure.take(fifo, &row.of).ok()),
            })
        };
        self.rows.iter().map(compare).collect()
    }

    /// Reads the report of a run, as far as it is about threads.
    fn outcome(&self, path: &Path) -> Result<Outcome, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read(path).map_err(|error| failed(&error))?;
        let report: RunReport = serde_json::from_slice(&text).map_err(|error| failed(&error))?;
        let length = Nanos(report.length_ns);
        let mut result = Observer::new(self.plan.topology.clone(), Vec::new()).finish(length);
        let by_name: HashMap<&str, &ThreadReport> =
            report.threads.iter().map(|thread| (thread.name.as_str(), thread)).collect();
        for thread in &mut result.threads {
            let name = self.plan.topology.child_name(thread.vp);
            let report = by_name.get(name).ok_or_else(|| failed(&format!("found no thread `{name}`")))?;
            (thread.ran, thread.misses) = (Nanos(report.ran_ns), report.misses);
            thread.frames = report.frames;
            (thread.wake_latency, thread.response) = (report.wake_latency.into(), report.response.into());
        }
        Ok(Outcome { plan: self.plan.clone(), result, overruns: Vec::new() })
    }

    /// The CPU time beyond its budget that a thread had in each of its periods, by its trace, in order of size.
    fn overruns(&self, thread: &str, trace: &Path) -> Result<Vec<Nanos>, String> {
        let failed = |what: String| format!("{}: {what}", trace.display());
        let derived = Derived::new(&self.plan, Mode::Tight);
        let is_it = |vp| self.plan.topology.child_name(vp) == thread;
        let promised = derived.labels(&self.plan).find(|(vp, _)| is_it(*vp)).map(|(_, guarantee)| guarantee);
        let Some(Guarantee::Reservation { hard: true, amount, period, .. }) = promised else {
            return Err(failed(format!("found `{thread}` without a hard reservation, expected one")));
        };
        let (budget, period) = (floor_nanos(amount), floor_nanos(period));
        let text = std::fs::read_to_string(trace).map_err(|error| failed(error.to_string()))?;
        let mut bursts = bursts(&text, Nanos((period - budget).0 / 2));
        // The first burst began before the run did, and the last may not have ended.
        bursts.pop();
        let mut overruns: Vec<Nanos> =
            bursts.iter().skip(1).map(|burst| burst.saturating_sub(budget)).collect();
        overruns.sort_unstable();
        match overruns.is_empty() {
            true => Err(failed(format!("found no period of `{thread}` that was over"))),
            false => Ok(overruns),
        }
    }
}
