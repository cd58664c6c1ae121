//! How the tests run a hierarchy with real threads, and look at what happened.

use hls_monitor::event::{ObservedVp, Record, What};
use hls_plan::Plan;
use hls_real_threads::{Outcome, ThreadEnd, ThreadProcess};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fs;
use std::ops::Deref;
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

/// What has been seen of a run.
pub struct Seen {
    pub plan: Plan,
    pub records: Vec<Record>,
    /// The CPU time that all its threads have had.
    pub cpu_time: Nanos,
}

/// A run that came to its end.
pub struct Run {
    pub seen: Seen,
    pub outcome: Outcome,
}

impl Deref for Run {
    type Target = Seen;

    fn deref(&self) -> &Seen {
        &self.seen
    }
}

/// Longer than any run of a test, however little CPU time there is.
const FOREVER: Nanos = Nanos::from_secs(1_000);

/// Runs a hierarchy with a workload until enough is seen; threads that arrive later are admitted at once.
pub fn run_until(hierarchy: &str, workload: &Workload, enough: impl Fn(&Seen) -> bool) -> Run {
    let plan = plan(hierarchy, workload);
    let mut process = start(&plan);
    let mut seen = Seen { plan, records: Vec::new(), cpu_time: Nanos::ZERO };
    process.go(FOREVER);
    while !enough(&seen) {
        assert!(process.elapsed() < FOREVER, "{:?}", seen.records);
        process.arrivals(ms(5)).unwrap().iter().for_each(|&(vp, _)| process.admit(vp));
        process.events(&mut |record| seen.records.push(*record));
        seen.cpu_time = cpu_time(process.pid());
    }
    let outcome = process.finish(&mut |record| seen.records.push(*record)).unwrap();
    assert_eq!(outcome.lost, 0);
    assert!(seen.records.is_sorted_by_key(|record| record.at), "{:?}", seen.records);
    Run { seen, outcome }
}

/// The CPU time that a process has had, in steps of ten milliseconds.
fn cpu_time(pid: u32) -> Nanos {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Behind the name are the fields from the third on; the 14th and 15th are in hundredths of a second.
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    ms(fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum::<u64>() * 10)
}

/// The first of several runs in which no thread computed for longer than it should have.
///
/// What the host takes from a virtual machine, the machine counts as CPU time of the thread that ran. That only adds:
/// so what is wrong is wrong in every run.
pub fn exact(run: impl Fn() -> Run, is_exact: impl Fn(&Run) -> bool) -> Run {
    let mut runs = (0..20).map(|_| run());
    runs.find(is_exact).expect("a run in which no thread computed for too long")
}

impl Run {
    /// How many whole times `period` fits into the run.
    pub fn periods(&self, period: Nanos) -> u64 {
        self.outcome.length.0 / period.0
    }

    /// The figures of the thread of that name.
    pub fn end(&self, name: &str) -> &ThreadEnd {
        let vp = self.vp(name);
        self.outcome.threads.iter().find(|end| end.vp == ObservedVp(vp)).unwrap()
    }
}

impl Seen {
    fn vp(&self, name: &str) -> u32 {
        self.plan.threads().find(|thread| thread.name == name).unwrap().vp.0
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
