//! Threads that may not use every CPU: they run in the order of their queue, however many others wait elsewhere.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreVp, Params};
use hls_scenario::Machine;

const CPUS: u16 = 4;

/// Pseudo-random numbers, always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

/// A minimal round robin: chooses the first in the queue that may use the CPU.
#[derive(Default)]
struct Queue(Vec<(CoreVp, u64)>);

impl Queue {
    fn take(&mut self, cpu: usize) -> Option<(CoreVp, u64)> {
        let first = self.0.iter().position(|(_, cpus)| cpus >> cpu & 1 == 1)?;
        Some(self.0.remove(first))
    }
}

#[test]
fn the_first_that_can_use_a_cpu_gets_it() {
    for seed in 0..8 {
        let mut random = Numbers(seed);
        let mut m = Machine::new(CPUS, None);
        let rr = m.root("round-robin", &[10_000 * MS]);
        let (mut queue, mut running, mut asleep) = (Queue::default(), Vec::new(), Vec::new());
        for number in 0..150 {
            let thread = m.thread(rr, &[]);
            // The first four run, each on a CPU of its own; later every fourth can use all CPUs.
            let cpus = match number {
                0..4 => 1 << number,
                _ if number % 4 == 0 => 0b1111,
                _ => 1 + random.below(15) as u64,
            };
            m.core.set_affinity(thread, cpus, m.now).unwrap();
            m.wake(thread);
            if number < 4 { running.push((thread, cpus)) } else { queue.0.push((thread, cpus)) }
        }
        for step in 0..600 {
            let cpu = random.below(CPUS.into());
            if let Some(next) = queue.take(cpu) {
                let before = std::mem::replace(&mut running[cpu], next);
                m.block(before.0);
                asleep.push(before);
            }
            if random.below(3) == 0 && queue.0.len() > 100 {
                let gone = queue.0.remove(random.below(queue.0.len()));
                m.block(gone.0);
                asleep.push(gone);
            }
            if !asleep.is_empty() && random.below(4) > 0 {
                let back = asleep.swap_remove(random.below(asleep.len()));
                m.wake(back.0);
                queue.0.push(back);
            }
            let expected: Vec<_> = running.iter().map(|(thread, _)| Some(*thread)).collect();
            assert_eq!(m.running, expected, "seed {seed}, step {step}");
        }
    }
}

/// The invariants say that the trees are balanced, so that no search in them is long.
#[test]
fn trees_of_sixty_thousand_threads_are_balanced() {
    for (policy, params) in [
        ("round-robin", &[][..]),
        ("fixed-priority", &[3]),
        ("time-sharing", &[8]),
        ("proportional-share", &[1, 0]),
        ("reservation", &[1_000, 1_000_000]),
    ] {
        let mut m = Machine::new(CPUS, None);
        let root = m.root(policy, &[]);
        let mut random = Numbers(7);
        let threads: Vec<CoreVp> = (0..60_000).map(|_| m.thread(root, params)).collect();
        for &thread in &threads {
            m.core.set_affinity(thread, 1 << random.below(CPUS.into()), m.now).unwrap();
            m.core.request(thread, m.now);
        }
        m.settled();
        for _ in 0..20_000 {
            m.core.release(threads[random.below(threads.len())], m.now);
        }
        m.settled();
        assert_eq!(m.running.iter().flatten().count(), CPUS.into(), "{policy}");
    }
}

/// However many VPs of schedulers refuse a CPU in one decision: none is lost, and the CPU goes on.
#[test]
fn thousands_of_schedulers_may_refuse_a_cpu_in_one_decision() {
    let mut m = Machine::new(2, None);
    let root = m.root("round-robin", &[10_000 * MS]);
    let fillers = [(); 2].map(|()| m.thread(root, &[]));
    fillers.iter().for_each(|filler| m.wake(*filler));
    let bound: Vec<CoreVp> = (0..2_100)
        .map(|_| {
            let below = m.below(root, &[], "round-robin", &[10 * MS]);
            let thread = m.thread(below, &[]);
            m.core.set_affinity(thread, 0b10, m.now).unwrap();
            m.core.request(thread, m.now);
            thread
        })
        .collect();
    m.settled();
    let on_first = m.running[0].expect("a filler");
    m.block(on_first);
    assert_eq!(m.core.check(), Ok(()));
    m.block(fillers[usize::from(on_first == fillers[0])]);
    for _ in &bound {
        let runs = m.running[1].expect("each has its turn");
        assert!(bound.contains(&runs));
        m.block(runs);
    }
    assert_eq!(m.running, [None, None]);
}

/// A scheduler that has refused a CPU and is destroyed leaves no trace in the number of pinned threads.
#[test]
fn the_number_of_pinned_threads_counts_threads_alone() {
    let mut m = Machine::new(2, None);
    let root = m.root("round-robin", &[10 * MS]);
    let other = m.thread(root, &[]);
    let below = m.scheduler("round-robin", &[10 * MS]);
    let vp = m.core.attach(root, Some(below), Params::default()).unwrap();
    let bound = m.thread(below, &[]);
    m.core.set_affinity(bound, 0b01, m.now).unwrap();
    m.wake(other);
    m.wake(bound);
    m.block(other);
    m.wake(other);
    m.block(bound);
    m.core.set_affinity(bound, 0b11, m.now).unwrap();
    m.core.move_to(bound, root, Params::default(), m.now).unwrap();
    m.settled();
    m.core.detach(vp, m.now).unwrap();
    m.core.destroy_scheduler(below).unwrap();
    assert_eq!(m.core.check(), Ok(()));
    assert_eq!(m.core.image().head.nr_pinned, 0);
}
