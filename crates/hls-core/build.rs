//! Compiles the C core natively, with the flags of `core/port/native.flags` and all policies of `policies/`; for
//! WebAssembly, which has no C library, by clang. Writes the list of the core's entry points in Rust.

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
    write_ops(&fs::read_to_string(format!("{root}/core/call.h"))?)
}

/// Writes each line `OP(number, NAME, ...)` of `core/call.h` as a line of `ops!`, which `tape.rs` includes. The numbers
/// follow each other, from 1 on.
fn write_ops(header: &str) -> io::Result<()> {
    let lines = header.lines().filter_map(|line| line.trim_start().strip_prefix("OP("));
    let ops = lines.zip(1..).map(|(line, number)| {
        let [found, name, _] = line.splitn(3, ", ").collect::<Vec<_>>()[..] else {
            panic!("core/call.h: found `{line}`, expected a number, a name and a call");
        };
        assert_eq!(found, number.to_string(), "core/call.h: {name}");
        format!("{} = {number},", in_camel_case(name))
    });
    let text = format!("ops! {{ {} }}", ops.collect::<String>());
    fs::write(format!("{}/ops.rs", env::var("OUT_DIR").expect("cargo sets it")), text)
}

/// `SET_PARAM` as `SetParam`.
fn in_camel_case(name: &str) -> String {
    let word = |word: &str| format!("{}{}", &word[..1], word[1..].to_lowercase());
    name.split('_').map(word).collect()
}
