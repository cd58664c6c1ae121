//! What all servers of a fixed priority decide alike: deferrable, polling and sporadic ones, a character a millisecond.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const POLICIES: [&str; 3] = ["deferrable-server", "polling-server", "sporadic-server"];

/// A machine with servers of a policy below its root, all awake, each with its budget and period in milliseconds and
/// its priority.
pub fn bench(policy: &str, servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    bench_on(1, policy, servers)
}

fn bench_on(cpus: u16, policy: &str, servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root(policy, &[]);
    let threads: Vec<CoreVp> = (servers.iter())
        .map(|&[budget, period, priority]| machine.thread(root, &[budget * MS, period * MS, priority]))
        .collect();
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.settled();
    (machine, threads)
}

/// With equal priorities the first thread goes on; a higher priority preempts it, and afterwards it goes on.
#[test]
fn priorities_decide() {
    for policy in POLICIES {
        let (mut machine, threads) = bench(policy, &[[3, 10, 1], [3, 10, 1], [1, 5, 2]]);
        assert_eq!(timeline(&mut machine, &threads, 10), "caaabcbb..", "{policy}");
    }
}

/// A late timer lets a server overrun: its next budget pays, also if the thread slept meanwhile.
#[test]
fn an_overrun_is_paid_by_the_next_budget() {
    for policy in POLICIES {
        let (mut machine, threads) = bench(policy, &[[2, 10, 1]]);
        machine.now = Nanos(3 * MS);
        machine.core.expire(0, machine.now);
        machine.settled();
        machine.block(threads[0]);
        machine.wake(threads[0]);
        assert_eq!(timeline(&mut machine, &threads, 27), ".......a.........aa........", "{policy}");
    }
}

#[test]
fn bad_parameters_are_refused() {
    for policy in POLICIES {
        let mut machine = Machine::new(1, None);
        let root = machine.root(policy, &[]);
        let mut attach = |params: &[u64]| machine.core.attach(root, None, Params::from_slice(params));
        assert!(attach(&[11 * MS, 10 * MS, 1]).is_err(), "{policy}");
        assert!(attach(&[0, 10 * MS, 1]).is_err(), "{policy}");
        assert!(attach(&[MS, 10 * MS, 64]).is_err(), "{policy}");
        assert!(attach(&[10 * MS, 10 * MS, 63]).is_ok(), "{policy}");
    }
}

/// On two CPUs the two threads of the highest priorities run.
#[test]
fn several_cpus_serve_the_highest_priorities() {
    for policy in POLICIES {
        let (mut machine, threads) = bench_on(2, policy, &[[5, 20, 3], [5, 20, 2], [5, 20, 1]]);
        let had = |machine: &mut Machine, end| {
            machine.run_to(Nanos(end * MS));
            threads.iter().map(|&thread| machine.ran_ms(thread)).collect::<Vec<_>>()
        };
        assert_eq!(had(&mut machine, 5), [5.0, 5.0, 0.0], "{policy}");
        assert_eq!(had(&mut machine, 20), [5.0, 5.0, 5.0], "{policy}");
    }
}
