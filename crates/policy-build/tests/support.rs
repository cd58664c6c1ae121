//! Helpers for several files of tests.

use hls_core::Library;
use hls_policy_build::{Builder, PolicyFile, Target};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fastest target of each compiler: what holds for one target of a compiler holds for the other.
pub const OF_EACH_COMPILER: [Target; 2] = [Target::Description, Target::Replay];

/// The core with these policies, in this process.
pub fn opened(policies: &[(u8, PolicyFile)]) -> Library {
    let built = Builder::default().build(Target::Native, policies).unwrap_or_else(|error| panic!("{error}"));
    let file = tempfile::NamedTempFile::new().expect("there is room");
    fs::write(file.path(), built.bytes).expect("there is room");
    Library::open(file.path()).unwrap_or_else(|error| panic!("{error}"))
}

/// A compiler that is this script, in a place that every user can reach. Another process writes the script: if this
/// process had it open for writing while another test forks, it could not be run.
pub fn compiler(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("compiler");
    let written = Command::new("sh")
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\""])
        .arg(&path)
        .arg(script)
        .status();
    assert!(written.is_ok_and(|status| status.success()), "there is room");
    for path in [folder, &path] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
    }
    path
}
