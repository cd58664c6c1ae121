//! What the policy `deferrable-server` decides: schedules that were worked out by hand, a character a millisecond.
//! `servers.rs` has what all servers of a fixed priority decide alike.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

fn bench(servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    crate::servers::bench("deferrable-server", servers)
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
    assert_eq!(runs, "abccabbbac..accbabbcab");
}

/// A budget that is unused at the end of a period is followed at once by the next one.
#[test]
fn a_budget_waits_for_its_thread() {
    let (mut machine, threads) = bench(&[[2, 5, 2], [4, 9, 1]]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.run_to(Nanos(3 * MS));
    threads.iter().for_each(|&thread| machine.wake(thread));
    assert_eq!(timeline(&mut machine, &threads, 9), "aaaabbbaa");
}

/// A sleep does not renew a budget, whatever its length in relation to the period.
#[test]
fn a_sleep_renews_no_budget() {
    let (mut machine, threads) = bench(&[[3, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.block(threads[0]);
    machine.run_to(Nanos(6 * MS));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 10), "a...aaa...");
    machine.block(threads[0]);
    machine.run_to(Nanos(38 * MS));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 10), "aaaaa.....");
}

/// A running thread gets no more than its new budget, and keeps the old one if a new one is refused.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(&[[6, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.set_param(threads[0], 0, 3 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 12), "aaa.....aaa.");
    assert!(machine.core.set_param(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
}
