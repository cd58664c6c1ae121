//! EDF over servers: the reservation scheduler, hard CBS, TBS with hard budgets and background slack, and constant
//! utilisation servers.

use super::machine::{Held, Log, Policy, Random, claimed, execute, hold, int, soak};
use hls_calculus::Guarantee;

/// What a server does when its budget is used, and when it wakes up.
#[derive(Clone, Copy, PartialEq)]
pub enum Budget {
    /// When its budget is used the server sleeps until the deadline; when it wakes up the budget is cut to what the
    /// rest of the period is worth.
    Hard,
    /// When its budget is used the server sleeps until the deadline; when it wakes up with more budget than the rest of
    /// the period is worth, it begins a new period.
    NewPeriod,
    /// As `NewPeriod`, but without budget the server runs when no other server wants the CPU.
    Slack,
    /// As `NewPeriod`, but a budget that is used is renewed at once, with a later deadline: CBS and TBS as first
    /// published.
    RenewedAtOnce,
    /// When its budget is used the server sleeps until the deadline. When it sleeps before, it gives up the rest, and
    /// its deadline comes earlier by what the rest is worth; when it wakes up before that, it waits for it.
    Constant,
}

/// Constant-bandwidth servers under EDF, with the wake-up rule.
pub struct Servers {
    claims: Vec<(usize, usize)>,
    kind: Budget,
    budget: Vec<usize>,
    deadline: Vec<usize>,
    awake: Vec<bool>,
}

impl Servers {
    pub fn new(claims: &[(usize, usize)], kind: Budget) -> Servers {
        let none = vec![0; claims.len()];
        let awake = vec![false; claims.len()];
        Servers { claims: claims.to_vec(), kind, budget: none.clone(), deadline: none, awake }
    }

    /// The deadlines of all servers that could be served.
    pub fn pending(&self, wanted: &[bool]) -> Vec<usize> {
        let able = (0..wanted.len()).filter(|child| wanted[*child] && self.budget[*child] > 0);
        able.map(|child| self.deadline[child]).collect()
    }

    /// The server that is served, and its deadline.
    pub fn first(&self, wanted: &[bool]) -> Option<(usize, usize)> {
        let able = (0..wanted.len()).filter(|child| wanted[*child] && self.budget[*child] > 0);
        able.map(|child| (self.deadline[child], child)).min()
    }
}

impl Policy for Servers {
    fn begin(&mut self, now: usize, wanted: &[bool]) -> bool {
        for (child, &(x, y)) in self.claims.iter().enumerate() {
            if self.kind == Budget::Constant && self.awake[child] && !wanted[child] {
                self.deadline[child] -= self.budget[child] * y / x;
                self.budget[child] = 0;
            }
            let (c, d) = (self.budget[child], self.deadline[child]);
            let wakes = wanted[child] && !self.awake[child];
            let too_much = d <= now || c * y > (d - now) * x;
            if wakes && too_much && d > now && self.kind == Budget::Hard {
                self.budget[child] = (d - now) * x / y;
            } else if wakes && too_much {
                (self.budget[child], self.deadline[child]) = (x, now + y);
            } else if wanted[child] && d <= now {
                (self.budget[child], self.deadline[child]) = (x, d + y);
            }
            self.awake[child] = wanted[child];
        }
        (self.kind == Budget::Slack && wanted.contains(&true)) || self.first(wanted).is_some()
    }

    fn run(&mut self, wanted: &[bool]) -> usize {
        let Some((_, first)) = self.first(wanted) else {
            return (0..wanted.len()).find(|child| wanted[*child]).unwrap();
        };
        self.budget[first] -= 1;
        if self.budget[first] == 0 && self.kind == Budget::RenewedAtOnce {
            let (x, y) = self.claims[first];
            self.budget[first] = x;
            self.deadline[first] += y;
        }
        first
    }
}

/// Runs sets that the calculus admits until there were `wanted` of them.
fn admitted_sets_hold(policy: &str, kind: Budget, seed: u64, wanted: usize) {
    let (mut random, mut admitted, wanted) = (Random(seed), 0, soak(wanted));
    for case in 0..100 * wanted {
        let (x, y) = (1 + random.below(9), 1 + random.below(9));
        let held = match random.below(4) {
            0 => Held::All,
            _ => Held::Reservation(x.min(y), x.max(y)),
        };
        let claims: Vec<(usize, usize)> =
            (0..1 + random.below(3)).map(|_| (1 + random.below(4), 4 + random.below(26))).collect();
        let labels = held.labels(policy, &[], &claimed(&claims));
        if labels[0].guarantee == Guarantee::Null {
            continue;
        }
        admitted += 1;
        let logs = execute(&mut Servers::new(&claims, kind), claims.len(), &held.guarantee(), &mut random);
        // A new period on waking may come too soon for the limit of windows with sleep in them: see below.
        let promises = labels.iter().map(|label| match kind {
            Budget::NewPeriod | Budget::Constant => label.guarantee.softened(),
            _ => label.guarantee.clone(),
        });
        hold(promises, &logs, &format!("{policy}, seed {seed:#x}, case {case}: {claims:?} on {held:?}"));
        if admitted == wanted {
            return;
        }
    }
    panic!("only {admitted} sets were admitted");
}

#[test]
fn reservations_hold_below_a_reservation() {
    admitted_sets_hold("reservation", Budget::Hard, 0x5eed_0001, 300);
    admitted_sets_hold("reservation", Budget::NewPeriod, 0x5eed_0014, 300);
}

#[test]
fn hard_cbs_holds() {
    admitted_sets_hold("cbs", Budget::Hard, 0x5eed_0005, 200);
}

#[test]
fn constant_utilisation_holds() {
    admitted_sets_hold("constant-utilisation-server", Budget::Constant, 0x5eed_0016, 400);
}

/// Wherever a window begins that the child wants the CPU in all the time, constant utilisation is a limit, too.
#[test]
fn constant_utilisation_is_hard() {
    let (mut random, claims) = (Random(0x5eed_0017), [(2, 8), (3, 6), (2, 9)]);
    for _ in 0..20 {
        let mut servers = Servers::new(&claims, Budget::Constant);
        let logs = execute(&mut servers, claims.len(), &Guarantee::All, &mut random);
        for (log, (x, y)) in logs.iter().zip(claims) {
            let slots: Vec<(bool, bool)> = log.wanted.iter().copied().zip(log.got.iter().copied()).collect();
            for span in slots.split(|(wanted, _)| !wanted).filter(|span| span.len() > x) {
                let (wanted, got) = span.iter().copied().unzip();
                let span = Log { wanted, got };
                assert_eq!(span.broken(&Guarantee::resbh(int(x), int(y))), None, "{x} in every {y}");
            }
        }
    }
}

#[test]
fn tbs_with_hard_budgets_and_slack_holds() {
    admitted_sets_hold("tbs", Budget::Slack, 0x5eed_0006, 400);
}

/// Why CBS is analysed with hard budgets, and TBS with slack that costs no budget.
#[test]
fn a_budget_that_is_renewed_at_once_makes_no_reservation() {
    let (mut random, claims) = (Random(0x5eed_0007), [(2, 8), (3, 6)]);
    let breaks = (0..300).any(|_| {
        let mut servers = Servers::new(&claims, Budget::RenewedAtOnce);
        let logs = execute(&mut servers, claims.len(), &Guarantee::All, &mut random);
        logs.iter().zip(claims).any(|(log, (x, y))| log.broken(&Guarantee::resbs(int(x), int(y))).is_some())
    });
    assert!(breaks);
}

/// Why a hard CBS cuts its budget on waking instead of beginning a new period: the second of these children has 4 slots
/// late in its first period, one early in its second period, and 4 more when it has slept long enough for a third
/// period to begin.
#[test]
fn a_new_period_on_waking_may_exceed_the_limit() {
    let limit = Guarantee::resbh(int(4), int(20));
    for (kind, is_kept) in [(Budget::Hard, true), (Budget::NewPeriod, false)] {
        let mut servers = Servers::new(&[(12, 19), (4, 20)], kind);
        let mut log = Log::default();
        for now in 0..30 {
            let wanted = [now < 12, now <= 20 || now >= 26];
            let runs = servers.begin(now, &wanted).then(|| servers.run(&wanted));
            log.wanted.push(wanted[1]);
            log.got.push(runs == Some(1));
        }
        assert_eq!(log.broken(&limit).is_none(), is_kept);
    }
}

/// The reason for the linear demand bound of `schedulers/reservation.rs`: this set passes the periodic demand bound,
/// sum floor(t/y)*x <= sbf(t), and has less than it was promised when the children sleep and wake.
#[test]
fn the_periodic_demand_bound_would_admit_too_much() {
    let (claims, held) = ([(3, 9), (2, 4)], Held::Reservation(8, 9));
    let supply = held.guarantee();
    let demand = |t: usize| claims.iter().map(|(x, y)| t / y * x).sum();
    assert!((0..=90).all(|t| int(demand(t)) <= supply.sbf(&int(t))), "the hyperperiod is 36, and U < 8/9");
    assert_eq!(held.labels("reservation", &[], &claimed(&claims))[0].guarantee, Guarantee::Null);
    for (kind, seed) in [(Budget::Hard, 0x5eed_0003), (Budget::NewPeriod, 0x5eed_0015)] {
        let mut random = Random(seed);
        let breaks = (0..2_000).any(|_| {
            let logs = execute(&mut Servers::new(&claims, kind), claims.len(), &supply, &mut random);
            let mut promised = logs.iter().zip(claims);
            promised.any(|(log, (x, y))| log.broken(&Guarantee::resbs(int(x), int(y))).is_some())
        });
        assert!(breaks, "seed {seed:#x}");
    }
}
