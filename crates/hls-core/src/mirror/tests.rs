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

/// What a compiler says of each header of a folder that does not compile by itself, after the files of all policies and
/// this text.
pub fn headers_that_need_others(compiler: &str, flags: &str, folder: &str, before: &str) -> Vec<String> {
    let files = |folder: &str, end: &str| {
        let all = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..").to_owned() + "/" + folder);
        let names = all.unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    };
    let include = |folder: &str, name: &String| format!("#include \"{folder}/{name}\"\n");
    let policies: String = files("policies", ".c").iter().map(|name| include("policies", name)).collect();
    let unused = ["function", "const-variable"]
        .map(|what| format!("#pragma GCC diagnostic ignored \"-Wunused-{what}\"\n"))
        .concat();
    let headers = files(folder, ".h");
    assert!(!headers.is_empty());
    let errors = |name: &String| {
        let text = format!("{unused}{policies}{before}{}", include(folder, name));
        let errors = compiler_errors(compiler, flags, &text);
        (!errors.is_empty()).then(|| format!("{folder}/{name}: {errors}"))
    };
    headers.iter().filter_map(errors).collect()
}
