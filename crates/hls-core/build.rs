//! Compiles the C core natively, with the flags of `core/port/native.flags` and all policies of `policies/`.

mod policies;

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = "../..";
    println!("cargo::rerun-if-changed={root}/core");
    println!("cargo::rerun-if-changed={root}/policies");
    println!("cargo::rerun-if-changed={root}/include");
    let flags = fs::read_to_string(format!("{root}/core/port/native.flags"))?;
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let mut build = cc::Build::new();
    build.file(format!("{root}/core/port/native.c")).flags(flags);
    for policy in policies::policies(Path::new(root))? {
        build.flag("-include").flag(policy);
    }
    build.compile("hls_core");
    Ok(())
}
