//! Fixed priorities below an agent that comes first whenever it likes, within its allowance: sealed user-level
//! schedulers. The agent is as hostile as it can be, and the parent gives as little as it may.

use super::machine::{Held, Policy, Random, execute, hold, soak};
use hls_calculus::Guarantee;

/// Child 0 is the agent; among the others, lower numbers are more urgent.
struct Agent {
    allowance: usize,
    every: usize,
    left: usize,
}

impl Agent {
    fn is_able(&self, wanted: &[bool]) -> bool {
        wanted[0] && self.left > 0
    }
}

impl Policy for Agent {
    fn begin(&mut self, now: usize, wanted: &[bool]) -> bool {
        if now.is_multiple_of(self.every) {
            self.left = self.allowance;
        }
        self.is_able(wanted) || wanted[1..].contains(&true)
    }

    fn run(&mut self, wanted: &[bool]) -> usize {
        if self.is_able(wanted) {
            self.left -= 1;
            return 0;
        }
        (1..wanted.len()).find(|child| wanted[*child]).unwrap()
    }
}

/// The promises to the children of a sealed scheduler if its agent has this allowance.
fn promised(held: Held, (allowance, every): (usize, usize), children: usize) -> Vec<Guarantee> {
    let params = [("allowance", allowance), ("every", every), ("sealed", 1)];
    let child = |child| vec![("urgency", children - child), ("slot", if child == 0 { 0 } else { 64 })];
    let children: Vec<Vec<(&str, usize)>> = (0..children).map(child).collect();
    held.labels("user-level", &params, &children).into_iter().map(|label| label.guarantee).collect()
}

#[test]
fn what_the_agent_leaves_is_received() {
    let (mut random, mut cases) = (Random(0x5eed_0033), 0);
    while cases < soak(200) {
        let (x, more) = (1 + random.below(6), random.below(6));
        let held = if cases % 3 == 0 { Held::All } else { Held::Reservation(x, x + more) };
        let (allowance, every) = (1 + random.below(5), 2 + random.below(20));
        let promises = promised(held, (allowance, every), 3);
        if promises[1] == Guarantee::Null {
            continue;
        }
        cases += 1;
        let mut agent = Agent { allowance, every, left: 0 };
        let logs = execute(&mut agent, 3, &held.guarantee(), &mut random);
        hold(promises, &logs, &format!("{allowance} in {every}, on {held:?}"));
    }
}

/// The agent has its allowance twice in a row: a promise that counts with it once is broken.
#[test]
fn an_allowance_once_would_be_too_little() {
    let guarantee = |text: &str| Guarantee::parse(text).unwrap();
    assert_eq!(promised(Held::All, (2, 10), 2)[1], guarantee("RESBS 8ns 10ns"));
    let once = guarantee("PSBE 4/5 8/5ns");
    let mut random = Random(0x5eed_0034);
    let is_broken = (0..500).any(|_| {
        let mut agent = Agent { allowance: 2, every: 10, left: 0 };
        let logs = execute(&mut agent, 2, &Guarantee::All, &mut random);
        logs[1].broken(&once).is_some()
    });
    assert!(is_broken);
}
