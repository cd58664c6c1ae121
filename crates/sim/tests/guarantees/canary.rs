//! Shows that the tests of promises can fail: a policy that gives 1% less than it promises is caught.
//!
//! There is no second build of the core with a spoilt policy. A policy knows of its promise only the parameters that it
//! is given: with 99% of a budget `reservation` does, step by step, what a `reservation` that cheats by 1% would do,
//! and so do `limit`, the shares of `proportional-share` and the turns of `round-robin`. So a hierarchy is run with
//! spoilt parameters, and tested against the labels of the true ones. A policy without such parameters passes on what
//! it gets, as `join` and `fixed-priority` do: there all others are spoilt, and only the promises of the policy itself
//! are tested. So the core needs no switch that breaks promises, and a new policy is covered without a line here.

use super::draw::{hierarchy, hierarchy_with, workload};
use super::held::{Promises, Shift, plan, read, run};
use super::kept::{cases, is_refused};
use super::requests::observe;
use super::tree::Case;
use hls_calculus::Mode;
use hls_check::Derived;
use hls_core::{PolicyInfo, policies};
use hls_monitor::event::Record;
use hls_monitor::observe::Promise;
use hls_monitor::result::{GuaranteeResult, Verdict};
use hls_plan::Plan;
use hls_scenario::{Given, RATE, Value, What, budget_and_period};
use std::collections::BTreeMap;

/// The least budget that the reader of the file takes, in nanoseconds.
const LEAST_BUDGET: u64 = 1_000;

/// The greatest share that the policy takes.
const GREATEST_SHARE: u64 = 65_536;

const SHARE: &str = "share";

/// What gives the children of a policy less.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spoilt {
    /// 1% off budgets, which have this name.
    Budgets(&'static str),
    /// 1% off the rates of slower processors. Only promises below a child show how fast the child is.
    Rates,
    /// 1% off the share of the first child.
    Shares,
    /// Turns that are 1% longer, so that each child waits longer.
    Turns,
    /// An allowance of the agent that is 1% greater.
    Allowance,
}

/// What can be spoilt of a policy; `None`: it passes on what it gets.
fn spoilt_of(policy: &PolicyInfo) -> Option<Spoilt> {
    let has = |name| policy.vp_params.iter().any(|info| info.name == name);
    if let Some([budget, _]) = budget_and_period(policy) {
        return Some(Spoilt::Budgets(budget));
    }
    match () {
        () if has(RATE) => Some(Spoilt::Rates),
        () if has(SHARE) => Some(Spoilt::Shares),
        () if policy.properties.has_pages => Some(Spoilt::Allowance),
        () if policy.vp_params.is_empty() && !policy.properties.joins => Some(Spoilt::Turns),
        () => None,
    }
}

/// The case with 1% less for the children of policies of which `is_spoilt` is true.
fn spoilt(case: &Case, is_spoilt: impl Fn(&PolicyInfo) -> bool) -> Case {
    let (tree, mut spoilt) = (&case.tree, case.clone());
    for (at, node) in spoilt.tree.nodes.iter_mut().enumerate() {
        if let What::Scheduler(scheduler) = &mut node.what
            && is_spoilt(scheduler.policy)
            && matches!(spoilt_of(scheduler.policy), Some(Spoilt::Turns | Spoilt::Allowance))
            && let Some((_, Value::Time(time))) = scheduler.params.first_mut()
        {
            *time += *time / 100;
        }
        for edge in &mut node.above {
            let above = tree.scheduler(edge.parent).filter(|above| is_spoilt(above.policy));
            let siblings = tree.children(edge.parent);
            match above.and_then(|above| spoilt_of(above.policy)) {
                Some(Spoilt::Budgets(budget)) => {
                    change(&mut edge.params, budget, |budget| (budget * 99 / 100).max(LEAST_BUDGET));
                }
                Some(Spoilt::Rates) => change(&mut edge.params, RATE, |rate| (rate * 99 / 100).max(1)),
                // Shares are multiplied by 100, or by 99, unless that would be too great for the policy.
                Some(Spoilt::Shares) if siblings.iter().all(|node| has_small_share(case, *node)) => {
                    let factor = if siblings[0] == at { 99 } else { 100 };
                    change(&mut edge.params, SHARE, |share| share * factor);
                }
                _ => {}
            }
        }
    }
    spoilt
}

fn change(params: &mut Given, name: &str, to: impl Fn(u64) -> u64) {
    for (_, value) in params.iter_mut().filter(|(its, _)| *its == name) {
        match value {
            Value::Time(value) | Value::Count(value) => *value = to(*value),
            Value::Job(_) => {}
        }
    }
}

fn has_small_share(case: &Case, node: usize) -> bool {
    let mut params = case.tree.nodes[node].above.iter().flat_map(|edge| &edge.params);
    params.all(|(_, value)| !matches!(value, Value::Count(share) if *share > GREATEST_SHARE / 100))
}

/// The records of a run; `None`: a policy had no room for a child.
fn records(plan: &Plan, case: &Case) -> Option<Vec<Record>> {
    match run(plan, case.length, case.seed) {
        Err(error) if is_refused(&error) => None,
        records => Some(records.unwrap_or_else(|error| panic!("{error}\n{}", case.kdl()))),
    }
}

/// What is found of a policy in drawn hierarchies.
enum Found {
    /// The first run in which a promise of the policy is broken.
    Caught(u64),
    /// It promises things, and none is broken.
    Honest,
    /// It promises whole CPUs at most.
    Nothing,
}

/// Looks for broken promises of a policy that is spoilt, or of which all other policies are.
fn find(policy: &'static PolicyInfo) -> Found {
    let own = spoilt_of(policy);
    let mut found = Found::Nothing;
    for seed in 0..cases() {
        let case = workload(&hierarchy_with(policy.name, seed), seed);
        let honest = plan(&case).expect("a valid hierarchy");
        let mut promises = Promises::derive(&honest, Mode::Tight);
        promises.each.retain(|promise| promise.giver == policy.name || own == Some(Spoilt::Rates));
        promises.several.clear();
        if promises.each.iter().all(|promise| promise.kind == "ALL") {
            continue;
        }
        found = Found::Honest;
        let is_spoilt = |other: &PolicyInfo| own.is_none() || other.id == policy.id;
        let cheat = plan(&spoilt(&case, is_spoilt)).expect("a valid hierarchy");
        let Some(records) = records(&cheat, &case) else { continue };
        if promises.hold(&honest, &records, case.length, Shift(0)).1.is_some() {
            return Found::Caught(seed);
        }
    }
    found
}

#[test]
fn one_percent_less_is_caught() {
    for policy in policies() {
        let name = policy.name;
        match find(policy) {
            Found::Caught(seed) => println!("a {name} that gives 1% less is caught after {seed} runs"),
            Found::Nothing => {
                let provides =
                    hls_calculus::schedulers::find(name).expect("a policy has an analysis").provides;
                assert!(is_nothing_in_finite_time(provides), "no run of {name}, which provides {provides}");
                println!("a {name} promises nothing that could be less");
            }
            Found::Honest => panic!("a {name} that gives 1% less is not caught"),
        }
    }
}

/// Whether what a policy provides, in the words of its analysis, is nothing or a share in the long run.
fn is_nothing_in_finite_time(provides: &str) -> bool {
    provides.starts_with("NULL to every child") || provides.contains("PS s*r to every child")
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
        let Some(records) = records(&plan, &case) else { continue };
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
        let case = workload(&hierarchy_with(giver, seed), seed);
        let honest = plan(&case).expect("a valid hierarchy");
        let cheat = plan(&spoilt(&case, |policy| policy.name == giver)).expect("a valid hierarchy");
        let Some(records) = records(&cheat, &case) else { continue };
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
