//! The tables of the HLS thesis on a real kernel, in short: a row or two of each table, for a few seconds: part of
//! `make night`. `make tables` runs all rows.
//!
//! Relies on the test machine; a test says that it is skipped where the test machine cannot run.

use hls_experiments::boot::ExactVm;
use hls_experiments::experiment::Experiment;
use hls_experiments::finding::write_comparison;
use hls_experiments::kernel::Kernel;
use hls_units::Nanos;
use hls_vm::{Flavour, Vm};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the rows of these files of an experiment, each for `length`, and fails with a table if a row is out of
/// tolerance.
fn assert_as_expected(name: &str, files: &[&str], length: Nanos) {
    let Some(vm) = Vm::open_or_skip(&root().join(".cache/vm"), Flavour::Cloud).unwrap() else { return };
    let all = Experiment::find_all(&root().join("experiments")).unwrap();
    let experiment = all.iter().find(|experiment| experiment.name == name).unwrap();
    let mut rows = experiment.on_kernel.clone();
    rows.retain(|row| files.contains(&row.file.as_str()));
    assert!(!rows.is_empty(), "found no rows of {files:?} in {name}");
    rows.iter_mut().for_each(|row| row.run = length);
    let folder = tempfile::tempdir().unwrap();
    let exact_vm = ExactVm {
        vm: &vm,
        // 500 MIPS, as the machine of the papers had.
        shift: 1,
        limit: Duration::from_secs(3600),
        results: folder.path().to_owned(),
    };
    let kernel = Kernel { vm: exact_vm, hls: Path::new(env!("CARGO_BIN_EXE_hls")) };
    let mut comparisons = kernel.carry_out(&experiment.folder, &rows).unwrap();
    comparisons.retain(|comparison| !comparison.finding.is_within());
    let mut table = Vec::new();
    write_comparison(&mut table, name, &comparisons).unwrap();
    assert!(comparisons.is_empty(), "out of tolerance: {}", String::from_utf8_lossy(&table));
}

#[test]
fn principals_are_isolated() {
    assert_as_expected("table-10.4", &["1-level-4", "2-level-4"], Nanos::from_secs(2));
}

#[test]
fn a_reservation_misses_no_deadline() {
    // The row of one background thread is left out, since it misses a deadline at times: see the README of the table.
    let files = ["10-background-hard-11-ticks"];
    assert_as_expected("table-10.5", &files, Nanos::from_secs(2));
}

#[test]
fn a_thread_runs_no_longer_than_its_budget() {
    // Long enough that the engine rescues a thread which has starved for five seconds.
    assert_as_expected("enforcement", &["overrun"], Nanos::from_secs(7));
}
