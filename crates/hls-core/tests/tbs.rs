//! What the policy `tbs` decides: schedules that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, served, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with servers below its root, all asleep, each with its budget and period. Turns of the slack last 2 ms.
fn bench(cpus: u16, servers: &[[u64; 2]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root("tbs", &[2 * MS]);
    let threads =
        (servers.iter()).map(|&[budget, period]| machine.thread(root, &[budget * MS, period * MS])).collect();
    (machine, threads)
}

fn wake(machine: &mut Machine, threads: &[CoreVp]) {
    threads.iter().for_each(|&thread| machine.wake(thread));
}

/// The authors' example: two tasks of 3 in 6 and 2 in 8, and a server of 1/4. Requests of 1 at 3, of 2 at 9 and of 1 at
/// 14 are due at 7, 17 and 21. Here the first is a job of 2 that ends early, due at 11; so the second begins a new one,
/// due at 17; and the third has its budget at 17, and is due at 25.
///
/// From its source: two tasks and a server of 1/4: the deadlines.
#[test]
fn requests_beside_tasks_are_served_before_their_deadlines() {
    let (mut machine, threads) = bench(1, &[[3, 6], [2, 8], [2, 8]]);
    let mut runs = String::new();
    let requests = [(3, 1), (9, 2), (14, 1)];
    let mut pending = [0_u64; 3];
    for now in 0..24 {
        let request = requests.iter().find(|(at, _)| *at == now).map_or(0, |(_, amount)| *amount);
        let come = [if now % 6 == 0 { 3 } else { 0 }, if now % 8 == 0 { 2 } else { 0 }, request];
        for (thread, amount) in come.into_iter().enumerate() {
            pending[thread] += amount;
            if amount > 0 {
                machine.wake(threads[thread]);
            }
        }
        let ran = timeline(&mut machine, &threads, 1);
        runs += &ran;
        if let Some(thread) = "abc".find(&ran) {
            pending[thread] -= 1;
            if pending[thread] == 0 {
                machine.block(threads[thread]);
            }
        }
    }
    assert_eq!(runs, "aaabbcaaabbccaaabbaaac..");
}

/// By the published rules `a` would have run ahead for 20 ms, and then would have got nothing for 20 ms.
#[test]
fn a_server_that_has_the_slack_keeps_its_deadlines() {
    let (mut machine, threads) = bench(1, &[[2, 10], [2, 10]]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 20), "a".repeat(20));
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 20), "aabbaabbaa".to_owned() + "bbaabbaabb");
}

/// Budgets first, then the slack in turns; the turn of `c` at 8 ends at its deadline.
#[test]
fn the_slack_costs_no_budget() {
    let (mut machine, threads) = bench(1, &[[2, 9], [1, 9], [1, 9]]);
    wake(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 18), "aabcaabbc".repeat(2));
}

/// The period ends at 10: at 3 its rest corresponds to 3.5 of 5, at 2 it corresponds to 4.
#[test]
fn a_server_that_wakes_up_goes_on_or_begins_a_job() {
    let begun_at = |wake_up: u64| {
        let (mut machine, threads) = bench(1, &[[5, 10], [2, 9]]);
        machine.wake(threads[0]);
        machine.run_to(Nanos(MS));
        machine.block(threads[0]);
        machine.run_to(Nanos(wake_up * MS));
        wake(&mut machine, &threads);
        timeline(&mut machine, &threads, 7)
    };
    assert_eq!(begun_at(2), "aaaabba", "4 of 5 are left, and 8 of 10: it goes on, due at 10");
    assert_eq!(begun_at(3), "bbaaaaa", "4 of 5 are left, and 7 of 10: its new job is due at 13");
}

/// A request that comes when the budget is used gets the slack, and the budget at the deadline.
#[test]
fn a_server_that_wakes_up_without_budget_has_the_slack() {
    let (mut machine, threads) = bench(1, &[[4, 8], [2, 8]]);
    machine.wake(threads[0]);
    let runs = served(&mut machine, &threads, 1, &[(0, 2), (5, 3), (7, 1)], 16);
    assert_eq!(runs, "aaaabbaa".to_owned() + "bbaaaabb");
}

#[test]
fn on_several_cpus_all_that_is_left_is_used() {
    let (mut machine, threads) = bench(2, &[[4, 10]; 3]);
    wake(&mut machine, &threads);
    machine.run_to(Nanos(100 * MS));
    let ran: Vec<f64> = threads.iter().map(|&thread| machine.ran_ms(thread)).collect();
    assert_eq!(ran.iter().sum::<f64>(), 200.0);
    assert!(ran.iter().all(|&ran| ran >= 40.0), "{ran:?}");
}

/// If a slice ends late, the next budgets pay, but the slack does not.
#[test]
fn an_overrun_is_paid() {
    let (mut machine, threads) = bench(1, &[[2, 10], [8, 10]]);
    wake(&mut machine, &threads);
    machine.now = Nanos(5 * MS);
    machine.core.expire(0, machine.now);
    machine.settled();
    // An overrun of 3: `a` loses 2 of its budget at 10, and 1 at 20. `b` has lost 3 of its first job. At 18 there
    // is slack.
    assert_eq!(timeline(&mut machine, &threads, 25), "bbbbb".to_owned() + "bbbbbbbbaa" + "bbbbbbbbab");
}

/// Slack that is used beyond the deadline, because the timer was late, is charged to the next budget.
#[test]
fn slack_beyond_the_deadline_is_charged() {
    let (mut machine, threads) = bench(1, &[[2, 10]]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(9 * MS));
    machine.now = Nanos(11 * MS);
    machine.core.timers(machine.now);
    machine.settled();
    let other = machine.thread(CoreScheduler(1), &[8 * MS, 10 * MS]);
    machine.wake(other);
    assert_eq!(timeline(&mut machine, &[threads[0], other], 10), "abbbbbbbba");
}

#[test]
fn bad_parameters_are_refused() {
    let (mut machine, threads) = bench(1, &[[2, 10], [1, 10]]);
    let root = CoreScheduler(1);
    for params in [[11 * MS, 10 * MS], [MS / 2_000, 10 * MS]] {
        let refused = machine.core.move_to(threads[0], root, Params::from_slice(&params), machine.now);
        assert_eq!(refused, Err(CoreError::Param), "{params:?}");
    }
    // A budget that is reduced while its thread runs ends at the new value.
    wake(&mut machine, &threads);
    let smaller = Params::from_slice(&[MS, 10 * MS]);
    machine.core.move_to(threads[0], root, smaller, machine.now).expect("it is in range");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 6), "babbaa");
}
