//! `make policies`: for each policy, thousands of drawn hierarchies in which half of the schedulers have it, and as
//! many in which all policies are mixed. Every promise is held in every window. The results are a file, from which
//! `docs/policies.md` has its figures. A policy is found in the core's registry, so a new one is in the next campaign.

use crate::draw::{hierarchy, hierarchy_with, workload};
use crate::held::Tally;
use crate::kept::{first, report, try_out};
use crate::tree::Case;
use hls_core::policies;
use std::fmt::Write;

/// How many hierarchies are drawn for each policy; `HLS_SEEDS=` draws others.
const HIERARCHIES: u64 = 2_000;

/// What a policy says that has no room for a child. A run in which it does so ends, and counts as refused.
const REFUSED: &str = "the policy takes no further child";

const COLUMNS: &str = "policy,hierarchies,refused,windows of its promises,all windows,broken";

/// What came out for one policy, or for all of them mixed.
#[derive(Default)]
struct Row {
    hierarchies: u64,
    refused: u64,
    broken: u64,
    tally: Tally,
}

impl Row {
    /// Runs a case, and adds what was tested.
    fn try_out(&mut self, seed: u64, case: &Case) {
        self.hierarchies += 1;
        match try_out(case) {
            Ok((tally, None)) => self.tally.add(&tally),
            Ok((_, Some(breach))) => {
                self.broken += 1;
                println!("{}", report(seed, case, &breach));
            }
            Err(error) if error.contains(REFUSED) => self.refused += 1,
            Err(error) => panic!("seed {seed}: {error}\n{}", case.kdl()),
        }
    }
}

#[test]
#[ignore = "takes an hour: make policies"]
fn the_promises_of_every_policy_are_kept() {
    let hierarchies =
        std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(HIERARCHIES);
    let seeds = || first()..first() + hierarchies;
    let mut results =
        format!("# Made by: HLS_FIRST_SEED={} HLS_SEEDS={hierarchies} make policies\n{COLUMNS}\n", first());
    let mut broken = 0;
    let mut add = |name: &str, row: &Row| {
        let all = row.tally.windows;
        let own = row.tally.windows_of.get(name).copied().unwrap_or(if name == "mixed" { all } else { 0 });
        let Row { hierarchies, refused, broken: failures, .. } = row;
        println!(
            "{name}: {hierarchies} hierarchies, {refused} refused, {own} of {all} windows, {failures} broken"
        );
        writeln!(results, "{name},{hierarchies},{refused},{own},{all},{failures}").expect("a string");
        broken += failures;
    };
    for policy in policies() {
        let mut row = Row::default();
        seeds().for_each(|seed| row.try_out(seed, &workload(&hierarchy_with(policy.name, seed), seed)));
        add(policy.name, &row);
    }
    let mut row = Row::default();
    seeds().for_each(|seed| row.try_out(seed, &workload(&hierarchy(seed), seed)));
    add("mixed", &row);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.csv");
    std::fs::write(path, results).expect("the results can be written");
    assert_eq!(broken, 0, "broken promises");
}
