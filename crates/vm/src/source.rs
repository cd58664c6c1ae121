//! Fetches parts of the source of the guest's kernel, for callers that compile programs from that very source.
//!
//! Relies on [`Apt`]; never touches this machine's packages.

use std::path::Path;
use std::process::Command;

use crate::error::failed;
use crate::kernel::SUITE;
use crate::{Apt, Error, Kernel, tool};

/// Fetches the source of the kernel and unpacks `parts` of it, folders and files named by their paths in the source, to
/// the same paths below `to`. Keeps the downloads in the folder `cache` meanwhile.
pub(crate) fn unpack(kernel: &Kernel, cache: &Path, parts: &[&str], to: &Path) -> Result<(), Error> {
    let work = tempfile::tempdir_in(cache).map_err(failed(cache.display()))?;
    let source = format!("linux-source-{}", version(&kernel.release));
    let unpacked = work.path().join("unpacked");
    Apt::new(&work.path().join("apt"), SUITE)?.unpack(std::slice::from_ref(&source), &unpacked)?;
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(unpacked.join(format!("usr/src/{source}.tar.xz")));
    tar.arg("--strip-components=1").arg("-C").arg(to);
    tool::output(tar.args(parts.iter().map(|part| format!("{source}/{part}"))))?;
    Ok(())
}

/// The first two numbers of a kernel's release: one package has the source of all kernels that share them.
fn version(release: &str) -> String {
    let numbers: Vec<&str> = release.split('.').take(2).collect();
    numbers.join(".")
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_package_is_named_by_two_numbers() {
        assert_eq!(version("7.3.4+deb13-cloud-amd64"), "7.3");
        assert_eq!(version("7"), "7");
    }
}
