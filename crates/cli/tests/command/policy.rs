//! `hls policy`: a policy of one's own is begun, built, tried, or refused.

use super::outcome::{Outcome, assert_refused, hls};
use std::fs;
use std::os::unix::fs::chown;

#[test]
fn a_new_policy_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let Outcome { code, stdout, stderr } = hls(&["policy", "new", "asked-times", "--to", &path("mine")]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    let policy = path("mine/asked_times.c");
    assert!(stdout.contains(&policy) && fs::exists(path("mine/asked_times.kdl")).unwrap(), "{stdout}");
    // Files that exist are not overwritten.
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
    assert!(
        stdout.contains("between the infrastructure and a policy") && stdout.contains("list_push_tail"),
        "{stdout}"
    );
}

#[test]
fn a_policy_that_is_wrong_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turns.c").display().to_string();
    assert_refused(&["policy", "build", &path], &[&format!("{path}: error: cannot be read")]);
    fs::write(&path, "int x;").unwrap();
    assert_refused(&["policy", "build", &path], &["error: found no policy"]);
    let [(_, text), _] = &hls_policy_build::Template::new("turns").unwrap().files;
    fs::write(&path, text.replace("return v;", "return w;")).unwrap();
    let line = text.lines().position(|line| line.contains("return v;")).unwrap() + 1;
    assert_refused(&["policy", "build", &path], &[&format!("{path}:{line}:"), "error: 'w' undeclared"]);
    assert_refused(&["policy", "build", &path, "--as", "Turns"], &["found the new name \"Turns\""]);
    let taken = [
        ("round-robin", "a built-in policy (policies/round_robin.c)"),
        ("rescue", "a file of hls itself (bpf/rescue.h)"),
    ];
    for (name, by) in taken {
        let what = format!("found the name {name:?}, which is taken by {by}, expected another");
        assert_refused(&["policy", "new", name], &[&what]);
    }
    fs::create_dir(folder.path().join("other")).unwrap();
    let other = folder.path().join("other/turns.c").display().to_string();
    for file in [&path, &other] {
        fs::write(file, text).unwrap();
    }
    let twice = format!("found the name `turns`, which is taken by the policy of {path}, expected another");
    assert_refused(&["policy", "build", &path, &other], &[&twice]);
}

/// What no compiler reads is read all the same, wherever the policy is built, and refused with its line.
#[test]
fn what_a_policy_declares_is_read_when_it_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [(_, text), (_, hierarchy)] = hls_policy_build::Template::new("turns").unwrap().files;
    fs::write(path("turns.kdl"), hierarchy).unwrap();
    // Writes the policy with this declaration. Returns the line on which the declaration begins.
    let declares = |what: &str| {
        let text = text.replace("    .state_version", &format!("{what},\n    .state_version"));
        fs::write(path("turns.c"), &text).unwrap();
        1 + text.lines().position(|line| line.starts_with(what.lines().next().unwrap())).unwrap()
    };
    declares(r#".provides = "RESCS quantum * weight" /* in */ " sum(quantum * weight)""#);
    let Outcome { code, stderr, .. } = hls(&["policy", "build", &path("turns.c")]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));

    let line = declares(
        ".accepts = \"ALL or NONE\",\n.provides =\n\t\"RESCS quantum * weight\"\n\t\" sum(quantum * wait)\"",
    );
    let accepts = format!("{}:{line}:20: error: `.accepts`: found `NONE`", path("turns.c"));
    let provides = format!("{}:{}:18: error: `.provides`: found `wait`", path("turns.c"), line + 3);
    for command in [&["policy", "build"][..], &["policy", "test"]] {
        assert_refused(&[command, &[&path("turns.c")]].concat(), &[&accepts, &provides]);
    }
    assert_refused(&["check", &path("turns.kdl")], &[&accepts, &provides]);
    // Where the text is a macro, the error names the line of the struct that uses the macro.
    let line = declares(".provides = TURNS_PROVIDES");
    let text = format!("#define TURNS_PROVIDES \"RESCS\"\n{}", fs::read_to_string(path("turns.c")).unwrap());
    fs::write(path("turns.c"), text).unwrap();
    let expected = format!("{}:{}:1: error: `.provides`: found the end", path("turns.c"), line + 1);
    assert_refused(&["policy", "build", &path("turns.c")], &[&expected]);

    // A name that has another meaning in hierarchy files.
    let [(_, text), _] = hls_policy_build::Template::new("thread").unwrap().files;
    fs::write(path("thread.c"), &text).unwrap();
    let line = text.lines().position(|line| line.contains(".name = ")).unwrap() + 1;
    let expected = [&format!("{}:{line}:", path("thread.c"))[..], "found the name `thread`"];
    assert_refused(&["policy", "build", &path("thread.c")], &expected);
}

/// A folder with a policy, turns.c, and a hierarchy that loads it, turns.kdl. As soon as its native build is loaded the
/// policy does something: it writes the file `evidence` there.
fn attackers_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let [(_, text), (_, hierarchy)] = hls_policy_build::Template::new("turns").unwrap().files;
    let evidence = path("evidence").display().to_string();
    let attacker = format!(
        "{text}\nint open(const char *, int, ...);\n__attribute__((constructor)) static void turns_attack(void)\n\
         {{\n\topen(\"{evidence}\", 0101, 0600);\n}}\n"
    );
    fs::write(path("turns.c"), attacker).unwrap();
    fs::write(path("turns.kdl"), hierarchy).unwrap();
    folder
}

/// Native code of a policy runs where a simulation is asked for, and nowhere else.
#[test]
fn only_a_simulation_runs_the_code_of_a_policy() {
    let folder = attackers_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (policy, hierarchy) = (path("turns.c"), path("turns.kdl"));
    let natively = ["policy", "build", &policy, "--cache", &path("cache"), "--out", &path("built")];
    for command in [&["check", &hierarchy][..], &["fit", &hierarchy], &natively] {
        let Outcome { code, stderr, .. } = hls(command);
        // The BPF compiler may not take it.
        assert!(code == Some(0) || stderr.contains("constructor") || command[0] == "fit", "{stderr}");
        assert!(!fs::exists(path("evidence")).unwrap(), "{command:?} ran code of the policy");
    }
    // The attack is one: where the code is to run, it does.
    let Outcome { code, stderr, .. } = hls(&["run", &hierarchy, "--for", "10ms"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(fs::exists(path("evidence")).unwrap());
}

/// Root does not run another user's file because a hierarchy file names it.
#[test]
fn root_runs_no_code_that_others_can_write() {
    let folder = attackers_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (policy, hierarchy) = (path("turns.c"), path("turns.kdl"));
    if let Err(error) = chown(&policy, Some(1234), None) {
        eprintln!("skipped: only root can give a file away ({error})");
        return;
    }
    let expected = [&format!("{policy}: user 1234 can write to it, and its code would run as root")[..]];
    assert_refused(&["run", &hierarchy, "--for", "10ms"], &expected);
    assert_refused(&["policy", "test", &policy, "--seeds", "1"], &expected);
    // What a policy says of itself is read all the same.
    let Outcome { code, stderr, .. } = hls(&["check", &hierarchy]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(!fs::exists(path("evidence")).unwrap());
}

#[test]
fn a_policy_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turns.c").display().to_string();
    let [(_, text), _] = hls_policy_build::Template::new("turns").unwrap().files;
    fs::write(&path, &text).unwrap();
    let Outcome { code, stdout, stderr } = hls(&["policy", "test", &path, "--seeds", "30"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("30 hierarchies: nothing found"), "{stdout}");
    // The BPF build is compared with the native one and verified, or the output says why not.
    assert!(stdout.contains("\nBPF") && stdout.contains("\nverifier"), "{stdout}");

    fs::write(&path, text.replace("return v;", "return 0;")).unwrap();
    let Outcome { code, stdout, .. } = hls(&["policy", "test", &path, "--as", "my-turns"]);
    assert_eq!(code, Some(1), "{stdout}");
    let expected = [
        "hook grant of CPU 0: its grant hook chose no VP",
        "the smallest script that leads to it",
        "wakes up",
    ];
    expected.iter().for_each(|expected| assert!(stdout.contains(expected), "{stdout}"));
    // The command that is printed finds the same again.
    let again = stdout.lines().find_map(|line| line.strip_prefix("again: hls ")).expect("it is printed");
    let words: Vec<&str> = again.split(' ').collect();
    let Outcome { code, stdout: second, .. } = hls(&words);
    assert_eq!(code, Some(1), "{second}");
    let events = |stdout: &str| stdout.lines().skip_while(|line| !line.starts_with("the least")).count();
    assert_eq!(events(&second), events(&stdout), "{second}");
}

#[test]
fn a_policy_that_crashes_takes_nobody_with_it() {
    let gallery = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy-build/tests/gallery");
    // In which moment depends on the hierarchy that is drawn.
    for (name, expected) in
        [("crashes", "the policy crashed (signal: 11"), ("never_returns", "its release hook did not return")]
    {
        let Outcome { code, stdout, .. } = hls(&["policy", "test", &format!("{gallery}/{name}.c")]);
        assert_eq!(code, Some(1), "{stdout}");
        assert!(stdout.contains(expected) && stdout.contains(", when "), "{stdout}");
    }
}

#[test]
fn the_verifier_is_asked_about_what_natively_runs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy-build/tests/gallery/unbounded.c");
    let Outcome { code, stdout, stderr } = hls(&["policy", "test", path, "--seeds", "5"]);
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if stdout.contains("not tried") && !is_ci {
        eprintln!("skipped: {stdout}");
        return;
    }
    assert_eq!(code, Some(2), "{stdout}");
    assert!(
        stderr.contains("unbounded.c:37: error: ") && stderr.contains("a loop without an end"),
        "{stderr}"
    );
}

#[test]
fn policies_are_built_for_machines_without_compilers() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["one", "other"] {
        let [(file, text), _] = hls_policy_build::Template::new(name).unwrap().files;
        fs::write(folder.path().join(file), text).unwrap();
    }
    let (one, other, cache) = (path("one.c"), path("other.c"), path("cache"));
    let built = hls(&["policy", "build", &one, &other, "--cache", &cache, "--out", &path("built")]);
    assert_eq!((built.code, &built.stderr[..]), (Some(0), ""));
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 3, "{}", built.stdout);
    assert!(
        fs::exists(path("built/policies.so")).unwrap() && fs::exists(path("built/policies.bpf.o")).unwrap()
    );
    assert_refused(&["policy", "build", &one, &other, "--as", "third"], &["found --as and 2 policies"]);
    assert_refused(
        &["policy", "build", &one, &other, "--number", "255"],
        &["found 2 policies from number 255 on, expected 1 at most"],
    );
}
