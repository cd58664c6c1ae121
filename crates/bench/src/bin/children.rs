//! Makes scheduling decisions among many children of one scheduler, for callgrind to count their instructions.
//!
//! `children POLICY CHILDREN COUNT` makes COUNT rounds inside the function `measured`; all the rest is preparation. All
//! children are threads that want the CPU. In a round the thread that runs goes on until its slice ends or a timer is
//! due, the next one blocks after 50 us, and wakes up after 20 us: three decisions. `children` alone prints the
//! policies for which that can be done.

use hls_core::{Calls, Core, CoreVp, ParamInfo, Params, PolicyInfo, policies};
use hls_units::Nanos;
use std::process::ExitCode;

const RUNS: Nanos = Nanos::from_micros(50);
const SLEEPS: Nanos = Nanos::from_micros(20);

struct Bench {
    core: Core,
    now: Nanos,
    /// The thread that has the CPU.
    running: Option<CoreVp>,
}

impl Bench {
    /// A CPU for a scheduler with its presets, below which this many threads want to run.
    fn new(policy: &PolicyInfo, children: u64) -> Bench {
        let mut core = Core::new();
        core.add_cpu(0).expect("there is room for a CPU");
        let presets: Vec<u64> =
            policy.scheduler_params.iter().map(|param| param.default.unwrap_or(param.min)).collect();
        let root = core.create_scheduler(policy.id, Params::from_slice(&presets)).expect("there is room");
        core.attach_root(root, 0).expect("there is no other root");
        let mut bench = Bench { core, now: Nanos::ZERO, running: None };
        for child in 0..children {
            let params: Vec<u64> =
                policy.vp_params.iter().map(|param| value(param, child, children)).collect();
            let thread = bench.core.attach(root, None, Params::from_slice(&params)).expect("it is in range");
            bench.core.request(thread, bench.now);
        }
        bench.settle();
        bench
    }

    fn settle(&mut self) {
        while self.core.kick() != 0 {
            self.running = self.core.schedule(0, self.now);
        }
    }

    /// The thread that runs goes on until something is due, at most for a second.
    fn go_on(&mut self) {
        let due = self.core.expires_at(0).min(self.core.timer_at());
        self.now = due.min(self.now + Nanos::from_secs(1)).max(self.now);
        self.core.timers(self.now);
        self.core.expire(0, self.now);
        self.settle();
    }

    fn round(&mut self) {
        self.go_on();
        let Some(thread) = self.running else { return };
        self.now += RUNS;
        self.core.release(thread, self.now);
        self.settle();
        self.now += SLEEPS;
        self.core.request(thread, self.now);
        self.settle();
    }
}

/// Small levels and shares that differ; budgets that fill half of the CPU together; else the preset.
fn value(param: &ParamInfo, child: u64, children: u64) -> u64 {
    match param.name {
        "share" | "priority" => param.min + child % 8,
        "budget" => 100_000,
        "period" => 200_000 * children,
        _ => param.default.unwrap_or(param.min),
    }
}

/// Makes the decisions; callgrind counts their instructions.
#[inline(never)]
fn measured(bench: &mut Bench, count: u64) {
    for _ in 0..count {
        bench.round();
    }
}

/// The most children that are measured; `children` alone prints the policies that take as many.
const MANY: u64 = 10_000;

fn takes_many(policy: &&PolicyInfo) -> bool {
    u64::from(policy.max_children) >= MANY && policy.name != "join"
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        policies().iter().filter(takes_many).for_each(|policy| println!("{}", policy.name));
        return ExitCode::SUCCESS;
    }
    let number = |index: usize| args.get(index).and_then(|text| text.parse::<u64>().ok());
    let policy = policies().iter().filter(takes_many).find(|policy| policy.name == args[0]);
    let (Some(policy), Some(children @ 1..=MANY), Some(count)) = (policy, number(1), number(2)) else {
        eprintln!("usage: children POLICY CHILDREN COUNT");
        return ExitCode::from(2);
    };
    let mut bench = Bench::new(policy, children);
    // Until each child has had its turn.
    (0..2 * children).for_each(|_| bench.go_on());
    measured(&mut bench, count);
    ExitCode::SUCCESS
}
