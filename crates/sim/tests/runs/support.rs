//! How the tests run a hierarchy in the simulator, and look at its records and its result.

use hls_hierarchy::Source;
use hls_monitor::event::{ObservedVp, Record, What};
use hls_monitor::observe::{Observer, Promise};
use hls_monitor::result::{RunResult, SchedulerResult, ThreadResult};
use hls_plan::PlanError;
use hls_sim::{Failure, Options, Plan, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use hls_workload::read_rt_app;

/// `n` milliseconds.
pub fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// `n` microseconds.
pub fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// A finished run.
pub struct Run {
    pub plan: Plan,
    pub records: Vec<Record>,
    pub result: RunResult,
}

/// A stretch of time in which a VP had a CPU: the CPU, the start, the end.
pub type Stint = (u16, Nanos, Nanos);

/// Options that have every invariant checked.
pub fn paranoid(seed: u64) -> Options {
    Options { seed, paranoid: true, ..Options::default() }
}

/// Reads rt-app's JSON; panics if there is an error in it.
pub fn workload(json: &str) -> Workload {
    let workload = read_rt_app("test.json", json.as_bytes()).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(workload.unsupported, Vec::<String>::new());
    workload
}

/// Plans a run; panics if there is an error in the hierarchy file itself.
pub fn plan(hierarchy: &str, workload: &Workload) -> Result<Plan, Vec<PlanError>> {
    let lines = |errors: Vec<_>| {
        let source = Source::new("test.kdl", hierarchy.as_bytes());
        errors.iter().map(|error| source.line(error)).collect::<Vec<_>>().join("\n")
    };
    let (read, _warnings) = hls_hierarchy::read(hierarchy.as_bytes())
        .unwrap_or_else(|errors| panic!("{}\n{hierarchy}", lines(errors)));
    Plan::new(read, workload)
}

/// Simulates a plan for `length`.
pub fn carry_out(
    plan: Plan,
    promises: Vec<Promise>,
    length: Nanos,
    options: Options,
) -> Result<Run, Failure> {
    let mut observer = Observer::new(plan.topology.clone(), promises);
    let mut records = Vec::new();
    let mut sink = |record: &Record| {
        observer.observe(record);
        records.push(*record);
    };
    let mut simulation = Simulation::new(plan.clone(), options)?;
    simulation.run_until(length, &mut sink)?;
    simulation.end(&mut sink);
    let mut result = observer.finish(length);
    simulation.complete(&mut result);
    Ok(Run { plan, records, result })
}

/// Runs a hierarchy with a workload.
pub fn run_under(hierarchy: &str, workload: &Workload, length: Nanos) -> Run {
    let plan = plan(hierarchy, workload).unwrap_or_else(|errors| panic!("{errors:?}"));
    carry_out(plan, Vec::new(), length, paranoid(1)).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Runs a hierarchy with a workload in rt-app's JSON.
pub fn run_with(hierarchy: &str, json: &str, length: Nanos) -> Run {
    run_under(hierarchy, &workload(json), length)
}

/// Runs a hierarchy with a file that says what the threads do.
pub fn run(hierarchy: &str, length: Nanos) -> Run {
    run_under(hierarchy, &Workload::default(), length)
}

impl Run {
    /// The VP of a thread.
    pub fn vp(&self, thread: &str) -> ObservedVp {
        let found = self.plan.threads().find(|planned| planned.name == thread);
        found.unwrap_or_else(|| panic!("no thread `{thread}`")).vp
    }

    /// The result of a thread.
    pub fn thread(&self, name: &str) -> &ThreadResult {
        let vp = self.vp(name);
        self.result.threads.iter().find(|thread| thread.vp == vp).expect("every thread has a result")
    }

    /// The result of a scheduler.
    pub fn scheduler(&self, name: &str) -> &SchedulerResult {
        let infos = &self.result.topology.schedulers;
        let index = infos.iter().position(|info| info.name == name).expect("a scheduler of that name");
        &self.result.schedulers[index]
    }

    /// The records of a thread, each with its instant.
    pub fn life(&self, thread: &str) -> Vec<(Nanos, What)> {
        let vp = self.vp(thread);
        self.records.iter().filter(|record| record.vp == vp).map(|record| (record.at, record.what)).collect()
    }

    /// The instants of all records of this kind about a thread.
    pub fn times(&self, thread: &str, what: What) -> Vec<Nanos> {
        self.life(thread).into_iter().filter(|(_, recorded)| *recorded == what).map(|(at, _)| at).collect()
    }

    /// When a thread had a CPU, without the stints of no length, in which it only blocked.
    pub fn stints(&self, thread: &str) -> Vec<Stint> {
        let all = self.all_stints(self.vp(thread));
        all.into_iter().filter(|(_, from, to)| from < to).collect()
    }

    /// When a VP had a CPU.
    pub fn all_stints(&self, vp: ObservedVp) -> Vec<Stint> {
        let mut stints = Vec::new();
        let mut open: Option<(u16, Nanos)> = None;
        for record in self.records.iter().filter(|record| record.vp == vp) {
            match record.what {
                What::Grant => open = Some((record.cpu, record.at)),
                What::Revoke | What::Release => {
                    stints.extend(open.take().map(|(cpu, from)| (cpu, from, record.at)));
                }
                _ => {}
            }
        }
        stints.extend(open.map(|(cpu, from)| (cpu, from, self.result.length)));
        stints
    }

    /// The stretches of time that interrupts stole.
    pub fn stolen(&self) -> Vec<Stint> {
        let stolen = |record: &Record| match record.what {
            What::Stolen { length } => Some((record.cpu, record.at - length, record.at)),
            _ => None,
        };
        self.records.iter().filter_map(stolen).collect()
    }

    /// The CPU time of all threads together.
    pub fn ran(&self) -> Nanos {
        self.result.threads.iter().map(|thread| thread.ran).sum()
    }

    /// The part of that CPU time that went into the programs of the threads.
    pub fn work(&self) -> Nanos {
        self.result.threads.iter().map(|thread| thread.work).sum()
    }
}

/// Stints on CPU 0, in milliseconds.
pub fn on_cpu_0(stints: &[(u64, u64)]) -> Vec<Stint> {
    stints.iter().map(|&(from, to)| (0, ms(from), ms(to))).collect()
}
