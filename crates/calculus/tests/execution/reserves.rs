//! The resource kernel: reserves that keep their budget, by rate monotonic priorities.

use super::machine::{Held, Policy, Random, claimed, execute, hold, int, soak};
use hls_calculus::{Guarantee, Label};

/// Deferrable reserves, renewed at fixed instants.
struct Reserves {
    claims: Vec<(usize, usize)>,
    soft: Vec<bool>,
    /// When each reserve is first renewed; until then it is in a period that began before the run.
    phase: Vec<usize>,
    budget: Vec<usize>,
}

impl Reserves {
    fn new(claims: &[(usize, usize)], soft: &[bool], random: &mut Random) -> Reserves {
        let phase = claims.iter().map(|(_, period)| random.below(*period)).collect();
        let budget = claims.iter().map(|(budget, _)| *budget).collect();
        Reserves { claims: claims.to_vec(), soft: soft.to_vec(), phase, budget }
    }
}

impl Policy for Reserves {
    fn begin(&mut self, now: usize, wanted: &[bool]) -> bool {
        for (child, &(x, y)) in self.claims.iter().enumerate() {
            if now % y == self.phase[child] {
                self.budget[child] = x;
            }
        }
        (0..wanted.len()).any(|child| wanted[child] && (self.soft[child] || self.budget[child] > 0))
    }

    fn run(&mut self, wanted: &[bool]) -> usize {
        let able = (0..wanted.len()).filter(|child| wanted[*child] && self.budget[*child] > 0);
        let Some(first) = able.min_by_key(|child| self.claims[*child].1) else {
            return (0..wanted.len()).rfind(|child| wanted[*child] && self.soft[*child]).unwrap();
        };
        self.budget[first] -= 1;
        first
    }
}

#[test]
fn reserves_hold() {
    let seed = 0x5eed_000d;
    let (mut random, mut promised, mut refused) = (Random(seed), 0, 0);
    for case in 0..soak(600) {
        let (x, y) = (3 + random.below(6), 3 + random.below(6));
        let held = if random.below(2) == 0 { Held::All } else { Held::Reservation(x.min(y), x.max(y)) };
        let count = 1 + random.below(4);
        let claims: Vec<(usize, usize)> =
            (0..count).map(|_| (1 + random.below(4), 4 + random.below(20))).collect();
        let soft: Vec<bool> = claims.iter().map(|_| random.below(3) == 0).collect();
        let mut children = claimed(&claims);
        children.iter_mut().zip(&soft).for_each(|(child, soft)| child.push(("kind", 2 * usize::from(*soft))));
        let labels = held.labels("resource-kernel", &[], &children);
        promised += labels.iter().filter(|label| label.guarantee != Guarantee::Null).count();
        refused += labels.iter().filter(|label| label.guarantee == Guarantee::Null).count();
        let mut reserves = Reserves::new(&claims, &soft, &mut random);
        let logs = execute(&mut reserves, claims.len(), &held.guarantee(), &mut random);
        hold(
            labels.iter().map(Label::absolute),
            &logs,
            &format!("seed {seed:#x}, case {case}: {claims:?}, soft {soft:?}, on {held:?}"),
        );
    }
    assert!(promised > 300 && refused > 100, "{promised} promised, {refused} refused");
}

/// Plain response time analysis, with ceil(t/T)*C for each reserve above, admits this set: R = 4 + 2 + 2 = 8.
#[test]
fn plain_response_times_would_admit_too_much() {
    let claims = [(2, 5), (4, 9)];
    let labels = Held::All.labels("resource-kernel", &[], &claimed(&claims));
    assert_eq!(labels[0].guarantee, Guarantee::resbh(int(2), int(5)));
    assert_eq!(labels[1].guarantee, Guarantee::Null);
    let mut random = Random(0x5eed_000e);
    let breaks = (0..2_000).any(|_| {
        let mut reserves = Reserves::new(&claims, &[false; 2], &mut random);
        let logs = execute(&mut reserves, 2, &Guarantee::All, &mut random);
        logs[1].broken(&Guarantee::resbs(int(4), int(9))).is_some()
    });
    assert!(breaks);
}
