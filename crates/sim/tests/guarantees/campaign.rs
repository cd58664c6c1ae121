//! `make policies`: for each policy, thousands of drawn hierarchies in which half of the schedulers have it, and as
//! many in which all policies are mixed. Every promise is held in every window. With `HLS_BLESS=1` the results become
//! a file, from which `docs/policies.md` has its figures. A policy is found in the core's registry, so a new one is in
//! the next campaign. `HLS_POLICIES=eevdf,sfq` tries these only, and writes nothing.

use super::draw::{hierarchy, hierarchy_with, workload};
use super::held::Tally;
use super::kept::{first, is_refused, report, try_out};
use super::tree::Case;
use hls_core::policies;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many hierarchies are drawn for each policy; `HLS_SEEDS=` draws others.
const HIERARCHIES: u64 = 2_000;

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
    /// The line about a policy.
    fn line(&self, name: &str) -> String {
        let Row { hierarchies, refused, broken, tally } = self;
        let all = tally.windows;
        let own = tally.windows_of.get(name).copied().unwrap_or(if name == "mixed" { all } else { 0 });
        format!("{name},{hierarchies},{refused},{own},{all},{broken}")
    }

    /// Runs a case, and adds what was tested.
    fn try_out(&mut self, seed: u64, case: &Case) {
        self.hierarchies += 1;
        match try_out(case) {
            Ok((tally, None)) => self.tally.add(&tally),
            Ok((_, Some(breach))) => {
                self.broken += 1;
                println!("{}", report(seed, case, &breach));
            }
            Err(error) if is_refused(&error) => self.refused += 1,
            Err(error) => panic!("seed {seed}: {error}\n{}", case.kdl()),
        }
    }
}

/// What comes out for each name, in order, on all CPUs.
fn in_parallel(
    names: Vec<&'static str>,
    of: impl Fn(&'static str) -> Row + Sync,
) -> Vec<(&'static str, Row)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = vec![];
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows.push((*name, of(name)));
        }
        rows
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect::<Vec<_>>()
    });
    rows.sort_by_key(|(name, _)| names.iter().position(|other| other == name));
    rows
}

#[test]
#[ignore = "takes minutes: make policies, make night"]
fn the_promises_of_every_policy_are_kept() {
    let hierarchies =
        std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(HIERARCHIES);
    let seeds = || first()..first() + hierarchies;
    let mut results =
        format!("# Made by: HLS_FIRST_SEED={} HLS_SEEDS={hierarchies} make policies\n{COLUMNS}\n", first());
    let only = std::env::var("HLS_POLICIES").ok();
    let is_asked =
        |name: &&str| only.as_ref().is_none_or(|names| names.split(',').any(|asked| asked == *name));
    let names = policies().iter().map(|policy| policy.name).chain(["mixed"]).filter(is_asked).collect();
    let rows = in_parallel(names, |name| {
        let mut row = Row::default();
        seeds().for_each(|seed| {
            let drawn = if name == "mixed" { hierarchy(seed) } else { hierarchy_with(name, seed) };
            row.try_out(seed, &workload(&drawn, seed));
        });
        println!("{}", row.line(name));
        row
    });
    for (name, row) in &rows {
        writeln!(results, "{}", row.line(name)).expect("a string");
    }
    let broken: u64 = rows.iter().map(|(_, row)| row.broken).sum();
    if only.is_none() && std::env::var_os("HLS_BLESS").is_some() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.csv");
        std::fs::write(path, results).expect("the results can be written");
    }
    assert_eq!(broken, 0, "broken promises");
}
