//! Compiles the C core natively, with the flags of `core/port/native.flags` and all policies of `policies/`; for
//! WebAssembly, which has no C library, by clang.

mod policies;

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = "../..";
    println!("cargo::rerun-if-changed={root}/core");
    println!("cargo::rerun-if-changed={root}/policies");
    println!("cargo::rerun-if-changed={root}/include");
    let flags = fs::read_to_string(format!("{root}/core/port/native.flags"))?;
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let mut build = cc::Build::new();
    build.file(format!("{root}/core/port/native.c")).flags(flags);
    if env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        build.compiler("clang-19").archiver("ar").flag("-ffreestanding");
    }
    for policy in policies::policies(Path::new(root))? {
        build.flag("-include").flag(policy);
    }
    build.compile("hls_core");
    Ok(())
}
