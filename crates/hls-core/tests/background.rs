//! What the policy `background` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with threads below its root, all awake, with these periods in milliseconds; 0: none.
fn bench(periods: &[u64]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("background", &[]);
    let threads: Vec<CoreVp> = periods.iter().map(|period| machine.thread(root, &[period * MS])).collect();
    threads.iter().for_each(|&thread| machine.wake(thread));
    (machine, threads)
}

#[test]
fn the_shortest_period_goes_first_and_the_background_last() {
    let (mut machine, threads) = bench(&[0, 20, 10]);
    assert_eq!(timeline(&mut machine, &threads, 3), "ccc");
    machine.block(threads[2]);
    assert_eq!(timeline(&mut machine, &threads, 3), "bbb");
    machine.block(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 3), "aaa");
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 3), "bbb");
}

/// Requests in the background wait for all earlier ones, and keep their places when tasks preempt them.
#[test]
fn the_background_is_served_in_order_of_arrival() {
    let (mut machine, threads) = bench(&[0, 0, 0, 10]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.wake(threads[1]);
    machine.wake(threads[0]);
    machine.wake(threads[2]);
    assert_eq!(timeline(&mut machine, &threads, 2), "bb");
    machine.wake(threads[3]);
    assert_eq!(timeline(&mut machine, &threads, 2), "dd");
    machine.block(threads[3]);
    assert_eq!(timeline(&mut machine, &threads, 2), "bb");
    machine.core.yield_now(threads[1], machine.now);
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.block(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 2), "cc");
    machine.wake(threads[0]);
    machine.block(threads[2]);
    assert_eq!(timeline(&mut machine, &threads, 2), "bb");
}

/// A request of 3 that comes at 1 beside a task that takes 2 of each 4 is done at 8.
#[test]
fn a_request_gets_the_time_that_tasks_leave() {
    let (mut machine, threads) = bench(&[4, 0]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.wake(threads[1]);
    let jobs: Vec<(u64, u64)> = (0..4).map(|n| (4 * n, 2)).collect();
    let runs = served(&mut machine, &threads, 0, &jobs, 8);
    assert_eq!(runs, "aabbaabb");
}

/// A thread gets a period, and is a task from then on.
#[test]
fn a_period_may_come_and_go() {
    let (mut machine, threads) = bench(&[10, 0]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.set_param(threads[1], 0, 5 * MS, machine.now).expect("a period");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 2), "bb");
    machine.core.set_param(threads[1], 0, 0, machine.now).expect("no period");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    assert!(machine.core.set_param(threads[1], 0, 3_601_000 * MS, machine.now).is_err());
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
}

#[test]
fn several_cpus_serve_the_first_of_the_order() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("background", &[]);
    assert!(machine.core.attach(root, None, Params::from_slice(&[3_601_000 * MS])).is_err());
    let threads = [0, 20, 10].map(|period| machine.thread(root, &[period * MS]));
    threads.iter().for_each(|&thread| machine.wake(thread));
    machine.run_to(Nanos(5 * MS));
    machine.block(threads[1]);
    machine.run_to(Nanos(8 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [3.0, 5.0, 8.0]);
}
