//! The repository's own rules of style, those that a program can check; STYLE.md has the others.
//!
//! [`Tree`] holds the text of every file of the repository, [`Tree::findings`] what breaks a rule. A rule is a function
//! of `rules` and a line of one of its two lists; its tests stand beside it, on a text that breaks it. Relies on
//! rustfmt and clang-format having been run before: functions are found by their indentation. Never writes, and needs
//! no git: it walks the folders, except for those that hold what was built.

pub mod examples;
mod imports;
pub mod layers;
pub mod picture;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is not part of the repository, by name: folders, and the file `.git` of a linked work tree of git, which holds
/// a path of the machine.
const FOREIGN: [&str; 4] = ["target", ".git", ".cache", "out"];

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the repository.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// What was found, and what was expected.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// A text file: UTF-8 without a NUL.
#[derive(Debug)]
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    /// Whether the name ends in one of `extensions`.
    fn is(&self, extensions: &[&str]) -> bool {
        self.path.extension().is_some_and(|e| extensions.iter().any(|&wanted| e == wanted))
    }

    fn within(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    /// The lines, counted from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.into(), line, what: what.into() }
    }
}

/// All files of the repository, and all its folders. Paths are relative to its root.
#[derive(Debug, Default)]
pub struct Tree {
    paths: BTreeSet<PathBuf>,
    texts: BTreeMap<PathBuf, String>,
}

impl Tree {
    /// Reads what lies under `root`. Symbolic links are not followed.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(root.join(&folder))? {
                let (entry, path) = entry.map(|e| (e.file_type(), folder.join(e.file_name())))?;
                let kind = entry?;
                if FOREIGN.iter().any(|foreign| path.ends_with(foreign)) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    tree.insert(path.clone(), std::fs::read(root.join(path))?);
                }
            }
            tree.paths.insert(folder);
        }
        Ok(tree)
    }

    fn insert(&mut self, path: PathBuf, content: Vec<u8>) {
        if let Ok(text) = String::from_utf8(content)
            && !text.contains('\0')
        {
            self.texts.insert(path.clone(), text);
        }
        self.paths.insert(path);
    }

    /// Everything that breaks a rule, in the order of files and lines.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (path, text) in &self.texts {
            let file = File { path, text };
            findings.extend(rules::OF_A_FILE.iter().flat_map(|rule| rule(&file)));
            findings.extend(rules::OF_THE_TREE.iter().flat_map(|rule| rule(&file, self)));
        }
        findings.extend(layers::findings(self));
        findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        findings
    }

    /// Whether a file or a folder lies there.
    pub fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }
}
