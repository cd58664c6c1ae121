//! The guest's kernel: Debian's newest that has sched_ext, in one of its flavours, fetched once.
//!
//! Relies on [`Apt`]; never touches this machine's packages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::failed;
use crate::{Apt, Error};

/// The suite of Debian with kernels that have sched_ext; the kernels of `trixie` itself do not.
pub(crate) const SUITE: &str = "trixie-backports";

/// The options that every kernel must have been built with.
const NEEDED: [&str; 3] =
    ["CONFIG_SCHED_CLASS_EXT=y", "CONFIG_DEBUG_INFO_BTF=y", "CONFIG_SERIAL_8250_CONSOLE=y"];

/// How Debian has built the kernel. All that the test machine needs of a kernel is built into each, so that the guest
/// has no modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Flavour {
    /// For virtual machines.
    Cloud,
    /// With PREEMPT_RT: interrupts and timers are threads, and most locks of the kernel can be preempted.
    Rt,
}

impl Flavour {
    /// The package that depends on the newest kernel of the suite.
    fn newest(self) -> &'static str {
        match self {
            Flavour::Cloud => "linux-image-cloud-amd64",
            Flavour::Rt => "linux-image-rt-amd64",
        }
    }

    /// The folder of the kernel in the cache.
    fn folder(self) -> &'static str {
        match self {
            Flavour::Cloud => "kernel",
            Flavour::Rt => "kernel-rt",
        }
    }

    /// The options that a kernel of this flavour must have been built with.
    fn needed(self) -> impl Iterator<Item = &'static str> {
        let own = match self {
            Flavour::Cloud => None,
            Flavour::Rt => Some("CONFIG_PREEMPT_RT=y"),
        };
        NEEDED.into_iter().chain(own)
    }

    /// The first option that the kernel was not built with, by its configuration.
    fn missing(self, config: &str) -> Option<&'static str> {
        self.needed().find(|option| !config.lines().any(|line| line == *option))
    }
}

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
    /// The kernel of this flavour in the folder `cache`, fetched when that has none. A kernel in `cache` is never
    /// updated: to have a newer one, remove it there.
    ///
    /// # Errors
    /// `Unavailable` when the kernel cannot be fetched, or has no sched_ext.
    pub fn cached(cache: &Path, flavour: Flavour) -> Result<Kernel, Error> {
        let home = cache.join(flavour.folder());
        if !home.is_dir() {
            fetch(cache, flavour, &home).map_err(|error| match error {
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
fn fetch(cache: &Path, flavour: Flavour, home: &Path) -> Result<(), Error> {
    fs::create_dir_all(cache).map_err(failed(cache.display()))?;
    let work = tempfile::tempdir_in(cache).map_err(failed(cache.display()))?;
    let apt = Apt::new(work.path(), SUITE)?;
    let image = apt.dependency(flavour.newest(), "linux-image-")?;
    let release = image.trim_start_matches("linux-image-");
    // The image is in linux-binary-RELEASE and the config in linux-base-RELEASE.
    let packages = [apt.dependency(&image, "linux-binary-")?, apt.dependency(&image, "linux-base-")?];
    let unpacked = work.path().join("unpacked");
    apt.unpack(&packages, &unpacked)?;

    let from = unpacked.join("usr/lib/modules").join(release);
    let config = fs::read_to_string(from.join("config")).map_err(failed(format!("config of {release}")))?;
    if let Some(missing) = flavour.missing(&config) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_an_option_of_its_flavour_is_refused() {
        let cloud = NEEDED.join("\n");
        let rt = format!("{cloud}\nCONFIG_PREEMPT_RT=y\n");
        assert_eq!((Flavour::Cloud.missing(&cloud), Flavour::Rt.missing(&rt)), (None, None));
        assert_eq!(Flavour::Rt.missing(&cloud), Some("CONFIG_PREEMPT_RT=y"));
        assert_eq!(Flavour::Cloud.missing(&rt.replace("EXT=y", "EXT=n")), Some("CONFIG_SCHED_CLASS_EXT=y"));
    }
}
