//! What the policy `stride` decides: schedules that were worked out by hand, a character a quantum.

use crate::support::{ByHand, MS};
use hls_core::CoreVp;
use hls_scenario::Machine;
use hls_units::Nanos;

const QUANTUM: u64 = 10 * MS;

/// A machine with threads below its root, with these tickets.
fn bench(tickets: &[u64]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("stride", &[QUANTUM]);
    let threads = tickets.iter().map(|&tickets| machine.thread(root, &[tickets])).collect();
    (machine, threads)
}

/// Which thread runs in each of the next quanta: `a`, `b`, `c`.
fn quanta(machine: &mut Machine, threads: &[CoreVp], quanta: u64) -> String {
    let nth = |machine: &Machine| threads.iter().position(|&thread| machine.running[0] == Some(thread));
    (0..quanta)
        .map(|_| {
            let end = machine.now + Nanos(QUANTUM);
            let runs = nth(machine).map_or('.', |nth| ['a', 'b', 'c'][nth]);
            machine.run_to(end);
            runs
        })
        .collect()
}

/// Tickets 3 : 2 : 1, as in the paper. All passes are equal in the beginning, and after each six quanta.
///
/// From its source: tickets 3 : 2 : 1, quantum by quantum.
#[test]
fn quanta_come_in_proportion_to_tickets() {
    let (mut machine, threads) = bench(&[3, 2, 1]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    assert_eq!(quanta(&mut machine, &threads, 6), "abcaba");
    let next = quanta(&mut machine, &threads, 60);
    let had = |letter: char| next.chars().filter(|&one| one == letter).count();
    assert_eq!([had('a'), had('b'), had('c')], [30, 20, 10], "{next}");
}

/// A thread that blocks in the middle of a quantum, even for a moment, loses the rest: it goes on at the pass of the
/// running thread.
#[test]
fn a_thread_that_blocks_gives_the_rest_of_its_quantum_away() {
    let (mut machine, threads) = bench(&[1, 1]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    for _ in 0..60 {
        if machine.running[0] == Some(threads[0]) {
            machine.run_to(machine.now + Nanos(QUANTUM / 2));
            machine.block(threads[0]);
            machine.wake(threads[0]);
        } else {
            machine.run_to(machine.now + Nanos(QUANTUM));
        }
    }
    assert_eq!([0, 1].map(|thread| machine.ran_ms(threads[thread])), [150.0, 300.0]);
}

/// A thread that slept has its turn soon, and gets nothing for the time of its sleep.
#[test]
fn nobody_saves_time_by_sleeping() {
    let (mut machine, threads) = bench(&[1, 1, 2]);
    machine.wake(threads[0]);
    machine.wake(threads[1]);
    assert_eq!(quanta(&mut machine, &threads, 40).len(), 40);
    machine.wake(threads[2]);
    let next = quanta(&mut machine, &threads, 40);
    let had = |letter: char| next.chars().filter(|&one| one == letter).count();
    assert_eq!([had('a'), had('b'), had('c')], [10, 10, 20], "{next}");
    assert!(next[..3].contains('c'), "{next}");
}

/// A machine that is idle for an hour, or for longer than virtual times are remembered, goes on in the same order.
#[test]
fn long_sleeps_change_nothing() {
    for hours in [1, 25] {
        let (mut machine, threads) = bench(&[3, 1]);
        threads.iter().for_each(|&thread| machine.wake(thread));
        quanta(&mut machine, &threads, 4);
        threads.iter().for_each(|&thread| machine.block(thread));
        machine.run_to(machine.now + Nanos(hours * 3_600_000 * MS));
        threads.iter().for_each(|&thread| machine.wake(thread));
        let next = quanta(&mut machine, &threads, 8);
        assert_eq!(next.chars().filter(|&one| one == 'a').count(), 6, "{next}");
    }
}
