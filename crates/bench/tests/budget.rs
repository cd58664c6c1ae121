//! A load of the engine costs at most a few percent more than `experiments/cost/policies.csv` says: what the verifier
//! walks, the largest program, and the instructions of a load. `make bless` writes the figures anew.
//!
//! Relies on the test machine. Where there is none the test says so and is skipped, except in continuous integration.

use hls_vm::{Flavour, Vm};
use std::path::Path;
use std::process::Command;

#[test]
fn a_load_costs_no_more_than_it_did() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if Vm::open_or_skip(&root.join(".cache/vm"), Flavour::Cloud).unwrap().is_none() {
        return;
    }
    let part = if hls_golden::is_blessing() { "policies" } else { "budget" };
    let output = Command::new(env!("CARGO_BIN_EXE_cost")).arg(part).current_dir(root).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}", said.concat());
}
