//! The crates and their layers: what each crate says of itself in its `Cargo.toml`, and the rules that follow.
//!
//! A crate says which layer it belongs to, and which parts of the machine it may touch:
//!
//! ```toml
//! [package.metadata.hls]
//! layer = "engines"
//! may = ["files", "processes"]
//! ```
//!
//! It depends on crates of its own layer and of those below. Its sources, without their tests, touch nothing else of
//! the machine. Reads text: what a dependency does is not seen.

use crate::imports::{Module, circles, module_of, uses};
use crate::{Finding, Tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The layers, the lowest first.
pub const LAYERS: [&str; 7] = ["ground", "parts", "model", "plan", "engines", "session", "commands"];

/// The parts of the machine that a crate may touch, and the words of code that touch them.
const RIGHTS: [(&str, &[&str]); 4] = [
    ("files", &["std::fs", "fs::", "File::open", "File::create", "File::options", "OpenOptions"]),
    ("processes", &["Command::new", "process::Command"]),
    ("sockets", &["UnixListener", "UnixStream", "TcpListener", "TcpStream"]),
    ("clocks", &["Instant::now", "SystemTime::now", "clock_gettime"]),
];

/// Files that use each other in a circle, each with its crate, as ARCHITECTURE.md names them. New ones are refused.
const NAMED_CIRCLES: [&str; 0] = [];

/// A crate of this repository, as its `Cargo.toml` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// Its folder below `crates`.
    pub folder: String,
    /// Its layer, an index into [`LAYERS`].
    pub layer: usize,
    /// The folders of the crates that it depends on; what only its tests need is not among them.
    pub uses: Vec<String>,
    /// What it may touch.
    may: Vec<String>,
}

/// All crates, the lowest layers first; what is wrong with what they say of themselves.
pub fn crates(tree: &Tree) -> Result<Vec<Crate>, Vec<Finding>> {
    let manifests = tree.texts.iter().filter(|(path, _)| {
        path.starts_with("crates") && path.components().count() == 3 && path.ends_with("Cargo.toml")
    });
    let (mut crates, mut findings) = (vec![], vec![]);
    for (path, text) in manifests {
        match read(path, text) {
            Ok(found) => crates.push(found),
            Err(finding) => findings.push(finding),
        }
    }
    crates.sort_by(|a, b| (a.layer, &a.folder).cmp(&(b.layer, &b.folder)));
    if findings.is_empty() { Ok(crates) } else { Err(findings) }
}

fn read(path: &Path, text: &str) -> Result<Crate, Finding> {
    let folder = path.iter().nth(1).unwrap_or_default().to_string_lossy().into_owned();
    let stated = |name: &str| {
        let mut lines = section(text, "[package.metadata.hls]");
        lines.find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))
    };
    let strings = |list: &str| list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let layer = stated("layer").map(strings).and_then(|layer| layer.into_iter().next()).unwrap_or_default();
    let Some(layer) = LAYERS.iter().position(|known| *known == layer) else {
        let expected = format!("`layer` in [package.metadata.hls], one of {}", LAYERS.join(", "));
        return Err(finding(path, 1, &format!("found {layer:?}"), &expected));
    };
    let uses = section(text, "[dependencies]").filter_map(|line| {
        let name = line.strip_prefix("hls-")?.split([' ', '.', '=']).next()?;
        Some(if name == "core" { "hls-core".to_owned() } else { name.to_owned() })
    });
    let may = stated("may").map(strings).unwrap_or_default();
    if let Some(unknown) = may.iter().find(|may| !RIGHTS.iter().any(|(name, _)| name == may)) {
        let expected = RIGHTS.map(|(name, _)| name).join(", ");
        return Err(finding(path, 1, &format!("found `{unknown}` in `may`"), &expected));
    }
    Ok(Crate { folder, layer, uses: uses.collect(), may })
}

/// The lines of a section of a `Cargo.toml`.
fn section<'t>(text: &'t str, name: &'static str) -> impl Iterator<Item = &'t str> {
    let lines = text.lines().skip_while(move |line| *line != name).skip(1);
    lines.take_while(|line| !line.starts_with('['))
}

fn finding(path: &Path, line: usize, found: &str, expected: &str) -> Finding {
    Finding { path: path.into(), line, what: format!("{found}, expected {expected}") }
}

/// Everything in which a crate breaks the rules.
pub(crate) fn findings(tree: &Tree) -> Vec<Finding> {
    let crates = match crates(tree) {
        Ok(crates) => crates,
        Err(findings) => return findings,
    };
    crates
        .iter()
        .flat_map(|it| [above(it, &crates), touched(it, tree), circles_of(it, tree)].concat())
        .collect()
}

/// Crates of a higher layer that it depends on.
fn above(it: &Crate, crates: &[Crate]) -> Vec<Finding> {
    let used = crates.iter().filter(|other| it.uses.contains(&other.folder) && other.layer > it.layer);
    let manifest = Path::new("crates").join(&it.folder).join("Cargo.toml");
    used.map(|other| {
        let found = format!("found {}, of the layer `{}`", other.folder, LAYERS[other.layer]);
        finding(&manifest, 1, &found, &format!("crates of the layer `{}` and below", LAYERS[it.layer]))
    })
    .collect()
}

/// The sources of a crate: their paths from its `src`.
fn sources<'t>(it: &Crate, tree: &'t Tree) -> impl Iterator<Item = (PathBuf, &'t PathBuf, &'t str)> {
    let folder = Path::new("crates").join(&it.folder).join("src");
    tree.texts.iter().filter_map(move |(path, text)| {
        let inside = path.strip_prefix(&folder).ok()?;
        (inside.extension()? == "rs").then(|| (inside.to_owned(), path, text.as_str()))
    })
}

/// The parts of the machine that it touches without saying that it may.
fn touched(it: &Crate, tree: &Tree) -> Vec<Finding> {
    let mut findings = vec![];
    let refused = RIGHTS.iter().filter(|(name, _)| !it.may.iter().any(|may| may == name));
    let files: Vec<_> = sources(it, tree).filter(|(inside, ..)| !inside.ends_with("tests.rs")).collect();
    for (name, words) in refused {
        for (_, path, text) in &files {
            // A crate that says what it forbids has the words in quotes.
            let code = |line: &str| {
                line.split("//").next().unwrap_or_default().split('"').step_by(2).collect::<String>()
            };
            let lines = text.lines().take_while(|line| *line != "mod tests {").enumerate();
            let found = lines.filter(|(_, line)| words.iter().any(|word| names(&code(line), word)));
            findings.extend(found.map(|(at, line)| {
                let expected = format!("`{name}` in what crates/{} says that it may", it.folder);
                finding(path, at + 1, &format!("found `{}`", line.trim()), &expected)
            }));
        }
    }
    findings
}

/// Whether a line has these words, and not as the end of a longer name.
fn names(line: &str, words: &str) -> bool {
    let goes_on = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(words).any(|(at, _)| !goes_on(&line[..at]))
}

/// Files of it that use each other in a circle that nobody has named.
fn circles_of(it: &Crate, tree: &Tree) -> Vec<Finding> {
    let sources: Vec<_> = sources(it, tree).collect();
    let texts: BTreeMap<Module, &str> =
        sources.iter().filter_map(|(inside, _, text)| Some((module_of(inside)?, *text))).collect();
    let circles: Vec<String> = circles(&uses(&texts)).iter().map(|circle| in_words(it, circle)).collect();
    let own = |circle: &&str| circle.split(':').next() == Some(&it.folder);
    let gone =
        NAMED_CIRCLES.iter().copied().filter(own).filter(|named| !circles.iter().any(|it| it == named));
    let unnamed = circles.iter().map(String::as_str).filter(|circle| !NAMED_CIRCLES.contains(circle));
    let manifest = Path::new("crates").join(&it.folder).join("Cargo.toml");
    let found = |what: &str, expected: &str| finding(&manifest, 1, what, expected);
    unnamed
        .map(|circle| found(&format!("found files that use each other in a circle, {circle}"), "none"))
        .chain(
            gone.map(|circle| found("found no such circle any more", &format!("one less named: {circle}"))),
        )
        .collect()
}

/// The crate and the files of a circle.
fn in_words(it: &Crate, circle: &[Module]) -> String {
    let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
    format!("{}: {}", it.folder, names.join(" "))
}
