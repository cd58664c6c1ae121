//! Runs programs of the host to their ends, and returns their output.
//!
//! Relies on PATH. What a program prints when it fails becomes part of the error.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Runs `command` and returns what it printed to its standard output.
///
/// # Errors
/// `Unavailable` when there is no such program, `Failed` with its standard error when it does not exit with 0.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Unavailable(format!("the program {name} is missing")),
        _ => Error::Failed(format!("{name}: {error}")),
    })?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Failed(format!("{name} failed ({}): {}", output.status, complaint.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The path of a program, found in PATH unless its name has a slash; `None` where there is no such file.
pub(crate) fn find(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
