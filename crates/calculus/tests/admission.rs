//! Admission of requests, one at a time, against the analysis of the whole hierarchy: random requests to random
//! hierarchies.

use crate::support;
use hls_calculus::schedulers::{Declared, Signature};
use hls_calculus::{
    Admission, Child, Edge, Graph, Guarantee, Mode, Policy, Problem, Scheduler, Work, analyse,
};
use oorandom::Rand32;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn scheduler(policy: &str) -> Scheduler {
    let params = if policy == "proportional-share" { vec![("quantum".into(), MS)] } else { Vec::new() };
    support::scheduler(policy, policy, params)
}

fn edge(parent: Option<usize>, child: Child) -> Edge {
    Edge { parent, child, params: Vec::new(), requested: None, width: 1, pinned: false }
}

/// A machine of one CPU with the root scheduler only: fixed priorities.
fn machine() -> Graph {
    let root = edge(None, Child::Scheduler(0));
    Graph { cpus: 1, schedulers: vec![scheduler("fixed-priority")], edges: vec![root], ..Graph::default() }
}

fn requests() -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(40)
}

struct Requests {
    random: Rand32,
    policies: Vec<&'static str>,
}

impl Requests {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.rand_range(0..bound)
    }

    /// Random values for every parameter that a policy may ask of a VP.
    fn params(&mut self) -> Vec<(String, u64)> {
        let period = 4 + self.below(40);
        let values = [
            ("priority", self.below(4)),
            ("share", 1 + self.below(5)),
            ("budget", 1 + self.below(6)),
            ("period", period),
        ];
        let in_unit = |(name, value): (&str, u32)| {
            let unit = if ["budget", "period"].contains(&name) { MS } else { 1 };
            (name.to_owned(), u64::from(value) * unit)
        };
        values.into_iter().map(in_unit).collect()
    }

    fn need(&mut self) -> Option<Guarantee> {
        let need = ["RESCS 1ms 40ms", "PSBE 1/20 10ms", "PS 1/50", "RESBS 2ms 60ms"];
        (self.below(3) == 0).then(|| Guarantee::parse(need[self.below(4) as usize]).unwrap())
    }

    /// An edge from some scheduler to a new thread, or to a scheduler.
    fn edge(&mut self, admission: &mut Admission) -> Edge {
        const POLICIES: [&str; 6] =
            ["fixed-priority", "reservation", "proportional-share", "limit", "join", "time-sharing"];
        let parent = self.below(self.policies.len() as u32) as usize;
        let child = match self.below(6) {
            0 => {
                let policy = POLICIES[self.below(6) as usize];
                self.policies.push(policy);
                Child::Scheduler(admission.create(scheduler(policy)))
            }
            1 => Child::Scheduler(self.below(self.policies.len() as u32) as usize),
            _ => Child::Thread("t".into()),
        };
        Edge { params: self.params(), requested: self.need(), ..edge(Some(parent), child) }
    }
}

/// What each edge of the hierarchy is promised now, and the needs.
fn promises(admission: &Admission) -> Vec<String> {
    let edges = 0..400;
    edges
        .map(|edge| format!("{:?}", admission.label(edge).map(|label| (&label.guarantee, &label.beside))))
        .collect()
}

/// Whether a problem is one that a request can cause: not that a scheduler is still without a parent.
fn is_new(problem: &Problem) -> bool {
    !problem.found.contains("no edge from the root")
}

/// Fails unless the labels equal an analysis of the whole hierarchy, and every need holds.
fn assert_sound(admission: &Admission, seed: u64) {
    let analysis = analyse(&admission.graph(), Mode::Tight);
    assert_eq!(analysis.problems.iter().find(|problem| is_new(problem)), None, "seed {seed}");
    if !analysis.problems.is_empty() {
        return; // The whole knows nothing of what is below a scheduler without a parent.
    }
    let live = (0..400).filter_map(|edge| admission.label(edge));
    for (local, global) in live.zip(&analysis.labels) {
        assert_eq!(local.guarantee, global.guarantee, "seed {seed}:\n{}", local.derivation.render());
        assert_eq!(local.beside, global.beside, "seed {seed}");
    }
}

#[test]
fn every_request_is_decided_as_the_whole_would_be() {
    let (mut granted, mut refused, mut compared) = (0, 0, 0);
    for seed in 0..requests() {
        let mut requests = Requests { random: Rand32::new(seed), policies: vec!["fixed-priority"] };
        let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
        for _ in 0..60 {
            let before = promises(&admission);
            let (edges, at) = (admission.graph().edges.len() as u32 + 3, requests.below(3));
            let verdict = match at {
                0 | 1 if edges < 60 => {
                    let edge = requests.edge(&mut admission);
                    let mut whole = admission.graph();
                    whole.edges.push(edge.clone());
                    let verdict = admission.begin(edge).map(|_| ());
                    let problems = analyse(&whole, Mode::Tight).problems;
                    // Below a scheduler without a parent the analysis of the whole decides nothing, while admission
                    // decides a request.
                    if problems.iter().all(is_new) {
                        assert_eq!(verdict.is_ok(), problems.is_empty(), "seed {seed}: {verdict:?}");
                        compared += 1;
                    }
                    verdict
                }
                2 => {
                    let (edge, params, need) = (requests.below(edges), requests.params(), requests.need());
                    admission.change(edge as usize, params, need)
                }
                _ => admission.end(requests.below(edges) as usize),
            };
            match verdict {
                Ok(()) => granted += 1,
                Err(_) => {
                    assert_eq!(promises(&admission), before, "seed {seed}: a refusal changes nothing");
                    refused += 1;
                }
            }
            assert_sound(&admission, seed);
        }
    }
    println!("{granted} requests granted, {refused} refused, {compared} compared with the whole");
    assert!(granted > 100 && refused > 100 && compared > 100);
}

/// Reservations below fixed priorities: two fit, and the third does not fit until one of the two has ended.
#[test]
fn a_reservation_begins_changes_and_ends() {
    let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
    let reservation = admission.create(scheduler("reservation"));
    admission.begin(edge(Some(0), Child::Scheduler(reservation))).unwrap();
    let reserve = |budget: u64, period: u64| Edge {
        params: vec![("budget".into(), budget * MS), ("period".into(), period * MS)],
        requested: Some(Guarantee::parse(&format!("RESBH {budget}ms {period}ms")).unwrap()),
        ..edge(Some(reservation), Child::Thread("t".into()))
    };
    let first = admission.begin(reserve(5, 10)).unwrap();
    let second = admission.begin(reserve(4, 10)).unwrap();
    let problem = admission.begin(reserve(2, 10)).unwrap_err();
    assert!(problem.found.contains("110% > 100%"), "{}", problem.found);
    let Edge { params, requested, .. } = reserve(6, 10);
    admission.change(first, params.clone(), requested.clone()).unwrap();
    assert!(admission.change(second, params, requested).is_err());
    assert_eq!(admission.label(second).unwrap().guarantee.to_string(), "RESBH 4ms 10ms");
    admission.end(first).unwrap();
    assert_eq!(admission.begin(reserve(6, 10)), Ok(first), "the number is given out again");
}

/// Threads that begin and end together leave the same promises as one after the other, and are refused together.
#[test]
fn threads_begin_and_end_together() {
    let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
    let shares = admission.create(scheduler("proportional-share"));
    admission.begin(edge(Some(0), Child::Scheduler(shares))).unwrap();
    let thread = |share: u64| Edge {
        params: vec![("share".into(), share)],
        requested: Some(Guarantee::parse("PSBE 1/20 1s").unwrap()),
        ..edge(Some(shares), Child::Thread("t".into()))
    };
    let mut one_by_one = admission.clone();
    let apart: Vec<usize> = (1..5).map(|share| one_by_one.begin(thread(share)).unwrap()).collect();
    let work = Work::of(1000);
    let together = admission.begin_together((1..5).map(thread), &work).unwrap();
    assert_eq!(work.left(), Some(992), "a label and a comparison for each");
    assert_eq!((&together, promises(&admission)), (&apart, promises(&one_by_one)));
    assert!(admission.begin_together((1..7).map(thread), &work).is_err(), "the first would have 1/31");
    let nowhere = edge(Some(7), Child::Thread("t".into()));
    assert!(admission.begin_together([thread(1), nowhere], &work).is_err());
    assert_eq!(promises(&admission), promises(&one_by_one), "a refusal changes nothing");
    admission.end_threads(&together[1..3]).unwrap();
    apart[1..3].iter().for_each(|edge| one_by_one.end(*edge).unwrap());
    assert_eq!(promises(&admission), promises(&one_by_one));
    let ended = admission.end_threads(&[together[0], together[1]]);
    assert!(ended.is_err() && admission.end_threads(&[1]).is_err(), "one that has ended; a scheduler's");
    assert_eq!(promises(&admission), promises(&one_by_one));
}

/// A check takes exactly as many steps as it takes: with one step less it is refused, and nothing has changed.
#[test]
fn a_check_within_steps_is_exact() {
    let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
    let shares = admission.create(scheduler("proportional-share"));
    admission.begin(edge(Some(0), Child::Scheduler(shares))).unwrap();
    let thread = || Edge {
        params: vec![("share".into(), 1)],
        requested: Some(Guarantee::parse("RESCS 1ms 1s").unwrap()),
        ..edge(Some(shares), Child::Thread("t".into()))
    };
    (0..9).for_each(|_| assert!(admission.begin(thread()).is_ok()));
    let before = promises(&admission);
    let unlimited = Work::of(u64::MAX);
    admission.clone().begin_within(thread(), &unlimited).unwrap();
    let steps = u64::MAX - unlimited.left().unwrap();
    assert!((10..1000).contains(&steps), "{steps}");
    for fewer in 0..steps {
        let work = Work::of(fewer);
        let problem = admission.begin_within(thread(), &work).unwrap_err();
        let found = format!("too hard to check: proportional-share: needs a check of at most {fewer} steps");
        assert!(problem.message.starts_with(&found), "{}", problem.message);
        assert_eq!((work.left(), promises(&admission)), (None, before.clone()));
    }
    admission.begin_within(thread(), &Work::of(steps)).unwrap();
}

#[test]
fn a_scheduler_is_destroyed_without_edges_only() {
    let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
    let first = admission.create(scheduler("reservation"));
    let above = admission.begin(edge(Some(0), Child::Scheduler(first))).unwrap();
    assert!(admission.destroy(first).unwrap_err().found.contains("edges"));
    admission.end(above).unwrap();
    admission.destroy(first).unwrap();
    assert!(admission.destroy(first).is_err() && admission.destroy(7).is_err());
    let second = admission.create(scheduler("proportional-share"));
    assert_eq!(second, first, "the number is given out again");
    admission.begin(edge(Some(0), Child::Scheduler(second))).unwrap();
    assert_eq!(admission.graph().schedulers[second].policy.name(), "proportional-share");
}

/// A declared policy needs a guarantee of its place; while it has no place it needs nothing.
#[test]
fn a_scheduler_that_does_not_accept_everything_comes_and_goes() {
    let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
    let picky = Signature { name: "picky", scheduler_params: Vec::new(), vp_params: Vec::new() };
    let declared = Declared::read(&picky, &[], Some("RESBH"), None).unwrap();
    let mut create = |policy| admission.create(Scheduler { policy, ..scheduler("reservation") });
    let picky = create(Policy::Declared(Arc::new(declared)));
    let reservation = create("reservation".into());
    let priority =
        |child| Edge { params: vec![("priority".into(), 1)], ..edge(Some(0), Child::Scheduler(child)) };
    admission.begin(priority(reservation)).unwrap();
    assert!(admission.begin(priority(picky)).is_err(), "ALL is no RESBH");
    let params = vec![("budget".into(), MS), ("period".into(), 4 * MS)];
    let place = Edge { params, ..edge(Some(reservation), Child::Scheduler(picky)) };
    let place = admission.begin(place).unwrap();
    let thread = admission.begin(edge(Some(picky), Child::Thread("t".into()))).unwrap();
    assert!(admission.end(place).is_err(), "a thread is below it");
    admission.end(thread).unwrap();
    admission.end(place).unwrap();
    admission.destroy(picky).unwrap();
}

/// Also a scheduler with a policy that needs much of its place in order to promise anything.
#[test]
fn a_scheduler_without_children_goes_whatever_its_policy_needs() {
    for policy in ["deferrable-server", "least-slack", "spring"] {
        let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
        let number = admission.create(scheduler(policy));
        let params = vec![("priority".into(), 1)];
        let place = Edge { params, ..edge(Some(0), Child::Scheduler(number)) };
        let place = admission.begin(place).unwrap();
        assert_eq!(admission.end(place), Ok(()), "{policy}");
        admission.destroy(number).unwrap();
    }
}

#[test]
fn what_does_not_exist_is_refused() {
    let mut admission = Admission::new(machine(), Mode::Tight).unwrap();
    assert!(admission.begin(edge(Some(7), Child::Thread("t".into()))).is_err());
    assert!(admission.begin(edge(None, Child::Thread("t".into()))).is_err());
    assert!(admission.begin(edge(Some(0), Child::Scheduler(7))).is_err());
    assert!(admission.begin(edge(Some(0), Child::Scheduler(0))).unwrap_err().found.contains("cycle"));
    assert!(admission.change(9, Vec::new(), None).is_err() && admission.end(9).is_err());
    assert!(admission.end(0).is_err(), "the machine's own");
    assert!(admission.label(1).is_none());
    let mut bad = machine();
    bad.schedulers[0].policy = "no such".into();
    assert_eq!(Admission::new(bad, Mode::Tight).unwrap_err().len(), 1);
}
