//! The decision as the kernel's dispatch operation takes it, `schedule_fast`, beside `hls_schedule`: tapes of random
//! events in random hierarchies have the same results, and leave the same bytes. `HLS_SEEDS=20000` makes a campaign of
//! it.
//!
//! Relies on the compiler of the core.

#[path = "../policies.rs"]
mod policies;

use hls_core::{Call, Calls, Core, Library, Op};
use hls_scenario::Trial;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A build of the core with `schedule_fast` for decisions.
fn fast() -> Arc<Library> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schedule_fast.so");
    let flags = fs::read_to_string(root.join("core/port/native.flags")).unwrap();
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let mut compiler = Command::new("cc");
    compiler.args(flags).args(["-shared", "-fPIC", "-o"]).arg(&object);
    for policy in policies::policies(&root).unwrap() {
        compiler.arg("-include").arg(policy);
    }
    let status = compiler.arg(here.join("tests/schedule_fast.c")).status();
    assert!(status.is_ok_and(|status| status.success()), "the core cannot be compiled");
    Arc::new(Library::open(&object).unwrap())
}

#[test]
fn fast_decisions_are_the_same() {
    let library = fast();
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    for seed in 0..seeds {
        let tape = Trial::of_built_in().run(seed).unwrap_or_else(|finding| panic!("seed {seed}: {finding}"));
        let (mut usual, mut fast) = (Core::new(), Core::new());
        fast.set_library(Some(library.clone()));
        for (at, call) in tape.iter().enumerate() {
            let op = Op::from_number(call.op).expect("it was recorded");
            let made = |core: &mut Core| core.make(op, Call { result: 0, ..*call }).expect("it was recorded");
            let (usual, fast) = (made(&mut usual), made(&mut fast));
            assert_eq!(usual, fast, "seed {seed}, call {at}: {call}");
        }
        assert!(usual.memory() == fast.memory(), "seed {seed}");
    }
}
