//! Writes a file whole or not at all.
//!
//! The bytes go to a temporary file in the same directory, which takes the place of the named one only after all went
//! well; when something fails it is removed, and what was there before stays. A name that is not a plain file, such as
//! a pipe or `/dev/stdout`, is written to directly, since it cannot be replaced.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Creates or replaces the file at `path` with what `write` writes.
///
/// # Errors
/// Those of `write`, and of creating, flushing and renaming the file, with the path in front. The file at `path` is then as it was.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let with_path = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    replace(path, write).map_err(with_path)
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        write(&mut out)?;
        return out.flush();
    }
    let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    let mode = default_or(existing.map(|metadata| metadata.permissions()));
    let file = builder.prefix(".hls-").permissions(mode).tempfile_in(directory)?;
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    let file: NamedTempFile = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// The permissions of the file that is replaced, or those that any new file gets; the umask applies to both.
fn default_or(existing: Option<Permissions>) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    existing.unwrap_or_else(|| Permissions::from_mode(0o666))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        for text in ["first", "second"] {
            write_atomically(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(entries(directory.path()), ["trace"]);
    }

    #[test]
    fn a_failing_write_leaves_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        let fail = |out: &mut dyn Write| {
            out.write_all(&[0; 100_000])?;
            Err(io::Error::new(io::ErrorKind::StorageFull, "disk full"))
        };
        let error = write_atomically(&path, fail).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().ends_with("trace: disk full"), "{error}");
        assert!(entries(directory.path()).is_empty());

        fs::write(&path, "before").unwrap();
        write_atomically(&path, fail).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(entries(directory.path()), ["trace"]);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/trace");
        let error = write_atomically(&path, |out| out.write_all(b"x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("missing/trace: "), "{error}");
    }

    #[test]
    fn a_device_is_written_to_directly() {
        write_atomically(Path::new("/dev/null"), |out| out.write_all(b"x")).unwrap();
        let error = write_atomically(Path::new("/dev/full"), |out| out.write_all(b"x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
