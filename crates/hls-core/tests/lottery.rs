//! What the policy `lottery` decides. Tickets are drawn by a generator with a seed, so every figure here is certain;
//! the bounds are three standard deviations of what chance allows.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

const QUANTUM: u64 = 10 * MS;

/// A machine with `cpus` CPUs, and threads below its root, all awake, with these tickets.
fn bench(cpus: u16, seed: u64, tickets: &[u64]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root("lottery", &[QUANTUM, seed]);
    let threads: Vec<CoreVp> = tickets.iter().map(|&tickets| machine.thread(root, &[tickets])).collect();
    threads.iter().for_each(|&thread| machine.wake(thread));
    (machine, threads)
}

/// Which thread runs in each of the next quanta.
fn winners(machine: &mut Machine, quanta: u64) -> Vec<CoreVp> {
    let next = |machine: &mut Machine| {
        let winner = machine.running[0].expect("all are awake");
        machine.run_to(machine.now + Nanos(QUANTUM));
        winner
    };
    (0..quanta).map(|_| next(machine)).collect()
}

/// How many of these quanta each thread has.
fn counts(threads: &[CoreVp], winners: &[CoreVp]) -> Vec<u64> {
    let count = |thread| winners.iter().filter(|&&winner| winner == thread).count() as u64;
    threads.iter().map(|&thread| count(thread)).collect()
}

/// Of n quanta a VP with the part p of all tickets gets n p, plus or minus sqrt(n p (1 - p)) (section 2 of the
/// paper).
///
/// From its source: section 2: the spread of wins, sqrt(n p (1 - p)).
#[test]
fn winners_are_binomially_distributed() {
    const QUANTA: u64 = 20_000;
    let tickets = [1, 2, 5, 10, 2];
    let all: u64 = tickets.iter().sum();
    for seed in 0..5 {
        let (mut machine, threads) = bench(1, seed, &tickets);
        let had = counts(&threads, &winners(&mut machine, QUANTA));
        for (had, tickets) in had.iter().zip(tickets) {
            let part = tickets as f64 / all as f64;
            let (mean, deviation) = (QUANTA as f64 * part, (QUANTA as f64 * part * (1.0 - part)).sqrt());
            assert!((*had as f64 - mean).abs() < 3.5 * deviation, "{tickets} of {all}: {had} quanta");
        }
    }
}

/// Quanta are independent: after a quantum of its own a VP wins as often as after another's.
#[test]
fn quanta_are_independent() {
    let (mut machine, threads) = bench(1, 3, &[1, 1]);
    let winners = winners(&mut machine, 20_000);
    let again = winners.windows(2).filter(|pair| pair[0] == threads[0] && pair[1] == threads[0]).count();
    assert!((again as f64 - 5_000.0).abs() < 3.0 * 61.2, "{again}");
}

#[test]
fn the_same_seed_draws_the_same() {
    let draws = |seed| {
        let (mut machine, threads) = bench(1, seed, &[3, 2, 1]);
        let winners = winners(&mut machine, 100);
        winners.iter().map(|winner| threads.iter().position(|thread| thread == winner)).collect::<Vec<_>>()
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}

/// Section 3.4: of two threads with equal tickets, one yields after a fifth of each quantum. It wins five times as
/// often, and both get the same CPU time; without compensation tickets it would get a sixth of the CPU.
#[test]
fn a_thread_that_uses_a_fifth_of_its_quanta_wins_five_times_as_often() {
    let (mut machine, threads) = bench(1, 1, &[400, 400]);
    let mut wins = [0.0, 0.0];
    for _ in 0..12_000 {
        let fifth = machine.running[0] == Some(threads[1]);
        wins[usize::from(fifth)] += 1.0;
        if fifth {
            machine.run_to(machine.now + Nanos(QUANTUM / 5));
            machine.core.yield_now(threads[1], machine.now);
            machine.settled();
        } else {
            machine.run_to(machine.now + Nanos(QUANTUM));
        }
    }
    let had = [0, 1].map(|thread| machine.ran_ms(threads[thread]));
    assert!((4.6..5.4).contains(&(wins[1] / wins[0])), "{wins:?}");
    assert!((0.92..1.08).contains(&(had[1] / had[0])), "{had:?}");
}

/// Compensation is limited, so that no sum overflows: a thread that uses next to nothing of its quanta has 1,024
/// times its tickets.
#[test]
fn compensation_is_limited() {
    let (mut machine, threads) = bench(1, 1, &[131_072, 1]);
    machine.block(threads[0]);
    machine.wake(threads[0]);
    let mut wins = 0;
    for _ in 0..1_000 {
        if machine.running[0] == Some(threads[1]) {
            wins += 1;
            machine.block(threads[1]);
            machine.wake(threads[1]);
        }
        machine.run_to(machine.now + Nanos(QUANTUM));
    }
    // It wins one of 129 draws; without a limit it would win nearly all of them.
    assert!((2..20).contains(&wins), "{wins}");
}

/// Tickets that change while the VP waits, or runs, count from the next draw on.
#[test]
fn tickets_may_change_at_any_time() {
    let (mut machine, threads) = bench(1, 1, &[1, 1, 1]);
    for thread in &threads[..2] {
        machine.core.set_param(*thread, 0, 50, machine.now).unwrap();
        machine.settled();
    }
    let had = counts(&threads, &winners(&mut machine, 1_010));
    assert!(had[2] < 30 && had[0].abs_diff(had[1]) < 100, "{had:?}");
}

/// A thread that is bound to a CPU runs there, though others have most of the tickets; no other CPU is idle.
#[test]
fn a_bound_thread_wins_on_its_cpu() {
    let (mut machine, threads) = bench(2, 1, &[1, 1_000, 1_000, 1_000]);
    machine.core.set_affinity(threads[0], 2, machine.now).unwrap();
    machine.settled();
    machine.run_to(Nanos(60_000 * MS));
    assert!(machine.ran_ms(threads[0]) > 10.0, "{}", machine.ran_ms(threads[0]));
    let all: f64 = threads.iter().map(|&thread| machine.ran_ms(thread)).sum();
    assert!((all - 120_000.0).abs() < 0.001, "{all}");
}
