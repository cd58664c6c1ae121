//! The one way of the tests into a load.

use hls_monitor::event::{Record, What};
use hls_plan::Plan;
use hls_real_threads::{Load, Outcome, ThreadEnd};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::process::Command;

/// `n` milliseconds.
pub fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// What a thread may compute more than it is to: the way from one look at a clock to the next, and a page fault.
pub const SLACK: Nanos = Nanos::from_micros(100);

pub fn plan(hierarchy: &str, workload: &Workload) -> Plan {
    let (hierarchy, _) = hls_hierarchy::read(hierarchy.as_bytes()).unwrap();
    Plan::new(hierarchy, workload).unwrap()
}

pub fn rt_app(json: &str) -> Workload {
    hls_workload::read_rt_app("test.json", json.as_bytes()).unwrap()
}

pub fn start(plan: &Plan) -> Load {
    try_start(plan).unwrap()
}

pub fn try_start(plan: &Plan) -> std::io::Result<Load> {
    Load::start(Command::new(env!("CARGO_BIN_EXE_hls-load-threads")), plan, SEED)
}

pub const SEED: u64 = 7;

/// A run that came to its end.
pub struct Run {
    pub plan: Plan,
    pub records: Vec<Record>,
    pub outcome: Outcome,
}

/// Runs a hierarchy under a workload; threads that come later are admitted at once.
pub fn run(hierarchy: &str, workload: &Workload, length: Nanos) -> Run {
    let plan = plan(hierarchy, workload);
    let mut load = start(&plan);
    let mut records = Vec::new();
    load.go(length);
    while load.elapsed() < length {
        load.arrivals(ms(5)).unwrap().iter().for_each(|&(vp, _)| load.admit(vp));
        load.events(&mut |record| records.push(*record));
    }
    let outcome = load.finish(&mut |record| records.push(*record)).unwrap();
    assert_eq!((outcome.lost, outcome.length), (0, length));
    assert!(records.is_sorted_by_key(|record| record.at), "{records:?}");
    Run { plan, records, outcome }
}

impl Run {
    fn vp(&self, name: &str) -> u32 {
        self.plan.threads().find(|thread| thread.name == name).unwrap().vp
    }

    /// What became of the thread of that name.
    pub fn end(&self, name: &str) -> &ThreadEnd {
        let vp = self.vp(name);
        self.outcome.threads.iter().find(|end| end.vp == vp).unwrap()
    }

    /// What that thread told, and when.
    pub fn told(&self, name: &str) -> Vec<(Nanos, What)> {
        let vp = self.vp(name);
        self.records.iter().filter(|record| record.vp == vp).map(|record| (record.at, record.what)).collect()
    }

    /// How many jobs that thread has done.
    pub fn jobs(&self, name: &str) -> u64 {
        self.told(name).iter().filter(|(_, what)| matches!(what, What::JobDone { .. })).count() as u64
    }

    /// How many deadlines that thread has missed.
    pub fn misses(&self, name: &str) -> u64 {
        let misses = |what: What| if let What::Miss { count } = what { count.into() } else { 0 };
        self.told(name).iter().map(|&(_, what)| misses(what)).sum()
    }
}
