//! Refused policies: each file of `refused/` names the tools that must refuse it, at the line of the mistake.
//!
//! `/* found by cc, verifier */` is at the end of the line that the first message of these tools must name, or of one
//! of several such lines; after `at no line: ` it is for tools that name no line. A tool that is not named must find
//! nothing. A policy that the verifier refuses has the end of the verifier's log, from Linux 6.18, beside it; `log`
//! means the verifier if asking it each time takes too long. If BPF is not allowed, only the logs are read, and the
//! test says so; in continuous integration (`CI` is set) it fails.

use hls_policy_build::{Builder, Error, PolicyFile, Severity, Target, Template, verifier_error};
use libbpf_rs::{ErrorKind, ObjectBuilder, PrintLevel, set_print};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const FOLDER: &str = "tests/refused";

/// A file of the folder, completed to a policy.
fn policy(path: &Path) -> PolicyFile {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("the names are ASCII");
    let frame = fs::read_to_string(Path::new(FOLDER).join("frame.h")).expect("it is there");
    let frame = frame.replace("frame", stem).replace("FRAME", &stem.to_uppercase());
    let frame = frame.replace(&format!("\"{stem}\""), &format!("\"{}\"", stem.replace('_', "-")));
    let text = fs::read_to_string(path).expect("it was listed") + &frame;
    PolicyFile::new(path, text.into_bytes()).expect("the name and the descriptor are well")
}

/// The files of the folder.
fn paths() -> Vec<PathBuf> {
    let files = fs::read_dir(FOLDER).expect("it is there").map(|entry| entry.expect("it is listed").path());
    let mut paths: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    paths
}

/// The lines of which a tool must name one; an empty list: no line. `None`: the tool must find nothing.
fn expected(path: &Path, tool: &str) -> Option<Vec<usize>> {
    let text = fs::read_to_string(path).expect("it was listed");
    let mut places = None;
    for (line, text) in text.lines().enumerate() {
        let Some((before, names)) = text.split_once("found by ") else { continue };
        if names.trim_end_matches(" */").split(", ").any(|name| name == tool) {
            let lines: &mut Vec<usize> = places.get_or_insert_default();
            lines.extend((!before.ends_with("at no line: ")).then_some(line + 1));
        }
    }
    places
}

/// A tool that refuses a policy was expected to, at this place.
fn check(path: &Path, tool: &str, error: Error) {
    let Error::Refused(found) = error else { panic!("{}: {error}", path.display()) };
    let first = found.into_iter().find(|one| one.severity == Severity::Error).expect("it was refused");
    println!("{tool}: {first}");
    assert_eq!(first.file, path);
    let lines = expected(path, tool).unwrap_or_else(|| panic!("nothing was to be found by {tool}: {first}"));
    let right = first.line.map_or(lines.is_empty(), |line| lines.contains(&line));
    assert!(right, "{tool}: expected one of the lines {lines:?}: {first}");
}

/// No tool refuses the policy, as expected.
fn check_accepted(path: &Path, tool: &str) {
    assert_eq!(expected(path, tool), None, "{}: {tool} has found nothing", path.display());
}

#[test]
fn the_native_compiler_names_the_line() {
    let (bad, good): (Vec<_>, Vec<_>) = paths().into_iter().partition(|path| expected(path, "cc").is_some());
    for path in bad {
        match Builder::default().build(Target::Native, &[(64, policy(&path))]) {
            Ok(_) => check_accepted(&path, "cc"),
            Err(error) => check(&path, "cc", error),
        }
    }
    let good: Vec<_> = (64..).zip(good.iter().map(|path| policy(path))).collect();
    if let Err(error) = Builder::default().build(Target::Native, &good) {
        panic!("nothing was to be found by cc: {error}");
    }
}

static LOG: Mutex<String> = Mutex::new(String::new());

enum Verdict {
    Loaded,
    /// The messages of libbpf.
    Refused(String),
    NotAllowed,
}

/// Has the kernel load an object; one at a time, as libbpf has one callback for its messages.
fn load(object: &[u8]) -> Verdict {
    static LOADING: Mutex<()> = Mutex::new(());
    let _alone = LOADING.lock().expect("nothing panics there");
    let keep = |_: PrintLevel, text: String| *LOG.lock().expect("nothing panics there") += &text;
    set_print(Some((PrintLevel::Warn, keep)));
    LOG.lock().expect("nothing panics there").clear();
    let loaded = ObjectBuilder::default().open_memory(object).and_then(|open| open.load());
    let Err(error) = loaded else { return Verdict::Loaded };
    let log = std::mem::take(&mut *LOG.lock().expect("nothing panics there"));
    if error.kind() == ErrorKind::PermissionDenied && !log.contains("PROG LOAD LOG") {
        // Not by `eprintln`: the test harness hides what a passing test prints with it.
        let line = format!("the verifier is not asked: BPF cannot be used: {error:#}\n");
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
        assert!(std::env::var_os("CI").is_none_or(|value| value.is_empty()), "{line}");
        return Verdict::NotAllowed;
    }
    Verdict::Refused(log)
}

#[test]
fn the_compiler_for_bpf_and_the_verifier_name_the_line() {
    let (for_the_kernel, mut refused): (Vec<_>, Vec<_>) =
        paths().into_iter().partition(|path| expected(path, "clang").is_none());
    // Building one of these takes seconds, verifying it takes longer: only the nightly tests do all.
    refused.extend(for_the_kernel.into_iter().find(|path| expected(path, "verifier").is_some()));
    refused_for_bpf(&refused);
}

#[test]
#[ignore = "has the verifier look at one engine after the other, which takes a minute: make night"]
fn the_verifier_names_the_line_of_each() {
    refused_for_bpf(&paths());
}

fn refused_for_bpf(paths: &[PathBuf]) {
    for path in paths {
        let policies = [(64, policy(path))];
        let built = match Builder::default().build(Target::Replay, &policies) {
            Ok(built) => built,
            Err(error) => {
                check(path, "clang", error);
                continue;
            }
        };
        check_accepted(path, "clang");
        if expected(path, "log").is_some() {
            continue;
        }
        match load(&built.bytes) {
            Verdict::Loaded => check_accepted(path, "verifier"),
            Verdict::Refused(log) => check(path, "verifier", verifier_error(&log, &policies)),
            Verdict::NotAllowed => {}
        }
    }
}

#[test]
fn a_log_of_the_verifier_leads_to_the_line() {
    for path in paths() {
        let tool = if expected(&path, "log").is_some() { "log" } else { "verifier" };
        match fs::read_to_string(path.with_extension("log")) {
            Ok(log) => check(&path, tool, verifier_error(&log, &[(64, policy(&path))])),
            Err(_) => check_accepted(&path, tool),
        }
    }
}

#[test]
fn the_template_is_accepted() {
    let [(path, text), _] = Template::new("asked-times").expect("it is a name").files;
    let policies = [(64, PolicyFile::new(&path, text.into_bytes()).expect("a template is a policy"))];
    let built = Builder::default().build(Target::Replay, &policies).expect("it is built");
    if let Verdict::Refused(log) = load(&built.bytes) {
        panic!("{}", verifier_error(&log, &policies));
    }
}
