//! Policies of one's own: begun, built, refused.

use crate::outcome::{Outcome, assert_refused, hls};
use std::fs;

#[test]
fn a_new_policy_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let Outcome { code, stdout, stderr } = hls(&["policy", "new", "asked-times", "--to", &path("mine")]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    let policy = path("mine/asked_times.c");
    assert!(stdout.contains(&policy) && fs::exists(path("mine/asked_times.kdl")).unwrap(), "{stdout}");
    // What is there stays.
    fs::write(path("mine/asked_times.kdl"), "mine").unwrap();
    let again = ["policy", "new", "asked-times", "--to", &path("mine")];
    assert_refused(&again, &["asked_times.c: there is a file already"]);
    assert_eq!(fs::read_to_string(path("mine/asked_times.kdl")).unwrap(), "mine");

    let Outcome { code, stdout, stderr } =
        hls(&["policy", "build", &policy, "--as", "asked-times-2", "--out", &path("built")]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
    for name in ["asked_times_2.so", "asked_times_2.bpf.o"] {
        assert!(stdout.contains(&path(&format!("built/{name}"))), "{stdout}");
        assert!(fs::read(path(&format!("built/{name}"))).unwrap().starts_with(b"\x7fELF"));
    }
}

#[test]
fn the_contract_is_printed() {
    let Outcome { code, stdout, stderr } = hls(&["policy", "contract"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(stdout.contains("The contract for policies") && stdout.contains("list_push_tail"), "{stdout}");
}

#[test]
fn a_policy_that_is_wrong_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turns.c").display().to_string();
    assert_refused(&["policy", "build", &path], &[&format!("{path}: error: cannot be read")]);
    fs::write(&path, "int x;").unwrap();
    assert_refused(&["policy", "build", &path], &["error: does not say what it is"]);
    let [(_, text), _] = hls_module::Template::new("turns").unwrap().files;
    fs::write(&path, text.replace("return v;", "return w;")).unwrap();
    let line = text.lines().position(|line| line.contains("return v;")).unwrap() + 1;
    assert_refused(&["policy", "build", &path], &[&format!("{path}:{line}:"), "error: 'w' undeclared"]);
    assert_refused(&["policy", "build", &path, "--as", "Turns"], &["found the new name \"Turns\""]);
    assert_refused(&["policy", "new", "round-robin"], &["found the name \"round-robin\", which is taken"]);
}
