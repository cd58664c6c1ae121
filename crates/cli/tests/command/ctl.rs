//! `hls ctl` against a server in this process, with the native core as its engine.

#[path = "../../../control/tests/support/mod.rs"]
mod support;

use super::outcome::{Outcome, assert_refused, files, hls};
use std::os::unix::fs::MetadataExt;
use support::{BOBS, manager, with_server};

/// Makes each kind of request with `hls ctl`, as root, one after the other, and compares what is printed.
#[test]
fn every_request_is_answered() {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        println!("skipped: only root may change every scheduler");
        return;
    }
    with_server(manager(), |socket| {
        let socket = socket.to_str().unwrap();
        let ask = |words: &[&str]| hls(&[&["ctl", "--socket", socket], words].concat());
        let thread = BOBS.to_string();
        for (words, code, said) in [
            (
                &["create", "proportional-share", "PS", "--below", "RES", "guarantee=RESBH 4ms 20ms"][..],
                0,
                "created `PS` below `RES`, which promises it RESBH 4ms 20ms\n",
            ),
            (
                &["create", "round-robin", "PS", "--below", "RES"],
                2,
                "hls: found a scheduler `PS` already, a `proportional-share` of user 0",
            ),
            (
                &["move", &thread, "--to", "PS", "share=3"],
                0,
                "thread 200 is below `PS`, which promises it PSBE",
            ),
            (&["move", &thread, "--to", "PS", "share=3", "share=4"], 2, "hls: found `share=3` and `share=4`"),
            (&["message", &thread, "share=2"], 0, "thread 200 is below `PS`, which promises it"),
            (&["destroy", "PS"], 2, "hls: found thread 200 below `PS`, expected no children"),
            (
                &["reserve", &thread, "RESBH 4ms 20ms"],
                0,
                "thread 200 is below `RES`, which promises it RESBH 4ms 20ms\n",
            ),
            (&["reserve", &thread, "RESBH 8ms 20ms"], 1, "\nRESBH 4ms 20ms would be granted\n"),
            (&["reserve", &thread, "RESBH 2ms 20ms", "--below", "X"], 2, "hls: found no scheduler `X`"),
            (&["release", &thread], 0, "thread 200 is below the default scheduler"),
            (&["release", "4711"], 2, "hls: found no thread 4711"),
            (&["destroy", "PS"], 0, "destroyed `PS`\n"),
            (&["create", "join", "J", "--below", "ALICE"], 0, "created `J`"),
            (&["move", "100", "--to", "J"], 0, "thread 100 is below `J`, which promises it"),
        ] {
            answers(&ask, words, code, said);
        }
        let Outcome { code, stdout, .. } = ask(&["status"]);
        assert_eq!(code, Some(0));
        hls_golden::assert_golden(&files().join("ctl-status.txt"), &stdout);
        let status: serde_json::Value = serde_json::from_str(&ask(&["status", "--json"]).stdout).unwrap();
        assert_eq!(status["schedulers"][1]["name"], "RES");
        assert_eq!(status["threads"][0]["guarantee"], "RESBH 5ms 50ms");
    });
}

/// A request of a run that ends is not a wrong one, and not a refusal.
#[test]
fn the_end_of_a_run_is_told() {
    let mut manager = manager();
    manager.engine().ends_after = Some(0);
    with_server(manager, |socket| {
        let socket = socket.to_str().unwrap();
        let ask = |words: &[&str]| hls(&[&["ctl", "--socket", socket], words].concat());
        for words in [&["status"][..], &["release", "200"], &["release", "4711"]] {
            answers(&ask, words, 3, "hls: the run has ended\n");
        }
    });
}

/// The request is answered with this exit code, and with a text that has `said` in it.
#[track_caller]
fn answers(ask: &impl Fn(&[&str]) -> Outcome, words: &[&str], code: i32, said: &str) {
    let Outcome { code: found, stdout, stderr } = ask(words);
    assert_eq!(found, Some(code), "{words:?}: {stdout}{stderr}");
    assert!((stdout.clone() + &stderr).contains(said), "{words:?}: {stdout}{stderr}, expected {said}");
}

#[test]
fn threads_are_granted_and_revoked() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: only root may change every scheduler");
        return;
    }
    with_server(manager(), |socket| {
        let socket = socket.to_str().unwrap();
        let ask = |words: &[&str]| hls(&[&["ctl", "--socket", socket], words].concat());
        for (words, code, said) in [
            (&["create", "user-level", "U", "--below", "ALICE"][..], 0, "created `U` below `ALICE`"),
            (&["grant", "U", "200", "urgency=5", "slot=3"], 0, "thread 200 is below `U`"),
            (
                &["grant", "U", "101", "slot=3"],
                2,
                "hls: found slot 3 of `U` taken, expected one that is free",
            ),
            (&["grant", "U", "101", "share=3"], 2, "hls: found the parameter `share`, expected `urgency`"),
            (&["grant", "U", "101", "slot=x"], 2, "hls: found `slot=x`, expected a whole number"),
            (&["revoke", "200"], 0, "thread 200 is below `ALICE`, which promises it"),
            (&["revoke", "200"], 2, "hls: thread 200: found `ALICE`, whose policy is proportional-share"),
            (&["grant", "U", "200"], 0, "thread 200 is below `U`"),
            (&["suspend", "200", "--by", "X"], 2, "hls: found no scheduler `X`"),
            (&["suspend", "200", "--by", "ALICE"], 0, "thread 200 is suspended by `ALICE`\n"),
            (&["status"], 0, ", suspended by ALICE "),
            (&["suspend", "200"], 2, "hls: found thread 200 suspended by `ALICE`"),
            (&["resume", "200"], 0, "thread 200 is no longer suspended by `ALICE`\n"),
            (&["resume", "200"], 2, "hls: found no suspended thread 200, expected one"),
            (&["demote", "U"], 0, "destroyed `U`; 1 thread is elsewhere now\n"),
            (&["demote", "U"], 2, "hls: found no scheduler `U`"),
            (&["release", "200"], 0, "thread 200 is below the default scheduler"),
        ] {
            answers(&ask, words, code, said);
        }
    });
}

/// The command is the process that asked: it has the agent's number, and inherits the pages under the numbers that the
/// environment says.
#[test]
fn a_command_becomes_a_scheduler() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: only root may change every scheduler");
        return;
    }
    let mut manager = manager();
    manager.engine().knows_real = true;
    with_server(manager, |socket| {
        let socket = socket.to_str().unwrap();
        let below = ["ctl", "--socket", socket, "promote", "a:b", "--below", "ALICE", "share=2", "--"];
        let program = "\
            echo $HLS_SCHEDULER | sed 's/:[0-9]*:[0-9]*$/ has pages/'; echo width $HLS_WIDTH
            fds=${HLS_SCHEDULER#a:b:}; readlink /proc/self/fd/${fds%:*} /proc/self/fd/${fds#*:}
            \"$0\" ctl --socket \"$1\" status | grep -A1 'a:b' | sed \"s/$$/PID/; s/  */ /g\"";
        let hls_itself = env!("CARGO_BIN_EXE_hls");
        let Outcome { code, stdout, stderr } =
            hls(&[&below[..], &["sh", "-c", program, hls_itself, socket]].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        let lines: Vec<&str> = stdout.lines().map(str::trim).collect();
        assert_eq!(lines[..4], ["a:b has pages", "width 1", "/dev/zero", "/dev/null"], "{stdout}");
        assert!(lines[4].contains("a:b user-level"), "{stdout}");
        assert!(lines[5].contains("(PID) thread NULL"), "{stdout}");
        let ask = |words: &[&str]| hls(&[&["ctl", "--socket", socket], words].concat());
        let Outcome { code, stderr, .. } = hls(&[&below[..], &["no-such-program"]].concat());
        assert_eq!(code, Some(2));
        assert!(stderr.contains("cannot start `no-such-program`: No such file"), "{stderr}");
        let Outcome { stdout, .. } = ask(&["status"]);
        assert!(stdout.contains("ALICE") && !stdout.contains("a:b"), "it goes with its process: {stdout}");
    });
}

#[test]
fn a_request_without_a_running_hierarchy_is_refused() {
    let Outcome { code, stderr, .. } = hls(&["ctl", "status", "--socket", "none.sock"]);
    assert_eq!(code, Some(3));
    assert!(stderr.contains("found no hierarchy that runs at none.sock"), "{stderr}");
}

#[test]
fn arguments_of_ctl_are_read_or_refused() {
    assert_refused(&["ctl"], &["Usage: hls ctl"]);
    assert_refused(&["ctl", "move", "1", "--to", "X", "share"], &["found `share`, expected PARAM=VALUE"]);
    assert_refused(&["ctl", "release", "init"], &["found `init`, expected the number of a thread"]);
    assert_refused(&["ctl", "create", "round-robin", "RR"], &["--below"]);
    assert_refused(&["ctl", "promote", "U", "--below", "RES"], &["-- <COMMAND>..."]);
    assert_refused(&["ctl", "grant", "U", "init"], &["found `init`, expected the number of a thread"]);
}
