//! Makes the table of the C sources that the crate carries: every file below the folders of the core, found by walking
//! them, so that none can be forgotten.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = fs::canonicalize("../..")?;
    let mut files = Vec::new();
    for folder in ["bpf", "core", "policies"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        walk(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut table = "[\n".to_owned();
    for file in &files {
        let name = file.strip_prefix(&root).expect("the walk began there");
        writeln!(table, "    ({name:?}, include_str!({file:?})),").expect("memory takes it");
    }
    table.push(']');
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
