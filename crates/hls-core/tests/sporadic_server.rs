//! What the policy `sporadic-server` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with servers below its root, all awake, each with its budget and period in milliseconds and its priority.
fn bench(servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("sporadic-server", &[]);
    let threads: Vec<CoreVp> = (servers.iter())
        .map(|&[budget, period, priority]| machine.thread(root, &[budget * MS, period * MS, priority]))
        .collect();
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.settled();
    (machine, threads)
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

/// With equal priorities the first thread goes on; a higher priority preempts it, and afterwards it goes on.
#[test]
fn priorities_decide() {
    let (mut machine, threads) = bench(&[[3, 10, 1], [3, 10, 1], [1, 5, 2]]);
    assert_eq!(timeline(&mut machine, &threads, 10), "caaabcbb..");
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

/// A late timer lets a server overrun: its next budget pays, also if the thread slept meanwhile.
#[test]
fn an_overrun_is_paid_by_the_next_budget() {
    let (mut machine, threads) = bench(&[[2, 10, 1]]);
    machine.now = Nanos(3 * MS);
    machine.core.expire(0, machine.now);
    machine.settled();
    machine.block(threads[0]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 27), ".......a.........aa........");
}

#[test]
fn bad_parameters_are_refused() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("sporadic-server", &[]);
    let mut attach = |params: &[u64]| machine.core.attach(root, None, Params::from_slice(params));
    assert!(attach(&[11 * MS, 10 * MS, 1]).is_err());
    assert!(attach(&[0, 10 * MS, 1]).is_err());
    assert!(attach(&[MS, 10 * MS, 64]).is_err());
    assert!(attach(&[10 * MS, 10 * MS, 63]).is_ok());
    assert!(attach(&[MS, 2_001 * MS, 1]).is_err());
}

/// A running thread gets no more than its new budget, and keeps the old one if a new one is refused.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(&[[6, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.message(threads[0], 0, 3 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 12), "aaa.......aa");
    assert!(machine.core.message(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
}

/// On two CPUs the two threads of the highest priorities run.
#[test]
fn several_cpus_serve_the_highest_priorities() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("sporadic-server", &[]);
    let threads = [3, 2, 1].map(|priority| machine.thread(root, &[5 * MS, 20 * MS, priority]));
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.settled();
    machine.run_to(Nanos(5 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [5.0, 5.0, 0.0]);
    machine.run_to(Nanos(20 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [5.0, 5.0, 5.0]);
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
