//! `hls ctl` against a server in this process, whose engine is the native core.

#[path = "../../../control/tests/support/mod.rs"]
mod support;

use crate::outcome::{Outcome, assert_refused, files, hls};
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
            (&["create", "round-robin", "PS", "--below", "RES"], 2, "hls: found a scheduler `PS` already"),
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
            let Outcome { code: found, stdout, stderr } = ask(words);
            assert_eq!(found, Some(code), "{words:?}: {stdout}{stderr}");
            assert!((stdout + &stderr).contains(said), "{words:?}: expected {said}");
        }
        let Outcome { code, stdout, .. } = ask(&["status"]);
        assert_eq!(code, Some(0));
        hls_golden::assert_golden(&files().join("ctl-status.txt"), &stdout);
        let status: serde_json::Value = serde_json::from_str(&ask(&["status", "--json"]).stdout).unwrap();
        assert_eq!(status["schedulers"][1]["name"], "RES");
        assert_eq!(status["threads"][0]["guarantee"], "RESBH 5ms 50ms");
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
}
