//! The files of the built-in policies, for the build scripts of all crates that compile or carry them: each script
//! includes this file as a module. Relies on nothing but the folder `policies/` of the repository. Never writes.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The files in `policies/` below the root of the repository, found and not listed, in the order of their names.
pub fn policies(root: &Path) -> io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(root.join("policies"))?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "c"));
    files.sort();
    Ok(files)
}
