//! What the README shows is what the command prints: every block of it that begins with `$ ` is run again.
//!
//! `UPDATE_GOLDEN=1 cargo test -p hls-cli --test readme` writes the blocks anew.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a shell would show of a command of the README: `hls ...` or `cat FILE`.
fn output_of(command: &str) -> String {
    let words = split(command);
    let output = match words[0].as_str() {
        "hls" => {
            Command::new(env!("CARGO_BIN_EXE_hls")).args(&words[1..]).current_dir(root()).output().unwrap()
        }
        "cat" => return std::fs::read_to_string(root().join(&words[1])).unwrap(),
        other => panic!("the README runs `{other}`, which this test does not know"),
    };
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
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

#[test]
fn the_readme_shows_what_the_command_prints() {
    std::fs::create_dir_all(root().join("out")).unwrap();
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let mut shown = String::new();
    let mut commands = 0;
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        shown += &format!("{line}\n");
        let Some(command) = line.strip_prefix("$ ") else { continue };
        commands += 1;
        shown += output_of(command).trim_end();
        shown += "\n```\n";
        let _ = lines.by_ref().find(|line| *line == "```");
    }
    assert!(commands >= 4, "the README has lost its tour");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, shown).unwrap();
        return;
    }
    for (ours, theirs) in shown.lines().zip(readme.lines()) {
        assert_eq!(ours, theirs, "the README shows something else; UPDATE_GOLDEN=1 writes it anew");
    }
    assert_eq!(shown.lines().count(), readme.lines().count());
}
