//! Files and folders of experiments, read with messages that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a folder that end in this, in order of name.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Vec<String>> {
    let failed = |error: io::Error| vec![format!("{}: {error}", folder.display())];
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(failed)?;
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    Ok(paths)
}

/// Reads a file.
///
/// # Errors
/// Why it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Vec<String>> {
    fs::read(path).map_err(|error| vec![format!("{}: {error}", path.display())])
}
