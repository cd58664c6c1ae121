//! Makes the table of the C sources in the crate: every file below the folders of the core and of the headers that
//! programs share with it, found by walking the folders, so that none can be forgotten; and the list of the built-in
//! policies among them.

#[path = "../hls-core/policies.rs"]
mod policies;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = fs::canonicalize("../..")?;
    let mut files = Vec::new();
    for folder in ["bpf", "core", "include", "policies"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        walk(&root.join(folder), &mut files)?;
    }
    files.sort();
    let name = |file: &Path| file.strip_prefix(&root).expect("it was found below the root").to_owned();
    let mut table = "/// Every file: its path from the root of the repository, and its text.\n".to_owned();
    table.push_str("pub(crate) static SOURCES: &[(&str, &str)] = &[\n");
    for file in &files {
        writeln!(table, "    ({:?}, include_str!({file:?})),", name(file)).expect("memory takes it");
    }
    let policies: Vec<PathBuf> = policies::policies(&root)?.iter().map(|file| name(file)).collect();
    let documented = "/// The files of the built-in policies: their paths from the root of the repository.";
    writeln!(table, "];\n{documented}\npub(crate) static POLICIES: &[&str] = &{policies:?};")
        .expect("memory takes it");
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("sources.rs"), table)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => walk(&entry.path(), files)?,
            _ => files.push(entry.path()),
        }
    }
    Ok(())
}
