//! What the policy `polling-server` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with servers below its root, all awake, each with its budget and period in milliseconds and its priority.
fn bench(servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("polling-server", &[]);
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
    assert_eq!(runs, "abb.accbabc.abbcacbbac");
}

/// With equal priorities the first thread goes on; a higher priority preempts it, and afterwards it goes on.
#[test]
fn priorities_decide() {
    let (mut machine, threads) = bench(&[[3, 10, 1], [3, 10, 1], [1, 5, 2]]);
    assert_eq!(timeline(&mut machine, &threads, 10), "caaabcbb..");
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
    let root = machine.root("polling-server", &[]);
    let mut attach = |params: &[u64]| machine.core.attach(root, None, Params::from_slice(params));
    assert!(attach(&[11 * MS, 10 * MS, 1]).is_err());
    assert!(attach(&[0, 10 * MS, 1]).is_err());
    assert!(attach(&[MS, 10 * MS, 64]).is_err());
    assert!(attach(&[10 * MS, 10 * MS, 63]).is_ok());
}

/// A thread waits for its next period when its parameters change; it keeps the old ones if new ones are refused.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(&[[6, 10, 1]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.message(threads[0], 0, 3 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 12), "........aaa.");
    assert!(machine.core.message(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
}

/// On two CPUs the two threads of the highest priorities run.
#[test]
fn several_cpus_serve_the_highest_priorities() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("polling-server", &[]);
    let threads = [3, 2, 1].map(|priority| machine.thread(root, &[5 * MS, 20 * MS, priority]));
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.settled();
    machine.run_to(Nanos(5 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [5.0, 5.0, 0.0]);
    machine.run_to(Nanos(20 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [5.0, 5.0, 5.0]);
}
