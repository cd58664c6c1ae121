//! `hls baseline`: it runs real threads, so these tests check only what does not depend on the speed of the machine.

use super::outcome::{Outcome, assert_refused, figure_1, hls};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_threads_of_a_file_run_as_they_are() {
    let Outcome { code, stdout, stderr } = hls(&["baseline", &figure_1(), "--for", "300ms"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{stdout}");
    assert!(stdout.starts_with("300ms on 1 CPU under the system's own scheduler (seed 0)\n"), "{stdout}");
    for thread in ["video player", "word processor", "voice recognition"] {
        assert!(stdout.contains(thread), "{stdout}");
    }
}

#[test]
fn the_json_of_a_baseline_has_the_fields_of_a_run() {
    // On a busy machine a thread may have had no CPU, and what the host takes from a virtual one counts as CPU time.
    // Neither happens each time.
    let one_cpu_was_shared = || {
        let outcome = hls(&["baseline", &figure_1(), "--for", "300ms", "--seed", "3", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!((&json["engine"], &json["seed"]), (&"linux".into(), &3.into()));
        let ran = |thread: usize| json["threads"][thread]["ran_ns"].as_u64().unwrap();
        ran(2) > 0 && ran(0) + ran(1) + ran(2) <= 310_000_000
    };
    assert!((0..20).any(|_| one_cpu_was_shared()));
}

#[test]
fn what_cannot_be_run_is_refused() {
    assert_refused(&["baseline", "no-such-file.kdl"], &["cannot read no-such-file.kdl"]);
    assert_refused(&["baseline", &figure_1(), "--for", "0s"], &["expected a time longer than 0"]);
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Calls `what` until it returns something.
fn await_it<T>(what: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = what() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_threads_end_with_the_command_that_is_killed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hls"));
    command.args(["baseline", &figure_1(), "--for", "1h"]).stdout(Stdio::null());
    let mut command = command.spawn().unwrap();
    let process = await_it(|| children(command.id()).first().copied());
    let tasks = format!("/proc/{process}/task");
    await_it(|| fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() == 4).then_some(()));
    command.kill().unwrap();
    command.wait().unwrap();
    // The process has ended, or is a zombie until its new parent waits for it.
    await_it(|| {
        let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        (!Path::new(&tasks).exists() || state.contains(") Z ")).then_some(())
    });
}
