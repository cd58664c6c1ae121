//! What the documents show is what the command prints: every block of the README and of `docs/` that begins with `$ `
//! is run again, and every picture in `docs/guarantees` is drawn again from the guarantee that is its description.
//!
//! `UPDATE_GOLDEN=1 cargo test -p hls-cli --test readme` writes blocks and pictures anew.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and everything beside it that is to be read.
fn documents() -> Vec<PathBuf> {
    let entries = root().join("docs").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut documents: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    documents.sort();
    documents.insert(0, root().join("README.md"));
    documents
}

/// What a shell would show of a command of a document: `hls ...` or `cat FILE`.
fn output_of(command: &str) -> String {
    let words = split(command);
    let output = match words[0].as_str() {
        "hls" => hls(&words[1..]),
        "cat" => return std::fs::read_to_string(root().join(&words[1])).unwrap(),
        other => panic!("a document runs `{other}`, which this test does not know"),
    };
    let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(!shown.contains("online here"), "`{command}`: expected a file that states `machine cpus=`");
    shown
}

fn hls(words: &[String]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_hls")).args(words).current_dir(root()).output().unwrap()
}

/// Words as a shell splits them, double quotes respected.
fn split(command: &str) -> Vec<String> {
    let in_quotes = |part: usize| part % 2 == 1;
    let parts = command.split('"').enumerate();
    parts
        .flat_map(|(part, text)| match in_quotes(part) {
            true => vec![text.to_owned()],
            false => text.split_whitespace().map(str::to_owned).collect(),
        })
        .collect()
}

/// Holds what a file has against what it should have, or writes it.
fn hold(path: &Path, shown: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, shown).unwrap();
    }
    let theirs = std::fs::read_to_string(path).unwrap_or_default();
    let path = path.display();
    for (ours, theirs) in shown.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs, "{path} shows something else; UPDATE_GOLDEN=1 writes it anew");
    }
    assert_eq!(shown.lines().count(), theirs.lines().count(), "{path} is longer or shorter");
}

#[test]
fn the_documents_show_what_the_command_prints() {
    std::fs::create_dir_all(root().join("out")).unwrap();
    let mut commands = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut shown = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            shown += &format!("{line}\n");
            let Some(command) = line.strip_prefix("$ ") else { continue };
            commands += 1;
            shown += output_of(command).trim_end();
            shown += "\n```\n";
            let _ = lines.by_ref().find(|line| *line == "```");
        }
        hold(&path, &shown);
    }
    assert!(commands >= 8, "the documents have lost their tours");
}

/// `![RESBH 10ms 33ms](guarantees/resbh.svg)`, or `![RESBH 10ms 33ms, needed: RESCS 10ms 33ms](...)`.
#[test]
fn the_pictures_of_guarantees_are_what_the_command_draws() {
    let directory = tempfile::tempdir().unwrap();
    let drawn = directory.path().join("drawn.svg");
    let mut linked = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for (description, rest) in text.split("![").skip(1).filter_map(|image| image.split_once("](")) {
            let path = document.with_file_name(rest.split(')').next().unwrap());
            if !path.starts_with(root().join("docs/guarantees")) {
                continue;
            }
            let (guarantee, need) = match description.split_once(", needed: ") {
                Some((guarantee, need)) => (guarantee, Some(need)),
                None => (description, None),
            };
            let mut words = vec!["guarantee", guarantee, "--svg", drawn.to_str().unwrap()];
            words.extend(need.into_iter().flat_map(|need| ["--need", need]));
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let output = hls(&words);
            assert!(
                output.status.code() < Some(2),
                "{description}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            hold(&path, &std::fs::read_to_string(&drawn).unwrap());
            linked.push(path);
        }
    }
    let entries = root().join("docs/guarantees").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let forgotten: Vec<PathBuf> = entries.filter(|path| !linked.contains(path)).collect();
    assert!(forgotten.is_empty() && linked.len() >= 10, "no document shows {forgotten:?}");
}
