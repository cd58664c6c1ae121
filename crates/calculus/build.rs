//! Finds the schedulers' analyses: each file `src/schedulers/POLICY.rs` with an `ENTRY` is one, in the order of their
//! names. Writes their `mod` lines and the table of them, which `src/schedulers/mod.rs` includes. Relies on the names
//! of the files and on the line with `ENTRY` only. Never changes the sources.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new("src/schedulers");
    println!("cargo:rerun-if-changed={}", folder.display());
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let mut names = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        if fs::read_to_string(path)?.contains("const ENTRY: Entry") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    let root = env::current_dir()?;
    let mut modules = String::new();
    let mut table =
        String::from("/// Every policy that can be analysed, by name.\npub static REGISTRY: &[Entry] = &[\n");
    for name in &names {
        let path = root.join(folder).join(name).with_extension("rs");
        let _ = writeln!(modules, "#[path = {path:?}]\nmod {name};");
        let _ = writeln!(table, "    {name}::ENTRY,");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("analyses.rs"), format!("{modules}\n{table}];\n"))
}
