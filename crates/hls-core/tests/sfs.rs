//! What the policy `sfs` decides: the example of its paper (Chandra et al., OSDI 2000, section 1.2), and its
//! readjusted weights.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

const QUANTUM: u64 = MS;

/// A machine with `cpus` CPUs, and threads below its root, all asleep, with these weights.
fn bench(policy: &str, cpus: u16, weights: &[u64]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root(policy, &[QUANTUM]);
    let threads = weights.iter().map(|&weight| machine.thread(root, &[weight])).collect();
    (machine, threads)
}

/// Runs for this number of quanta. Returns how many of them each thread has had.
fn had(machine: &mut Machine, threads: &[CoreVp], quanta: u64) -> Vec<f64> {
    let before: Vec<f64> = threads.iter().map(|&thread| machine.ran_ms(thread)).collect();
    machine.run_to(machine.now + Nanos(quanta * QUANTUM));
    threads.iter().zip(before).map(|(&thread, before)| machine.ran_ms(thread) - before).collect()
}

/// Two CPUs, weights 1 and 10, and after 1,000 quanta a third thread of weight 1. The tags of the first two are 1,000
/// and 100 then under SFQ, which in the paper starves the first thread for 900 quanta. Readjusted, the first two have a
/// CPU each and equal tags. With the third the weights are 1 : 2 : 1 of two CPUs.
///
/// From its source: section 1.2: weights 1, 10, 1 on two CPUs.
#[test]
fn the_example_of_the_paper() {
    let (mut machine, threads) = bench("sfs", 2, &[1, 10, 1]);
    machine.wake(threads[0]);
    machine.wake(threads[1]);
    assert_eq!(had(&mut machine, &threads, 1_000), [1_000.0, 1_000.0, 0.0]);
    machine.wake(threads[2]);
    let next = had(&mut machine, &threads, 900);
    for (had, expected) in next.iter().zip([450.0, 900.0, 450.0]) {
        assert!((had - expected).abs() <= 3.0, "{next:?}");
    }
}

/// On four CPUs two threads need a whole CPU each, and the others share the other two by their weights.
#[test]
fn several_weights_are_cut() {
    let (mut machine, threads) = bench("sfs", 4, &[1_000, 100, 3, 2, 1]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    let had = had(&mut machine, &threads, 3_000);
    // 3 of 6 is exactly one of the two CPUs; the weights 2 and 1 share the other one.
    for (had, expected) in had.iter().zip([3_000.0, 3_000.0, 3_000.0, 2_000.0, 1_000.0]) {
        assert!((had - expected).abs() <= 12.0, "{had:?} {expected}");
    }
}

/// Weights are as given again when more threads come.
#[test]
fn cut_weights_are_restored() {
    let (mut machine, threads) = bench("sfs", 2, &[4, 1, 1, 1, 1]);
    machine.wake(threads[0]);
    machine.wake(threads[1]);
    assert_eq!(had(&mut machine, &threads, 100)[0], 100.0);
    threads[2..].iter().for_each(|&thread| machine.wake(thread));
    let had = had(&mut machine, &threads, 4_000);
    for (had, expected) in had.iter().zip([4_000.0, 1_000.0, 1_000.0, 1_000.0, 1_000.0]) {
        assert!((had - expected).abs() <= 12.0, "{had:?}");
    }
}

/// On one CPU it is SFQ.
#[test]
fn on_one_cpu_it_is_sfq() {
    let order = |policy| {
        let (mut machine, threads) = bench(policy, 1, &[3, 2, 1]);
        threads.iter().for_each(|&thread| machine.wake(thread));
        (0..60)
            .map(|_| {
                let running = machine.running[0];
                machine.run_to(machine.now + Nanos(QUANTUM));
                threads.iter().position(|&thread| running == Some(thread))
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(order("sfs"), order("sfq"));
}

/// A weight that changes while the thread runs counts from then on.
#[test]
fn a_weight_may_change_while_the_vp_runs() {
    let (mut machine, threads) = bench("sfs", 1, &[1, 1]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    had(&mut machine, &threads, 101);
    machine.core.set_param(threads[0], 0, 3, machine.now).unwrap();
    machine.settled();
    let had = had(&mut machine, &threads, 400);
    assert!((had[0] - 300.0).abs() <= 4.0, "{had:?}");
}
