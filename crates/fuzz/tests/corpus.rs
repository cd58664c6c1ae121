//! Every input that is kept goes through its target again: inputs that found defects, and inputs that cover what no
//! other does. `scripts/fuzz` says how an input comes to be kept.

use hls_fuzz::Target;
use std::fs;
use std::path::PathBuf;

/// The most that all kept inputs may take: each clone of the repository has them.
const MOST_BYTES: usize = 1 << 20;

fn inputs(target: Target) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(target.corpus()).expect("a folder for each target");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    paths.map(|path| (path.clone(), fs::read(path).expect("a readable file"))).collect()
}

/// The test fails as the target panics; the input with the name that was printed last is to blame.
fn all_pass(target: Target) {
    let inputs = inputs(target);
    assert!(inputs.len() > 10, "found {} inputs for {}", inputs.len(), target.name());
    for (path, input) in inputs {
        println!("{}", path.display());
        target.run(&input);
    }
}

#[test]
fn hierarchy() {
    all_pass(Target::Hierarchy);
}

#[test]
fn workload() {
    all_pass(Target::Workload);
}

#[test]
fn socket() {
    all_pass(Target::Socket);
}

#[test]
fn declared() {
    all_pass(Target::Declared);
}

#[test]
fn object() {
    all_pass(Target::Object);
}

#[test]
fn pages() {
    all_pass(Target::Pages);
}

#[test]
fn the_corpus_is_small() {
    let sizes = Target::ALL.into_iter().flat_map(inputs).map(|(_, input)| input.len());
    let all: usize = sizes.sum();
    assert!(all <= MOST_BYTES, "found {all} bytes, expected at most {MOST_BYTES}");
}
