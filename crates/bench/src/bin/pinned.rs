//! pinned POLICY COUNT: how long a decision on CPU 1 takes while more and more READY threads are bound to CPU 0.
//!
//! Below one root scheduler of two CPUs, one thread runs on CPU 0, and the others wait for that CPU. A thread that can
//! use both CPUs blocks and wakes up COUNT times; each time CPU 1 decides twice. The time covers all calls of the core
//! for one block and one wake-up: the shortest of ten rounds, since other programs disturb some of them.

use hls_core::{Calls, Core, CoreScheduler, CoreVp, Params, PolicyInfo, policies};
use hls_units::Nanos;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const CPUS: u16 = 2;
const ROUNDS: u32 = 10;

/// A core with two CPUs, and the present instant.
struct Bench {
    core: Core,
    now: Nanos,
}

impl Bench {
    fn new(policy: &PolicyInfo) -> (Bench, CoreScheduler) {
        let mut core = Core::new();
        (0..CPUS).for_each(|cpu| core.add_cpu(cpu).expect("there is room for a CPU"));
        let presets: Vec<u64> =
            policy.scheduler_params.iter().map(|info| info.default.unwrap_or(info.min)).collect();
        let root =
            core.create_scheduler(policy.id, Params::from_slice(&presets)).expect("the presets are in range");
        for cpu in 0..CPUS {
            core.attach_root(root, cpu).expect("the CPU has no other root");
        }
        (Bench { core, now: Nanos::ZERO }, root)
    }

    /// A thread; parameters that have no preset are `param`, within their ranges.
    fn thread(&mut self, policy: &PolicyInfo, root: CoreScheduler, param: u64) -> CoreVp {
        let params: Vec<u64> = policy
            .vp_params
            .iter()
            .map(|info| info.default.unwrap_or(param.clamp(info.min, info.max)))
            .collect();
        self.core.attach(root, None, Params::from_slice(&params)).expect("there is room for a thread")
    }

    fn wake(&mut self, thread: CoreVp) {
        self.core.request(thread, self.now);
        self.settle();
    }

    fn settle(&mut self) {
        while self.core.kick() != 0 {
            let cpu = self.core.kick().trailing_zeros() as u16;
            self.core.schedule(cpu, self.now);
        }
    }

    /// The thread blocks and wakes up, `count` times.
    fn switch(&mut self, thread: CoreVp, count: u32) -> Duration {
        let begin = Instant::now();
        for _ in 0..count {
            self.now += Nanos(1_000);
            self.core.release(thread, self.now);
            self.settle();
            self.now += Nanos(1_000);
            self.wake(thread);
        }
        begin.elapsed() / count
    }
}

/// The time of a block and a wake-up while `pinned` threads wait for CPU 0.
fn measure(policy: &PolicyInfo, pinned: u32, count: u32) -> Duration {
    let (mut bench, root) = Bench::new(policy);
    for _ in 0..=pinned {
        let thread = bench.thread(policy, root, 1_000_000);
        bench.core.set_affinity(thread, 1, bench.now).expect("CPU 0 is there");
        bench.wake(thread);
    }
    let thread = bench.thread(policy, root, 1_000_000);
    bench.wake(thread);
    (0..ROUNDS).map(|_| bench.switch(thread, count)).min().unwrap_or_default()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let policy = args.first().and_then(|name| policies().iter().find(|policy| policy.name == *name));
    let count = args.get(1).and_then(|text| text.parse::<u32>().ok()).filter(|&count| count > 0);
    let (Some(policy), Some(count)) = (policy, count) else {
        eprintln!("usage: pinned POLICY COUNT");
        return ExitCode::from(2);
    };
    println!("{:<20} {:>14} {:>22}", "policy", "bound to CPU 0", "switch on CPU 1");
    for pinned in [10, 1_000, 10_000, 60_000] {
        let took = measure(policy, pinned, count);
        println!("{:<20} {pinned:>14} {:>19} ns", policy.name, took.as_nanos());
    }
    ExitCode::SUCCESS
}
