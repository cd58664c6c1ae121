//! The folder of the cached builds; a build's name depends on everything that it was made from. A user that may write
//! there decides what later builds are: so a folder or a file that other users can write is not used. Relies on
//! complete names; never removes a build.

use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::NamedTempFile;

/// The largest object that is read, in bytes: no compiler of ours writes a larger file.
const MAX_OBJECT: u64 = 64 << 20;

/// A folder of builds in which only this user and root can write.
pub(crate) struct Cache(PathBuf);

/// Why there is no cache.
pub(crate) enum Unusable {
    /// The system's error.
    Failed(io::Error),
    /// Another user may write there: which user, and where.
    Writable(String),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Unusable {
        Unusable::Failed(error)
    }
}

impl Cache {
    /// The cache in this folder, which is created if needed.
    pub(crate) fn open(folder: &Path) -> Result<Cache, Unusable> {
        fs::create_dir_all(folder)?;
        let folder = fs::canonicalize(folder)?;
        for part in folder.ancestors() {
            if let Some(writer) = other_writer(&fs::metadata(part)?) {
                return Err(Unusable::Writable(format!("{writer} can write in {}", part.display())));
            }
        }
        Ok(Cache(folder))
    }

    /// The place of a build.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The first build with a name that begins and ends like this.
    pub(crate) fn any(&self, begin: &str, extension: &str) -> io::Result<Option<PathBuf>> {
        let names = fs::read_dir(&self.0)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        let end = format!(".{extension}");
        let fits =
            |name: &String| name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(&end)).is_some();
        Ok(names.into_iter().filter(fits).min().map(|name| self.place(&name)))
    }

    /// The build at its place; `None`: it is not there, or another user may have written it.
    pub(crate) fn get(&self, place: &Path) -> io::Result<Option<Vec<u8>>> {
        match open_file(place) {
            Ok((file, about)) if other_writer(&about).is_none() => read(file).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a build at its place: whole, or not at all.
    pub(crate) fn put(&self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.0)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(place)?;
        Ok(())
    }
}

/// Which other user can write to a file, or can replace files in a folder; `None`: only this user and root.
pub fn other_writer(about: &Metadata) -> Option<String> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // In a user namespace the owner of `/` owns everything, and may have another number than 0.
    let owner_of_all = fs::metadata("/").map_or(0, |root| root.uid());
    // In a folder such as /tmp (sticky) every user may replace only the user's own files.
    let is_kept_apart = about.is_dir() && about.mode() & 0o1000 != 0;
    match about.mode() {
        _ if ![0, user, owner_of_all].contains(&about.uid()) => Some(format!("user {}", about.uid())),
        _ if is_kept_apart => None,
        mode if mode & 0o002 != 0 => Some("everybody".into()),
        mode if mode & 0o020 != 0 && ![0, group].contains(&about.gid()) => {
            Some(format!("group {}", about.gid()))
        }
        _ => None,
    }
}

/// Opens a regular file, but does not follow a link.
fn open_file(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    if about.is_file() { Ok((file, about)) } else { Err(io::Error::other("found no file, expected one")) }
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_OBJECT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        0..=MAX_OBJECT => Ok(bytes),
        _ => Err(io::Error::other(format!("found more than {MAX_OBJECT} bytes"))),
    }
}

/// Reads the object that a compiler has written, from a folder where the compiler may write anything.
pub(crate) fn read_object(path: &Path) -> io::Result<Vec<u8>> {
    read(open_file(path)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn writer(folder: &Path) -> Option<String> {
        match Cache::open(folder) {
            Ok(_) => None,
            Err(Unusable::Writable(text)) => Some(text),
            Err(Unusable::Failed(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("hls/policies");
        assert_eq!(writer(&cache), None);
        for path in [&cache, cache.parent().unwrap()] {
            allow(path, 0o777);
            assert!(writer(&cache).is_some_and(|text| text.starts_with("everybody can write in ")));
            // Like /tmp.
            allow(path, 0o1777);
            assert_eq!(writer(&cache), None);
            allow(path, 0o755);
        }
        if rustix::process::geteuid().is_root() {
            chown(&cache, Some(1234), None).unwrap();
            assert!(writer(&cache).is_some_and(|text| text.starts_with("user 1234 can write in ")));
            chown(&cache, Some(0), Some(1234)).unwrap();
            assert_eq!(writer(&cache), None);
            allow(&cache, 0o775);
            assert!(writer(&cache).is_some_and(|text| text.starts_with("group 1234 can write in ")));
        }
    }

    #[test]
    fn a_build_that_others_can_write_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let Ok(cache) = Cache::open(folder.path()) else { panic!("it is ours") };
        let place = cache.place("name");
        assert_eq!(cache.get(&place).unwrap(), None);
        cache.put(&place, b"build").unwrap();
        assert_eq!(cache.get(&place).unwrap().as_deref(), Some(&b"build"[..]));
        allow(&place, 0o666);
        assert_eq!(cache.get(&place).unwrap(), None);
        if rustix::process::geteuid().is_root() {
            allow(&place, 0o644);
            chown(&place, Some(1234), None).unwrap();
            assert_eq!(cache.get(&place).unwrap(), None);
        }
        symlink("/etc/passwd", cache.place("link")).unwrap();
        assert!(cache.get(&cache.place("link")).is_err() && read_object(&cache.place("link")).is_err());
        assert!(read_object(&cache.place("name")).is_ok() && read_object(folder.path()).is_err());
    }
}
