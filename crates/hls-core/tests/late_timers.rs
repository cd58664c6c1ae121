//! Budgets with late timers: CPU time that a virtual processor (VP) gets beyond its budget is subtracted from its
//! next budgets (`core/budget.h`). In each test the platform calls late at random, as the rules of `core/core.h`
//! allow.

use crate::support::{ByHand, MS};
use hls_core::CoreVp;
use hls_scenario::Machine;
use hls_units::Nanos;

const US: u64 = 1_000;

/// Pseudo-random numbers: the generator of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// The lateness of a test's timers.
#[derive(Clone, Copy)]
enum Late {
    /// At random, by no more than this.
    AtMost(u64),
    /// Always by this.
    By(u64),
    /// Until the next multiple of this.
    Ticks(u64),
}

impl Late {
    fn called_at(self, due: Nanos, random: &mut Random) -> Nanos {
        match self {
            Late::AtMost(most) => Nanos(due.0 + random.below(most + 1)),
            Late::By(delay) => Nanos(due.0 + delay),
            Late::Ticks(tick) => Nanos(due.0.next_multiple_of(tick)),
        }
    }
}

/// When a VP had a CPU: stretches of time, in order.
#[derive(Default)]
struct Usage(Vec<(u64, u64)>);

impl Usage {
    fn in_window(&self, from: u64, to: u64) -> u64 {
        let first = self.0.partition_point(|&(_, end)| end <= from);
        let overlapping = self.0[first..].iter().take_while(|&&(begin, _)| begin < to);
        overlapping.map(|&(begin, end)| end.min(to) - begin.max(from)).sum()
    }
}

/// Lets time pass up to `end`; due events happen late.
fn run_late(m: &mut Machine, end: u64, late: Late, random: &mut Random, vp: CoreVp, usage: &mut Usage) {
    while m.due() <= Nanos(end) {
        let due = m.due();
        let at = late.called_at(due, random).min(Nanos(end)).max(due);
        pass(m, at, vp, usage);
        m.core.timers(at);
        m.core.expire(0, at);
        m.settled();
    }
    pass(m, Nanos(end), vp, usage);
}

fn pass(m: &mut Machine, at: Nanos, vp: CoreVp, usage: &mut Usage) {
    if m.running[0] == Some(vp) && at > m.now {
        usage.0.push((m.now.0, at.0));
    }
    m.now = at;
}

/// A machine where a VP with this budget and period competes with a hog; returns the VP, too.
fn machine(policy: &str, budget: u64, period: u64) -> (Machine, CoreVp) {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[]);
    let above = m.below(fp, &[2], policy, &[]);
    let rr = m.below(fp, &[1], "round-robin", &[]);
    let hog = m.thread(rr, &[]);
    let vp = m.thread(above, &[budget, period]);
    m.wake(hog);
    (m, vp)
}

/// The part of the CPU, in ten-thousandths, that the VP got in a second in which it never slept.
fn share(policy: &str, (budget, period): (u64, u64), late: Late) -> u64 {
    let (mut m, vp) = machine(policy, budget, period);
    m.wake(vp);
    let mut usage = Usage::default();
    run_late(&mut m, 1000 * MS, late, &mut Random(0), vp, &mut usage);
    usage.in_window(0, 1000 * MS) / (100 * US)
}

const POLICIES: [&str; 2] = ["reservation", "limit"];

#[test]
fn no_window_has_more_than_its_budgets_and_one_overrun() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let budget = 20 * US + random.below(MS);
        let period = budget + 1 + random.below(9 * budget);
        let most_late = 1 + random.below(2 * budget.min(period - budget));
        for policy in POLICIES {
            let (mut m, vp) = machine(policy, budget, period);
            m.wake(vp);
            let mut usage = Usage::default();
            run_late(&mut m, 1000 * period, Late::AtMost(most_late), &mut random, vp, &mut usage);
            for k in [1, 2, 3, 10, 100] {
                for first in 0..1000 - k {
                    let had = usage.in_window(first * period, (first + k) * period);
                    let most = k * budget + most_late;
                    assert!(
                        had <= most,
                        "{policy} {budget} {period}, late by up to {most_late}, seed {seed}: \
                         {had} > {most} in {k} periods from {first} on"
                    );
                }
            }
            // No VP pays more than it overran: a VP that can use its late budgets gets all of them.
            let all = usage.in_window(0, 1000 * period);
            let is_time_for_all = most_late <= period - budget;
            assert!(!is_time_for_all || all >= 999 * budget, "{policy}, seed {seed}: {all}");
        }
    }
}

#[test]
fn a_debt_of_many_budgets_is_paid_over_many_periods() {
    for policy in POLICIES {
        assert_eq!(share(policy, (20 * US, 500 * US), Late::By(20 * US)), 400, "{policy}");
        assert_eq!(share(policy, (100 * US, 10 * MS), Late::Ticks(MS)), 100, "{policy}");
        // A tick is longer than the period: the debts of a tick are paid also in the periods within the tick.
        assert_eq!(share(policy, (20 * US, 500 * US), Late::Ticks(MS)), 400, "{policy}");
    }
}

#[test]
fn timers_in_time_leave_no_debt() {
    for policy in POLICIES {
        assert_eq!(share(policy, (20 * US, 500 * US), Late::By(0)), 400, "{policy}");
        assert_eq!(share(policy, (3 * MS, 10 * MS), Late::Ticks(MS)), 3000, "{policy}");
    }
}

#[test]
fn sleeping_pays_no_debt() {
    let (budget, period, late) = (100 * US, 10 * MS, 300 * US);
    for (policy, nap) in POLICIES.into_iter().flat_map(|policy| [(policy, 1), (policy, 35 * MS)]) {
        let (mut m, vp) = machine(policy, budget, period);
        let mut usage = Usage::default();
        // Sleeps as soon as it has overrun, and wakes up just after that period or, with the longer nap, when four
        // periods are over.
        let mut random = Random(0);
        for _ in 0..100 {
            m.wake(vp);
            let begin = m.now.0;
            run_late(&mut m, begin + budget + late, Late::By(late), &mut random, vp, &mut usage);
            m.block(vp);
            run_late(&mut m, begin + period + nap, Late::By(late), &mut random, vp, &mut usage);
        }
        let had = usage.in_window(0, m.now.0);
        assert!(had <= 100 * budget + late, "{policy}, naps of {nap}: {had}");
        assert!(had >= 90 * budget, "{policy}, naps of {nap}: {had}");
    }
}

#[test]
fn stolen_time_is_no_debt() {
    for policy in POLICIES {
        let (mut m, vp) = machine(policy, MS, 10 * MS);
        m.wake(vp);
        // The interrupt takes the CPU after the first half of the budget, until long after the planned end of the
        // slice.
        let mut usage = Usage::default();
        run_late(&mut m, MS / 2, Late::By(0), &mut Random(0), vp, &mut usage);
        m.interrupt(0, Nanos(7 * MS + MS / 2)).unwrap();
        m.run_to(Nanos(100 * MS));
        assert_eq!(m.ran_ms(vp), 10.0, "{policy}");
    }
}

/// An interrupt that has the CPU at the end of a period makes the period's timer late. What it takes after that end is
/// CPU time of no period.
#[test]
fn stolen_time_is_not_charged_to_the_next_period() {
    for policy in POLICIES {
        let (mut m, vp) = machine(policy, 9 * MS + MS / 2, 10 * MS);
        m.wake(vp);
        let mut usage = Usage::default();
        run_late(&mut m, 8 * MS, Late::By(0), &mut Random(0), vp, &mut usage);
        m.interrupt(0, Nanos(4 * MS)).unwrap();
        m.run_to(Nanos(20 * MS));
        assert_eq!(m.ran_ms(vp), 16.0, "{policy}");
    }
}

/// The same for a VP of `tbs` that runs on slack, from 2 ms on: the next period has its whole budget.
#[test]
fn stolen_time_is_not_charged_where_a_vp_runs_on_slack() {
    let mut m = Machine::new(1, None);
    let tbs = m.root("tbs", &[50 * MS]);
    let [a, b] = [[2 * MS, 10 * MS], [2 * MS, 20 * MS]].map(|params| m.thread(tbs, &params));
    m.wake(a);
    m.run_to(Nanos(8 * MS));
    m.interrupt(0, Nanos(4 * MS)).unwrap();
    m.wake(b);
    m.run_to(Nanos(14 * MS));
    assert_eq!((m.ran_ms(a), m.ran_ms(b)), (10.0, 0.0));
}

#[test]
fn a_debt_has_a_bound() {
    for policy in POLICIES {
        let (mut m, vp) = machine(policy, MS, 10 * MS);
        m.wake(vp);
        // The machine is stopped for an hour without reporting it: the VP seems to have run all the time.
        let hour = 3_600_000 * MS;
        let mut usage = Usage::default();
        run_late(&mut m, hour, Late::By(hour), &mut Random(0), vp, &mut usage);
        let before = m.ran_ms(vp);
        m.run_to(Nanos(hour + 1000 * MS));
        // 100 budgets, minus the 10 ms of the greatest debt.
        assert!(m.ran_ms(vp) - before >= 88.0, "{policy}: {} ms", m.ran_ms(vp) - before);
    }
}
