//! What the policy `linux` decides: schedules that were worked out by hand from the kernel's formulas, a character a
//! tick.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

const TICK: u64 = 10 * MS;
/// The priorities of nice -20, 0 and 19, which have quanta of 11, 6 and 1 ticks.
const MOST: u64 = 40;
const USUAL: u64 = 20;
const LEAST: u64 = 1;

/// A machine with threads below its root, all awake, with these priorities.
fn bench(priorities: &[u64]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("linux", &[TICK]);
    let threads = priorities.iter().map(|&priority| machine.thread(root, &[priority])).collect::<Vec<_>>();
    threads.iter().for_each(|&thread| machine.wake(thread));
    (machine, threads)
}

/// Which thread runs in each of the next ticks: `a`, `b`, `c`, or none.
fn ticks(machine: &mut Machine, threads: &[CoreVp], ticks: u64) -> String {
    let nth = |machine: &Machine| threads.iter().position(|&thread| machine.running[0] == Some(thread));
    (0..ticks)
        .map(|_| {
            let runs = nth(machine).map_or('.', |nth| ['a', 'b', 'c', 'd'][nth]);
            machine.run_to(machine.now + Nanos(TICK));
            runs
        })
        .collect()
}

/// In each epoch each thread gets its quantum, in one piece, the greatest goodness first: 11 + 40, 6 + 20, 1 + 1.
#[test]
fn an_epoch_has_a_quantum_of_each() {
    let (mut machine, threads) = bench(&[USUAL, MOST, LEAST]);
    let epoch = "bbbbbbbbbbbaaaaaac";
    // The first thread that woke up had its CPU until the second did.
    assert_eq!(ticks(&mut machine, &threads, 36), epoch.repeat(2));
}

/// Equals run in the order in which they came, a quantum each.
#[test]
fn equals_have_turns() {
    let (mut machine, threads) = bench(&[USUAL, USUAL, USUAL]);
    assert_eq!(ticks(&mut machine, &threads, 36), "aaaaaabbbbbbcccccc".repeat(2));
}

/// A thread that sleeps through epochs saves 9, 10, 11, 11... ticks (counter / 2 + 6), preempts, and runs for these
/// ticks.
#[test]
fn a_sleeper_saves_up_to_two_quanta() {
    // Three quanta of the hog end three epochs; a time in which no thread ran ends none.
    for (epochs, saved) in [(0, 6), (1, 9), (2, 10), (3, 11), (20, 11)] {
        let (mut machine, threads) = bench(&[USUAL, USUAL]);
        machine.block(threads[1]);
        machine.run_to(Nanos(TICK * (6 * epochs + 1)));
        machine.wake(threads[1]);
        let runs = ticks(&mut machine, &threads, 20);
        let burst = runs.chars().skip_while(|&one| one == 'a').take_while(|&one| one == 'b').count();
        assert_eq!(burst, saved, "{epochs} epochs: {runs}");
        assert!(epochs == 0 || runs.starts_with('b'), "{epochs} epochs: {runs}");
    }
}

/// A wake-up preempts only with more goodness: a thread with equal goodness waits, but a full counter preempts a
/// partly used one.
#[test]
fn only_more_goodness_preempts() {
    let (mut machine, threads) = bench(&[USUAL, USUAL]);
    machine.block(threads[1]);
    machine.wake(threads[1]);
    assert_eq!(machine.running[0], Some(threads[0]), "6 + 20 beside 6 + 20");
    machine.run_to(Nanos(TICK));
    machine.block(threads[1]);
    machine.wake(threads[1]);
    assert_eq!(machine.running[0], Some(threads[1]), "6 + 20 beside 5 + 20");
    assert_eq!(ticks(&mut machine, &threads, 11), "bbbbbbaaaaa");
}

/// A thread that sleeps for a moment before each tick is still charged. It gets less than its half: when the other
/// thread has used its counter up, each such moment ends an epoch, and halves what the sleeper has saved.
#[test]
fn nobody_sleeps_through_the_ticks() {
    let (mut machine, threads) = bench(&[USUAL, USUAL]);
    for _ in 0..2000 {
        if machine.running[0] == Some(threads[0]) {
            machine.run_to(machine.now + Nanos(TICK - MS));
            machine.block(threads[0]);
            machine.wake(threads[0]);
        } else {
            machine.run_to(machine.now + Nanos(TICK));
        }
    }
    let share = machine.ran_ms(threads[0]) / (machine.now.0 / MS) as f64;
    assert!((0.3..0.5).contains(&share), "{share}");
}

/// A thread that yields goes on in the next epoch, with half of what it had left besides its quantum.
#[test]
fn a_thread_that_yields_keeps_half_of_its_counter() {
    let (mut machine, threads) = bench(&[USUAL, USUAL]);
    assert_eq!(ticks(&mut machine, &threads, 2), "aa");
    machine.core.yield_now(threads[0], machine.now);
    machine.settled();
    // 4 / 2 + 6 = 8 ticks, which is more than the other thread has in that epoch.
    assert_eq!(ticks(&mut machine, &threads, 20), "bbbbbbaaaaaaaabbbbbb");
}

/// A priority that changes while the thread runs counts from the next epoch on; the counter of this one stays.
#[test]
fn a_change_of_priority_gives_no_counter() {
    let (mut machine, threads) = bench(&[USUAL, USUAL]);
    assert_eq!(ticks(&mut machine, &threads, 5), "aaaaa");
    for _ in 0..10 {
        for priority in [LEAST, MOST] {
            machine.core.set_param(threads[0], 0, priority, machine.now).unwrap();
            machine.settled();
        }
    }
    assert_eq!(ticks(&mut machine, &threads, 7), "abbbbbb", "1 + 40 beside 6 + 20");
    assert_eq!(ticks(&mut machine, &threads, 17), "aaaaaaaaaaabbbbbb");
    assert!(machine.core.set_param(threads[0], 0, 0, machine.now).is_err());
    assert!(machine.core.set_param(threads[0], 0, 41, machine.now).is_err());
}

/// A counter settles, whatever it was: a thread that changes from the greatest to the least priority settles at 1.
#[test]
fn counters_settle() {
    let (mut machine, threads) = bench(&[USUAL, MOST]);
    machine.block(threads[1]);
    ticks(&mut machine, &threads, 600);
    machine.wake(threads[1]);
    machine.block(threads[1]);
    machine.core.set_param(threads[1], 0, LEAST, machine.now).unwrap();
    ticks(&mut machine, &threads, 600);
    machine.wake(threads[1]);
    assert_eq!(ticks(&mut machine, &threads, 22), "aaaaaabbaaaaaabaaaaaab", "2 saved, then 1 in each epoch");
}
