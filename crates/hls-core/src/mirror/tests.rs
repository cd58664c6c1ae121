//! Asks a C compiler, for the tests of this crate and of the kernel engine.

use std::io::Write;
use std::process::{Command, Stdio};

/// What a compiler says of this text, with the flags of a file of `core/port`.
pub fn compiler_errors(compiler: &str, flags: &str, text: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let flags = std::fs::read_to_string(format!("{root}/core/port/{flags}")).unwrap();
    let flags = flags.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let mut compiler = Command::new(compiler)
        .args(flags)
        .args(["-I", root, "-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(compiler.wait_with_output().unwrap().stderr).unwrap()
}
