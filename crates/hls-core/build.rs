//! Compiles the C core natively, with the flags of `core/port/native.flags`.

use std::fs;

fn main() {
    let root = "../..";
    println!("cargo::rerun-if-changed={root}/core");
    println!("cargo::rerun-if-changed={root}/policies");
    let flags = fs::read_to_string(format!("{root}/core/port/native.flags")).expect("the core has the file");
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    cc::Build::new().file(format!("{root}/core/port/native.c")).flags(flags).compile("hls_core");
}
