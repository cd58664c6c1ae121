//! How the tests run a hierarchy with real threads, and look at what happened.

use hls_monitor::event::{ObservedVp, Record, What};
use hls_plan::Plan;
use hls_real_threads::{Outcome, ThreadEnd, ThreadProcess};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::process::Command;

/// `n` milliseconds.
pub fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// How much more than its step says a thread may compute: up to its next reading of the clock, and a page fault.
pub const SLACK: Nanos = Nanos::from_micros(100);

pub fn plan(hierarchy: &str, workload: &Workload) -> Plan {
    let (hierarchy, _) = hls_hierarchy::read(hierarchy.as_bytes()).unwrap();
    Plan::new(hierarchy, workload).unwrap()
}

pub fn rt_app(json: &str) -> Workload {
    hls_workload::read_rt_app("test.json", json.as_bytes()).unwrap()
}

pub fn start(plan: &Plan) -> ThreadProcess {
    try_start(plan).unwrap()
}

pub fn try_start(plan: &Plan) -> std::io::Result<ThreadProcess> {
    ThreadProcess::start(Command::new(env!("CARGO_BIN_EXE_hls-real-threads")), plan, SEED)
}

pub const SEED: u64 = 7;

/// A run that came to its end.
pub struct Run {
    pub plan: Plan,
    pub records: Vec<Record>,
    pub outcome: Outcome,
}

/// Runs a hierarchy with a workload; threads that arrive later are admitted at once.
pub fn run(hierarchy: &str, workload: &Workload, length: Nanos) -> Run {
    let plan = plan(hierarchy, workload);
    let mut process = start(&plan);
    let mut records = Vec::new();
    process.go(length);
    while process.elapsed() < length {
        process.arrivals(ms(5)).unwrap().iter().for_each(|&(vp, _)| process.admit(vp));
        process.events(&mut |record| records.push(*record));
    }
    let outcome = process.finish(&mut |record| records.push(*record)).unwrap();
    assert_eq!((outcome.lost, outcome.length), (0, length));
    assert!(records.is_sorted_by_key(|record| record.at), "{records:?}");
    Run { plan, records, outcome }
}

impl Run {
    fn vp(&self, name: &str) -> u32 {
        self.plan.threads().find(|thread| thread.name == name).unwrap().vp.0
    }

    /// The figures of the thread of that name.
    pub fn end(&self, name: &str) -> &ThreadEnd {
        let vp = self.vp(name);
        self.outcome.threads.iter().find(|end| end.vp == ObservedVp(vp)).unwrap()
    }

    /// The events of that thread, in order of time.
    pub fn events(&self, name: &str) -> Vec<(Nanos, What)> {
        let vp = self.vp(name);
        self.records
            .iter()
            .filter(|record| record.vp == ObservedVp(vp))
            .map(|record| (record.at, record.what))
            .collect()
    }

    /// How many jobs that thread has done.
    pub fn jobs(&self, name: &str) -> u64 {
        self.events(name).iter().filter(|(_, what)| matches!(what, What::JobDone { .. })).count() as u64
    }

    /// How many deadlines that thread has missed.
    pub fn misses(&self, name: &str) -> u64 {
        let misses = |what: What| if let What::Miss { count } = what { count.into() } else { 0 };
        self.events(name).iter().map(|&(_, what)| misses(what)).sum()
    }
}
