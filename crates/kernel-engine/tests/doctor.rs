//! The doctor's findings about invented machines: every `tests/doctor/*.tree`, compared with the text beside it.
//!
//! A tree has the differences of the machine from `base.tree`: `+ PATH` and the lines of that file, or `- PATH` for a
//! file that is absent. The lines of a `vmlinux` are the names in its BTF; a `.gz` is compressed.

use flate2::Compression;
use flate2::write::GzEncoder;
use hls_kernel_engine::doctor::{Facts, Finding, Verdict, can_run, judge};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn trees() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor");
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut trees: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "tree")).collect();
    trees.sort();
    trees
}

/// The files of a machine by path: the files of `base`, with the changes that the tree names.
fn files(base: &str, tree: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for text in [base, tree] {
        let mut current = None;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("+ ") {
                files.insert(path.to_owned(), String::new());
                current = Some(path);
            } else if let Some(path) = line.strip_prefix("- ") {
                let before = files.len();
                files.retain(|file, _| !file.starts_with(path));
                assert!(files.len() < before, "there is no {path} to leave out");
                current = None;
            } else if let Some(file) = current.and_then(|path| files.get_mut(path)) {
                *file += &format!("{line}\n");
            }
        }
    }
    files
}

fn write(root: &Path, path: &str, text: &str) {
    let bytes = match path {
        _ if path.ends_with("vmlinux") && text.starts_with("names:") => btf(text),
        _ if path.ends_with(".gz") => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
        _ => text.as_bytes().to_vec(),
    };
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// BTF with these names and no types.
fn btf(names: &str) -> Vec<u8> {
    let strings: String = names.lines().skip(1).flat_map(|name| ["\0", name]).chain(["\0"]).collect();
    let header = [24, 0, 0, 0, strings.len() as u32].map(u32::to_le_bytes).concat();
    [&[0x9f, 0xeb, 1, 0], &header[..], strings.as_bytes()].concat()
}

fn findings(tree: &str) -> Vec<Finding> {
    let base = fs::read_to_string(trees()[0].with_file_name("base.tree")).unwrap();
    let root = tempfile::tempdir().unwrap();
    files(&base, tree).iter().for_each(|(path, text)| write(root.path(), path, text));
    judge(&Facts::gather(root.path()))
}

fn shown(findings: &[Finding]) -> String {
    let mut text = format!("{}\n", if can_run(findings) { "can run" } else { "cannot run" });
    for Finding { what, verdict, found, advice } in findings {
        text += &format!("{verdict:?}: {what}: {found}\n");
        advice.iter().for_each(|advice| text += &format!("    {advice}\n"));
    }
    text
}

#[test]
fn every_machine_gets_the_answer_beside_it() {
    let mut failures = String::new();
    for path in trees() {
        let found = shown(&findings(&fs::read_to_string(&path).unwrap()));
        failures += &hls_golden::difference(&path.with_extension("txt"), &found).unwrap_or_default();
    }
    assert!(failures.is_empty(), "{failures}");
}

/// For each property that the doctor looks at, some machine is good, and some machine is not.
#[test]
fn every_finding_is_seen_good_and_bad() {
    let mut seen: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
    for path in trees() {
        for finding in findings(&fs::read_to_string(&path).unwrap()) {
            seen.entry(finding.what).or_default().push(finding.verdict);
        }
    }
    assert_eq!(seen.len(), 12, "{:?}", seen.keys());
    for (what, verdicts) in &seen {
        assert!(verdicts.contains(&Verdict::Good), "{what} is never good");
        assert!(verdicts.iter().any(|verdict| *verdict != Verdict::Good), "{what} is always good");
    }
}

/// The doctor has an answer for an empty folder, and for the machine on which this test runs.
#[test]
fn an_empty_folder_and_this_machine_have_findings() {
    let empty = tempfile::tempdir().unwrap();
    let findings = judge(&Facts::gather(empty.path()));
    assert!(!can_run(&findings), "{findings:?}");
    assert!(!judge(&Facts::gather(Path::new("/"))).is_empty());
}
