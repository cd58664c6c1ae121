//! Fetches packages of Debian and unpacks them without installing them.
//!
//! Relies on apt, which verifies signatures with the keyring of the Debian archive, and on dpkg-deb. Uses the mirror
//! that this machine's apt uses. Keeps lists and downloads in a folder of its own, and never touches this machine's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::failed;
use crate::{Error, tool};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with lists and a cache of its own, for one suite of Debian.
#[derive(Debug)]
pub struct Apt {
    folder: PathBuf,
    suite: String,
}

impl Apt {
    /// Fetches the index of a suite. Keeps it, and all later downloads, in `folder`.
    ///
    /// # Errors
    /// `Unavailable` where there is no apt, or no mirror of Debian; `Failed` when the index cannot be fetched.
    pub fn new(folder: &Path, suite: &str) -> Result<Apt, Error> {
        let apt = Apt { folder: folder.to_owned(), suite: suite.to_owned() };
        let mirror = mirror()?;
        let source = format!(
            "Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\n\
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

    /// A command of apt that sees the suite, and none of this machine's packages.
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

    /// The package with a name that begins with `prefix` among those that `package` depends on.
    pub(crate) fn dependency(&self, package: &str, prefix: &str) -> Result<String, Error> {
        let shown = tool::output(self.command("apt-cache").args(["show", "--no-all-versions", package]))?;
        dependency(&shown, prefix).ok_or_else(|| {
            Error::Failed(format!(
                "{package} of {} depends on no {prefix}..., as it should:\n{shown}",
                self.suite
            ))
        })
    }

    /// Downloads packages and unpacks them all into the folder `to`.
    ///
    /// # Errors
    /// `Failed` when a package cannot be fetched or unpacked.
    pub fn unpack(&self, packages: &[String], to: &Path) -> Result<(), Error> {
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

/// The package with a name that begins with `prefix` among those that a package depends on; `shown` is what apt shows
/// of it.
fn dependency(shown: &str, prefix: &str) -> Option<String> {
    let depends = shown.lines().find_map(|line| line.strip_prefix("Depends: "))?;
    let mut names = depends.split(", ").filter_map(|dependency| dependency.split_whitespace().next());
    names.find(|name| name.starts_with(prefix)).map(str::to_owned)
}

/// The mirror of Debian that this machine uses, not the mirror of security updates, which does not have the suite.
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
