//! The kernel's own tests of sched_ext, built once, from the source of the very kernel that the test machine boots; the
//! program that runs them is kept beside the kernel.

use crate::guest::{self, cache};
use crate::harness::{Report, say};
use crate::here;
use crate::lanes::{exact, script};
use hls_vm::{Error, Flavour, Guest, Machine, OUT, Script, Verdict, Vm};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The parts of the kernel's source that the tests' Makefile needs.
const PARTS: [&str; 4] = ["tools", "scripts", "include", "kernel/bpf"];

/// The kernel's tests of sched_ext end as they did before the engine was attached.
pub fn pass_as_before() -> Report {
    verdict().unwrap_or_else(|error| error.verdict()).into()
}

fn verdict() -> Result<Verdict, Error> {
    let runner = runner(&Vm::open(&cache(), Flavour::Cloud)?, &cache());
    // The kernel's tests have deadlines of a second, which a busy host would miss.
    let tests = vec![script(&here().join("night/selftests.sh"), "CYCLES=5\n")];
    let mut outcome = guest::run(Flavour::Cloud, &exact(2, 0), tests, Some(runner))?;
    // The kernel complains, as it should: many of its tests load schedulers that do wrong.
    outcome.problems.clear();
    outcome.scripts.iter().for_each(|script| say(&script.output));
    Ok(outcome.verdict())
}

/// The path of the program that runs the kernel's tests; builds it where it is not there yet.
fn runner(vm: &Vm, cache: &Path) -> PathBuf {
    let runner = cache.join("selftests/runner");
    if !runner.is_file() {
        fs::create_dir_all(cache.join("selftests")).unwrap();
        // A path without `..`, which the tests' Makefile misreads.
        let work = tempfile::tempdir_in(cache.canonicalize().unwrap()).unwrap();
        vm.unpack_source(&PARTS, work.path()).unwrap();
        make(work.path(), &types(vm, &work.path().join("guest")));
        fs::rename(work.path().join("built/runner"), &runner).unwrap();
    }
    runner
}

fn make(source: &Path, types: &Path) {
    let mut make = Command::new("make");
    make.arg("-C").arg(source.join("tools/testing/selftests/sched_ext")).args(["CLANG=clang-19", "-j2"]);
    make.arg(format!("VMLINUX_BTF={}", types.display()));
    let made = source.join("built");
    fs::create_dir(&made).unwrap();
    let output = make.arg(format!("OUTPUT={}", made.display())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The description of the kernel's types (BTF) that the running kernel has in itself.
fn types(vm: &Vm, folder: &Path) -> PathBuf {
    let text = "#!/bin/sh -e\ncp /sys/kernel/btf/vmlinux \"$OUT\"\n";
    let guest =
        Guest { scripts: vec![Script { name: "types".into(), text: text.into() }], ..Guest::default() };
    let outcome = vm.run_quietly(&Machine::default(), &guest, folder).unwrap();
    assert!(outcome.is_clean(), "{:?}", outcome.problems);
    folder.join(OUT).join("vmlinux")
}
