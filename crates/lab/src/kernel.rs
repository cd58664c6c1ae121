//! The guest's kernel: Debian's newest that has sched_ext, fetched once.
//!
//! Relies on apt, which verifies signatures with the keyring of the Debian archive, and on dpkg-deb. The mirror is the
//! one that the machine's apt uses. The lists and downloads of this search are in a folder of their own: the machine's
//! are never touched, and nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::failed;
use crate::{Error, tool};

/// The suite whose kernels have sched_ext; those of the suite that it adds to do not.
const SUITE: &str = "trixie-backports";

/// Depends on the newest kernel of the suite. The variant for virtual machines has what the guest needs built in.
const NEWEST: &str = "linux-image-cloud-amd64";

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// What the kernel must have been built with.
const NEEDED: [&str; 2] = ["CONFIG_SCHED_CLASS_EXT=y", "CONFIG_DEBUG_INFO_BTF=y"];

/// A kernel to boot.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The compressed image.
    pub image: PathBuf,
    /// The options that it was built with, as in `/proc/config.gz`.
    pub config: PathBuf,
    /// Its release, as `uname -r` prints it.
    pub release: String,
}

impl Kernel {
    /// The kernel in the folder `cache`, fetched when it is not there. One that is there stays: who wants a newer one
    /// removes it.
    ///
    /// # Errors
    /// `Unavailable` when it cannot be fetched, or has no sched_ext.
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

/// Makes `home` out of the packages, whole or not at all.
fn fetch(cache: &Path, home: &Path) -> Result<(), Error> {
    fs::create_dir_all(cache).map_err(failed(cache.display()))?;
    let work = tempfile::tempdir_in(cache).map_err(failed(cache.display()))?;
    let apt = Apt::new(work.path())?;
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
    // Somebody else may have been faster.
    step().or_else(|error| if home.is_dir() { Ok(()) } else { Err(error) }).map_err(failed(home.display()))
}

/// apt, with lists and a cache of its own.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Reads the index of the suite.
    fn new(folder: &Path) -> Result<Apt, Error> {
        let apt = Apt { folder: folder.to_owned() };
        let mirror = mirror()?;
        let source = format!(
            "Types: deb\nURIs: {mirror}\nSuites: {SUITE}\nComponents: main\n\
             Architectures: amd64\nSigned-By: {KEYRING}\n"
        );
        let step = || {
            fs::create_dir_all(folder.join("lists/partial"))?;
            fs::create_dir_all(folder.join("archives/partial"))?;
            fs::write(folder.join("status"), "")?;
            fs::write(folder.join("suite.sources"), source)
        };
        step().map_err(failed(folder.display()))?;
        tool::output(apt.command("apt-get").args(["--error-on=any", "update"])).map_err(|error| {
            let hint = if error.to_string().contains("NO_PUBKEY") {
                "\nThe keys of the suite are in the newest package debian-archive-keyring of your Debian release."
            } else {
                ""
            };
            Error::Failed(format!("{error}{hint}"))
        })?;
        Ok(apt)
    }

    /// A command of apt that sees the suite and nothing of the machine's packages.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folder = self.folder.display();
        for option in [
            format!("Dir::Etc::sourcelist={folder}/suite.sources"),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={folder}/lists"),
            format!("Dir::State::status={folder}/status"),
            format!("Dir::Cache={folder}"),
            "APT::Architecture=amd64".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        command
    }

    /// The package whose name begins with `prefix` and that `package` depends on.
    fn dependency(&self, package: &str, prefix: &str) -> Result<String, Error> {
        let shown = tool::output(self.command("apt-cache").args(["show", "--no-all-versions", package]))?;
        dependency(&shown, prefix).ok_or_else(|| {
            Error::Failed(format!("{package} of {SUITE} depends on no {prefix}..., as it should:\n{shown}"))
        })
    }

    /// Downloads packages and unpacks them all into the folder `to`.
    fn unpack(&self, packages: &[String], to: &Path) -> Result<(), Error> {
        let archives = self.folder.join("archives");
        tool::output(self.command("apt-get").arg("download").args(packages).current_dir(&archives))?;
        let entries = fs::read_dir(&archives).map_err(failed(archives.display()))?;
        let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
        for package in entries.flatten().map(|entry| entry.path()).filter(is_package) {
            tool::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(to))?;
        }
        Ok(())
    }
}

/// The package whose name begins with `prefix` among those that a package depends on, as apt shows it.
fn dependency(shown: &str, prefix: &str) -> Option<String> {
    let depends = shown.lines().find_map(|line| line.strip_prefix("Depends: "))?;
    let mut names = depends.split(", ").filter_map(|dependency| dependency.split_whitespace().next());
    names.find(|name| name.starts_with(prefix)).map(str::to_owned)
}

/// The mirror of Debian that the machine uses; its mirror of security updates does not have the suite.
fn mirror() -> Result<String, Error> {
    let wanted = ["Created-By: Packages", "Origin: Debian", "Label: Debian"];
    let found =
        tool::output(Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]).args(wanted))?;
    let first = found.lines().next().ok_or_else(|| {
        Error::Unavailable(
            "its kernel comes from Debian, and apt knows no mirror of Debian; if this is Debian, try `apt-get update`"
                .into(),
        )
    })?;
    Ok(first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::dependency;

    #[test]
    fn a_dependency_is_found_by_how_its_name_begins() {
        let shown = "Package: linux-image-cloud-amd64\nDepends: linux-base-cloud (= 7), linux-image-7.3+deb13 (= 7)\n";
        assert_eq!(dependency(shown, "linux-image-").as_deref(), Some("linux-image-7.3+deb13"));
        assert_eq!(dependency(shown, "linux-binary-"), None);
        assert_eq!(dependency("Package: x\n", "linux-image-"), None);
    }
}
