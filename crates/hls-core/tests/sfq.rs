//! What the policy `sfq` decides: the example of its paper, in which two threads of the weights 1 and 2 have quanta of
//! 10 ms (Goyal, Guo and Vin, OSDI 1996, section 3), and what follows from its rules.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with threads below its root, all awake, with these weights.
fn bench(weights: &[u64]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("sfq", &[10 * MS]);
    let threads: Vec<CoreVp> = weights.iter().map(|&weight| machine.thread(root, &[weight])).collect();
    threads.iter().for_each(|&thread| machine.wake(thread));
    (machine, threads)
}

/// Runs to a time, in ms. Returns the total CPU time of each thread, in ms.
fn had_at(machine: &mut Machine, threads: &[CoreVp], at_ms: u64) -> Vec<f64> {
    machine.run_to(Nanos(at_ms * MS));
    threads.iter().map(|&thread| machine.ran_ms(thread)).collect()
}

/// B blocks at 60, A at 90: the virtual time is the greatest finish tag, 50, then. A wakes up at 110 and B at 115, both
/// with the start tag 50, and A ends its quantum first.
///
/// From its source: section 3: weights 1 and 2, quanta of 10 ms.
#[test]
fn the_example_of_the_paper() {
    let (mut machine, threads) = bench(&[1, 2]);
    assert_eq!(had_at(&mut machine, &threads, 60), [20.0, 40.0]);
    machine.block(threads[1]);
    assert_eq!(had_at(&mut machine, &threads, 90), [50.0, 40.0]);
    machine.block(threads[0]);
    assert_eq!(had_at(&mut machine, &threads, 110), [50.0, 40.0]);
    machine.wake(threads[0]);
    assert_eq!(had_at(&mut machine, &threads, 115), [55.0, 40.0]);
    machine.wake(threads[1]);
    assert_eq!(had_at(&mut machine, &threads, 120), [60.0, 40.0]);
    assert_eq!(had_at(&mut machine, &threads, 140), [60.0, 60.0]);
    assert_eq!(had_at(&mut machine, &threads, 440), [160.0, 260.0]);
}

/// After idleness the virtual time is the greatest finish tag: a thread that comes first then has no advantage over
/// one that had more.
#[test]
fn after_idleness_no_thread_has_an_advantage() {
    let (mut machine, threads) = bench(&[1, 2]);
    machine.run_to(Nanos(60 * MS));
    machine.block(threads[1]);
    machine.run_to(Nanos(88 * MS));
    machine.block(threads[0]);
    machine.run_to(Nanos(100 * MS));
    machine.wake(threads[1]);
    machine.wake(threads[0]);
    // Both have the start tag 48. When the first blocked it was in the middle of a quantum that had begun at 40.
    assert_eq!(had_at(&mut machine, &threads, 120), [58.0, 50.0]);
}

/// In the middle of a quantum the virtual time is the start tag of the running VP. A VP that wakes up then waits for
/// at most a quantum of each of the others, and does not preempt.
#[test]
fn a_vp_that_wakes_up_waits_for_a_quantum_of_each() {
    let (mut machine, threads) = bench(&[1, 1, 1]);
    machine.block(threads[2]);
    machine.run_to(Nanos(105 * MS));
    machine.wake(threads[2]);
    assert_ne!(machine.running[0], Some(threads[2]));
    machine.run_to(Nanos(120 * MS));
    assert_eq!(machine.running[0], Some(threads[2]));
}

/// A weight that changes while the VP runs counts from then on.
#[test]
fn a_weight_may_change_while_the_vp_runs() {
    let (mut machine, threads) = bench(&[1, 1]);
    machine.run_to(Nanos(105 * MS));
    let running = machine.running[0].expect("one of the two");
    let other = threads[usize::from(running == threads[0])];
    let before = [machine.ran_ms(running), machine.ran_ms(other)];
    machine.core.set_param(running, 0, 3, machine.now).unwrap();
    machine.settled();
    machine.run_to(Nanos(905 * MS));
    let had = [machine.ran_ms(running) - before[0], machine.ran_ms(other) - before[1]];
    assert!((590.0..=610.0).contains(&had[0]), "{had:?}");
}
