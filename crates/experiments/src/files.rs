//! Reads files and lists folders of experiments; messages name the file or folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The paths of what is in a folder and ends in `ending`, in order of name.
///
/// # Errors
/// Why the folder cannot be read.
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
/// Why the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Vec<String>> {
    fs::read(path).map_err(|error| vec![format!("{}: {error}", path.display())])
}
