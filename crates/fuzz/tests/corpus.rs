//! Every input that is kept goes through its target again: inputs that found defects, and inputs that cover what no
//! other does. `scripts/fuzz` says how an input comes to be kept.

use hls_fuzz::Target;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The most that all kept inputs may take: each clone of the repository has them.
const MOST_BYTES: usize = 1 << 20;

/// Inputs by their names: those of the target's archive, and those that a person named, in a folder if there are any.
fn inputs(target: Target) -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let (archive, named) = (corpus.join(target.name()).with_extension("tar.gz"), corpus.join(target.name()));
    let unpacked = tempfile::tempdir().expect("a folder");
    let mut tar = Command::new("tar");
    let status = tar.arg("-xzf").arg(archive).arg("-C").arg(unpacked.path()).status();
    assert!(status.is_ok_and(|status| status.success()), "the archive cannot be unpacked");
    let folders = [unpacked.path(), &named].into_iter().filter(|folder| folder.exists());
    let entries = folders.flat_map(|folder| fs::read_dir(folder).expect("a readable folder"));
    let input = |path: &Path| (path.display().to_string(), fs::read(path).expect("a readable file"));
    entries.map(|entry| input(&entry.expect("a readable folder").path())).collect()
}

/// The test fails as the target panics; the input with the name that was printed last is to blame: `scripts/fuzz
/// unpack` brings it back.
fn all_pass(target: Target) {
    let inputs = inputs(target);
    assert!(inputs.len() > 10, "found {} inputs for {}", inputs.len(), target.name());
    for (name, input) in inputs {
        println!("{name}");
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
