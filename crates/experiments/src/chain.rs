//! The hierarchies of thesis Figure 10.2, to any depth: two threads, each at the end of its own chain of schedulers,
//! under one root.
//!
//! ```text
//!            S            level 1
//!          /   \
//!        A-2   B-2        level 2
//!         |     |
//!        A-3   B-3        level 3
//!         |     |
//!         A     B         threads
//! ```

use crate::decimal::Decimal;
use crate::expected::{Expectation, Tolerance};
use crate::finding::Finding;
use crate::measure::{Measure, Value};
use crate::run::run;
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fmt::Write;

/// The policies of the chains, each with the parameters that a child needs.
const POLICIES: [(&str, &str); 4] = [
    ("time-sharing", ""),
    ("fixed-priority", " priority=1"),
    ("proportional-share", ""),
    ("round-robin", ""),
];

/// How long each hierarchy is run: a hundred times 20 ms, the longest default quantum of these policies.
const LENGTH: Nanos = Nanos::from_secs(2);

/// Runs the hierarchies of these depths for every policy, and measures the shares of both threads, which should be half
/// of the CPU each.
///
/// # Errors
/// Why a hierarchy could not be run.
pub fn carry_out(
    depths: impl Iterator<Item = u32> + Clone,
    options: &Options,
) -> Result<Vec<Finding>, Vec<String>> {
    let mut findings = Vec::new();
    for (policy, depth) in
        POLICIES.iter().flat_map(|policy| depths.clone().map(move |depth| (*policy, depth)))
    {
        let file = format!("{}, depth {depth}", policy.0);
        let outcome = run(&file, hierarchy(policy, depth).as_bytes(), &Workload::default(), LENGTH, options)?;
        for of in ["A", "B"] {
            let row = Expectation {
                file: file.clone(),
                run: LENGTH,
                measure: Measure::Share,
                of: of.to_owned(),
                source: "symmetry".to_owned(),
                expected: Value::Number(Decimal::whole(50)),
                tolerance: Tolerance::Within(Decimal(500)),
            };
            let measured =
                row.measure.take(&outcome, of).map_err(|error| vec![format!("{file}: {error}")])?;
            findings.push(Finding { row, measured });
        }
    }
    Ok(findings)
}

/// The text of a hierarchy `depth` levels of schedulers deep (at least 1), all of one policy.
fn hierarchy((policy, child): (&str, &str), depth: u32) -> String {
    let mut text = format!("{policy} \"S\" {{\n");
    for name in ["A", "B"] {
        for level in 2..=depth {
            let _ = writeln!(text, "{policy} \"{name}-{level}\"{child} {{");
        }
        let _ = writeln!(text, "thread \"{name}\"{child} {{ cpu-bound; }}");
        text.extend((2..=depth).map(|_| "}\n"));
    }
    text.push_str("}\n");
    text
}
