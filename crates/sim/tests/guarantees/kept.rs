//! Tests that promises are kept in drawn hierarchies, and in those that once showed a broken promise.

use super::draw::{even, hierarchy, workload};
use super::held::{Breach, Promises, Shift, Tally, plan, read, run};
use super::requests::hold;
use super::shrink::shrink;
use super::tree::Case;
use hls_calculus::{Mode, Rules};
use hls_units::Nanos;

/// How many workloads are drawn for each hierarchy.
const WORKLOADS: u64 = 3;

/// After how many failures the test stops, as each is made small first.
const MAX_FAILURES: usize = 5;

/// How long the hierarchies of `found` are run, in nanoseconds.
const LENGTH_OF_FOUND: u64 = 300_000_000;

/// What a policy without room for a child says. A run in which it does so ends, and counts as refused.
const REFUSED: &str = "the policy takes no further child";

/// Whether a run ended because a policy refused a child for want of room.
pub fn is_refused(error: &str) -> bool {
    error.contains(REFUSED)
}

/// How many hierarchies are drawn; `HLS_SEEDS=20000` makes a campaign of it.
pub fn cases() -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The first seed: `HLS_FIRST_SEED=` repeats one seed, or continues a campaign.
pub fn first() -> u64 {
    std::env::var("HLS_FIRST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Runs a case, and tests it against the promises that the calculus derives by each of its sets of rules. Returns what
/// was tested, and the first broken promise.
///
/// # Errors
/// The file is refused, or the run fails; a policy may have no room for a child that comes ([`is_refused`]).
pub fn try_out(case: &Case) -> Result<(Tally, Option<Breach>), String> {
    let plan = plan(case)?;
    let records = run(&plan, case.length, case.seed)?;
    let mut sum = Tally::default();
    let tight = Promises::derive(&plan, Mode::Tight);
    let paper = Promises::derive(&plan, Mode::Paper).besides(&tight);
    let global = Rules { global: true, ..Rules::default() };
    let leftovers = Promises::derive(&plan, global).besides(&tight);
    for promises in [tight, paper, leftovers] {
        let (tally, breach) = promises.hold(&plan, &records, case.length, Shift(0));
        sum.add(&tally);
        if breach.is_some() {
            return Ok((sum, breach));
        }
    }
    for rules in [Mode::Tight.into(), Mode::Paper.into(), global] {
        let (requests, breach) = hold(&plan, &records, case.length, rules);
        sum.requests.add(requests);
        if breach.is_some() {
            return Ok((sum, breach));
        }
    }
    Ok((sum, None))
}

/// The message for a broken promise, with the smallest case that breaks a promise of the same type.
pub fn report(seed: u64, case: &Case, breach: &Breach) -> String {
    let broken = |case: &Case| {
        try_out(case).ok().and_then(|(_, found)| found).filter(|found| found.kind == breach.kind)
    };
    let small = shrink(case, |case| broken(case).map(|found| found.to));
    let text = broken(&small).map_or_else(String::new, |found| found.text);
    format!(
        "seed {seed} (HLS_FIRST_SEED={seed} HLS_SEEDS=1): {}\nthe smallest case: {text}\n{}\n\
         Save it as small.kdl; run it: hls run small.kdl --for {} --seed {}",
        breach.text,
        small.kdl(),
        Nanos(small.length),
        small.seed
    )
}

#[test]
fn every_promise_is_kept_in_every_window_and_request() {
    let (mut runs, mut refused, mut rich, mut sum) = (0, 0, 0, Tally::default());
    let mut failures = Vec::new();
    for seed in first()..first() + cases() {
        let drawn = hierarchy(seed);
        for nth in 0..WORKLOADS {
            let case = workload(&drawn, seed * WORKLOADS + nth);
            let (tally, breach) = match try_out(&case) {
                Err(error) if is_refused(&error) => {
                    refused += 1;
                    continue;
                }
                tried => tried.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", case.kdl())),
            };
            runs += 1;
            // ALL, and two types that the calculus has to derive.
            rich += u64::from(tally.kinds.len() > 2);
            sum.add(&tally);
            if let Some(breach) = breach {
                failures.push(report(seed, &case, &breach));
                break;
            }
        }
        if failures.len() == MAX_FAILURES {
            break;
        }
    }
    let Tally { kinds, skipped, spans, windows, requests, .. } = sum;
    println!(
        "{} hierarchies, {runs} runs, {refused} refused; {rich} of them with three types of labels; VPs by label \
         {kinds:?}, {skipped} not held; {spans} spans, {windows} windows, {requests:?}",
        cases()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(rich * 3 > runs, "{rich} of {runs} runs are hardly a test");
    assert!(refused * 50 < runs, "{refused} of {runs} runs are refused");
}

/// Threads that have equal shares of several CPUs, which few of the hierarchies above have.
#[test]
fn equal_shares_of_several_cpus_are_kept() {
    let mut sum = Tally::default();
    for seed in first()..first() + cases() / 3 {
        let drawn = even(seed);
        for nth in 0..WORKLOADS {
            let case = workload(&drawn, seed * WORKLOADS + nth);
            let (tally, breach) =
                try_out(&case).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", case.kdl()));
            assert!(breach.is_none(), "{}", report(seed, &case, &breach.expect("it is one")));
            sum.add(&tally);
        }
    }
    println!("{} windows", sum.windows);
    assert!(sum.windows_of.get("bvt").is_some_and(|windows| *windows > 0));
}

/// Each file of `found` is the smallest hierarchy that once broke a promise.
#[test]
fn found_failures_stay_fixed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guarantees/found");
    let files =
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("a file").path());
    let mut broken = String::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text");
        let plan = read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let records =
            run(&plan, LENGTH_OF_FOUND, 0).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for mode in [Mode::Tight, Mode::Paper] {
            let (_, breach) = Promises::derive(&plan, mode).hold(&plan, &records, LENGTH_OF_FOUND, Shift(0));
            broken.extend(breach.map(|breach| format!("{}: {}\n", path.display(), breach.text)));
        }
    }
    assert_eq!(broken, "");
}
