//! Reading a policy's C file, and saying what is wrong with it.

use crate::exit::{Error, say};
use hls_policy_build::PolicyFile;
use std::path::Path;

/// A policy, under this name if it is to have another than its own.
pub fn read(file: &Path, name: Option<&str>) -> Result<PolicyFile, Error> {
    let policy = PolicyFile::read(file).map_err(refused)?;
    name.map_or(Ok(policy.clone()), |name| policy.renamed(name)).map_err(refused)
}

/// What was refused has been said line by line, as compilers do.
pub fn refused(error: hls_policy_build::Error) -> Error {
    match error {
        hls_policy_build::Error::Refused(_) => {
            say(error);
            Error::Reported
        }
        hls_policy_build::Error::System(what) => Error::System(what),
    }
}
