//! What the policy `polling-server` decides: schedules that were worked out by hand, a character a millisecond.
//! `servers.rs` has what all servers of a fixed priority decide alike.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

fn bench(servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    crate::servers::bench("polling-server", servers)
}

/// The example of textbooks: periodic tasks that take 1 in 4 and 2 in 6, a server of 2 in 5 between them, and requests
/// of 2 at 2, 1 at 8, 2 at 12 and 1 at 19.
///
/// From its source: the example of textbooks, 1 in 4, 2 in 6, server 2 in 5.
#[test]
fn requests_beside_periodic_tasks() {
    let (mut machine, threads) = bench(&[[1, 4, 3], [2, 6, 1], [2, 5, 2]]);
    machine.block(threads[2]);
    let runs = served(&mut machine, &threads, 2, &[(2, 2), (8, 1), (12, 2), (19, 1)], 22);
    assert_eq!(runs, "abb.accbabc.abbcacbbac");
}

/// A thread that is not runnable at the start of a period gets nothing in it, and the rest of a budget is lost when
/// the thread sleeps.
#[test]
fn a_thread_that_sleeps_loses_its_budget() {
    let (mut machine, threads) = bench(&[[3, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.block(threads[0]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 12), "........aaa.");
    machine.block(threads[0]);
    machine.run_to(Nanos(31 * MS));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 12), ".........aaa");
    // A wake-up at the very start of a period is in time.
    machine.block(threads[0]);
    machine.run_to(Nanos(60 * MS));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 4), "aaa.");
}

/// A READY thread that leaves the queue loses its budget, too.
#[test]
fn a_thread_that_leaves_the_queue_loses_its_budget() {
    let (mut machine, threads) = bench(&[[2, 10, 2], [3, 10, 1]]);
    machine.block(threads[1]);
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 16), "aa........aabbb.");
}

/// A thread waits for its next period when its parameters change; it keeps the old ones if new ones are refused.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(&[[6, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.set_param(threads[0], 0, 3 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 12), "........aaa.");
    assert!(machine.core.set_param(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
}
