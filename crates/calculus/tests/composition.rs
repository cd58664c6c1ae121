//! Whole hierarchies: the paper's Figure 3, each scheduler accepted and refused, and graphs that make no sense.

use crate::support::scheduler;
use hls_calculus::schedulers::{Declared, Param, REGISTRY, Signature, Unit};
use hls_calculus::{Analysis, Child, Edge, Graph, Guarantee, Mode, Place, Policy, Rules, analyse};
use proptest::prelude::*;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn g(text: &str) -> Guarantee {
    Guarantee::parse(text).unwrap()
}

type Params<'a> = &'a [(&'a str, u64)];

fn params(list: Params) -> Vec<(String, u64)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// A graph under construction; the first scheduler is the root.
struct Build(Graph);

impl Build {
    fn new(cpus: u16, policy: &str, root: Params) -> Build {
        let mut build = Build(Graph { cpus, ..Graph::default() });
        build.scheduler(policy, root);
        build.edge(None, Child::Scheduler(0), &[]);
        build.0.edges[0].width = cpus;
        build
    }

    fn scheduler(&mut self, policy: &str, list: Params) -> usize {
        let name = format!("{policy} {}", self.0.schedulers.len());
        self.0.schedulers.push(scheduler(name, policy, params(list)));
        self.0.schedulers.len() - 1
    }

    fn edge(&mut self, parent: Option<usize>, child: Child, list: Params) -> usize {
        let edge = Edge { parent, child, params: params(list), requested: None, width: 1, pinned: false };
        self.0.edges.push(edge);
        self.0.edges.len() - 1
    }

    fn thread(&mut self, parent: usize, list: Params) -> usize {
        let name = format!("thread {}", self.0.edges.len());
        self.edge(Some(parent), Child::Thread(name), list)
    }

    fn threads(&mut self, parent: usize, count: usize) {
        for _ in 0..count {
            self.thread(parent, &[]);
        }
    }

    fn reserve(&mut self, parent: usize, budget_ms: u64, period_ms: u64) -> usize {
        self.thread(parent, &[("budget", budget_ms * MS), ("period", period_ms * MS)])
    }

    fn analyse(&self) -> Analysis {
        let analysis = analyse(&self.0, Mode::Tight);
        assert_eq!(analysis.labels.len(), self.0.edges.len());
        analysis
    }
}

/// The absolute guarantee on an edge, as text.
fn label(analysis: &Analysis, edge: usize) -> String {
    analysis.labels[edge].absolute().to_string()
}

/// Figure 1 with the numbers of Figure 3. Returns the edges of the video player, the join's child, and the two threads.
fn figure_3() -> (Build, [usize; 4]) {
    let mut build = Build::new(1, "fixed-priority", &[]);
    let reservation = build.scheduler("reservation", &[]);
    let join = build.scheduler("join", &[]);
    let share = build.scheduler("proportional-share", &[("quantum", 10 * MS)]);
    build.edge(Some(0), Child::Scheduler(reservation), &[("priority", 2)]);
    build.edge(Some(0), Child::Scheduler(join), &[("priority", 1)]);
    let video = build.reserve(reservation, 5, 33);
    build.edge(Some(reservation), Child::Scheduler(join), &[("budget", 10 * MS), ("period", 20 * MS)]);
    let joined = build.edge(Some(join), Child::Scheduler(share), &[]);
    let word = build.thread(share, &[("share", 1), ("warp", 0)]);
    let voice = build.thread(share, &[("share", 4), ("warp", 0)]);
    (build, [video, joined, word, voice])
}

#[test]
fn figure_3_in_both_modes() {
    let (mut build, [video, joined, word, voice]) = figure_3();
    build.0.edges[video].requested = Some(g("RESBS 5ms 33ms"));
    for (mode, first, second) in
        [(Mode::Paper, "PSBE 1/10 22ms", "PSBE 2/5 58ms"), (Mode::Tight, "PSBE 1/10 12ms", "PSBE 2/5 18ms")]
    {
        let analysis = analyse(&build.0, mode);
        assert_eq!(analysis.problems, []);
        assert_eq!(label(&analysis, video), "RESBH 5ms 33ms");
        assert_eq!(label(&analysis, joined), "RESBS 10ms 20ms");
        assert_eq!(label(&analysis, word), first);
        assert_eq!(label(&analysis, voice), second);
    }
    let text = build.analyse().labels[word].derivation.render();
    for step in [
        "thread 6: PSBE 1/10 12ms",
        "SFQ, tight bound",
        "PSBE 1/2 10ms",
        "T4, basic to PSBE",
        "join, softened",
        "5ms/33ms + 10ms/20ms = 65.2% <= 100%",
        "1 of 1 CPUs",
    ] {
        assert!(text.contains(step), "{step} is missing in\n{text}");
    }
    assert!(text.contains("(as above)"), "the reservation's and the join's premise is the same:\n{text}");
}

#[test]
fn a_need_that_is_not_met_is_a_problem_with_numbers() {
    let (mut build, [video, ..]) = figure_3();
    build.0.edges[video].requested = Some(g("RESCS 5ms 33ms"));
    let analysis = build.analyse();
    assert_eq!(analysis.problems.len(), 1);
    assert_eq!(analysis.problems[0].place, Place::Edge(video));
    assert!(analysis.problems[0].message.contains("5ms in every 61ms"), "{}", analysis.problems[0].message);
    assert_eq!(label(&analysis, video), "RESBH 5ms 33ms");
}

#[test]
fn a_full_reservation_is_admitted_and_a_fuller_one_is_not() {
    let mut build = Build::new(1, "reservation", &[]);
    let first = build.reserve(0, 10, 20);
    let second = build.reserve(0, 20, 40);
    let analysis = build.analyse();
    assert_eq!(analysis.problems, []);
    assert_eq!(
        (label(&analysis, first), label(&analysis, second)),
        ("RESBH 10ms 20ms".into(), "RESBH 20ms 40ms".into())
    );
    build.reserve(0, 1, 10);
    let analysis = build.analyse();
    assert_eq!(label(&analysis, first), "NULL");
    assert_eq!(analysis.problems[0].place, Place::Scheduler(0));
    assert!(analysis.problems[0].message.contains("10ms/20ms + 20ms/40ms + 1ms/10ms = 110% > 100%"));
}

#[test]
fn sums_beyond_128_bits_are_exact() {
    // The prime below 2^64. The common denominator of three such periods has 192 bits.
    const P: u64 = u64::MAX - 58;
    for (last, admitted) in [(P + 4, true), (P - 4, false)] {
        let mut build = Build::new(1, "reservation", &[]);
        for (budget, period) in [(P - 2, P), (1, P + 2), (1, last)] {
            build.thread(0, &[("budget", budget), ("period", period)]);
        }
        assert_eq!(build.analyse().problems.is_empty(), admitted, "{last}");
    }
}

#[test]
fn a_reservation_needs_a_supply_and_sane_numbers() {
    let mut build = Build::new(1, "time-sharing", &[]);
    let inner = build.scheduler("reservation", &[]);
    build.edge(Some(0), Child::Scheduler(inner), &[("priority", 1)]);
    build.thread(0, &[("priority", 1)]);
    let thread = build.reserve(inner, 1, 10);
    let analysis = build.analyse();
    assert_eq!(label(&analysis, thread), "NULL");
    assert_eq!(analysis.problems[0].place, Place::Scheduler(inner));

    let mut build = Build::new(1, "reservation", &[]);
    let (good, bad) = (build.reserve(0, 1, 10), build.reserve(0, 11, 10));
    let analysis = build.analyse();
    assert_eq!((label(&analysis, good), label(&analysis, bad)), ("NULL".into(), "NULL".into()));
    assert_eq!(analysis.problems[0].place, Place::Edge(bad));
}

/// A reservation below a reservation of 10 ms every 20 ms.
fn nested(claims: &[(u64, u64)]) -> (Analysis, Vec<usize>) {
    let mut build = Build::new(1, "reservation", &[]);
    let inner = build.scheduler("reservation", &[]);
    build.edge(Some(0), Child::Scheduler(inner), &[("budget", 10 * MS), ("period", 20 * MS)]);
    let edges = claims.iter().map(|(budget, period)| build.reserve(inner, *budget, *period)).collect();
    (build.analyse(), edges)
}

#[test]
fn reservations_nest_as_far_as_the_supply_goes() {
    let (analysis, edges) = nested(&[(10, 30)]);
    assert_eq!((label(&analysis, edges[0]), analysis.problems.len()), ("RESBH 10ms 30ms".into(), 0));
    let (analysis, edges) = nested(&[(11, 30)]);
    assert_eq!((label(&analysis, edges[0]), analysis.problems.len()), ("NULL".into(), 1));
    let (analysis, edges) = nested(&[(2, 50), (10, 100)]);
    assert_eq!((label(&analysis, edges[1]), analysis.problems.len()), ("RESBH 10ms 100ms".into(), 0));
    let (analysis, edges) = nested(&[(2, 10), (2, 50)]);
    assert_eq!((label(&analysis, edges[1]), analysis.problems.len()), ("NULL".into(), 1));
    let (analysis, _) = nested(&[(10, 40), (25, 100)]);
    assert!(analysis.problems[0].message.contains("below the rate"), "{}", analysis.problems[0].message);
}

#[test]
fn several_vps_on_the_top_level_get_nothing() {
    let mut build = Build::new(1, "fixed-priority", &[]);
    let edges = [2, 2, 1].map(|priority| build.thread(0, &[("priority", priority)]));
    let analysis = build.analyse();
    assert!(edges.iter().all(|edge| label(&analysis, *edge) == "NULL"));
    assert!(analysis.labels[edges[0]].derivation.render().contains("thread 1, thread 2 share the level"));
    build.0.edges[edges[1]].params = params(&[("priority", 3)]);
    assert_eq!(label(&build.analyse(), edges[1]), "ALL");
}

/// Priorities 3 (two reservations, 5 every 20 and 1 every 4), 2 (a limit of 2 every 10 above the machine), 1 and 0.
fn with_leftovers(global: bool) -> [String; 4] {
    let mut build = Build::new(1, "fixed-priority", &[]);
    let reserved = build.scheduler("reservation", &[]);
    build.edge(Some(0), Child::Scheduler(reserved), &[("priority", 3)]);
    build.reserve(reserved, 5, 20);
    build.reserve(reserved, 1, 4);
    let limit = build.scheduler("limit", &[]);
    let limited = build.edge(Some(0), Child::Scheduler(limit), &[("priority", 2)]);
    let thread = build.reserve(limit, 2, 10);
    let (low, lowest) = (build.thread(0, &[("priority", 1)]), build.thread(0, &[("priority", 0)]));
    let analysis = analyse(&build.0, Rules { global, ..Rules::default() });
    assert_eq!(analysis.problems, vec![]);
    [limited, thread, low, lowest].map(|edge| label(&analysis, edge))
}

#[test]
fn limited_siblings_leave_something_over() {
    assert_eq!(with_leftovers(false), ["NULL"; 4]);
    // Left by the reservations: a share of 1 - 5/20 - 1/4, an error of 5*3/4 + 1*3/4. The limit takes another 1/5 of
    // the share and adds 2*2*4/5 to the error: it may use a budget at the end of one period and another at the start of
    // the next. sbf(10) of PSBE 1/2 4.5 is 0.5. The thread of priority 1 has no limit, so it leaves nothing.
    assert_eq!(with_leftovers(true), ["PSBE 1/2 4.5ms", "RESBS 500us 10ms", "PSBE 3/10 7.7ms", "NULL"]);

    // A child of the same priority as the reservations may run while these wait: windows that begin when the
    // reservations begin to run have their whole burst. The same holds for reservations below a scheduler of another
    // policy, which may request nothing while the reservations wait.
    let beside = |between: &str, priority| {
        let mut build = Build::new(1, "fixed-priority", &[]);
        let mut reserved = build.scheduler("reservation", &[]);
        if between.is_empty() {
            build.edge(Some(0), Child::Scheduler(reserved), &[("priority", 2)]);
        } else {
            let outer = build.scheduler(between, &[("quantum", MS)]);
            build.edge(Some(0), Child::Scheduler(outer), &[("priority", 2)]);
            build.edge(Some(outer), Child::Scheduler(reserved), &[("budget", 19 * MS), ("period", 20 * MS)]);
            reserved = 1;
        }
        build.reserve(reserved, 5, 20);
        let low = build.thread(0, &[("priority", priority)]);
        label(&analyse(&build.0, Rules { global: true, ..Rules::default() }), low)
    };
    assert_eq!([beside("", 1), beside("", 2)], ["PSBE 3/4 3.75ms", "PSBE 3/4 7.5ms"]);
    // With a reservation of 19 every 20 in between, the reservations below may have budget when the one in between has
    // none.
    assert_eq!(beside("reservation", 1), "PSBE 3/4 7.5ms");
    assert_eq!(beside("round-robin", 1), "PSBE 3/4 7.5ms");

    let mut full = Build::new(1, "fixed-priority", &[]);
    let reserved = full.scheduler("reservation", &[]);
    full.edge(Some(0), Child::Scheduler(reserved), &[("priority", 2)]);
    full.reserve(reserved, 10, 10);
    let low = full.thread(0, &[("priority", 1)]);
    let analysis = analyse(&full.0, Rules { global: true, ..Rules::default() });
    assert_eq!(label(&analysis, low), "NULL");
}

/// What a loaded policy declares holds for its own children; no other thread is promised anything because of it.
#[test]
fn a_declared_policy_counts_for_its_own_children_alone() {
    let budget = |name| Param { name, unit: Unit::Time, default: None, min: 1, max: u64::MAX, doc: "" };
    let signature = |name| {
        let vp_params = vec![budget("budget"), budget("period")];
        Signature { name, scheduler_params: Vec::new(), vp_params }
    };
    let like = [signature("reservation"), signature("limit"), signature("join")];
    for (provides, given) in [
        (Some("as reservation"), "RESBH 5ms 20ms"),
        (Some("RESBS budget period when sum(budget / period) <= 1/4"), "RESBS 5ms 20ms"),
        (Some("RESBS budget period when sum(budget / period) < 1/4"), "NULL"),
        (None, "NULL"),
    ] {
        let mut build = Build::new(1, "fixed-priority", &[]);
        let own = build.scheduler("reservation", &[]);
        build.edge(Some(0), Child::Scheduler(own), &[("priority", 2)]);
        let thread = build.reserve(own, 5, 20);
        let low = build.thread(0, &[("priority", 1)]);
        let declared = Declared::read(&signature("reservation"), &like, None, provides).unwrap();
        build.0.schedulers[own].policy = Policy::Declared(Arc::new(declared));
        let analysis = analyse(&build.0, Rules { global: true, ..Rules::default() });
        assert_eq!(label(&analysis, thread), given, "{provides:?}");
        assert_eq!(label(&analysis, low), "NULL", "a declared budget is no limit");
        let refused = given == "NULL" && provides.is_some();
        assert_eq!(analysis.problems.len(), usize::from(refused), "{:?}", analysis.problems);
    }
}

#[test]
fn several_cpus_go_down_the_levels() {
    let mut build = Build::new(4, "fixed-priority", &[]);
    let inner = build.scheduler("reservation", &[]);
    let first = build.edge(Some(0), Child::Scheduler(inner), &[("priority", 3)]);
    build.0.edges[first].width = 2;
    let (second, third) = (build.thread(0, &[("priority", 2)]), build.thread(0, &[("priority", 1)]));
    let last = build.thread(0, &[("priority", 0)]);
    let reserved: Vec<usize> = (0..3).map(|_| build.reserve(inner, 5, 10)).collect();
    let analysis = build.analyse();
    assert_eq!((label(&analysis, first), analysis.labels[first].count), ("ALL".into(), 2));
    assert_eq!([second, third, last].map(|edge| label(&analysis, edge)), ["ALL", "ALL", "NULL"]);
    // U = 1.5 <= 2 - 1/2.
    assert_eq!((label(&analysis, reserved[0]), analysis.problems.len()), ("RESBH 5ms 10ms".into(), 0));
    build.reserve(inner, 1, 100);
    let analysis = build.analyse();
    assert_eq!((label(&analysis, reserved[0]), analysis.problems.len()), ("NULL".into(), 1));

    build.0.edges[second].pinned = true;
    let analysis = build.analyse();
    assert_eq!([second, third].map(|edge| label(&analysis, edge)), ["NULL", "NULL"]);
}

/// A scheduler of four VPs on four CPUs below a reservation, and three threads beside it.
fn group(budget_ms: u64, need: &str) -> Analysis {
    let mut build = Build::new(4, "reservation", &[]);
    let inner = build.scheduler("round-robin", &[]);
    let wide =
        build.edge(Some(0), Child::Scheduler(inner), &[("budget", budget_ms * MS), ("period", 10 * MS)]);
    build.0.edges[wide].width = 4;
    build.0.edges[wide].requested = Some(g(need));
    (0..3).for_each(|_| _ = build.reserve(0, 1, 10));
    let (first, second) = (build.thread(inner, &[]), build.thread(inner, &[]));
    let analysis = build.analyse();
    // It is not settled which child has which VP.
    assert_eq!([first, second].map(|edge| label(&analysis, edge)), ["NULL", "NULL"]);
    analysis
}

#[test]
fn a_group_is_as_many_servers_as_it_has_vps() {
    // 4*4/10 + 3*1/10 <= 4 - 3*4/10; 4*6/10 + 3*1/10 > 4 - 3*6/10.
    let analysis = group(4, "RESBH 4ms 10ms");
    assert_eq!((analysis.problems.len(), analysis.labels[1].count), (0, 4));
    assert_eq!(label(&analysis, 1), "RESBH 4ms 10ms");
    let analysis = group(6, "RESBH 6ms 10ms");
    assert!(
        analysis.problems[0].found.starts_with("4*6ms/10ms + 1ms/10ms"),
        "{}",
        analysis.problems[0].found
    );
    // The four VPs together have 16 ms in every 10 ms, any three of them 12 ms. PSBE has no grid.
    for (need, problems) in [
        ("MPR 10ms 16ms 4", 0),
        ("MPR 10ms 17ms 4", 1),
        ("MPR 20ms 32ms 4", 0),
        ("MPR 10ms 12ms 3", 0),
        ("MPR 10ms 13ms 3", 1),
        ("MPR 15ms 16ms 4", 0),
        ("MPR 9ms 12ms 4", 1),
        ("MPR 25ms 10ms 8", 0),
    ] {
        assert_eq!(group(4, need).problems.len(), problems, "{need}");
    }
}

#[test]
fn with_a_cpu_for_each_child_every_child_has_all() {
    for policy in ["round-robin", "time-sharing", "proportional-share"] {
        let mut build = Build::new(3, policy, &[("quantum", MS)]);
        let mut edges: Vec<usize> = (0..3).map(|_| build.thread(0, &[("share", 1)])).collect();
        let analysis = build.analyse();
        assert!(edges.iter().all(|edge| label(&analysis, *edge) == "ALL"), "{policy}");
        build.0.edges[edges[0]].pinned = true;
        let analysis = build.analyse();
        assert!(edges.iter().all(|edge| label(&analysis, *edge) == "NULL"), "{policy}");
        build.0.edges[edges[0]].pinned = false;
        edges.push(build.thread(0, &[("share", 1)]));
        let analysis = build.analyse();
        assert!(edges.iter().all(|edge| label(&analysis, *edge) == "NULL"), "{policy}");
    }
}

/// Two VPs of 5 ms in every 10 ms, and two children below: which child has which VP is not known when the other comes
/// and goes.
#[test]
fn several_reservations_cannot_be_told_apart() {
    let mut build = Build::new(2, "reservation", &[]);
    let inner = build.scheduler("fixed-priority", &[]);
    let wide = build.edge(Some(0), Child::Scheduler(inner), &[("budget", 5 * MS), ("period", 10 * MS)]);
    build.0.edges[wide].width = 2;
    let top = build.thread(inner, &[("priority", 2)]);
    build.thread(inner, &[("priority", 1)]);
    let analysis = build.analyse();
    assert_eq!((label(&analysis, wide), label(&analysis, top)), ("RESBH 5ms 10ms".into(), "NULL".into()));
}

/// On several CPUs a join keeps only guarantees that resume after a grant was declined.
#[test]
fn a_join_on_several_cpus_needs_parents_that_resume() {
    for (policy, params, expected) in [
        ("reservation", [("budget", 5 * MS), ("period", 10 * MS)], "RESBS 5ms 10ms"),
        ("proportional-share", [("share", 1), ("warp", 0)], "NULL"),
        ("fixed-priority", [("priority", 1), ("warp", 0)], "ALL"),
    ] {
        let mut build = Build::new(2, "fixed-priority", &[]);
        let (parent, other) =
            (build.scheduler(policy, &[("quantum", MS)]), build.scheduler("time-sharing", &[]));
        let join = build.scheduler("join", &[]);
        build.edge(Some(0), Child::Scheduler(parent), &[("priority", 2)]);
        build.edge(Some(0), Child::Scheduler(other), &[("priority", 1)]);
        build.edge(Some(parent), Child::Scheduler(join), &params);
        build.edge(Some(other), Child::Scheduler(join), &[("priority", 1)]);
        (0..2).for_each(|_| _ = build.thread(other, &[("priority", 1)]));
        build.thread(parent, &[("share", 1), ("budget", MS), ("period", 10 * MS), ("priority", 0)]);
        let thread = build.thread(join, &[]);
        assert_eq!(label(&build.analyse(), thread), expected, "{policy}");
    }
}

#[test]
fn limits_harden_what_is_soft() {
    for (budget, period, expected) in
        [(5, 25, "RESBH 5ms 25ms"), (10, 30, "RESBH 10ms 30ms"), (10, 20, "NULL"), (10, 25, "RESBS 5ms 25ms")]
    {
        let mut build = Build::new(1, "reservation", &[]);
        let limit = build.scheduler("limit", &[]);
        build.edge(Some(0), Child::Scheduler(limit), &[("budget", 10 * MS), ("period", 20 * MS)]);
        let thread = build.reserve(limit, budget, period);
        let analysis = build.analyse();
        assert_eq!(
            (label(&analysis, thread), analysis.problems.len()),
            (expected.into(), 0),
            "{budget} {period}"
        );
    }
    let mut build = Build::new(1, "limit", &[]);
    let thread = build.reserve(0, 3, 10);
    assert_eq!(label(&build.analyse(), thread), "RESBH 3ms 10ms");
    build.reserve(0, 3, 10);
    assert_eq!(build.analyse().problems.len(), 1);
}

/// A slower processor keeps its rate between the instants that it is told of. It is not known when the time comes that
/// a scheduler below it hands out in its time, so a supply is compared with a need in real time: 4 ms at half the speed
/// are 2 ms, which may all lie at the end of the slot or of the period.
#[test]
fn needs_below_a_slower_processor_are_compared_in_real_time() {
    for (policy, label_shown, need, is_met) in [
        ("reservation", "RESBH 2ms 10ms", "RESCS 4ms 16ms", false),
        ("reservation", "RESBH 2ms 10ms", "RESCS 4ms 18ms", true),
        ("reservation", "RESBH 2ms 10ms", "PSBE 2/5 4.8ms", false),
        ("reservation", "RESBH 2ms 10ms", "PSBE 2/5 6.4ms", true),
        ("reservation", "RESBH 2ms 10ms", "RESBH 4ms 10ms", true),
    ] {
        let mut build = Build::new(1, "bss-i", &[]);
        let inner = build.scheduler(policy, &[]);
        build.edge(Some(0), Child::Scheduler(inner), &[("rate-ppm", 500_000)]);
        let thread = build.reserve(inner, 4, 10);
        build.0.edges[thread].requested = Some(g(need));
        let analysis = build.analyse();
        assert_eq!(label(&analysis, thread), label_shown);
        assert_eq!(analysis.problems.is_empty(), is_met, "{need} below {policy}: {:?}", analysis.problems);
        let said = |problem: &hls_calculus::Problem| problem.message.contains("in real time");
        assert!(analysis.problems.iter().all(said), "{:?}", analysis.problems);
    }
    // The whole of a slower processor is no whole CPU.
    let mut build = Build::new(1, "bss-i", &[]);
    let inner = build.scheduler("reservation", &[]);
    build.edge(Some(0), Child::Scheduler(inner), &[("rate-ppm", 500_000)]);
    let thread = build.reserve(inner, 10, 10);
    build.0.edges[thread].requested = Some(Guarantee::All);
    assert_eq!(build.analyse().problems.len(), 1);
}

#[test]
fn a_join_adds_up_on_one_cpu_only() {
    for (cpus, expected) in [(1, "PSBE 1/2 37ms"), (2, "RESBS 15ms 50ms")] {
        let mut build = Build::new(cpus, "reservation", &[]);
        let join = build.scheduler("join", &[]);
        build.edge(Some(0), Child::Scheduler(join), &[("budget", 10 * MS), ("period", 50 * MS)]);
        build.edge(Some(0), Child::Scheduler(join), &[("budget", 15 * MS), ("period", 50 * MS)]);
        let thread = build.thread(join, &[]);
        build.0.edges[thread].requested = Some(g("RESBS 15ms 50ms"));
        let analysis = build.analyse();
        assert_eq!((label(&analysis, thread), &analysis.problems), (expected.to_owned(), &vec![]));
    }
}

/// The VP of a scheduler is granted CPUs that a thread below it may not use, and refuses them.
#[test]
fn what_is_above_a_pinned_thread_is_promised_nothing() {
    for (cpus, expected) in [(1, ["ALL", "PSBE 1/2 5ms", "PSBE 1/2 5ms"]), (2, ["NULL"; 3])] {
        let mut build = Build::new(cpus, "fixed-priority", &[]);
        let shares = build.scheduler("proportional-share", &[("quantum", 5 * MS)]);
        let inner = build.scheduler("fixed-priority", &[]);
        let first = build.thread(0, &[("priority", 5)]);
        let above = build.edge(Some(0), Child::Scheduler(shares), &[("priority", 9)]);
        let below = build.edge(Some(shares), Child::Scheduler(inner), &[("share", 1)]);
        let sibling = build.thread(shares, &[("share", 1)]);
        let pinned = build.thread(inner, &[("priority", 1)]);
        build.0.edges[pinned].pinned = true;
        let analysis = build.analyse();
        assert_eq!([above, below, sibling].map(|edge| label(&analysis, edge)), expected);
        assert_eq!([label(&analysis, 0), label(&analysis, first)], ["ALL", "NULL"]);
    }
}

/// On several CPUs a join may decline a grant. What a reservation below ALL promises outlasts that; a share is lost,
/// and so is a reservation below another one. A join with one parent never declines.
#[test]
fn a_join_on_several_cpus_keeps_what_outlasts_its_absence() {
    let mut build = Build::new(2, "fixed-priority", &[]);
    let shares = build.scheduler("proportional-share", &[("quantum", 5 * MS)]);
    let [outer, inner] = [(); 2].map(|()| build.scheduler("reservation", &[]));
    let join = build.scheduler("join", &[]);
    build.edge(Some(0), Child::Scheduler(shares), &[("priority", 3)]);
    build.edge(Some(0), Child::Scheduler(outer), &[("priority", 2)]);
    build.edge(Some(outer), Child::Scheduler(inner), &[("budget", 10 * MS), ("period", 20 * MS)]);
    build.edge(Some(shares), Child::Scheduler(join), &[("share", 1)]);
    build.thread(shares, &[("share", 1)]);
    let thread = build.thread(join, &[]);
    assert_eq!(label(&build.analyse(), thread), "PSBE 1/2 5ms");
    build.edge(Some(inner), Child::Scheduler(join), &[("budget", 10 * MS), ("period", 50 * MS)]);
    assert_eq!(label(&build.analyse(), thread), "NULL");
    build.edge(Some(outer), Child::Scheduler(join), &[("budget", 5 * MS), ("period", 20 * MS)]);
    assert_eq!(label(&build.analyse(), thread), "RESBS 5ms 20ms");
}

/// While a child is ahead by its warp, its siblings wait; each of them loses its share of that time, 40 ms: a half, a
/// quarter, a half. No child loses by its own warp.
#[test]
fn warps_cost_the_others() {
    let mut build = Build::new(1, "proportional-share", &[("quantum", 10 * MS)]);
    let plain = build.thread(0, &[("share", 1), ("warp", 0)]);
    let warped = build.thread(0, &[("share", 1), ("warp", 40 * MS)]);
    let analysis = build.analyse();
    assert_eq!(label(&analysis, plain), "PSBE 1/2 30ms");
    assert_eq!(label(&analysis, warped), "PSBE 1/2 10ms");
    let some = build.thread(0, &[("share", 2), ("warp", 20 * MS)]);
    let analysis = build.analyse();
    assert_eq!(label(&analysis, plain), "PSBE 1/4 27.5ms");
    assert_eq!(label(&analysis, some), "PSBE 1/2 35ms");
    assert_eq!(label(&analysis, warped), "PSBE 1/4 17.5ms");
    build.0.edges[plain].params = params(&[("share", 0)]);
    assert_eq!(build.analyse().problems.len(), 1);
}

#[test]
fn ten_thousand_siblings_are_labelled_at_once() {
    let policies = [
        "fixed-priority",
        "proportional-share",
        "time-sharing",
        "reservation",
        "tbs",
        "bss-i",
        "eevdf",
        "lottery",
    ];
    for policy in policies {
        let mut build = Build::new(1, policy, &[("quantum", MS)]);
        (0..10_000).for_each(|n| {
            let shares =
                [("share", 1 + n % 7), ("warp", n % 5), ("priority", n % 64), ("rate-ppm", 1 + n % 100)];
            // Periods that have nothing in common.
            let claim = [("budget", 50_000), ("period", 1_000_000_007 + 2 * n * n)];
            _ = build.thread(0, &[&shares[..], &claim].concat())
        });
        assert_eq!(build.analyse().problems, [], "{policy}");
    }
}

#[test]
fn whatever_promises_nothing_says_so() {
    let mut build = Build::new(1, "time-sharing", &[]);
    let thread = build.thread(0, &[]);
    assert_eq!(label(&build.analyse(), thread), "ALL", "it is alone");
    build.thread(0, &[]);
    let analysis = build.analyse();
    assert_eq!((label(&analysis, thread), analysis.problems.len()), ("NULL".into(), 0));
    build.0.edges[thread].requested = Some(g("PS 10%"));
    assert_eq!(build.analyse().problems[0].place, Place::Edge(thread));
}

/// Round robin promises turns on whatever its one VP holds: the machine, a reservation, a share. On several VPs at once
/// it promises nothing, but where there is a VP for each child.
#[test]
fn turns_are_counted_on_one_vp() {
    let below = |policy: &str, list: Params, cpus: u16, width: u16| {
        let mut build = Build::new(cpus, policy, &[("quantum", MS)]);
        let turns = build.scheduler("round-robin", &[("quantum", MS)]);
        let above = build.edge(Some(0), Child::Scheduler(turns), list);
        build.0.edges[above].width = width;
        let sibling =
            [("share", 1), ("budget", MS), ("period", 20 * MS), ("priority", 0), ("rate-ppm", 400_000)];
        build.thread(0, &sibling);
        let thread = build.thread(turns, &[]);
        (0..2).for_each(|_| _ = build.thread(turns, &[]));
        label(&build.analyse(), thread)
    };
    assert_eq!(below("fixed-priority", &[("priority", 2)], 1, 1), "RESCS 1ms 3ms");
    assert_eq!(below("reservation", &[("budget", 4 * MS), ("period", 8 * MS)], 1, 1), "PSBE 1/6 2ms");
    assert_eq!(below("proportional-share", &[("share", 1)], 1, 1), "PSBE 1/6 1ms");
    assert_eq!(below("lottery", &[("share", 1)], 1, 1), "PS 1/6");
    assert_eq!(below("bss-i", &[("rate-ppm", 500_000)], 1, 1), "PS 1/6", "turns tell no deadlines");
    assert_eq!(below("time-sharing", &[], 1, 1), "NULL");
    assert_eq!(below("fixed-priority", &[("priority", 2)], 4, 1), "RESCS 1ms 3ms");
    assert_eq!(below("fixed-priority", &[("priority", 2)], 4, 2), "NULL");
    assert_eq!(below("fixed-priority", &[("priority", 2)], 4, 3), "ALL");

    let mut build = Build::new(1, "round-robin", &[("quantum", MS)]);
    let threads = [build.thread(0, &[]), build.thread(0, &[])];
    let by = |mode| threads.map(|thread| label(&analyse(&build.0, mode), thread));
    assert_eq!([by(Mode::Paper), by(Mode::Tight)], [["NULL"; 2], ["RESCS 1ms 2ms"; 2]]);
}

#[test]
fn graphs_that_make_no_sense_are_problems() {
    let mut unknown = Build::new(1, "lottery!", &[]);
    unknown.thread(0, &[]);
    assert!(unknown.analyse().problems[0].message.contains("policy `lottery!`"));

    let mut cycle = Build::new(1, "fixed-priority", &[]);
    let (a, b) = (cycle.scheduler("join", &[]), cycle.scheduler("join", &[]));
    cycle.edge(Some(a), Child::Scheduler(b), &[]);
    cycle.edge(Some(b), Child::Scheduler(a), &[]);
    assert_eq!(cycle.analyse().problems.len(), 2);

    let mut roots = Build::new(1, "fixed-priority", &[]);
    roots.edge(None, Child::Thread("second".into()), &[]);
    assert_eq!(roots.analyse().problems.len(), 1);

    let mut parents = Build::new(1, "fixed-priority", &[]);
    let shared = parents.scheduler("time-sharing", &[]);
    parents.edge(Some(0), Child::Scheduler(shared), &[("priority", 1)]);
    parents.edge(Some(0), Child::Scheduler(shared), &[("priority", 2)]);
    assert!(parents.analyse().problems[0].message.contains("only a join"));
}

const NAMES: [&str; 8] = ["priority", "budget", "period", "share", "warp", "quantum", "rate-ppm", "soft"];

/// The name of a policy by its number; the number after the last stands for a policy that does not exist.
fn policy(number: usize) -> String {
    REGISTRY.get(number).map_or("no such", |entry| entry.policy).to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_graph_gets_every_label(
        cpus in 0u16..4,
        policies in prop::collection::vec((0..=REGISTRY.len(), any::<[u64; 8]>()), 0..6),
        edges in prop::collection::vec(
            (prop::option::of(0usize..7), 0usize..9, any::<[u64; 8]>(), 0u16..3, any::<bool>()),
            0..14,
        ),
    ) {
        let value_of = |(name, value): (&&str, u64)| ((*name).into(), value >> (value % 64));
        let named = |values: [u64; 8]| NAMES.iter().zip(values).map(value_of).collect();
        let schedulers = policies.into_iter()
            .map(|(number, values)| {
                scheduler("", &policy(number), named(values))
            })
            .collect();
        let edges: Vec<Edge> = edges.into_iter().map(|(parent, child, values, width, pinned)| {
            let child = if child < 7 { Child::Scheduler(child) } else { Child::Thread("t".into()) };
            Edge { parent, child, params: named(values), requested: Some(g("RESCS 1ms 2ms")), width, pinned }
        }).collect();
        let graph = Graph { cpus, schedulers, edges, ..Graph::default() };
        for (mode, global) in [(Mode::Paper, false), (Mode::Tight, false), (Mode::Tight, true)] {
            let analysis = analyse(&graph, Rules { mode, global });
            prop_assert_eq!(analysis.labels.len(), graph.edges.len());
            for label in &analysis.labels {
                prop_assert_eq!(label.guarantee.check(), Ok(()));
                prop_assert!(!label.derivation.render().is_empty());
            }
        }
    }
}

/// A scheduler with `width` VPs of a reservation scheduler on eight CPUs that asks for 2.5 CPUs by three VPs, and what
/// is below it: whether that is refused.
fn asks_for_more_than_one_cpu(policy: &str, width: u16, below: impl Fn(&mut Build, usize)) -> Analysis {
    let mut build = Build::new(8, "reservation", &[]);
    let asks = build.scheduler(policy, &[("quantum", MS)]);
    let edge = build.edge(Some(0), Child::Scheduler(asks), &[("budget", 10 * MS), ("period", 12 * MS)]);
    (build.0.edges[edge].width, build.0.edges[edge].requested) = (width, Some(g("MPR 12ms 30ms 3")));
    below(&mut build, asks);
    build.analyse()
}

/// CPUs that nothing below could use are not promised: a join has one VP below it, whatever its parents grant, and
/// other schedulers have what their children have.
#[test]
fn more_cpus_than_can_be_used_are_not_promised() {
    let child = |widths: &'static [u16]| {
        move |build: &mut Build, above: usize| {
            for width in widths {
                let child = build.scheduler("round-robin", &[("quantum", MS)]);
                let edge = build.edge(Some(above), Child::Scheduler(child), &[("share", 1)]);
                build.0.edges[edge].width = *width;
                build.threads(child, 12);
            }
        }
    };
    let threads = |build: &mut Build, above: usize| build.threads(above, 2);
    let deeper = |build: &mut Build, above: usize| {
        let middle = build.scheduler("round-robin", &[("quantum", MS)]);
        let edge = build.edge(Some(above), Child::Scheduler(middle), &[]);
        build.0.edges[edge].width = 3;
        child(&[1])(build, middle);
    };
    let refused = |analysis: &Analysis| match &analysis.problems[..] {
        [] => None,
        [only] => Some(only.found.clone()),
        more => panic!("{more:?}"),
    };
    let one = "only 1 of 3 VPs can have a CPU at once";
    for found in [
        refused(&asks_for_more_than_one_cpu("join", 3, child(&[1]))),
        refused(&asks_for_more_than_one_cpu("join", 3, |_, _| ())),
        refused(&asks_for_more_than_one_cpu("round-robin", 3, child(&[1]))),
        refused(&asks_for_more_than_one_cpu("round-robin", 3, deeper)),
    ] {
        assert!(found.as_ref().is_some_and(|found| found.contains(one)), "{found:?}");
    }
    let two = refused(&asks_for_more_than_one_cpu("round-robin", 3, child(&[1, 1])));
    assert!(two.as_ref().is_some_and(|found| found.contains("only 2 of 3 VPs")), "{two:?}");
    // What is wide enough, and what may get more threads at any time, is promised as before.
    assert_eq!(refused(&asks_for_more_than_one_cpu("round-robin", 3, child(&[3]))), None);
    assert_eq!(refused(&asks_for_more_than_one_cpu("round-robin", 3, child(&[1, 1, 1]))), None);
    assert_eq!(refused(&asks_for_more_than_one_cpu("round-robin", 3, child(&[1, 2]))), None);
    assert_eq!(refused(&asks_for_more_than_one_cpu("round-robin", 3, threads)), None);
    assert_eq!(refused(&asks_for_more_than_one_cpu("round-robin", 3, |_, _| ())), None);
}
