//! Shows that the tests of promises can fail: a policy that gives 1% less than it promises is caught.
//!
//! There is no second build of the core with a spoilt policy. A policy knows of its promise only the parameters that it
//! is given: with 99% of a budget `reservation` does, step by step, what a `reservation` that cheats by 1% would do,
//! and so do `limit`, the shares of `proportional-share` and the turns of `round-robin`. So a hierarchy is run with
//! spoilt parameters, and tested against the labels of the true ones. `join` and `fixed-priority` pass on what they
//! get: for them the schedulers above are spoilt, and only the promises of the policy itself are tested. So the core
//! needs no switch that breaks promises, and a new policy is covered with one line here.

use super::draw::{hierarchy, hierarchy_with, workload};
use super::held::{Promises, Shift, plan, read, run};
use super::kept::cases;
use super::requests::observe;
use super::tree::{Case, Value, What};
use hls_calculus::Mode;
use hls_check::Derived;
use hls_monitor::observe::Promise;
use hls_monitor::result::{GuaranteeResult, Verdict};
use hls_plan::Plan;
use std::collections::BTreeMap;

/// The least budget that the reader of the file takes, in nanoseconds.
const LEAST_BUDGET: u64 = 1_000;

/// The greatest share that the policy takes.
const GREATEST_SHARE: u64 = 65_536;

/// The case with 1% less for the children of these policies: 1% off their budgets and rates, or off the share of the
/// first child. Turns are 1% longer, so that each child waits longer; and an agent's allowance is 1% greater.
fn spoilt(case: &Case, policies: &[&str]) -> Case {
    let mut spoilt = case.clone();
    // Shares are multiplied by 100, or by 99; where that would be too great for the policy, nothing is spoilt.
    let is_small = |node: &usize| {
        let params = case.nodes[*node].above.iter().flat_map(|edge| &edge.params);
        params
            .into_iter()
            .all(|(_, value)| !matches!(value, Value::Count(share) if *share > GREATEST_SHARE / 100))
    };
    for node in 0..case.nodes.len() {
        if let What::Scheduler { policy, quantum: Some(quantum), .. } = &mut spoilt.nodes[node].what
            && policies.contains(policy)
            && *policy == "round-robin"
        {
            *quantum += *quantum / 100;
        }
        if let What::Scheduler { policy: "user-level", more, .. } = &mut spoilt.nodes[node].what
            && policies.contains(&"user-level")
            && let Some((_, Value::Time(allowance))) = more.iter_mut().find(|(name, _)| *name == "allowance")
        {
            *allowance += *allowance / 100;
        }
        for nth in 0..case.nodes[node].above.len() {
            let parent = case.nodes[node].above[nth].parent;
            if !policies.contains(&case.policy(parent)) {
                continue;
            }
            let may_scale = case.children(parent).iter().all(is_small);
            let is_first = case.children(parent).first() == Some(&node);
            for (name, value) in &mut spoilt.nodes[node].above[nth].params {
                *value = match *value {
                    Value::Time(budget) if *name == "budget" => {
                        Value::Time((budget * 99 / 100).max(LEAST_BUDGET))
                    }
                    Value::Count(rate) if *name == "rate-ppm" => Value::Count((rate * 99 / 100).max(1)),
                    Value::Count(share) if *name == "share" && may_scale && is_first => {
                        Value::Count(share * 99)
                    }
                    Value::Count(share) if *name == "share" && may_scale => Value::Count(share * 100),
                    value => value,
                };
            }
        }
    }
    spoilt
}

/// The first drawn run in which the spoilt policies are caught breaking a promise of `giver`; `None`: in no run.
fn caught_after(giver: &'static str, spoilt_policies: &[&'static str]) -> Option<u64> {
    (0..cases()).find(|&seed| {
        let hierarchy =
            if let [spoilt] = spoilt_policies { hierarchy_with(spoilt, seed) } else { hierarchy(seed) };
        let case = workload(&hierarchy, seed);
        let honest = plan(&case).expect("a valid hierarchy");
        let cheat = plan(&spoilt(&case, spoilt_policies)).expect("a valid hierarchy");
        let mut promises = Promises::derive(&honest, Mode::Tight);
        promises.each.retain(|promise| promise.giver == giver);
        promises.several.clear();
        let records = run(&cheat, case.length, case.seed).expect("the run comes to its end");
        promises.hold(&honest, &records, case.length, Shift(0)).1.is_some()
    })
}

#[test]
fn one_percent_less_is_caught() {
    let budgets: &[&'static str] = &["reservation", "limit"];
    let canaries: [(&'static str, &[&'static str]); 25] = [
        ("reservation", &["reservation"]),
        ("resource-kernel", &["resource-kernel"]),
        ("least-slack", &["least-slack"]),
        ("spring", &["spring"]),
        ("rialto", &["rialto"]),
        ("rialto-nt", &["rialto-nt"]),
        ("deferrable-server", &["deferrable-server"]),
        ("polling-server", &["polling-server"]),
        ("sporadic-server", &["sporadic-server"]),
        ("cbs", &["cbs"]),
        ("tbs", &["tbs"]),
        ("grub", &["grub"]),
        ("constant-utilisation-server", &["constant-utilisation-server"]),
        ("limit", &["limit"]),
        ("proportional-share", &["proportional-share"]),
        ("bvt", &["bvt"]),
        ("stride", &["stride"]),
        ("sfq", &["sfq"]),
        ("eevdf", &["eevdf"]),
        ("round-robin", &["round-robin"]),
        ("user-level", &["user-level"]),
        // What is promised on a slower processor shows how fast it is.
        ("reservation", &["bss-i"]),
        ("reservation", &["pshed"]),
        ("join", budgets),
        ("fixed-priority", budgets),
    ];
    for (giver, spoilt_policies) in canaries {
        let after = caught_after(giver, spoilt_policies);
        println!("a {giver} that gives 1% less is caught after {after:?} runs");
        assert!(after.is_some(), "{giver}");
    }
}

/// Shows how tight the labels are: tested against supplies a few microseconds earlier than promised, labels of every
/// type are broken in some run.
#[test]
fn a_few_microseconds_earlier_is_caught() {
    let mut caught: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..cases() {
        let case = workload(&hierarchy(seed), seed);
        let plan = plan(&case).expect("a valid hierarchy");
        let promises = Promises::derive(&plan, Mode::Tight);
        let records = run(&plan, case.length, case.seed).expect("the run comes to its end");
        for kind in promises.broken_kinds(&plan, &records, case.length, Shift(5_000)) {
            *caught.entry(kind).or_default() += 1;
        }
    }
    println!("5us earlier is caught in {} runs: {caught:?}", cases());
    for kind in ["ALL", "RESBH", "RESBS", "PSBE"] {
        assert!(caught.contains_key(kind), "{kind}: {caught:?}");
    }
}

/// In how many drawn runs the spoilt policy is caught at promises of `giver`: per request, by a window, of all.
fn caught_by_requests(giver: &str) -> (u64, u64) {
    let (mut by_requests, mut by_windows) = (0, 0);
    for seed in 0..cases() {
        let case = workload(&hierarchy(seed), seed);
        let honest = plan(&case).expect("a valid hierarchy");
        let cheat = plan(&spoilt(&case, &[giver])).expect("a valid hierarchy");
        let records = run(&cheat, case.length, case.seed).expect("the run comes to its end");
        let results = observe(&honest, promises_of(&honest, giver), &records, case.length);
        let is_late =
            |result: &GuaranteeResult| result.requests.is_some_and(|requests| requests.verdict().is_broken());
        let is_short =
            |result: &GuaranteeResult| result.windows.iter().any(|window| window.verdict() == Verdict::Short);
        by_requests += u64::from(results.iter().any(is_late));
        by_windows += u64::from(results.iter().any(is_short));
    }
    (by_requests, by_windows)
}

/// The promises of the schedulers with this policy.
fn promises_of(plan: &Plan, giver: &str) -> Vec<Promise> {
    let mut promises = Derived::new(plan, Mode::Tight).promises(plan);
    promises.retain(|promise| {
        let parent = plan.topology.vps[promise.vp.index()].parent;
        parent.is_some_and(|parent| plan.topology.schedulers[parent.index()].policy == giver)
    });
    promises
}

/// What `hls run` says of one percent less.
#[test]
fn one_percent_less_is_caught_per_request() {
    for giver in ["reservation", "limit", "proportional-share"] {
        let (by_requests, by_windows) = caught_by_requests(giver);
        println!(
            "a {giver} that gives 1% less is caught in {by_requests} of {} runs per request, in {by_windows} by the \
             monitor's windows",
            cases()
        );
        assert!(by_requests > 0, "{giver}");
    }
}

/// A thread that wakes up for less than the length of a window, below a reservation with a budget that is too small by
/// the least that there is: no window shows that, a request does.
#[test]
fn a_budget_one_microsecond_short_is_caught_by_requests_alone() {
    let text = |budget: &str| {
        format!(
            r#"reservation "R" {{
                thread "a" guarantee="RESBH {budget} 10ms" {{ periodic run="4ms" every="20ms" }}
                thread "b" guarantee="RESBH 6ms 10ms"
            }}"#
        )
    };
    let honest = read(&text("4ms")).expect("a valid hierarchy");
    let cheat = read(&text("3999us")).expect("a valid hierarchy");
    let length = 995_000_000;
    for (plan, is_kept) in [(&honest, true), (&cheat, false)] {
        let records = run(plan, length, 0).expect("the run comes to its end");
        let results = observe(&honest, promises_of(&honest, "reservation"), &records, length);
        let [a, b] = &results[..] else { panic!("two promises: {results:?}") };
        let requests = a.requests.expect("a reservation says something of requests");
        assert_eq!((requests.requests, requests.tested), (50, 50), "{a:?}");
        assert_eq!((a.is_kept(), b.is_kept()), (is_kept, true), "{a:?}");
        assert!(a.windows.iter().all(|window| window.verdict() == Verdict::Untested), "{a:?}");
        let missing = if is_kept { 0 } else { 1_000 };
        assert_eq!(requests.missing.0, missing, "{a:?}");
    }
}
