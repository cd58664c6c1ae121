//! The kernel engine in the test machine: scripts that run `hls` on a kernel with sched_ext, under every kind of storm,
//! with its invariants checked all the while.
//!
//! Three tiers, by how a name begins (docs/internals/gate.md says what each protects):
//!
//! - `gate_`, the scripts of `gate/`: part of every test. Time in these guests is exact, on one CPU or on two that take
//!   turns, so that the verdict does not depend on what else the host does.
//! - `night_`, the scripts of `night/`, and the scripts of `gate/` in longer forms: `make night`. CPUs run at once
//!   there.
//! - `storm_`: scripts that take more than an hour.
//!
//! Relies on `hls_vm`, on stress-ng, and on the built `hls`. Where a machine cannot work there is no verdict, which is
//! neither a success nor a failure; it has an exit status of its own (`harness.rs`).

mod guest;
mod harness;
mod lanes;
mod selftests;

use harness::{Case, Report};
use hls_vm::Verdict;
use lanes::Lane;
use libtest_mimic::Arguments;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut cases = vec![Case::new("gate_a_kernel_without_sched_ext_is_an_error", no_sched_ext)];
    cases.extend(lanes::wanted(lanes::all()).into_iter().map(Lane::into_case));
    cases.push(Case::new("night_kernels_own_tests", selftests::pass_as_before));
    harness::run(Arguments::from_args(), cases)
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernel")
}

/// Runs only on a host with a kernel without sched_ext, so that the test can never attach a scheduler to the host.
fn no_sched_ext() -> Report {
    if Path::new("/sys/kernel/sched_ext").exists() {
        harness::say("skipped: this kernel has sched_ext\n");
        return Verdict::Held.into();
    }
    let mut hls = Command::new(env!("CARGO_BIN_EXE_hls"));
    hls.args(["run", "--engine", "kernel", "--for", "1ms"]).arg(here().join("any.kdl"));
    let output = hls.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("hls doctor says what this takes"), "{said}");
    Verdict::Held.into()
}
