//! Compiles the BPF objects with clang, where the feature `engine` wants them, with the flags of `core/port/bpf.flags`
//! and all policies of `policies/`; and the engine once more with the standard policies alone.

#[path = "../hls-core/policies.rs"]
mod policies;

use std::path::Path;
use std::process::{Command, exit};
use std::{env, fs};

/// The kernel's verifier refuses the core if an older clang has compiled it.
const CLANG: &str = "clang-19";

/// The objects: the source of each, and its own flags.
const OBJECTS: [(&str, &str, &[&str]); 3] = [
    ("standard", "engine", &["-DHLS_LITERATURE_POLICIES(P, ...)="]),
    ("all", "engine", &[]),
    ("replay", "replay", &[]),
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
    let flags = fs::read_to_string(format!("{root}/core/port/bpf.flags")).expect("the core has the file");
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let policies = policies::policies(Path::new(root)).expect("the folder is there");
    for (object, source, own) in OBJECTS {
        let source = format!("{root}/bpf/{source}.bpf.c");
        let result = Path::new(&out).join(format!("{object}.bpf.o"));
        let mut clang = Command::new(CLANG);
        clang.args(flags.clone()).args(own).arg("-c").arg(&source).arg("-o").arg(result);
        policies.iter().for_each(|policy| _ = clang.arg("-include").arg(policy));
        let problem = match clang.status() {
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
