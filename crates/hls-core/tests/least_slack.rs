//! What the policy `least-slack` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with servers below its root, all awake, each with its budget and period in milliseconds.
fn bench(quantum: u64, servers: &[[u64; 2]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("least-slack", &[quantum * MS]);
    let threads: Vec<CoreVp> =
        servers.iter().map(|server| machine.thread(root, &server.map(|time| time * MS))).collect();
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.settled();
    (machine, threads)
}

/// They must run by 7, by 4 and by 11. `b`, which has not the shortest period, runs until the slack of `a` is less by
/// a quantum: for 4 ms, after which `b` could wait until 8. Under EDF `a` would be first.
#[test]
fn the_least_slack_goes_first() {
    let servers = [[2, 9], [8, 12], [1, 12]];
    let (mut machine, threads) = bench(1, &servers);
    assert_eq!(timeline(&mut machine, &threads, 9), "bbbbaabbb");
    let mut machine = Machine::new(1, None);
    let root = machine.root("reservation", &[]);
    let threads = servers.map(|server| machine.thread(root, &server.map(|time| time * MS)));
    threads.iter().for_each(|&thread| machine.wake(thread));
    assert_eq!(timeline(&mut machine, &threads, 9), "aabbbbbbb");
}

/// With two equal slacks one thread runs for a quantum, and then each for two in turn.
#[test]
fn equal_slacks_take_turns_of_two_quanta() {
    let (mut machine, threads) = bench(2, &[[8, 20], [8, 20]]);
    assert_eq!(timeline(&mut machine, &threads, 20), "aabbbbaaaabbbbaa....");
}

/// A thread that wakes up with less slack preempts; otherwise the running thread's slice ends when the other's slack
/// is less by a quantum.
#[test]
fn a_thread_that_wakes_up_with_less_slack_preempts_in_time() {
    let (mut machine, threads) = bench(2, &[[10, 30], [3, 20], [3, 8]]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 4), "aaaa");
    // `a` must run by 24 at the latest. The period of `b` began at 0, and `b` must run by 17: it runs at once.
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 3), "bbb");
    let (mut machine, threads) = bench(2, &[[10, 30], [2, 23]]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    // `b` begins a period at 2, and must run by 23, `a` by 22, and by 25 after 3 ms more.
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 10), "aaabbaaaaa");
}

/// A wake-up keeps the rest of a budget, cuts it if it were more than the others can bear, and begins a new period if
/// it were more than the thread's rate.
#[test]
fn a_wake_up_keeps_cuts_or_renews() {
    let left_after = |used: u64, asleep_until: u64| {
        let (mut machine, threads) = bench(2, &[[8, 40], [10, 100]]);
        machine.block(threads[1]);
        machine.run_to(Nanos(used * MS));
        machine.block(threads[0]);
        machine.run_to(Nanos(asleep_until * MS));
        machine.wake(threads[0]);
        let runs = timeline(&mut machine, &threads, 15);
        runs.find('.').unwrap_or(runs.len())
    };
    // 4 left, and 30 * 8/40 = 6; 30 * 10/40 - 2 = 5.5: kept.
    assert_eq!(left_after(4, 10), 4);
    // 4 left, and 20 * 8/40 = 4; 20 * 10/40 - 2 = 3: cut.
    assert_eq!(left_after(4, 20), 3);
    // 4 left, and 19 * 8/40 < 4: a new period.
    assert_eq!(left_after(4, 21), 8);
    assert_eq!(left_after(4, 60), 8);
}

/// A late timer lets a server overrun: its next budget pays, also if the thread slept meanwhile.
#[test]
fn an_overrun_is_paid_by_the_next_budget() {
    let (mut machine, threads) = bench(1, &[[2, 10]]);
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
    let root = machine.root("least-slack", &[]);
    let mut attach = |params: &[u64]| machine.core.attach(root, None, Params::from_slice(params));
    assert!(attach(&[11 * MS, 10 * MS]).is_err());
    assert!(attach(&[0, 10 * MS]).is_err());
    assert!(attach(&[10 * MS, 10 * MS]).is_ok());
}

/// A running thread gets no more than its new budget, and keeps the old one if a new one is refused.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(1, &[[6, 10]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.set_param(threads[0], 0, 2 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 10), "aa........");
    assert!(machine.core.set_param(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 10), "aa........");
}

/// On two CPUs the two threads with the least slack run, and a thread that can use only one CPU is timed on that one.
#[test]
fn several_cpus_serve_the_least_slacks() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("least-slack", &[]);
    let threads = [10, 20, 30].map(|period| machine.thread(root, &[5 * MS, period * MS]));
    machine.core.set_affinity(threads[2], 1, machine.now).expect("a CPU");
    threads.iter().for_each(|&thread| machine.wake(thread));
    machine.run_to(Nanos(30 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [15.0, 10.0, 5.0]);
}
