//! The rules: each a function from a file, or from a file and the tree that it is in, to what breaks it.

use std::path::{Component, Path, PathBuf};

use crate::{File, Finding, Tree};

/// Rules that look at one file alone.
pub(crate) const OF_A_FILE: [fn(&File<'_>) -> Vec<Finding>; 8] = [
    opens_with_what_it_is,
    licence,
    marks,
    line_length,
    file_length,
    function_length,
    unsafe_code,
    machine_paths,
];

/// Rules that also ask what else there is.
pub(crate) const OF_THE_TREE: [fn(&File<'_>, &Tree) -> Vec<Finding>; 5] =
    [registered, compiled_tests, built_tests, links, mutants];

const SPDX: &str = "/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */";
const MAX_COLUMNS: usize = 120;
const MAX_FILE_LINES: usize = 800;
const MAX_FUNCTION_LINES: usize = 80;

/// The only places with unsafe Rust: the bindings of the C core, natively and in the kernel, and the memory that a
/// scheduler's process shares with the kernel; and the names of the functions that a module of WebAssembly exports.
const UNSAFE: [&str; 4] = [
    "crates/hls-core",
    "crates/kernel-engine",
    "crates/user-level-scheduler/src/mapping.rs",
    "crates/facade/examples/wasm.rs",
];

/// This crate names what it forbids.
const TIDY: &str = "crates/tidy";

/// A Rust file opens with `//!`.
fn opens_with_what_it_is(file: &File<'_>) -> Vec<Finding> {
    if !file.is(&["rs"]) || file.text.starts_with("//! ") {
        return vec![];
    }
    vec![file.finding(1, "expected `//!` and what this file is, what it relies on, what it never does")]
}

/// A C file opens with its licence, then a comment that says what it is.
fn licence(file: &File<'_>) -> Vec<Finding> {
    if !file.is(&["c", "h"]) {
        return vec![];
    }
    let mut lines = file.text.lines();
    if lines.next() != Some(SPDX) {
        return vec![file.finding(1, format!("expected `{SPDX}`"))];
    }
    if !lines.next().is_some_and(|second| second.starts_with("/*")) {
        return vec![file.finding(2, "expected a comment that says what this file is")];
    }
    vec![]
}

/// Nothing is left for later without an issue.
fn marks(file: &File<'_>) -> Vec<Finding> {
    if file.within(TIDY) {
        return vec![];
    }
    let mark = |line: &str| words(line).any(|word| ["TODO", "FIXME", "XXX"].contains(&word));
    each_line(file, |line| mark(line).then(|| "found a mark for later, expected it done, or an issue".into()))
}

/// Lines fit on a screen. In Markdown, tables cannot be broken, and what a program printed must not be.
fn line_length(file: &File<'_>) -> Vec<Finding> {
    if !file.is(&["rs", "c", "h", "md", "kdl"]) {
        return vec![];
    }
    let mut in_block = false;
    each_line(file, |line| {
        in_block ^= file.is(&["md"]) && line.trim_start().starts_with("```");
        let table = file.is(&["md"]) && (in_block || line.trim_start().starts_with('|'));
        let columns: usize = line.chars().map(|c| if c == '\t' { 8 } else { 1 }).sum();
        (columns > MAX_COLUMNS && !table)
            .then(|| format!("found {columns} columns, expected {MAX_COLUMNS} at most"))
    })
}

/// One subject a file.
fn file_length(file: &File<'_>) -> Vec<Finding> {
    let lines = file.text.lines().count();
    if !file.is(&["rs", "c", "h"]) || lines <= MAX_FILE_LINES {
        return vec![];
    }
    vec![file.finding(lines, format!("found {lines} lines in a file, expected {MAX_FILE_LINES} at most"))]
}

/// One thought a function. The formatter has put a function's last line at the indentation of its first.
fn function_length(file: &File<'_>) -> Vec<Finding> {
    let lines: Vec<_> = file.text.lines().collect();
    let starts: fn(&[&str], usize) -> bool = match () {
        () if file.is(&["rs"]) => starts_rust_function,
        () if file.is(&["c", "h"]) => |lines, i| lines[i] == "{",
        () => return vec![],
    };
    let mut findings = vec![];
    for first in (0..lines.len()).filter(|&i| starts(&lines, i)) {
        let indentation = &lines[first][..lines[first].len() - lines[first].trim_start().len()];
        let is_last = |line: &str| line.strip_prefix(indentation).is_some_and(|rest| rest == "}");
        let length = 1 + lines[first..].iter().take_while(|line| !is_last(line)).count();
        if length > MAX_FUNCTION_LINES {
            let what = format!("found a function of {length} lines, expected {MAX_FUNCTION_LINES} at most");
            findings.push(file.finding(first + 1, what));
        }
    }
    findings
}

/// Whether a function with a body of several lines starts here: its signature ends in `{`.
fn starts_rust_function(lines: &[&str], i: usize) -> bool {
    let modifiers = ["pub", "const", "async", "unsafe", "extern", "crate", "super", "C"];
    let is_fn = words(lines[i]).find(|word| !modifiers.contains(word)) == Some("fn");
    let signature_end = lines[i..].iter().find(|line| line.ends_with(['{', ';', '}']));
    is_fn && !lines[i].trim_start().starts_with("//") && signature_end.is_some_and(|line| line.ends_with('{'))
}

/// Unsafe Rust stays in the bindings of the core. One example declares functions of C.
fn unsafe_code(file: &File<'_>) -> Vec<Finding> {
    if !file.is(&["rs"])
        || UNSAFE.iter().any(|folder| file.within(folder))
        || file.within(TIDY)
        || file.within("examples/constraint.rs")
    {
        return vec![];
    }
    each_line(file, |line| {
        let code = line.split("//").next().unwrap_or_default();
        let found = words(code).any(|word| ["unsafe", "unsafe_code"].contains(&word));
        found.then(|| format!("found unsafe, expected it in {} only", UNSAFE.join(" and ")))
    })
}

/// Folders that every Linux machine has.
const EVERYWHERE: [&str; 11] =
    ["bin", "boot", "dev", "etc", "lib", "proc", "run", "sys", "tmp", "usr", "var"];

/// What is written here holds on every machine: an absolute path begins with a folder that all have.
fn machine_paths(file: &File<'_>) -> Vec<Finding> {
    if file.within(TIDY) {
        return vec![];
    }
    each_line(file, |line| {
        let found = first_folders(line).find(|folder| !EVERYWHERE.contains(folder))?;
        Some(format!("found /{found}/, a path of one machine; expected one relative to the repository"))
    })
}

/// The first folders of the absolute paths in a line. What follows a name, a pattern, a URL or a variable, `${x}` or
/// `$(x)`, is none.
fn first_folders(line: &str) -> impl Iterator<Item = &str> {
    let goes_on = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "._-~})]*".contains(c));
    line.match_indices('/').filter(move |(at, _)| !goes_on(&line[..*at])).filter_map(|(at, _)| {
        let (folder, _) = line[at + 1..].split_once('/')?;
        (!folder.is_empty() && folder.bytes().all(|c| c.is_ascii_lowercase())).then_some(folder)
    })
}

/// Every policy has its line in the registry.
fn registered(file: &File<'_>, tree: &Tree) -> Vec<Finding> {
    let Some(policy) = file.path.file_stem().and_then(|stem| stem.to_str()) else { return vec![] };
    if file.path.parent() != Some(Path::new("policies")) || !file.is(&["c"]) {
        return vec![];
    }
    let registry = tree.texts.get(Path::new("policies/registry.h")).map(String::as_str).unwrap_or_default();
    let entry = |line: &str| line.trim_start().starts_with("P(") && line.split(", ").nth(1) == Some(policy);
    if registry.lines().any(entry) {
        return vec![];
    }
    vec![
        file.finding(
            1,
            "found no line for this policy in policies/registry.h, expected P(number, name, ...)",
        ),
    ]
}

/// Where the tests of a crate are one binary, `tests/main.rs` names each file of tests as a module, or `Cargo.toml`
/// does as a binary of its own. Cargo itself would not miss a file.
fn compiled_tests(file: &File<'_>, tree: &Tree) -> Vec<Finding> {
    let Some(folder) = file.path.parent() else { return vec![] };
    let tests = if file.path.ends_with("mod.rs") { folder.parent() } else { Some(folder) };
    let Some(tests) = tests.filter(|tests| tests.ends_with("tests")) else { return vec![] };
    let text = |path: PathBuf| tree.texts.get(&path).map(String::as_str);
    let Some(main) = text(tests.join("main.rs")) else { return vec![] };
    let module = if file.path.ends_with("mod.rs") { folder } else { file.path };
    let name = module.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let binaries = text(tests.with_file_name("Cargo.toml")).unwrap_or_default();
    let is_compiled = name == "main"
        || main.lines().any(|line| line == format!("mod {name};"))
        || binaries.contains(&format!("\"tests/{name}.rs\""));
    if is_compiled || !file.is(&["rs"]) {
        return vec![];
    }
    vec![file.finding(1, format!("expected `mod {name};` in {}", tests.join("main.rs").display()))]
}

/// Where `Cargo.toml` says that a library or a program has no tests, its files have none: Cargo would leave them out.
fn built_tests(file: &File<'_>, tree: &Tree) -> Vec<Finding> {
    let parts: Vec<_> = file.path.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", folder, "src", inside @ ..] = &parts[..] else { return vec![] };
    let header = match inside {
        ["main.rs"] => "path = \"src/main.rs\"".to_owned(),
        ["bin", program, ..] => format!("name = \"{}\"", program.trim_end_matches(".rs")),
        _ => "[lib]".to_owned(),
    };
    let manifest = Path::new("crates").join(folder).join("Cargo.toml");
    let text = tree.texts.get(&manifest).map(String::as_str).unwrap_or_default();
    if !text.contains(&format!("{header}\ntest = false\n")) {
        return vec![];
    }
    each_line(file, |line| {
        (line.trim() == "#[test]").then(|| format!("found a test that {} leaves out", manifest.display()))
    })
}

/// Relative links lead somewhere. Blocks of code are no links.
fn links(file: &File<'_>, tree: &Tree) -> Vec<Finding> {
    if !file.is(&["md"]) {
        return vec![];
    }
    let mut in_code = false;
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let mut findings = vec![];
    for (number, line) in file.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains(':')) {
            if !resolve(folder, target).is_some_and(|path| tree.has(&path)) {
                let what = format!("found a link to {target}, expected a file or folder of the repository");
                findings.push(file.finding(number, what));
            }
        }
    }
    findings
}

/// What `scripts/mutants` and `scripts/engine-mutants` break is still there to be broken: description, file, text as it
/// is (just once in the file), text as it becomes, and what else the script needs, with tabs between.
fn mutants(file: &File<'_>, tree: &Tree) -> Vec<Finding> {
    let fields = match file.path.to_str() {
        Some("scripts/mutants.txt") => 4,
        Some("scripts/engine-mutants.txt") => 6,
        _ => return vec![],
    };
    let is_there = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
        [_, path, old, new, ref more @ ..] if old != new && 4 + more.len() == fields => {
            tree.texts.get(Path::new(path)).is_some_and(|text| text.matches(old).count() == 1)
        }
        _ => line.starts_with('#'),
    };
    let gone = file.lines().filter(|(_, line)| !is_there(line));
    gone.map(|(number, _)| file.finding(number, "expected a text that is in its file just once")).collect()
}

/// `link` as seen from `folder`; None where it leads out of the repository.
fn resolve(folder: &Path, link: &str) -> Option<PathBuf> {
    let mut path = folder.to_path_buf();
    for component in Path::new(link).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Runs of letters, digits and underscores.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

fn each_line(file: &File<'_>, mut rule: impl FnMut(&str) -> Option<String>) -> Vec<Finding> {
    file.lines().filter_map(|(number, line)| rule(line).map(|what| file.finding(number, what))).collect()
}
