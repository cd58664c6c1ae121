//! Makes scheduling decisions in a hierarchy of a given depth, for callgrind to count their instructions.
//!
//! `decisions fixed-priority|proportional-share DEPTH COUNT` makes COUNT decisions inside the function `measured`; all
//! the rest is preparation. Each decision takes the CPU from one chain of DEPTH schedulers and gives it to another that
//! meets the first at the root only (Figure 10.2 of the thesis): so it walks DEPTH levels up and DEPTH levels down.
//!
//! fixed-priority: two chains; the thread of the higher one blocks and wakes up in turn.
//! proportional-share: eight chains of equal share, and in every scheduler below the root seven further threads that
//! want the CPU all the time but, by their small shares, are not due for long: eight READY children at every level. The
//! decisions are made at the ends of quanta at the root.

use hls_core::{Calls, Core, CoreScheduler, CoreVp, Params, PolicyInfo, policies};
use hls_units::Nanos;
use std::process::ExitCode;

const QUANTUM: Nanos = Nanos::from_millis(1);

/// A core with one CPU, and the present instant.
struct Bench {
    core: Core,
    now: Nanos,
}

impl Bench {
    fn new() -> Bench {
        let mut core = Core::new();
        core.add_cpu(0).expect("there is room for a CPU");
        Bench { core, now: Nanos::ZERO }
    }

    fn scheduler(&mut self, policy: &PolicyInfo) -> CoreScheduler {
        self.core
            .create_scheduler(policy.id, Params::from_slice(&[QUANTUM.0]))
            .expect("there is room for a scheduler")
    }

    fn root(&mut self, policy: &PolicyInfo) -> CoreScheduler {
        let root = self.scheduler(policy);
        self.core.attach_root(root, 0).expect("there is no other root");
        root
    }

    fn attach(&mut self, parent: CoreScheduler, child: Option<CoreScheduler>, param: u64) -> CoreVp {
        self.core.attach(parent, child, Params::from_slice(&[param])).expect("the parameters are in range")
    }

    fn wake(&mut self, thread: CoreVp) {
        self.core.request(thread, self.now);
        self.settle();
    }

    fn settle(&mut self) {
        while self.core.kick() != 0 {
            self.core.schedule(0, self.now);
        }
    }

    /// Lets time pass up to the next end of a slice, and lets the core decide.
    fn next_slice(&mut self) {
        self.now = self.core.expires_at(0);
        self.core.expire(0, self.now);
        self.core.schedule(0, self.now);
    }
}

/// Makes a chain of `depth` schedulers that begins with the root, and returns all of them in order.
fn chain(
    bench: &mut Bench,
    policy: &PolicyInfo,
    root: CoreScheduler,
    depth: u32,
    param: u64,
) -> Vec<CoreScheduler> {
    let mut schedulers = vec![root];
    for level in 1..depth {
        let (parent, child) = (schedulers[schedulers.len() - 1], bench.scheduler(policy));
        bench.attach(parent, Some(child), if level == 1 { param } else { policy.vp_params[0].max });
        schedulers.push(child);
    }
    schedulers
}

fn last(schedulers: &[CoreScheduler]) -> CoreScheduler {
    schedulers[schedulers.len() - 1]
}

fn fixed_priority(policy: &PolicyInfo, depth: u32, count: u64) {
    let mut bench = Bench::new();
    let root = bench.root(policy);
    let thread = |bench: &mut Bench, priority| {
        let schedulers = chain(bench, policy, root, depth, priority);
        bench.attach(last(&schedulers), None, priority)
    };
    let (low, high) = (thread(&mut bench, 1), thread(&mut bench, 2));
    bench.wake(low);
    bench.wake(high);
    measured(&mut bench, count, |bench| {
        bench.now += Nanos(1_000);
        match bench.core.state(high) {
            hls_core::VpState::Waiting => bench.core.request(high, bench.now),
            _ => bench.core.release(high, bench.now),
        }
        bench.core.schedule(0, bench.now);
    });
}

fn proportional_share(policy: &PolicyInfo, depth: u32, count: u64) {
    const CHAINS: u64 = 8;
    let mut bench = Bench::new();
    let root = bench.root(policy);
    for _ in 0..CHAINS {
        let schedulers = chain(&mut bench, policy, root, depth, 1);
        for &scheduler in &schedulers[1..] {
            for _ in 1..CHAINS {
                let thread = bench.attach(scheduler, None, 1);
                bench.wake(thread);
            }
        }
        let share = if depth == 1 { 1 } else { policy.vp_params[0].max };
        let thread = bench.attach(last(&schedulers), None, share);
        bench.wake(thread);
    }
    // Until every thread with a small share has had its turn.
    (0..CHAINS * CHAINS * u64::from(depth) * 2).for_each(|_| bench.next_slice());
    measured(&mut bench, count, Bench::next_slice);
}

/// Makes the decisions; callgrind counts their instructions.
#[inline(never)]
fn measured(bench: &mut Bench, count: u64, mut decision: impl FnMut(&mut Bench)) {
    for _ in 0..count {
        decision(bench);
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| args.get(index).and_then(|text| text.parse::<u64>().ok());
    let policy = args.first().and_then(|name| policies().iter().find(|policy| policy.name == *name));
    let (Some(policy), Some(depth @ 1..=32), Some(count)) = (policy, number(1), number(2)) else {
        eprintln!("usage: decisions fixed-priority|proportional-share DEPTH COUNT");
        return ExitCode::from(2);
    };
    match policy.name {
        "fixed-priority" => fixed_priority(policy, depth as u32, count),
        _ => proportional_share(policy, depth as u32, count),
    }
    ExitCode::SUCCESS
}
