//! The core in all small hierarchies, with sequences that are short enough for every test run. `make small-worlds`
//! takes longer ones.

use hls_small_worlds::scheduling::hierarchies::{self, Hierarchy};
use hls_small_worlds::scheduling::{Outcome, calls, explore_all};
use hls_small_worlds::{Bounds, Violation};
use std::collections::BTreeSet;

const WORKERS: usize = 2;

#[track_caller]
fn assert_holds(hierarchies: &[Hierarchy], bounds: Bounds) -> Outcome {
    let outcome = explore_all(hierarchies, bounds, WORKERS, |_| {});
    if let Some((at, Violation { start, steps, what, .. })) = outcome.violations.first() {
        let hierarchy = &hierarchies[*at];
        let calls = calls(hierarchy, &outcome.violations[0].1).join("\n");
        panic!("{hierarchy}, start {start}:\n{}\nbroken: {what}\n{calls}", steps.join("\n"));
    }
    assert_eq!(outcome.hierarchies, hierarchies.len() as u64);
    outcome
}

#[test]
fn everything_holds_in_hierarchies_of_one_scheduler() {
    let outcome = assert_holds(&hierarchies::of(1), Bounds { length: 3, twin_of: 16 });
    assert!(outcome.explored.states > 100_000);
}

/// There are as many as the square of the policies, or the cube: one in `one_of` is explored, and fewer with longer
/// sequences. `make small-worlds` explores all. These numbers are primes, so that every policy is in every place of the
/// chosen hierarchies.
#[track_caller]
fn assert_holds_in_some(schedulers: usize, (one_of, length): (usize, usize), least_states: u64) {
    let all = hierarchies::of(schedulers);
    let some: Vec<Hierarchy> = all.iter().step_by(one_of).cloned().collect();
    for place in 0..schedulers {
        let here = |of: &[Hierarchy]| -> BTreeSet<&str> {
            of.iter().map(|hierarchy| hierarchy.schedulers[place].policy.name).collect()
        };
        assert_eq!(here(&some), here(&all), "scheduler {place}");
    }
    let outcome = assert_holds(&some, Bounds { length, twin_of: 16 });
    assert!(outcome.explored.states > least_states, "{}", outcome.explored.states);
}

#[test]
fn everything_holds_in_some_hierarchies_of_two_schedulers() {
    assert_holds_in_some(2, (3, 2), 2_000_000);
}

#[test]
fn everything_holds_in_some_hierarchies_of_three_schedulers() {
    assert_holds_in_some(3, (29, 1), 2_000_000);
    assert_holds_in_some(3, (997, 2), 2_000_000);
}

/// Three joins or limits, one below the other, and one thread; its affinity changes and its CPU goes: the refusals of
/// all levels have to end then. Other hierarchies of three schedulers have no such sequence.
#[test]
fn refusals_of_several_levels_end() {
    let is_one = |hierarchy: &Hierarchy| {
        let names = hierarchy.schedulers.iter().map(|scheduler| scheduler.policy.name);
        hierarchy.threads.iter().flatten().count() == 1
            && names.rev().take(2).all(|name| ["join", "limit"].contains(&name))
    };
    let chains: Vec<Hierarchy> = hierarchies::of(3).into_iter().filter(is_one).collect();
    assert!(chains.len() > 4);
    assert_holds(&chains, Bounds { length: 3, twin_of: 16 });
}

/// The normal form of a state is what decides its future: all states with the same key are compared, not some.
#[test]
fn states_with_the_same_key_have_the_same_futures() {
    let all = hierarchies::of(2);
    let every_ninth: Vec<Hierarchy> = all.into_iter().step_by(9).collect();
    let outcome = assert_holds(&every_ninth, Bounds { length: 2, twin_of: 1 });
    assert!(outcome.explored.twins > 10_000);
    let outcome = assert_holds(&hierarchies::of(1), Bounds { length: 3, twin_of: 1 });
    assert!(outcome.explored.twins > 100_000);
}

#[test]
fn every_policy_is_in_every_place_that_can_have_it() {
    let all = hierarchies::of(3);
    for policy in hls_core::policies() {
        for place in 0..3 {
            let has = |hierarchy: &Hierarchy| hierarchy.schedulers[place].policy.id == policy.id;
            assert!(all.iter().any(has), "{} is never scheduler {place}", policy.name);
        }
    }
    assert!(all.iter().all(|hierarchy| hierarchy.threads.iter().flatten().count() > 0));
    let mut texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all.len(), "no hierarchy is there twice");
}
