//! Why a run can fail other than by what its scripts do.

use std::fmt;

/// Why a run of the virtual machine has no outcome. Every text says what was found and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The test machine cannot run on this machine: a program or a kernel is missing and cannot be fetched. Tests that
    /// need the test machine print this as the reason for being skipped.
    Unavailable(String),
    /// A script, program or file for the guest does not exist, or cannot be put into the guest.
    Input(String),
    /// A step that should work failed.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(why) => write!(f, "the test machine cannot run here: {why}"),
            Error::Input(why) | Error::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Turns an error of the system into [`Error::Failed`], with the name of what failed in front.
pub(crate) fn failed(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::Failed(format!("{what}: {error}"))
}
