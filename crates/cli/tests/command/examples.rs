//! The examples, found by glob: a run of 10 s puts each of their promises to the test.
//!
//! Where one cannot be, a comment of the example says so, with the words `not put to the test` and the name in quotes.

use super::outcome::hls;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = all.filter(|path| path.extension() == Some(OsStr::new("kdl"))).collect();
    found.sort();
    found
}

/// The JSON that `hls run` prints for 10 s of an example, with the workload or the script beside the example.
fn run(example: &Path) -> Value {
    let mut args = vec!["run".to_owned(), example.display().to_string()];
    args.extend(["--for", "10s", "--json"].map(str::to_owned));
    for (option, extension) in [("--workload", "json"), ("--script", "script")] {
        let beside = example.with_extension(extension);
        if beside.exists() {
            args.extend([option.to_owned(), beside.display().to_string()]);
        }
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = hls(&args);
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", outcome.stderr))
}

#[test]
fn each_promise_of_an_example_is_put_to_the_test_or_the_example_says_why_not() {
    let (mut promises, mut untested) = (0, String::new());
    for example in examples() {
        let text = fs::read_to_string(&example).unwrap();
        let comments: Vec<&str> = text.lines().filter(|line| line.starts_with("//")).collect();
        let says_why = |name: &str| {
            let comments = comments.join(" ");
            comments.contains("not put to the test") && comments.contains(&format!("\"{name}\""))
        };
        for promise in run(&example)["guarantees"].as_array().unwrap() {
            promises += 1;
            let name = promise["to"].as_str().unwrap();
            if promise["tested"] != true && !says_why(name) {
                untested += &format!("{}: `{name}`, {}\n", example.display(), promise["guarantee"]);
            }
        }
    }
    assert_eq!(untested, "", "these promises were not put to the test");
    assert!(promises > 40, "{promises} promises");
}
