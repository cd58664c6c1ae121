//! The test machine brings back what a script prints, the files that it leaves, its exit status, and what goes wrong.
//!
//! Relies on QEMU, and on a kernel that is cached or can be fetched; each test is skipped where one is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hls_vm::{Flavour, Guest, Machine, OUT, Outcome, Script, Time, Vm};

fn cache() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/vm")
}

fn vm() -> Option<Vm> {
    Vm::open_or_skip(&cache(), Flavour::Cloud).unwrap()
}

/// A machine that does the same however busy the host is.
fn exact() -> Machine {
    Machine { cpus: 1, time: Time::Exact { shift: 0 }, ..Machine::default() }
}

/// Runs the command on a script with this text, with its results in `folder`, by TCG, so that every machine does the
/// same.
fn hls_vm(folder: &Path, script: &str, options: &[&str]) -> Output {
    let path = folder.join("script");
    fs::write(&path, script).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hls-vm"));
    command.args(["--accel", "tcg", "--cache"]).arg(cache()).arg("--results").arg(folder).args(options);
    command.arg(path).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn what_a_script_prints_leaves_and_exits_with_comes_back() {
    if vm().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "#!/bin/bash
        echo \"sched_ext is $(cat /sys/kernel/sched_ext/state)\"
        mkdir \"$OUT/deep\" && cp /usr/share/manifest \"$OUT/deep/copy\"
        exit 7
    ";
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let put_in = format!("{manifest}=/usr/share/manifest");
    let bash = "/bin/bash=/bin/bash";
    let output = hls_vm(folder.path(), script, &["--program", "bash", "--file", bash, "--file", &put_in]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "sched_ext is disabled\n");
    assert_eq!(fs::read(folder.path().join(OUT).join("deep/copy")).unwrap(), fs::read(manifest).unwrap());
}

#[test]
fn a_panic_of_the_kernel_is_reported_and_the_output_before_is_kept() {
    if vm().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Output that is still on its way through the serial port when the kernel panics is lost.
    let script = "#!/bin/sh\necho before\nsleep 1\necho c >/proc/sysrq-trigger\n";
    let output = hls_vm(folder.path(), script, &[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(126), "before\n"));
    assert!(text(&output.stderr).contains("the kernel complained: "), "{}", text(&output.stderr));
    assert!(fs::read_to_string(folder.path().join("kernel.log")).unwrap().contains("Kernel panic"));
}

#[test]
fn a_run_ends_at_its_limit() {
    if vm().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = hls_vm(folder.path(), "#!/bin/sh\nsleep 1000\n", &["--limit", "1s"]);
    assert_eq!(output.status.code(), Some(124), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_put_in_is_wrong_input() {
    if vm().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for options in [["--program", "no-such-program"], ["--file", "no-such-file=/x"], ["--file", "Cargo.toml"]]
    {
        let output = hls_vm(folder.path(), "#!/bin/sh\n", &options);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", text(&output.stderr));
    }
}

#[test]
fn two_exact_runs_are_the_same_to_the_byte() {
    let Some(vm) = vm() else { return };
    let folder = tempfile::tempdir().unwrap();
    // These differ from run to run on any other machine: random numbers, and times in nanoseconds.
    let script = "#!/bin/sh\nod -N 16 -x /dev/urandom\nsleep 3\ncat /proc/schedstat /proc/uptime\ndate\n";
    let guest =
        Guest { scripts: vec![Script { name: "times".into(), text: script.into() }], ..Guest::default() };
    let run = || vm.run_quietly(&exact(), &guest, folder.path()).unwrap();
    let (first, second) = (run(), run());
    assert!(first.is_clean(), "{first:?}");
    // All that the guest says; how long the host took may differ.
    let said = |outcome: &Outcome| {
        outcome
            .scripts
            .iter()
            .map(|script| (script.output.clone(), script.status, script.guest))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&first), said(&second));
    assert_eq!(first.kernel_log, second.kernel_log);
}

#[test]
fn what_a_script_leaves_running_ends_with_it() {
    let Some(vm) = vm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| Script { name: name.into(), text: text.into() };
    let leaves = script("leaves", "#!/bin/sh\nsleep 1000 &\n(sleep 1001 &)\nexit 3\n");
    let looks = script("looks", "#!/bin/sh\npidof sleep\n[ $? = 1 ]\n");
    let guest = Guest { scripts: vec![leaves, looks], ..Guest::default() };
    let outcome = vm.run_quietly(&exact(), &guest, folder.path()).unwrap();
    let said: Vec<_> = outcome.scripts.iter().map(|script| (script.status, script.output.as_str())).collect();
    assert_eq!(said, [(Some(3), ""), (Some(0), "")], "{outcome:?}");
}

#[test]
#[ignore = "needs another kernel: make night"]
fn a_real_time_kernel_boots_beside_the_other_one() {
    let Some(other) = vm() else { return };
    if Vm::open_or_skip(&cache(), Flavour::Rt).unwrap().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\nuname -rv\ncat /sys/kernel/sched_ext/state\ntest -s /sys/kernel/btf/vmlinux\n";
    let output = hls_vm(folder.path(), script, &["--kernel", "rt"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("PREEMPT_RT") && said.ends_with("disabled\n"), "{said}");
    assert!(!said.contains(&other.kernel().release), "{said}");
}
