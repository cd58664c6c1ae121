//! Runs `hls`, for tests that look at its output and exit code.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The outcome of a command: its exit code and what it printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        let text = |bytes| String::from_utf8(bytes).expect("all that hls prints is text");
        Outcome { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// `hls` with these arguments, in the directory of the test files.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hls"));
    command.args(args).current_dir(files());
    command
}

pub fn hls(args: &[&str]) -> Outcome {
    command(args).output().unwrap().into()
}

/// Where the test files are.
pub fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

/// The hierarchy of the HLS paper's Figure 1.
pub fn figure_1() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/figure1.kdl").display().to_string()
}

/// Asserts that the command refuses its input: exit code 2, a message on standard error only, without a panic, which
/// has these words.
pub fn assert_refused(args: &[&str], words: &[&str]) {
    let Outcome { code, stdout, stderr } = hls(args);
    assert_eq!((code, &stdout[..]), (Some(2), ""), "{args:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{args:?}: no `{word}` in\n{stderr}");
    }
}
