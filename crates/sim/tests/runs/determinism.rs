//! A seed gives the same run, in however many steps the run is carried out.

use super::support::{carry_out, ms, paranoid, plan};
use hls_monitor::event::{Record, What};
use hls_sim::{Plan, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;

const HIERARCHY: &str = r#"
    machine cpus=2 switch-cost="5us" { interrupt cpu=1 every="1ms..3ms" takes="10us..90us" }
    fixed-priority "F" {
        reservation "R" priority=2 {
            thread "video" guarantee="RESBH 5ms 33ms" { periodic run="2ms..5ms" every="33ms" jitter="0ms..1ms" }
        }
        time-sharing "T" priority=1 {
            thread "shell" { bursty run="1ms..5ms" sleep="2ms..20ms" }
            thread "build" instances=3 { bursty run="10ms..40ms" sleep="1ms..2ms" }
        }
    }"#;
const LENGTH: Nanos = Nanos::from_millis(300);

fn planned() -> Plan {
    plan(HIERARCHY, &Workload::default()).expect("the workload fits")
}

fn records(seed: u64) -> Vec<Record> {
    carry_out(planned(), Vec::new(), LENGTH, paranoid(seed)).expect("the run comes to its end").records
}

#[test]
fn a_seed_is_a_run() {
    let first = records(7);
    assert!(first.len() > 500, "{} records", first.len());
    assert_eq!(first, records(7));
    assert_ne!(first, records(8));
}

#[test]
fn a_run_in_parts_is_the_same_run() {
    let mut parts = Vec::new();
    let mut simulation = Simulation::new(planned(), paranoid(7)).expect("the core takes it");
    for part in 1..=70 {
        let until = Nanos(LENGTH.0 * part / 70);
        simulation.run_until(until, &mut |record| parts.push(*record)).expect("nothing is wrong");
        assert_eq!(simulation.now(), until);
    }
    simulation.end(&mut |record| parts.push(*record));
    assert_eq!(parts, records(7));
}

/// What is not recorded happens all the same. The release of a job is recorded only where all records are wanted.
#[test]
fn watching_changes_nothing() {
    let of_threads = |records: Vec<Record>| {
        let planned = planned();
        let threads: Vec<_> = planned.threads().map(|thread| thread.vp).collect();
        let is_always_recorded =
            |record: &Record| threads.contains(&record.vp) && !matches!(record.what, What::JobRelease { .. });
        records.into_iter().filter(is_always_recorded).collect::<Vec<_>>()
    };
    let options = hls_sim::Options { watched: Some(Vec::new()), ..paranoid(7) };
    let unwatched = carry_out(planned(), Vec::new(), LENGTH, options).expect("the run comes to its end");
    let whole = carry_out(planned(), Vec::new(), LENGTH, paranoid(7)).expect("the run comes to its end");
    assert_eq!(unwatched.result.schedulers, whole.result.schedulers);
    assert!(unwatched.records.len() < whole.records.len());
    assert_eq!(of_threads(unwatched.records), of_threads(whole.records));
}

/// Records come in order of time.
#[test]
fn time_does_not_run_backwards() {
    assert!(records(3).windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert!(records(3).iter().all(|record| record.at <= ms(300)));
}
