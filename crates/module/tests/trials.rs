//! Policies on trial as modules: those that are built in pass.

use hls_core::Library;
use hls_module::{Builder, PolicyFile, Target};
use hls_scenario::Trial;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A policy as a native build has it, opened.
fn opened(policy: PolicyFile) -> Arc<Library> {
    let built = Builder::default().build(Target::Native, &[(64, policy)]).unwrap_or_else(|error| panic!("{error}"));
    let file = tempfile::NamedTempFile::new().expect("there is room");
    fs::write(file.path(), built.bytes).expect("there is room");
    Arc::new(Library::open(file.path()).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn policies_that_are_built_in_pass_as_modules() {
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    let paths = fs::read_dir("../../policies").expect("it is there").map(|entry| entry.expect("it is listed").path());
    let paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    assert!(paths.len() >= 7, "{paths:?}");
    for path in paths {
        let file = PolicyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let library = opened(file.renamed(&format!("my-{}", file.name())).expect("it is a name"));
        let trial = Trial::of_loaded(library);
        for seed in 0..seeds {
            if let Err(finding) = trial.run(seed) {
                panic!("{}, seed {seed}, after {} events: {finding}", path.display(), finding.after);
            }
        }
    }
}
