//! What the policy `cbs` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const HARD: u64 = 0;
const SOFT: u64 = 1;

/// A machine with servers below its root, all asleep, each with its budget, period and kind.
fn bench(cpus: u16, servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root("cbs", &[]);
    let threads = (servers.iter())
        .map(|&[budget, period, kind]| machine.thread(root, &[budget * MS, period * MS, kind]))
        .collect();
    (machine, threads)
}

fn wake(machine: &mut Machine, threads: &[CoreVp]) {
    threads.iter().for_each(|&thread| machine.wake(thread));
}

/// A task of 4 in every 7 beside a soft server of 3 in every 8, as in the paper: the server runs ahead while the task
/// sleeps, and the task loses nothing by that afterwards.
#[test]
fn a_soft_server_runs_ahead_and_isolates() {
    let (mut machine, threads) = bench(1, &[[4, 7, HARD], [3, 8, SOFT]]);
    wake(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 14), "aaaabbbaaaabbb");
    machine.block(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 10), "bbbbbbbbbb");
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 14), "aaaabbbaaaabbb");
}

/// After a soft server has run ahead, the others run first: alone for 40 ms, `a` has put its deadline off to 210 ms.
#[test]
fn a_server_that_ran_ahead_waits() {
    let (mut machine, threads) = bench(1, &[[2, 10, SOFT], [2, 10, SOFT]]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 40), "a".repeat(40));
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 38), "b".repeat(32) + "aabbaa");
}

#[test]
fn hard_servers_sleep_until_their_deadlines() {
    let (mut machine, threads) = bench(1, &[[2, 5, HARD], [3, 10, HARD]]);
    wake(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 20), "aabbbaa...".repeat(2));
}

/// At 6, 4 of the period are left, for which the server's rate gives a budget of 2.
#[test]
fn a_hard_server_that_wakes_up_has_its_rate_of_the_rest_of_the_period() {
    let (mut machine, threads) = bench(1, &[[5, 10, HARD]]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(MS));
    machine.block(threads[0]);
    machine.run_to(Nanos(6 * MS));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 14), "aa..aaaaa.....");
}

/// The same with a soft server: it begins a period at 6, which ends at 16, after the period of `b`.
#[test]
fn a_soft_server_that_wakes_up_with_too_much_left_begins_a_period() {
    let begun_at = |wake_up: u64| {
        let (mut machine, threads) = bench(1, &[[5, 10, SOFT], [2, 9, HARD]]);
        machine.wake(threads[0]);
        machine.run_to(Nanos(MS));
        machine.block(threads[0]);
        machine.run_to(Nanos(wake_up * MS));
        wake(&mut machine, &threads);
        timeline(&mut machine, &threads, 7)
    };
    assert_eq!(begun_at(2), "aaaabba", "4 of 5 are left, and 8 of 10: it goes on, due at 10");
    assert_eq!(begun_at(3), "bbaaaaa", "4 of 5 are left, and 7 of 10: it is due at 13");
}

#[test]
fn on_several_cpus_the_earliest_deadlines_run() {
    let (mut machine, threads) = bench(2, &[[5, 10, HARD]; 3]);
    wake(&mut machine, &threads);
    machine.run_to(Nanos(100 * MS));
    threads.iter().for_each(|&thread| assert_eq!(machine.ran_ms(thread), 50.0));
}

/// If a slice ends late, a hard server pays for it, and a soft one puts its deadline off accordingly.
#[test]
fn an_overrun_is_paid() {
    let late = |kind| {
        let (mut machine, threads) = bench(1, &[[2, 10, kind]]);
        machine.wake(threads[0]);
        machine.now = Nanos(5 * MS);
        machine.core.expire(0, machine.now);
        machine.settled();
        (timeline(&mut machine, &threads, 27), threads)
    };
    // An overrun of 3: this costs the budget at 10, and half of the budget at 20.
    assert_eq!(late(HARD).0, ".".repeat(15) + "a" + ".........aa");
    assert_eq!(late(SOFT).0, "a".repeat(27));
}

#[test]
fn bad_parameters_are_refused() {
    let (mut machine, threads) = bench(1, &[[2, 10, HARD]]);
    let root = CoreScheduler(1);
    for params in [[11 * MS, 10 * MS, 0], [MS / 2_000, 10 * MS, 0], [MS, 10 * MS, 2]] {
        let refused = machine.core.move_to(threads[0], root, Params::from_slice(&params), machine.now);
        assert_eq!(refused, Err(CoreError::Param), "{params:?}");
    }
    // A budget that is reduced while its thread runs ends at the new value.
    machine.wake(threads[0]);
    let smaller = Params::from_slice(&[MS, 10 * MS, HARD]);
    machine.core.move_to(threads[0], root, smaller, machine.now).expect("it is in range");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 12), "a.........a.");
}
