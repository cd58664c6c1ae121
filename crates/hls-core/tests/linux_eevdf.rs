//! What the policy `linux-eevdf` decides: the kernel's weights, slices, and lag that survives sleep
//! (kernel/sched/fair.c).

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreError, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const SLICE: u64 = 3 * MS;

/// A machine with threads below its root, all asleep, with these priorities, and slices in us.
fn bench(threads: &[[u64; 2]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("linux-eevdf", &[SLICE]);
    let threads =
        threads.iter().map(|[priority, slice]| machine.thread(root, &[*priority, slice * 1_000])).collect();
    (machine, threads)
}

fn wake_all(machine: &mut Machine, threads: &[CoreVp]) {
    threads.iter().for_each(|&thread| machine.wake(thread));
}

/// The CPU time that each thread gets in the next `length` ms, in ms.
fn had(machine: &mut Machine, threads: &[CoreVp], length: u64) -> Vec<f64> {
    let before: Vec<f64> = threads.iter().map(|&thread| machine.ran_ms(thread)).collect();
    machine.run_to(machine.now + Nanos(length * MS));
    threads.iter().zip(before).map(|(&thread, before)| machine.ran_ms(thread) - before).collect()
}

/// "10% effect": one nice level is a tenth of the CPU between two hogs, as the comment above the kernel's table says.
#[test]
fn one_nice_level_is_a_tenth() {
    let (mut machine, threads) = bench(&[[20, 0], [19, 0]]);
    wake_all(&mut machine, &threads);
    let had = had(&mut machine, &threads, 10_000);
    assert!((had[0] - 10_000.0 * 1024.0 / 1844.0).abs() <= 3.0, "{had:?}");
}

/// Nice -20 and 19, the ends of the table.
#[test]
fn the_ends_of_the_table() {
    let (mut machine, threads) = bench(&[[40, 0], [1, 0]]);
    wake_all(&mut machine, &threads);
    let had = had(&mut machine, &threads, 200_000);
    assert!((had[1] - 200_000.0 * 15.0 / 88_776.0).abs() <= 4.0, "{had:?}");
}

/// Equal VPs take turns of a slice; a VP with a shorter slice has shorter turns, and as much CPU time.
#[test]
fn slices_are_turns() {
    let (mut machine, threads) = bench(&[[20, 0], [20, 0]]);
    wake_all(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 12), "aaabbbbbbaaa");
    let (mut machine, threads) = bench(&[[20, 0], [20, 1_000]]);
    wake_all(&mut machine, &threads);
    let had = had(&mut machine, &threads, 6_000);
    assert!((had[0] - 3_000.0).abs() <= 3.0, "{had:?}");
}

/// Within a slice a VP is preempted only by a waking VP with a shorter slice, and not even then if the running slice
/// ends so soon that its deadline is earlier.
#[test]
fn a_shorter_slice_preempts() {
    for (slice, expected) in [(0, 0..=0), (400, 15..=19)] {
        let (mut machine, threads) = bench(&[[20, 0], [20, 0], [20, slice]]);
        wake_all(&mut machine, &threads[..2]);
        let mut preempted = 0;
        for round in 1..20 {
            machine.run_to(Nanos(round * 40 * MS + MS));
            let running = machine.running[0];
            machine.wake(threads[2]);
            preempted += u64::from(machine.running[0] != running);
            while machine.running[0] != Some(threads[2]) {
                machine.run_to(machine.now + Nanos(MS / 10));
            }
            machine.run_to(machine.now + Nanos(MS / 5));
            machine.block(threads[2]);
        }
        assert!(expected.contains(&preempted), "{slice}: {preempted}");
    }
}

/// Lag survives sleep: a thread that was owed 1.5 ms when it blocked is owed 1.5 ms when it comes back a second
/// later.
#[test]
fn a_thread_that_is_owed_time_gets_it_later() {
    for (sleeps_at, first) in [(3, true), (6, false)] {
        let (mut machine, threads) = bench(&[[20, 0], [20, 0]]);
        wake_all(&mut machine, &threads);
        machine.run_to(Nanos(sleeps_at * MS));
        // At 3 ms `a` has had 3 ms, and `b` nothing: it is owed 1.5. At 6 ms both are even.
        assert_eq!(machine.ran_ms(threads[0]), 3.0);
        machine.block(threads[1]);
        machine.run_to(Nanos(1_000 * MS));
        let slice = machine.ran_ms(threads[0]);
        machine.wake(threads[1]);
        machine.run_to(machine.now + Nanos(60 * MS));
        let had = machine.ran_ms(threads[0]) - slice;
        assert_eq!(had < 30.0, first, "{had}");
    }
}

/// A thread that is ahead of its share when it blocks counts until V has caught up: a moment of sleep gains nothing.
#[test]
fn a_moment_of_sleep_gains_nothing() {
    let (mut machine, threads) = bench(&[[20, 0], [20, 0]]);
    wake_all(&mut machine, &threads);
    for _ in 0..500 {
        if machine.running[0] == Some(threads[0]) {
            machine.run_to(machine.now + Nanos(SLICE - MS / 10));
            machine.block(threads[0]);
            machine.run_to(machine.now + Nanos(MS / 10));
            machine.wake(threads[0]);
        } else {
            machine.run_to(machine.now + Nanos(MS));
        }
    }
    let had = [0, 1].map(|thread| machine.ran_ms(threads[thread]));
    assert!(had[0] <= had[1] + 3.0, "{had:?}");
}

/// A new nice value does not cancel a debt, and a weight counts from when it is changed.
#[test]
fn a_nice_value_may_change_while_the_vp_runs() {
    let (mut machine, threads) = bench(&[[20, 0], [20, 0]]);
    wake_all(&mut machine, &threads);
    for round in 0..600 {
        machine.run_to(Nanos((round + 1) * MS));
        if machine.running[0] == Some(threads[0]) {
            let priority = 20 + round % 2;
            machine.core.set_param(threads[0], 0, priority, machine.now).unwrap();
            machine.settled();
        }
    }
    let all = [0, 1].map(|thread| machine.ran_ms(threads[thread]));
    assert!((260.0..=340.0).contains(&all[0]), "{all:?}");
    machine.core.set_param(threads[0], 0, 25, machine.now).unwrap();
    machine.settled();
    let had = had(&mut machine, &threads, 4_145);
    assert!((had[1] - 1_024.0).abs() <= 10.0, "{had:?}");
}

/// Why the policy promises nothing: a thread that collected lag among many threads is paid when few are there. A hog
/// of weight 15 (nice 19) gets less than a third of its share. A thread of weight 655 (nice 2) waits for a long slice
/// of one of weight 1586 (nice -2), sleeps for a moment while that one sleeps, and comes back with its lag when only
/// the hog is there.
#[test]
fn lag_is_paid_by_the_threads_that_are_there() {
    let (mut machine, threads) = bench(&[[1, 100], [22, 100_000], [18, 100_000]]);
    let [hog, many, owed] = threads[..] else { panic!("three") };
    machine.wake(hog);
    for _ in 0..20 {
        machine.wake(many);
        machine.wake(owed);
        machine.run_to(machine.now + Nanos(99 * MS));
        machine.block(owed);
        machine.block(many);
        machine.run_to(machine.now + Nanos(2 * MS));
        machine.wake(owed);
        machine.run_to(machine.now + Nanos(1_200 * MS));
        machine.block(owed);
    }
    let share = machine.ran_ms(hog) * MS as f64 / machine.now.0 as f64;
    assert!(share < 0.33 * 15.0 / (15.0 + 1_586.0 + 655.0), "{share}");
}

/// A yield gives up the slice, and the next one is due later.
#[test]
fn a_yield_lets_the_other_run() {
    let (mut machine, threads) = bench(&[[20, 0], [20, 0]]);
    wake_all(&mut machine, &threads);
    machine.run_to(Nanos(MS));
    assert_eq!(machine.running[0], Some(threads[0]));
    machine.core.yield_now(threads[0], machine.now);
    machine.settled();
    assert_eq!(machine.running[0], Some(threads[1]));
}

/// Slices below 100 us are refused, as in the kernel.
#[test]
fn slices_that_are_too_short_are_refused() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("linux-eevdf", &[SLICE]);
    let attach = |machine: &mut Machine, slice: u64| {
        machine.core.attach(root, None, Params::from_slice(&[20, slice])).map(drop)
    };
    assert_eq!(attach(&mut machine, 99_999), Err(CoreError::Param));
    assert_eq!(attach(&mut machine, 100_000), Ok(()));
    assert_eq!(attach(&mut machine, 100 * MS + 1), Err(CoreError::Param));
}

/// Two CPUs and three equal hogs: each has two thirds of a CPU.
#[test]
fn on_two_cpus_there_is_one_queue() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("linux-eevdf", &[SLICE]);
    let threads: Vec<CoreVp> = (0..3).map(|_| machine.thread(root, &[20, 0])).collect();
    wake_all(&mut machine, &threads);
    let had = had(&mut machine, &threads, 3_000);
    assert!(had.iter().all(|had| (had - 2_000.0).abs() <= 6.0), "{had:?}");
}
