//! What the policy `constant-utilisation-server` decides: schedules that were worked out by hand, a character a
//! millisecond.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with servers below its root, all asleep, each with its budget and period.
fn bench(cpus: u16, servers: &[[u64; 2]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root("constant-utilisation-server", &[]);
    let threads =
        (servers.iter()).map(|&[budget, period]| machine.thread(root, &[budget * MS, period * MS])).collect();
    (machine, threads)
}

fn wake(machine: &mut Machine, threads: &[CoreVp]) {
    threads.iter().for_each(|&thread| machine.wake(thread));
}

/// Liu's example (section 7.4.1), in tenths of her unit: tasks of 5 in 30, 10 in 40 and 45 in 190 beside a server of
/// 1/4, to which jobs of 10, 20 and 20 come at 30, 69 and 140. The first is due at 70, so the second begins at 70 and
/// is due at 150; so the third begins at 150.
///
/// From its source: Liu, section 7.4.1: the deadlines of three jobs.
#[test]
fn jobs_begin_at_the_deadlines_before_them() {
    let (mut machine, threads) = bench(1, &[[5, 30], [10, 40], [45, 190], [20, 80]]);
    let periodic = [(30, 5), (40, 10), (190, 45)];
    let jobs = [(30, 10), (69, 20), (140, 20)];
    let (mut pending, mut runs) = ([0_u64; 4], String::new());
    for now in 0..190 {
        let job = jobs.iter().find(|(at, _)| *at == now).map_or(0, |(_, length)| *length);
        let come = periodic.map(|(period, length)| if now % period == 0 { length } else { 0 });
        for (thread, length) in come.into_iter().chain([job]).enumerate() {
            pending[thread] += length;
            if length > 0 {
                machine.wake(threads[thread]);
            }
        }
        let ran = timeline(&mut machine, &threads, 1);
        runs += &ran;
        if let Some(thread) = "abcd".find(&ran) {
            pending[thread] -= 1;
            if pending[thread] == 0 {
                machine.block(threads[thread]);
            }
        }
    }
    let server: Vec<usize> = runs.match_indices('d').map(|(at, _)| at).collect();
    let first = [35..40, 50..55];
    // From 70 on it runs before the third task, which is due at 190; the other tasks' next jobs, at 80 and 90, are
    // due at 120.
    let second = [70..80, 95..105];
    let third = [155..160, 170..180, 185..190];
    let expected: Vec<usize> = first.into_iter().chain(second).chain(third).flatten().collect();
    assert_eq!(server, expected, "{runs}");
}

#[test]
fn a_busy_server_has_a_budget_in_every_period() {
    let (mut machine, threads) = bench(1, &[[2, 5], [3, 10]]);
    wake(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 20), "aabbbaa...".repeat(2));
}

/// `a` has used 1 of its 5 in every 10, which corresponds to 2 of the period: until 2 it gets nothing, from then on a
/// whole budget.
#[test]
fn a_server_that_wakes_up_waits_until_its_job_was_due() {
    let woken_at = |wake_up: u64| {
        let (mut machine, threads) = bench(1, &[[5, 10]]);
        machine.wake(threads[0]);
        machine.run_to(Nanos(MS));
        machine.block(threads[0]);
        machine.run_to(Nanos(wake_up * MS));
        machine.wake(threads[0]);
        timeline(&mut machine, &threads, 12)
    };
    assert_eq!(woken_at(1), ".aaaaa.....a");
    assert_eq!(woken_at(2), "aaaaa.....aa");
    assert_eq!(woken_at(7), "aaaaa.....aa");
}

/// A server behaves like a slower CPU of its own, whatever its child does: here the child works for 1 and sleeps for
/// 1, and the server of 1/4 lets it work for 1 in every 4.
#[test]
fn the_utilisation_is_constant() {
    let (mut machine, threads) = bench(1, &[[3, 12]]);
    let mut runs = String::new();
    for _ in 0..5 {
        machine.wake(threads[0]);
        while !runs.ends_with('a') {
            runs += &timeline(&mut machine, &threads, 1);
        }
        machine.block(threads[0]);
        runs += &timeline(&mut machine, &threads, 1);
    }
    assert_eq!(runs, "a...".repeat(4) + "a.");
}

#[test]
fn the_earliest_deadline_goes_first() {
    let (mut machine, threads) = bench(1, &[[4, 20], [2, 10]]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(MS));
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 19), "bbaaa.....bb.......");
}

#[test]
fn on_several_cpus_the_earliest_deadlines_run() {
    let (mut machine, threads) = bench(2, &[[5, 10]; 3]);
    wake(&mut machine, &threads);
    machine.run_to(Nanos(100 * MS));
    threads.iter().for_each(|&thread| assert_eq!(machine.ran_ms(thread), 50.0));
}

/// If a slice ends late, the next budgets pay, also if the child sleeps.
#[test]
fn an_overrun_is_paid() {
    for sleeps in [false, true] {
        let (mut machine, threads) = bench(1, &[[2, 10]]);
        machine.wake(threads[0]);
        machine.now = Nanos(5 * MS);
        machine.core.expire(0, machine.now);
        machine.settled();
        if sleeps {
            machine.block(threads[0]);
            machine.run_to(Nanos(8 * MS));
            machine.wake(threads[0]);
        }
        machine.run_to(Nanos(10 * MS));
        // An overrun of 3: this costs the budget at 10, and half of the budget at 20.
        assert_eq!(timeline(&mut machine, &threads, 22), "..........a.........aa");
    }
}

/// A job that missed its deadline because others had the CPU is given up.
#[test]
fn an_overcommitted_server_does_not_catch_up() {
    let (mut machine, threads) = bench(1, &[[5, 10], [8, 11]]);
    wake(&mut machine, &threads);
    machine.run_to(Nanos(110 * MS));
    machine.block(threads[1]);
    let ran: Vec<char> = timeline(&mut machine, &threads, 40).chars().collect();
    assert!(
        ran[10..].windows(10).all(|window| window.iter().filter(|one| **one == 'a').count() == 5),
        "{ran:?}"
    );
}

#[test]
fn bad_parameters_are_refused() {
    let (mut machine, threads) = bench(1, &[[2, 10]]);
    let root = CoreScheduler(1);
    for params in [[11 * MS, 10 * MS], [MS / 2_000, 10 * MS]] {
        let refused = machine.core.move_to(threads[0], root, Params::from_slice(&params), machine.now);
        assert_eq!(refused, Err(CoreError::Param), "{params:?}");
    }
    // With a smaller budget from 1 on, the used CPU time corresponds to 5 of the period.
    machine.wake(threads[0]);
    machine.run_to(Nanos(MS));
    let smaller = Params::from_slice(&[MS, 10 * MS]);
    machine.core.move_to(threads[0], root, smaller, machine.now).expect("it is in range");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 16), "....a.........a.");
}
