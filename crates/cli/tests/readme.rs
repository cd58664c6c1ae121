//! What the documents show is what the command prints: every block of the README, `docs/` and `experiments/` that
//! begins with `$ ` is run again, every picture of a run is drawn again, and every picture in `docs/guarantees` from
//! the guarantee that is its description.

use hls_golden::assert_golden;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README, and all documents of `docs` and `experiments` and their folders.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs"), root().join("experiments")];
    while let Some(folder) = folders.pop() {
        for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension() {
                None => folders.push(path),
                Some(extension) if extension == "md" => documents.push(path),
                Some(_) => {}
            }
        }
    }
    documents.sort();
    documents
}

/// What a shell would print for a command in a document: `hls ...` or `cat FILE`.
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
        assert_golden(&path, &shown);
    }
    assert!(commands >= 8, "the documents have lost their tours");
}

/// A picture with a command as its description shows what that command draws.
#[test]
fn the_pictures_of_runs_are_what_the_command_draws() {
    let directory = tempfile::tempdir().unwrap();
    let drawn = directory.path().join("drawn.svg");
    let mut pictures = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for (command, rest) in text.split("![hls run ").skip(1).filter_map(|image| image.split_once("](")) {
            let mut words = split(&format!("run {command} --timeline"));
            words.push(drawn.to_str().unwrap().to_owned());
            assert!(hls(&words).status.success(), "hls run {command}");
            let path = document.with_file_name(rest.split(')').next().unwrap());
            assert_golden(&path, &std::fs::read_to_string(&drawn).unwrap());
            pictures += 1;
        }
    }
    assert!(pictures >= 1, "the README has lost its picture");
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
            assert_golden(&path, &std::fs::read_to_string(&drawn).unwrap());
            linked.push(path);
        }
    }
    let entries = root().join("docs/guarantees").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let forgotten: Vec<PathBuf> = entries.filter(|path| !linked.contains(path)).collect();
    assert!(forgotten.is_empty() && linked.len() >= 10, "no document shows {forgotten:?}");
}
