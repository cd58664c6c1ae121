//! Round robin, with children that sleep and wake and a parent that takes its CPU away in the middle of turns.

use super::machine::{Held, Policy, Random, execute, hold, int, soak};
use hls_calculus::{Guarantee, Label};
use std::collections::VecDeque;

/// Children in turn. The first of the queue is the one that runs whenever the parent grants.
struct Turns {
    quantum: usize,
    queue: VecDeque<usize>,
    /// What is left of the turn of the first child in the queue.
    left: usize,
    /// The child that has used its turn up and is not in the queue yet.
    over: Option<usize>,
    /// Whether children that wake up as a turn ends are queued before the child that had the turn.
    wakers_first: bool,
}

impl Turns {
    fn new(quantum: usize, wakers_first: bool) -> Turns {
        Turns { quantum, queue: VecDeque::new(), left: quantum, over: None, wakers_first }
    }
}

impl Policy for Turns {
    fn begin(&mut self, _: usize, wanted: &[bool]) -> bool {
        let over = self.over.take();
        if !self.wakers_first {
            self.queue.extend(over);
        }
        let first = self.queue.front().copied();
        self.queue.retain(|child| wanted[*child]);
        if self.queue.front().copied() != first || first.is_none() {
            self.left = self.quantum;
        }
        let awake = (0..wanted.len()).filter(|child| wanted[*child] && over != Some(*child));
        let woken: Vec<usize> = awake.filter(|child| !self.queue.contains(child)).collect();
        self.queue.extend(woken);
        if self.wakers_first {
            self.queue.extend(over.filter(|child| wanted[*child]));
        }
        !self.queue.is_empty()
    }

    fn run(&mut self, _: &[bool]) -> usize {
        let first = self.queue[0];
        self.left -= 1;
        if self.left == 0 {
            self.queue.pop_front();
            self.over = Some(first);
            self.left = self.quantum;
        }
        first
    }
}

/// What a label promises at least: the guarantee, and what holds beside it. Upper limits are left out, since the parent
/// of this test keeps none.
fn promises(label: &Label) -> Vec<Guarantee> {
    let beside = label.beside.sums().iter().filter_map(|sum| match sum.0.as_slice() {
        [alone] => Some(alone.clone()),
        _ => None,
    });
    std::iter::once(label.absolute().softened()).chain(beside).collect()
}

#[test]
fn turns_hold() {
    let mut random = Random(0x5eed_0021);
    for case in 0..soak(150) {
        let (x, more) = (1 + random.below(6), random.below(6));
        let held = if case % 3 == 0 { Held::All } else { Held::Reservation(x, x + more) };
        let (quantum, children) = (1 + random.below(4), 1 + random.below(5));
        let labels = held.labels("round-robin", &[("quantum", quantum)], &vec![Vec::new(); children]);
        let setting = format!("case {case}: {children} children, quantum {quantum}, on {held:?}");
        for wakers_first in [false, true] {
            let mut turns = Turns::new(quantum, wakers_first);
            let logs = execute(&mut turns, children, &held.guarantee(), &mut random);
            for (label, log) in labels.iter().zip(&logs) {
                assert_ne!(label.guarantee, Guarantee::Null, "{setting}");
                let of_one = promises(label);
                let logs = vec![log.clone(); of_one.len()];
                hold(of_one, &logs, &setting);
            }
        }
    }
}

fn rescs(amount: usize, period: usize) -> Guarantee {
    Guarantee::rescs(int(amount), int(period))
}

/// The promise, worked out by hand, and that a slot more would be too much.
#[test]
fn three_children_have_no_more_than_the_promise() {
    let label = |held: Held| held.labels("round-robin", &[("quantum", 2)], &vec![Vec::new(); 3]).remove(0);
    assert_eq!(promises(&label(Held::All)), [rescs(2, 6)]);
    // What is held is PSBE 1/2,5, and each child has a third of that; and the parent has given 6 after a blackout of
    // 10, 5 granted, a pause of 5 and 1 granted.
    let psbe = Guarantee::parse("PSBE 1/6 3ns").unwrap();
    assert_eq!(promises(&label(Held::Reservation(5, 10))), [psbe.clone(), psbe, rescs(2, 21)]);

    for (held, promise) in [(Held::All, rescs(2, 5)), (Held::Reservation(5, 10), rescs(2, 20))] {
        let mut random = Random(0x5eed_0022);
        let is_broken = (0..2_000).any(|_| {
            let logs = execute(&mut Turns::new(2, true), 3, &held.guarantee(), &mut random);
            logs.iter().any(|log| log.broken(&promise).is_some())
        });
        assert!(is_broken, "{promise} on {held:?}");
    }
}

/// Two children alone would each have half of the time. A third, which only sleeps, makes the promise to each smaller,
/// since it may wake up.
#[test]
fn sleeping_children_count_as_registered() {
    let shares: Vec<String> = (1..4)
        .map(|children| {
            Held::All.labels("round-robin", &[("quantum", 2)], &vec![Vec::new(); children])[0]
                .guarantee
                .to_string()
        })
        .collect();
    assert_eq!(shares, ["ALL", "RESCS 2ns 4ns", "RESCS 2ns 6ns"]);
}
