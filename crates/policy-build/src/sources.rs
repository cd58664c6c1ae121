//! The C sources of core, policies and engine, as they were when this program was built: an installed `hls` compiles
//! policies without the repository.

use std::path::Path;
use std::{fs, io};

// What the build script found: SOURCES, every file with its path and its text, and POLICIES, the paths of the policies.
include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The text of one of the files.
pub(crate) fn text(path: &str) -> &'static str {
    SOURCES.iter().find(|(name, _)| *name == path).map_or("", |(_, text)| text)
}

/// The headers of the contract, with everything that a policy must do and may call: each with its path and its text.
pub fn contract() -> impl Iterator<Item = (&'static str, &'static str)> {
    [
        "core/policy.h",
        "core/queue.h",
        "core/list.h",
        "core/heap.h",
        "core/levels.h",
        "core/budget.h",
        "core/virtual_time.h",
    ]
    .into_iter()
    .map(|path| (path, text(path)))
}

/// The file of ours that has this name up to its first dot, so that no policy can have the name.
pub(crate) fn taken_by(stem: &str) -> Option<String> {
    let has_stem = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.split('.').next() == Some(stem)
    };
    let mut paths = SOURCES.iter().map(|(path, _)| *path).filter(has_stem);
    let first = paths.next()?;
    let is_policy = |path: &str| path.starts_with("policies/") && path.ends_with(".c");
    Some(match is_policy(first).then_some(first).or_else(|| paths.find(|path| is_policy(path))) {
        Some(path) => format!("a built-in policy ({path})"),
        None => format!("a file of hls itself ({first})"),
    })
}

/// The policies of the literature: the number of each, and its line of the registry.
pub(crate) fn literature() -> impl Iterator<Item = (u8, &'static str)> {
    let (_, list) =
        text("policies/registry.h").split_once("#define HLS_LITERATURE_POLICIES").unwrap_or_default();
    let (list, _) = list.split_once("#endif").unwrap_or_default();
    list.lines().filter_map(|line| {
        let line = line.trim_end_matches('\\').trim();
        let (number, _) = line.strip_prefix("P(")?.split_once(',')?;
        Some((number.parse().ok()?, line))
    })
}

/// The flags in a file of flags: its words, without lines that begin with `#`.
pub(crate) fn flags(path: &str) -> impl Iterator<Item = &'static str> {
    text(path).lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// Writes all files below a folder.
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    for (path, text) in SOURCES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
