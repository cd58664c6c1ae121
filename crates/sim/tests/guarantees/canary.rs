//! Shows that the tests of promises can fail: a policy that gives 1% less than it promises is caught.
//!
//! There is no second build of the core with a spoilt policy. A policy knows of its promise only the parameters that it
//! is given: with 99% of a budget `reservation` does, step by step, what a `reservation` that cheats by 1% would do,
//! and so do `limit` and the shares of `proportional-share`. So a hierarchy is run with spoilt parameters, and tested
//! against the labels of the true ones. `join` and `fixed-priority` pass on what they get: for them the schedulers
//! above are spoilt, and only the promises of the policy itself are tested. So the core needs no switch that breaks
//! promises, and a new policy is covered with one line here.

use crate::draw::{hierarchy, workload};
use crate::held::{Promises, Shift, plan, run};
use crate::kept::cases;
use crate::tree::{Case, Value};
use hls_calculus::Mode;
use std::collections::BTreeMap;

/// The least budget that the reader of the file takes, in nanoseconds.
const LEAST_BUDGET: u64 = 1_000;

/// The greatest share that the policy takes.
const GREATEST_SHARE: u64 = 65_536;

/// The case with 1% less for the children of these policies: 1% off their budgets, or off the share of the first child.
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
fn caught_after(giver: &str, spoilt_policies: &[&str]) -> Option<u64> {
    (0..cases()).find(|&seed| {
        let case = workload(&hierarchy(seed), seed);
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
    let budgets: &[&str] = &["reservation", "limit"];
    let canaries: [(&str, &[&str]); 5] = [
        ("reservation", &["reservation"]),
        ("limit", &["limit"]),
        ("proportional-share", &["proportional-share"]),
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
