//! A file that is written whole or not at all.
//!
//! The bytes go to a temporary file in the same directory, which takes the place of the named one only when all went
//! well; when something fails it is removed, and what was there before stays. A name that is not a plain file, such as
//! a pipe or `/dev/stdout`, is written to directly, since it cannot be replaced.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file on its way. Dropped before [`AtomicFile::commit`], it leaves nothing behind.
///
/// Every error has the path of the file in front.
#[derive(Debug)]
pub struct AtomicFile {
    /// The name that the user gave.
    path: PathBuf,
    out: Out,
}

#[derive(Debug)]
enum Out {
    /// Takes the place of `target` in the end.
    Replacing { out: BufWriter<NamedTempFile>, target: PathBuf },
    /// Cannot be replaced.
    Direct(BufWriter<File>),
}

impl AtomicFile {
    /// Begins a file that is to stand at `path`.
    ///
    /// # Errors
    /// The errors of creating a file in the directory, or of opening what cannot be replaced.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        match Out::create(path) {
            Ok(out) => Ok(AtomicFile { path: path.to_owned(), out }),
            Err(error) => Err(with_path(path, error)),
        }
    }

    /// Creates or replaces the file with what was written.
    ///
    /// # Errors
    /// The errors of writing the rest and of renaming. What stood at the path is then as it was.
    pub fn commit(self) -> io::Result<()> {
        let done = match self.out {
            Out::Direct(mut out) => out.flush(),
            Out::Replacing { out, target } => {
                let file = out.into_inner().map_err(io::IntoInnerError::into_error);
                file.and_then(|file| file.persist(target).map(drop).map_err(|error| error.error))
            }
        };
        done.map_err(|error| with_path(&self.path, error))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.out {
            Out::Replacing { out, .. } => out.write(bytes),
            Out::Direct(out) => out.write(bytes),
        };
        written.map_err(|error| with_path(&self.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.out {
            Out::Replacing { out, .. } => out.flush(),
            Out::Direct(out) => out.flush(),
        };
        flushed.map_err(|error| with_path(&self.path, error))
    }
}

impl Out {
    fn create(path: &Path) -> io::Result<Out> {
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Ok(Out::Direct(BufWriter::new(File::options().write(true).open(path)?)));
        }
        let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        if existing.is_some() {
            // A user that may not write a file may not replace it either.
            File::options().write(true).open(&target)?;
        }
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::metadata(directory)?;
        let mut builder = tempfile::Builder::new();
        let mode = default_or(existing.map(|metadata| metadata.permissions()));
        let file = builder.prefix(".hls-").permissions(mode).tempfile_in(directory);
        // Its own text has the name of the temporary file, which says nothing to the user.
        let file = file.map_err(|error| io::Error::from(error.kind()))?;
        Ok(Out::Replacing { out: BufWriter::new(file), target })
    }
}

/// The error with the name that the user gave in front.
fn with_path(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

/// The permissions of the file that is replaced, or a new file's; the umask applies to both.
fn default_or(existing: Option<Permissions>) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    existing.unwrap_or_else(|| Permissions::from_mode(0o666))
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind;

    fn entries(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn write(path: &Path, text: &str) -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    }

    #[test]
    fn a_file_appears_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        for text in ["first", "second"] {
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(entries(directory.path()), ["trace"]);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        let give_up = || {
            let mut file = AtomicFile::create(&path).unwrap();
            file.write_all(&[0; 100_000]).unwrap();
            file.flush().unwrap();
        };
        give_up();
        assert!(entries(directory.path()).is_empty());

        fs::write(&path, "before").unwrap();
        give_up();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(entries(directory.path()), ["trace"]);
    }

    #[test]
    fn a_missing_directory_is_named_and_the_temporary_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/trace");
        let error = write(&path, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let text = error.to_string();
        assert!(
            text.contains("missing/trace: No such file or directory") && !text.contains(".hls-"),
            "{text}"
        );
    }

    #[test]
    fn a_device_is_written_to_directly() {
        write(Path::new("/dev/null"), "x").unwrap();
        let error = write(Path::new("/dev/full"), "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
