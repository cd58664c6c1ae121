//! What the policy `sporadic-server` decides: schedules that were worked out by hand, a character a millisecond.
//! `servers.rs` has what all servers of a fixed priority decide alike.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

fn bench(servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    crate::servers::bench("sporadic-server", servers)
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

/// Budget that was used late in a period comes back a period later, not with the next period: a deferrable server
/// would have `aaaa`.
#[test]
fn what_was_used_comes_back_a_period_later() {
    let (mut machine, threads) = bench(&[[2, 5, 2], [4, 9, 1]]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.run_to(Nanos(3 * MS));
    threads.iter().for_each(|&thread| machine.wake(thread));
    assert_eq!(timeline(&mut machine, &threads, 12), "aabbbaab.baa");
}

/// The period counts from when the thread could use the budget, not from when it ran.
#[test]
fn a_wait_for_others_does_not_count() {
    let (mut machine, threads) = bench(&[[3, 20, 2], [2, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 13), "aaabb.....bb.");
}

/// Each piece comes back at its time; the third comes with the second, at the later of both times. After that nothing
/// is postponed any more.
#[test]
fn a_third_piece_comes_back_with_the_second() {
    let (mut machine, threads) = bench(&[[3, 10, 1]]);
    machine.block(threads[0]);
    assert_eq!(
        served(&mut machine, &threads, 0, &[(0, 1), (4, 1), (7, 99)], 29),
        "a...a..a..a......aa.a......aa"
    );
}

/// Two pieces that come back while the thread sleeps are one when it wakes up.
#[test]
fn a_wake_up_joins_what_is_back() {
    let (mut machine, threads) = bench(&[[2, 10, 1]]);
    machine.block(threads[0]);
    assert_eq!(
        served(&mut machine, &threads, 0, &[(0, 1), (4, 1), (16, 99)], 29),
        "a...a...........aa........aa."
    );
}

/// A running thread gets no more than its new budget, and keeps the old one if a new one is refused.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(&[[6, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.set_param(threads[0], 0, 3 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 12), "aaa.......aa");
    assert!(machine.core.set_param(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
}

/// Late timers do not make either of two pieces come back later than it would otherwise.
#[test]
fn overruns_do_not_put_off_what_comes_back() {
    let (mut machine, threads) = bench(&[[2, 10, 1]]);
    machine.run_to(Nanos(MS));
    machine.block(threads[0]);
    machine.run_to(Nanos(3 * MS));
    machine.wake(threads[0]);
    while machine.now < Nanos(200 * MS) {
        machine.now = machine.due() + Nanos(MS / 10);
        machine.core.timers(machine.now);
        machine.core.expire(0, machine.now);
        machine.settled();
    }
    let had = machine.ran_ms(threads[0]);
    assert!((38.0..42.0).contains(&had), "{had} ms of 40");
}

#[test]
fn a_period_is_not_too_long() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("sporadic-server", &[]);
    assert!(machine.core.attach(root, None, Params::from_slice(&[MS, 2_001 * MS, 1])).is_err());
}
