//! Schedules made in advance: Rialto's and Rialto/NT's tables, Spring's plans.

use super::machine::{Held, Policy, Random, claimed, execute, hold, int, soak};
use hls_calculus::{Guarantee, Label};
use num_integer::Integer;

/// A table of slots that repeats, with the child that owns each slot.
struct Table {
    owners: Vec<Option<usize>>,
    now: usize,
    /// Whether slots that their owner does not want go to another child.
    slack: bool,
}

impl Table {
    fn owner(&self) -> Option<usize> {
        self.owners[self.now % self.owners.len()]
    }
}

impl Policy for Table {
    fn begin(&mut self, now: usize, wanted: &[bool]) -> bool {
        self.now = now;
        if self.slack { wanted.contains(&true) } else { self.owner().is_some_and(|owner| wanted[owner]) }
    }

    fn run(&mut self, wanted: &[bool]) -> usize {
        let owner = self.owner().filter(|owner| wanted[*owner]);
        owner.unwrap_or_else(|| (0..wanted.len()).rfind(|child| wanted[*child]).unwrap())
    }
}

fn hyperperiod(claims: &[(usize, usize)]) -> usize {
    claims.iter().fold(1, |lcm, (_, period)| lcm.lcm(period))
}

/// The children, short periods first, large amounts first among equals.
fn short_periods_first(claims: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by_key(|child| (claims[*child].1, usize::MAX - claims[*child].0));
    order
}

/// One slot for a child in each of its periods, at the least offset at which the table is free in all of these.
fn rialto(claims: &[(usize, usize)]) -> Option<Vec<Option<usize>>> {
    let length = hyperperiod(claims);
    let mut owners = vec![None; length];
    for child in short_periods_first(claims) {
        let (x, y) = claims[child];
        let slots =
            |offset: usize| (0..length).step_by(y).flat_map(move |k| (0..x).map(move |i| k + offset + i));
        let offset = (0..y).find(|offset| slots(*offset).all(|slot| owners[slot % length].is_none()))?;
        slots(offset).for_each(|slot| owners[slot % length] = Some(child));
    }
    Some(owners)
}

/// The first free slots of each period.
fn rialto_nt(claims: &[(usize, usize)]) -> Option<Vec<Option<usize>>> {
    let mut owners = vec![None; hyperperiod(claims)];
    for child in short_periods_first(claims) {
        let (x, y) = claims[child];
        for period in owners.chunks_mut(y) {
            let mut free = period.iter_mut().filter(|owner| owner.is_none());
            for _ in 0..x {
                *free.next()? = Some(child);
            }
        }
    }
    Some(owners)
}

/// All orders of jobs without preemption, until one has no job late.
fn spring(claims: &[(usize, usize)], done: &mut [usize], owners: &mut Vec<Option<usize>>) -> bool {
    let length = hyperperiod(claims);
    let pending: Vec<usize> =
        (0..claims.len()).filter(|child| done[*child] * claims[*child].1 < length).collect();
    let at = owners.len();
    if pending.iter().any(|child| {
        at.max(done[*child] * claims[*child].1) + claims[*child].0 > (done[*child] + 1) * claims[*child].1
    }) {
        return false;
    }
    if pending.is_empty() {
        owners.resize(length, None);
        return true;
    }
    for child in pending {
        let (x, y) = claims[child];
        owners.resize(at.max(done[child] * y), None);
        owners.resize(owners.len() + x, Some(child));
        done[child] += 1;
        if spring(claims, done, owners) {
            return true;
        }
        done[child] -= 1;
        owners.truncate(at);
    }
    false
}

type Maker = fn(&[(usize, usize)]) -> Option<Vec<Option<usize>>>;

/// Each set that the calculus admits has a table, and with the table every promise is kept. Returns how many sets were
/// admitted, and how many were refused although they have a table.
fn tables_hold(policy: &str, make: Maker, periods: &[usize], slack: bool, seed: u64) -> (usize, usize) {
    let (mut random, mut admitted, mut missed) = (Random(seed), 0, 0);
    for case in 0..soak(400) {
        let claims: Vec<(usize, usize)> = (0..1 + random.below(4))
            .map(|_| (1 + random.below(3), periods[random.below(periods.len())]))
            .filter(|(x, y)| x <= y)
            .collect();
        if claims.is_empty() {
            continue;
        }
        let labels = Held::All.labels(policy, &[], &claimed(&claims));
        let table = make(&claims);
        let setting = format!("{policy}, seed {seed:#x}, case {case}: {claims:?}");
        if labels[0].guarantee == Guarantee::Null {
            missed += usize::from(table.is_some());
            continue;
        }
        admitted += 1;
        let owners = table.unwrap_or_else(|| panic!("{setting} has no table"));
        let logs = execute(&mut Table { owners, now: 0, slack }, claims.len(), &Guarantee::All, &mut random);
        hold(labels.iter().map(Label::absolute), &logs, &setting);
    }
    (admitted, missed)
}

#[test]
fn rialto_holds() {
    let (admitted, missed) = tables_hold("rialto", rialto, &[4, 6, 8, 9, 10, 12, 16, 20], true, 0x5eed_000f);
    assert!(admitted > 100 && missed == 0, "{admitted} admitted, {missed} missed");
}

#[test]
fn rialto_nt_holds() {
    let (admitted, missed) = tables_hold("rialto-nt", rialto_nt, &[3, 6, 12, 24], true, 0x5eed_0010);
    assert!(admitted > 100 && missed == 0, "{admitted} admitted, {missed} missed");
}

#[test]
fn spring_holds() {
    let make: Maker = |claims| {
        let mut owners = Vec::new();
        spring(claims, &mut vec![0; claims.len()], &mut owners).then_some(owners)
    };
    let (admitted, missed) = tables_hold("spring", make, &[3, 4, 6, 8, 12], false, 0x5eed_0011);
    // The search of the calculus is bounded, so it may give up on a set for which the search in this file, through all
    // orders, finds a plan.
    assert!(admitted > 100 && missed * 100 < admitted, "{admitted} admitted, {missed} missed");
}

/// A plan need not keep the places of its slots from period to period: it makes a basic reservation only.
#[test]
fn a_plan_makes_no_continuous_reservation() {
    let claims = [(1, 2), (2, 4)];
    let labels = Held::All.labels("spring", &[], &claimed(&claims));
    assert_eq!(labels[0].guarantee, Guarantee::resbh(int(1), int(2)));
    let mut plan = Table { owners: vec![Some(0), Some(1), Some(1), Some(0)], now: 0, slack: false };
    let logs = execute(&mut plan, 2, &Guarantee::All, &mut Random(0x5eed_0013));
    hold(labels.iter().map(Label::absolute), &logs, "a plan of three jobs");
    assert!(logs[0].broken(&Guarantee::rescs(int(1), int(2))).is_some());
}
