//! Every experiment is within its tolerances, and every example runs, with the core's invariants checked throughout.
//! Finds experiments and examples by glob.

use hls_core::limits::MAX_DEPTH;
use hls_experiments::chain;
use hls_experiments::deadlines;
use hls_experiments::experiment::{Experiment, run_file};
use hls_experiments::files::files;
use hls_experiments::finding::{Finding, write_table};
use hls_experiments::interrupts;
use hls_experiments::isolation;
use hls_experiments::measure::Measure;
use hls_experiments::run::run;
use hls_experiments::shares;
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn paranoid(seed: u64) -> Options {
    Options { seed, paranoid: true, ..Options::default() }
}

fn experiments() -> Vec<Experiment> {
    let experiments =
        Experiment::find_all(&folder("experiments")).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    assert!(experiments.len() >= 5, "found {} experiments, expected all of the papers'", experiments.len());
    experiments
}

fn table(name: &str, findings: &[Finding]) -> String {
    let mut table = Vec::new();
    write_table(&mut table, name, findings).expect("memory can be written");
    String::from_utf8(table).expect("names and numbers")
}

/// Fails, with a table of the findings that are not within their tolerances, if there are any.
fn assert_within(name: &str, findings: Result<Vec<Finding>, Vec<String>>) {
    let mut findings = findings.unwrap_or_else(|errors| panic!("{name}:\n{}", errors.join("\n")));
    findings.retain(|finding| !finding.is_within());
    assert!(findings.is_empty(), "out of tolerance: {}", table(name, &findings));
}

/// And `measured.txt` has what was measured, to the last digit.
#[test]
fn every_row_is_within_its_tolerance() {
    for experiment in experiments().into_iter().filter(|experiment| !experiment.rows.is_empty()) {
        let findings = experiment.carry_out(&paranoid(0));
        if let Ok(findings) = &findings {
            let measured = experiment.folder.join("measured.txt");
            hls_golden::assert_golden(&measured, table(&experiment.name, findings).trim_start());
        }
        assert_within(&experiment.name, findings);
    }
}

#[test]
fn no_guarantee_is_broken_under_other_seeds() {
    for experiment in experiments() {
        for seed in 1..=5 {
            let only_broken = |findings: Vec<Finding>| {
                findings.into_iter().filter(|finding| finding.row.measure == Measure::Broken).collect()
            };
            let name = format!("{}, seed {seed}", experiment.name);
            assert_within(&name, experiment.carry_out(&paranoid(seed)).map(only_broken));
        }
    }
}

#[test]
fn chains_of_every_depth_share_the_cpu() {
    assert_within("figure-10.2", chain::carry_out(1..=MAX_DEPTH as u32, &paranoid(0)));
}

#[test]
fn one_level_too_many_is_refused() {
    let errors =
        chain::carry_out([MAX_DEPTH as u32 + 1].into_iter(), &paranoid(0)).expect_err("it is too deep");
    assert!(errors.iter().any(|error| error.contains("deep") || error.contains("levels")), "{errors:?}");
}

#[test]
fn every_example_runs_and_keeps_its_promises() {
    let examples =
        files(&folder("examples"), ".kdl").unwrap_or_else(|errors| panic!("{}", errors.join("\n")));
    assert!(!examples.is_empty());
    let wrong: Vec<String> = examples.iter().flat_map(|example| wrong_with(example)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wrong_with(example: &Path) -> Vec<String> {
    let outcome = match run_file(example, Nanos::from_secs(2), &paranoid(0)) {
        Ok(outcome) => outcome,
        Err(errors) => return errors,
    };
    let name_of = |vp| format!("{}: {}", example.display(), outcome.result.topology.child_name(vp));
    let idle = outcome.result.threads.iter().filter(|thread| thread.ran == Nanos::ZERO);
    let idle = idle.map(|thread| format!("{} never ran", name_of(thread.vp)));
    let promises = outcome.result.guarantees.iter().filter(|_| outcome.is_on_ideal_machine());
    let broken = promises.filter(|promise| !promise.is_kept());
    let broken = broken.map(|promise| format!("{} was promised {}", name_of(promise.vp), promise.guarantee));
    let late = outcome.late().map(|late| format!("{}: {late}", example.display()));
    idle.chain(broken).chain(late).collect()
}

/// A run is held to the bounds of its check, as `hls run` holds it.
#[test]
fn a_job_that_takes_longer_than_its_bound_is_found() {
    let text =
        r#"reservation { thread "film" guarantee="RESBH 10ms 33ms" { periodic run="8ms" every="33ms"; } }"#;
    let length = Nanos::from_secs(1);
    let mut outcome =
        run("film", text.as_bytes(), &Workload::default(), length, &paranoid(0)).expect("it runs");
    assert_eq!(outcome.late().count(), 0);
    let bound = outcome.result.threads[0].bound.as_mut().expect("the check has a bound for it");
    bound.bound = Nanos(1);
    assert_eq!(outcome.late().collect::<Vec<_>>(), ["film took longer than its bound"]);
}

/// The tables in the folder match the present policies.
#[test]
fn shares_are_kept_as_the_tables_say() {
    let folder = folder("experiments").join(shares::NAME);
    let options = Options::default();
    hls_golden::assert_golden(&folder.join("errors.md"), &shares::errors(&options).expect("it runs"));
    hls_golden::assert_golden(&folder.join("cheats.md"), &shares::cheats(&options).expect("it runs"));
    hls_golden::assert_golden(&folder.join("migrations.md"), &shares::migrations(&options).expect("it runs"));
}

/// The tables in the folder match the present policies.
#[test]
fn deadlines_are_missed_as_the_tables_say() {
    let folder = folder("experiments").join(deadlines::NAME);
    let options = Options::default();
    let schedulers = deadlines::schedulers(&options).expect("it runs");
    hls_golden::assert_golden(&folder.join("schedulers.md"), &schedulers);
    hls_golden::assert_golden(&folder.join("errors.md"), &deadlines::errors(&options).expect("it runs"));
}

/// The figures in the folder match the present policies, at a rate that all can bear and at the greatest.
#[test]
fn packets_are_dealt_with_as_the_figures_say() {
    let folder = folder("experiments").join(interrupts::NAME);
    for figure in interrupts::FIGURES {
        let file = folder.join(format!("{}.csv", figure.name));
        let table = std::fs::read_to_string(&file).expect("the figure is there");
        for rate in [10_000, 250_000] {
            let rows = figure.rows_at(&folder, rate, &Options::default()).expect("it runs");
            for row in rows.iter().map(|row| row.csv()) {
                assert!(table.lines().any(|line| line == row), "{row} is not in {}", file.display());
            }
        }
    }
}

/// The tables in the folder match the present policy.
#[test]
fn agents_do_harm_as_the_tables_say() {
    let tables = isolation::tables(&Options::default()).expect("it runs");
    hls_golden::assert_golden(&folder("experiments").join(isolation::NAME).join("tables.md"), &tables);
}
