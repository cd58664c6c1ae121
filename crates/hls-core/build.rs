//! Compiles the C core natively, with the flags of `core/port/native.flags` and all policies of `policies/`.

use std::path::PathBuf;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = "../..";
    println!("cargo::rerun-if-changed={root}/core");
    println!("cargo::rerun-if-changed={root}/policies");
    let flags = fs::read_to_string(format!("{root}/core/port/native.flags"))?;
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let mut build = cc::Build::new();
    build.file(format!("{root}/core/port/native.c")).flags(flags);
    for policy in policies(&format!("{root}/policies"))? {
        build.flag("-include").flag(policy);
    }
    build.compile("hls_core");
    Ok(())
}

/// The policies' files, which are found here and not listed.
fn policies(folder: &str) -> io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "c"));
    files.sort();
    Ok(files)
}
