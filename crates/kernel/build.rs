//! Compiles the BPF objects with clang, where the feature `engine` wants them. The flags are those of `bpf` and
//! `warnings` in the Makefile.

use std::env;
use std::path::Path;
use std::process::{Command, exit};

/// Versions before this one compile the core into what the verifier refuses.
const CLANG: &str = "clang-19";
const FLAGS: [&str; 13] = [
    "--target=bpf",
    "-mcpu=v4",
    "-ffreestanding",
    "-mllvm",
    "-inline-threshold=20000",
    "-std=gnu11",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fno-strict-aliasing",
    "-c",
];

fn main() {
    let root = "../..";
    for folder in ["bpf", "core", "policies"] {
        println!("cargo::rerun-if-changed={root}/{folder}");
    }
    if env::var_os("CARGO_FEATURE_ENGINE").is_none() {
        return;
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    for object in ["engine", "replay"] {
        let source = format!("{root}/bpf/{object}.bpf.c");
        let result = Path::new(&out).join(format!("{object}.bpf.o"));
        let status = Command::new(CLANG).args(FLAGS).arg(&source).arg("-o").arg(result).status();
        let problem = match status {
            Ok(status) if status.success() => continue,
            Ok(status) => format!("{CLANG} failed on {source} ({status}); its messages are above"),
            Err(error) => format!(
                "found no {CLANG} that runs ({error}), which the BPF objects are compiled with. Install Debian's \
                 package {CLANG}, or build without the feature `engine`"
            ),
        };
        println!("cargo::error={problem}");
        exit(1);
    }
}
