//! Reading a policy's C file, and saying what is wrong with it.

use crate::exit::{Error, say};
use hls_policy_build::PolicyFile;
use std::path::Path;

/// Reads a policy; `name` is given where the policy is to have another name than its own.
pub fn read(file: &Path, name: Option<&str>) -> Result<PolicyFile, Error> {
    let policy = PolicyFile::read(file).map_err(refused)?;
    name.map_or(Ok(policy.clone()), |name| policy.renamed(name)).map_err(refused)
}

/// Prints why a policy was refused, a line for each place, as compilers do.
pub fn refused(error: hls_policy_build::Error) -> Error {
    match error {
        hls_policy_build::Error::Refused(_) => {
            say(error);
            Error::Reported
        }
        hls_policy_build::Error::System(what) => Error::System(what),
    }
}
