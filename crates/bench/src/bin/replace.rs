//! replace: how long the core takes to give a scheduler another policy, by how many READY children the scheduler has.
//! The new policy is told of every child, so the time grows with their number. Each time is the shortest of some
//! calls, since other programs disturb the others.

use hls_core::{Calls, Core, Params, PolicyInfo, policies};
use hls_units::Nanos;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const ROUNDS: usize = 10;

fn policy_of(name: &str) -> &'static PolicyInfo {
    policies().iter().find(|policy| policy.name == name).expect("it is built in")
}

fn presets(policy: &PolicyInfo) -> Params {
    let values: Vec<u64> =
        policy.scheduler_params.iter().map(|info| info.default.unwrap_or(info.min)).collect();
    Params::from_slice(&values)
}

/// The times to replace proportional share by round robin, and back, where `children` threads are READY.
fn measure(children: u32) -> [Duration; 2] {
    let mut core = Core::new();
    core.add_cpu(0).expect("there is room for a CPU");
    let both = ["proportional-share", "round-robin"].map(policy_of);
    let s = core.create_scheduler(both[0].id, presets(both[0])).expect("the presets are in range");
    core.attach_root(s, 0).expect("the CPU has no other root");
    for _ in 0..children {
        // A share of 1. Round robin, which has no parameters, leaves it as it is.
        let thread = core.attach(s, None, Params::from_slice(&[1])).expect("there is room for a thread");
        core.request(thread, Nanos::ZERO);
    }
    core.schedule(0, Nanos::ZERO);
    let mut least = [Duration::MAX; 2];
    for round in 0..2 * ROUNDS {
        let policy = both[(round + 1) % 2];
        let begin = Instant::now();
        core.replace(s, policy.id, presets(policy), Nanos::ZERO).expect("the new policy takes the children");
        least[round % 2] = least[round % 2].min(begin.elapsed());
        core.schedule(0, Nanos::ZERO);
    }
    least
}

fn main() -> ExitCode {
    if std::env::args().len() > 1 {
        eprintln!("usage: replace");
        return ExitCode::from(2);
    }
    println!("{:>8} {:>21} {:>24}", "children", "by round robin", "by proportional share");
    for children in [1_000, 10_000, 60_000] {
        let [by_round_robin, by_shares] = measure(children);
        println!("{children:>8} {:>18} us {:>21} us", by_round_robin.as_micros(), by_shares.as_micros());
    }
    ExitCode::SUCCESS
}
