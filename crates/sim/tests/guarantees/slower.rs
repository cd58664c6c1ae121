//! What each policy promises below a slower processor (the column RESU of Table 1 of the HLS paper) is kept in every
//! window.
//!
//! `HLS_SEEDS=30000 cargo test --release -p hls-sim -- --nocapture below_slower_processors` draws 1,000 hierarchies for
//! each policy.

use super::draw::{below_slower, workload};
use super::held::Tally;
use super::kept::{cases, first, is_refused, report, try_out};
use hls_core::{PolicyInfo, policies};

/// Policies that promise something in windows there.
const PROMISING: [&str; 17] = [
    "reservation",
    "limit",
    "round-robin",
    "fixed-priority",
    "proportional-share",
    "bvt",
    "cbs",
    "constant-utilisation-server",
    "deferrable-server",
    "eevdf",
    "least-slack",
    "resource-kernel",
    "rialto",
    "sfq",
    "spring",
    "stride",
    "tbs",
];

/// Holds the promises of a policy in some hierarchies. Returns the windows of its promises.
fn windows_of(policy: &'static PolicyInfo) -> u64 {
    let (mut sum, mut refused) = (Tally::default(), 0);
    let seeds = cases() / 30;
    for seed in first()..first() + seeds {
        let case = workload(&below_slower(policy, seed), seed);
        match try_out(&case) {
            Err(error) if is_refused(&error) => refused += 1,
            Err(error) => panic!("{}, seed {seed}: {error}\n{}", policy.name, case.kdl()),
            Ok((_, Some(breach))) => panic!("{}: {}", policy.name, report(seed, &case, &breach)),
            Ok((tally, None)) => sum.add(&tally),
        }
    }
    let own = sum.windows_of.get(policy.name).copied().unwrap_or(0);
    println!("{}: {seeds} hierarchies, {refused} refused, {own} of {} windows", policy.name, sum.windows);
    own
}

#[test]
fn promises_below_slower_processors_are_kept() {
    for policy in policies().iter().filter(|policy| !policy.properties.joins) {
        let windows = windows_of(policy);
        assert!(windows > 0 || !PROMISING.contains(&policy.name), "{} promises nothing there", policy.name);
    }
}
