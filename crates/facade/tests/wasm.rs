//! The façade as a module of WebAssembly, run by Node: its answers must be the native ones, byte for byte.

use hls_facade::{Options, check, simulate};
use hls_units::Nanos;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGET: &str = "wasm32-unknown-unknown";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Builds the module, in a folder of its own: other builds of this repository may go on meanwhile.
fn module() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--package", "hls-facade", "--example", "wasm"])
        .args(["--target", TARGET, "--target-dir"])
        .arg(&folder)
        .current_dir(root())
        .status()
        .expect("cargo starts");
    assert!(status.success(), "no module was built; `scripts/setup wasm` installs what that needs");
    folder.join(TARGET).join("debug/examples/wasm.wasm")
}

/// The module's answer to a question about a text.
fn ask(module: &Path, question: &str, text: &str) -> String {
    let mut node = Command::new("node")
        .arg(root().join("crates/facade/tests/node.mjs"))
        .arg(module)
        .arg(question)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts; `scripts/setup wasm` installs it");
    node.stdin.take().expect("it is a pipe").write_all(text.as_bytes()).expect("node reads the text");
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "node fails: {:?}", output.status);
    String::from_utf8(output.stdout).expect("JSON is text")
}

fn json(answer: impl Serialize) -> String {
    serde_json::to_string(&answer).expect("an answer can be written")
}

#[test]
fn a_module_of_web_assembly_answers_as_the_native_build_does() {
    let module = module();
    let figure = std::fs::read_to_string(root().join("examples/figure1.kdl")).expect("the example is there");
    let native = check(&figure, &Options::default());
    assert_eq!(native.exit_code, 0);
    assert_eq!(ask(&module, "check", &figure), json(native));
    let wrong = figure.replacen("fixed-priority", "fixed-prority", 1);
    assert_eq!(ask(&module, "check", &wrong), json(check(&wrong, &Options::default())));
    let options = Options { length: Some(Nanos::from_secs(1)), seed: 7, ..Options::default() };
    assert_eq!(ask(&module, "simulate", &figure), json(simulate(&figure, &options)));
}
