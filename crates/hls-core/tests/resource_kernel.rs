//! What the policy `resource-kernel` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const HARD: u64 = 0;
const FIRM: u64 = 1;
const SOFT: u64 = 2;
/// In milliseconds.
const QUANTUM: u64 = 2;

/// A machine with reserves below its root, all awake, each with its budget, period and kind.
fn bench(reserves: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("resource-kernel", &[QUANTUM * MS]);
    let threads: Vec<CoreVp> = (reserves.iter())
        .map(|&[budget, period, kind]| machine.thread(root, &[budget * MS, period * MS, kind]))
        .collect();
    threads.iter().for_each(|&thread| machine.wake(thread));
    (machine, threads)
}

#[test]
fn the_shortest_period_goes_first() {
    let (mut machine, threads) = bench(&[[1, 4, HARD], [2, 6, HARD], [3, 12, HARD]]);
    assert_eq!(timeline(&mut machine, &threads, 36), "abbcacbbac..".repeat(3));
}

/// The peculiarity of a deferrable server: a budget that is unused at the end of a period is followed at once by the
/// next one. Plain response time analysis would promise `b` its 4 ms in any 9.
#[test]
fn a_budget_waits_for_its_thread() {
    let (mut machine, threads) = bench(&[[2, 5, HARD], [4, 9, HARD]]);
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.run_to(Nanos(3 * MS));
    threads.iter().for_each(|&thread| machine.wake(thread));
    assert_eq!(timeline(&mut machine, &threads, 9), "aaaabbbaa");
}

/// A sleep does not renew a budget, and a period does not begin with a wake-up.
#[test]
fn a_sleep_renews_no_budget() {
    let (mut machine, threads) = bench(&[[3, 10, HARD]]);
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

/// A depleted soft reserve gets what budgets leave; a firm one gets what the soft one leaves; a hard one gets
/// nothing.
#[test]
fn kinds_are_hard_firm_and_soft() {
    let (mut machine, threads) = bench(&[[1, 5, HARD], [1, 6, SOFT], [1, 7, FIRM]]);
    assert_eq!(timeline(&mut machine, &threads, 11), "abcbbabcbba");
    machine.block(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 9), "ccccacccc");
    machine.block(threads[2]);
    assert_eq!(timeline(&mut machine, &threads, 5), "a....");
}

/// Depleted reserves of one kind take turns; a reserve with a new budget leaves the turns.
#[test]
fn depleted_reserves_take_turns() {
    let (mut machine, threads) = bench(&[[1, 20, SOFT], [2, 30, SOFT], [1, 9, HARD]]);
    assert_eq!(timeline(&mut machine, &threads, 9), "cabbaabba");
    // A turn that a budget interrupts goes on, and is not begun anew.
    assert_eq!(timeline(&mut machine, &threads, 9), "cabbaabba");
    // `a` has its next budget at 20.
    assert_eq!(timeline(&mut machine, &threads, 5), "caabb");
}

/// A late timer lets a hard reserve overrun: its next budget pays. A soft one does not pay for time beyond its
/// budget.
#[test]
fn an_overrun_is_paid_by_the_next_budget() {
    let (mut machine, threads) = bench(&[[2, 10, HARD]]);
    machine.now = Nanos(3 * MS);
    machine.core.expire(0, machine.now);
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 17), ".......a.........");
    assert_eq!(timeline(&mut machine, &threads, 10), "aa........");
    let (mut machine, threads) = bench(&[[2, 10, SOFT], [5, 20, HARD]]);
    assert_eq!(timeline(&mut machine, &threads, 9), "aabbbbbaa");
    machine.now = Nanos(13 * MS);
    machine.core.timers(machine.now);
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 3), "aaa");
}

#[test]
fn bad_parameters_are_refused() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("resource-kernel", &[]);
    let mut attach = |params: &[u64]| machine.core.attach(root, None, Params::from_slice(params));
    assert!(attach(&[11 * MS, 10 * MS, HARD]).is_err());
    assert!(attach(&[0, 10 * MS, HARD]).is_err());
    assert!(attach(&[MS, 10 * MS, 3]).is_err());
    assert!(attach(&[10 * MS, 10 * MS, HARD]).is_ok());
}

/// A running thread gets no more than its new budget, what it has used counts, and it may become soft.
#[test]
fn parameters_may_change_while_the_thread_runs() {
    let (mut machine, threads) = bench(&[[6, 10, HARD], [5, 20, HARD]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "aa");
    machine.core.set_param(threads[0], 0, 3 * MS, machine.now).expect("a smaller budget");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 8), "aaabbbbb");
    assert_eq!(timeline(&mut machine, &threads, 5), "aaa..");
    machine.core.set_param(threads[0], 2, SOFT, machine.now).expect("another kind");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 5), "aaaaa");
    assert!(machine.core.set_param(threads[0], 0, 11 * MS, machine.now).is_err());
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 4), "aaab");
}

/// On two CPUs the two shortest periods run; a thread that may use only one CPU takes it from the longer of them.
#[test]
fn several_cpus_serve_the_shortest_periods() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("resource-kernel", &[]);
    let threads = [10, 20, 30].map(|period| machine.thread(root, &[5 * MS, period * MS, HARD]));
    threads.iter().for_each(|&thread| machine.wake(thread));
    machine.run_to(Nanos(5 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [5.0, 5.0, 0.0]);
    machine.run_to(Nanos(30 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [15.0, 10.0, 5.0]);
}
