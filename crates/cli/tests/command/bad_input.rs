//! Wrong input, each kind beside input that is right. The messages name the place of each error, all errors of a file
//! at once, and the exit code is 2; it is 1 where the file is right and a guarantee cannot be given.

use super::outcome::{Outcome, assert_refused, figure_1, files, hls};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Checks every `tests/files/*.kdl`, or runs it with the workload beside it, and compares what is printed with the text
/// beside it.
#[test]
fn every_file_gets_the_answer_beside_it() {
    let entries = files().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut inputs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "kdl")).collect();
    inputs.sort();
    assert!(inputs.len() >= 15, "the test files are lost");
    for path in inputs {
        let name = path.file_name().unwrap().to_str().unwrap();
        let workload = path.with_extension("json");
        let Outcome { code, stdout, stderr } = if workload.exists() {
            hls(&["run", name, "--for", "100ms", "--workload", &name.replace(".kdl", ".json")])
        } else {
            hls(&["check", name])
        };
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
        assert_one_verdict(name, code, &stdout);
        let found = format!("exit code {}\n--- stderr\n{stderr}--- stdout\n{stdout}", code.unwrap());
        assert!(!found.contains("online here"), "{name}: expected a file that states `machine cpus=`");
        hls_golden::assert_golden(&path.with_extension("txt"), &found);
    }
}

/// Asserts that a check that could be made prints one verdict, as the last line, and that the exit code agrees with it.
fn assert_one_verdict(name: &str, code: Option<i32>, stdout: &str) {
    let is_verdict = |line: &&str| line.starts_with("kept") || line.starts_with("NOT KEPT");
    let verdicts: Vec<&str> = stdout.lines().filter(is_verdict).collect();
    let Some(verdict) = verdicts.first().filter(|_| code < Some(2)) else { return };
    assert_eq!(verdicts.len(), 1, "{name}: {stdout}");
    assert!(stdout.ends_with(&format!("{verdict}\n")), "{name}: {stdout}");
    assert_eq!(code, Some(if verdict.starts_with("kept") { 0 } else { 1 }), "{name}: {stdout}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for read in [&["check"][..], &["run", &figure_1(), "--workload"]] {
        let with = |file| [read, &[file]].concat();
        assert_refused(&with("missing.file"), &["hls: cannot read missing.file: No such file"]);
        assert_refused(&with(path), &["hls: cannot read ", path, "directory"]);
        assert_refused(&with("/dev/zero"), &["hls: cannot read /dev/zero: found more than 16777216 bytes"]);
    }
}

/// Programs have the same answer from the command as from the library, whether or not the file is wrong; a wrong file's
/// errors are on standard error, too.
#[test]
fn every_file_has_an_answer_for_programs() {
    let entries = files().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_checked = |path: &PathBuf| path.extension().is_some_and(|e| e == "kdl");
    let mut codes = BTreeSet::new();
    for path in entries.filter(|path| is_checked(path) && !path.with_extension("json").exists()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Outcome { code, stdout, stderr } = hls(&["check", name, "--json"]);
        let check = hls_facade::check(&fs::read_to_string(&path).unwrap(), &Default::default());
        assert_eq!(stdout, serde_json::to_string_pretty(&check).unwrap() + "\n", "{name}");
        assert_eq!(code, Some(check.exit_code.into()), "{name}");
        if code == Some(2) {
            assert_eq!(stderr, hls(&["check", name]).stderr, "{name}");
        }
        codes.insert(code);
    }
    assert_eq!(codes.len(), 3, "{codes:?}");

    let Outcome { code, stdout, stderr } = hls(&["check", "missing.file", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &answer["exit_code"]), (Some(2), &2.into()));
    let [message] = &answer["messages"].as_array().unwrap()[..] else { panic!("{stdout}") };
    assert_eq!(
        (&message["line"], format!("hls: {}\n", message["text"].as_str().unwrap())),
        (&0.into(), stderr)
    );
}

#[test]
fn policies_that_cannot_be_read_have_the_place_of_their_statement() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("loads.kdl");
    fs::write(
        &path,
        "machine cpus=1\nload \"none.c\"\nload \"two.c\"\nround-robin \"RR\" { thread \"a\" }\n",
    )
    .unwrap();
    assert_refused(
        &["check", path.to_str().unwrap()],
        &[
            "loads.kdl:2:1: error: `load`: found `none.c` (",
            "No such file",
            "loads.kdl:3:1: error: ",
            "directory",
        ],
    );
}

#[test]
fn bytes_that_are_no_text_have_a_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bytes.kdl");
    fs::write(&path, b"fixed-priority \"F\xff\" { }\n").unwrap();
    assert_refused(
        &["check", path.to_str().unwrap()],
        &["bytes.kdl:1:18: error: ", "found the byte 0xff, expected UTF-8"],
    );
}

#[test]
fn a_megabyte_of_nesting_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nest.kdl");
    let open = "join {".repeat(1 << 18);
    let whole = open.clone() + &"}".repeat(1 << 18);
    for text in [open, whole] {
        fs::write(&path, text).unwrap();
        assert_refused(
            &["check", path.to_str().unwrap()],
            &["nest.kdl:1:", ": error: ", "found ", "expected "],
        );
    }
}

#[test]
fn arguments_are_read_or_refused() {
    let file = figure_1();
    let refused = |args: &[&str], words: &[&str]| assert_refused(&[&["run", &file], args].concat(), words);
    for (time, found) in [
        ("5", "bare number `5`"),
        ("0s", "no time at all"),
        ("-1s", "-1s"),
        ("1sec", "sec"),
        ("9999h", "at most a year"),
    ] {
        refused(&["--for", time], &["--for <TIME>", found]);
    }
    refused(&["--seed", "x"], &["--seed <SEED>", "found `x`, expected a whole number"]);
    refused(&["--seed", "-1"], &["found `-1`"]);
    refused(&["--seed", "18446744073709551616"], &["found `18446744073709551616`"]);
    refused(&["--window", "5"], &["expected FROM..TO"]);
    refused(&["--window", "2s..1s"], &["expected FROM..TO"]);
    refused(&["--engine", "kernal"], &["possible values: sim"]);
    refused(&["--mode", "best"], &["possible values: tight, paper"]);
    let read = ["run", &file, "--for", "1ms", "--seed", "18446744073709551615", "--window", "0s..1ms"];
    assert_eq!(hls(&read).code, Some(0));
}

#[test]
fn an_explained_node_exists_or_is_refused() {
    let file = figure_1();
    let expected = "expected a scheduler or thread of the file: `FP`, `RES`, `J`, `PS`, `video player`";
    assert_refused(&["check", &file, "--explain", "PX"], &["--explain: found `PX`, ", expected]);
    let explained = hls(&["check", &file, "--explain", "PS", "--explain", "video player"]);
    assert_eq!(explained.code, Some(0));
    for words in [
        "PS, scheduled by J:",
        "video player, scheduled by RES:",
        "which gives what is asked for: RESBH 5ms 33ms",
    ] {
        assert!(explained.stdout.contains(words), "{}", explained.stdout);
    }
    let refused = hls(&["check", "instances.kdl", "--explain", "t-59999"]);
    assert_eq!(refused.code, Some(1));
    let because =
        "which does not give what is asked for, RESBS 1ms 10ms: RESCS 10ms 600s promises 0s in every";
    assert!(refused.stdout.contains(because), "{}", refused.stdout);
    assert_refused(&["check", "instances.kdl", "--explain", "t-60000"], &["found `t-60000`"]);
}
