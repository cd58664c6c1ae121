//! The guest's kernel: Debian's newest that has sched_ext, fetched once.
//!
//! Relies on [`Apt`]; never touches this machine's packages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::failed;
use crate::{Apt, Error};

/// The suite of Debian whose kernels have sched_ext; the kernels of `trixie` itself do not.
pub(crate) const SUITE: &str = "trixie-backports";

/// The package that depends on the newest kernel of the suite, built for virtual machines: its drivers are built in.
const NEWEST: &str = "linux-image-cloud-amd64";

/// The options that the kernel must have been built with.
const NEEDED: [&str; 2] = ["CONFIG_SCHED_CLASS_EXT=y", "CONFIG_DEBUG_INFO_BTF=y"];

/// A kernel to boot.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The compressed image.
    pub image: PathBuf,
    /// The file with the options that the kernel was built with, as in `/proc/config.gz`.
    pub config: PathBuf,
    /// The release of the kernel, as `uname -r` prints it.
    pub release: String,
}

impl Kernel {
    /// The kernel in the folder `cache`, fetched when that has none. A kernel in `cache` is never updated: to have a
    /// newer one, remove it there.
    ///
    /// # Errors
    /// `Unavailable` when the kernel cannot be fetched, or has no sched_ext.
    pub fn cached(cache: &Path) -> Result<Kernel, Error> {
        let home = cache.join("kernel");
        if !home.is_dir() {
            fetch(cache, &home).map_err(|error| match error {
                Error::Unavailable(why) => Error::Unavailable(why),
                other => Error::Unavailable(format!("its kernel could not be fetched: {other}")),
            })?;
        }
        let release = home.join("release");
        let release = fs::read_to_string(&release).map_err(failed(release.display()))?;
        Ok(Kernel { image: home.join("vmlinuz"), config: home.join("config"), release })
    }
}

/// Fetches the packages and makes the folder `home` of the kernel from them, whole or not at all.
fn fetch(cache: &Path, home: &Path) -> Result<(), Error> {
    fs::create_dir_all(cache).map_err(failed(cache.display()))?;
    let work = tempfile::tempdir_in(cache).map_err(failed(cache.display()))?;
    let apt = Apt::new(work.path(), SUITE)?;
    let image = apt.dependency(NEWEST, "linux-image-")?;
    let release = image.trim_start_matches("linux-image-");
    // The image is in linux-binary-RELEASE and the config in linux-base-RELEASE.
    let packages = [apt.dependency(&image, "linux-binary-")?, apt.dependency(&image, "linux-base-")?];
    let unpacked = work.path().join("unpacked");
    apt.unpack(&packages, &unpacked)?;

    let from = unpacked.join("usr/lib/modules").join(release);
    let config = fs::read_to_string(from.join("config")).map_err(failed(format!("config of {release}")))?;
    if let Some(missing) = NEEDED.iter().find(|option| !config.lines().any(|line| line == **option)) {
        return Err(Error::Unavailable(format!("the kernel {release} was built without {missing}")));
    }
    let ready = work.path().join("ready");
    let step = || {
        fs::create_dir(&ready)?;
        fs::rename(from.join("vmlinuz"), ready.join("vmlinuz"))?;
        fs::rename(from.join("config"), ready.join("config"))?;
        fs::write(ready.join("release"), release)?;
        fs::rename(&ready, home)
    };
    // Another process may have made the folder meanwhile.
    step().or_else(|error| if home.is_dir() { Ok(()) } else { Err(error) }).map_err(failed(home.display()))
}
