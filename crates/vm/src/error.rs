//! What can be wrong with a run that is not the script's own doing.

use std::fmt;

/// Why a run of the virtual machine has no outcome. Every text says what was found and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// No virtual machine can run on this one: a program or a kernel is missing and cannot be had. Tests that need one
    /// print this as the reason for being skipped.
    Unavailable(String),
    /// What was to be put into the guest is not there, or cannot be put there.
    Input(String),
    /// Something that should work did not.
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

/// Makes a failure of something named out of an error of the system.
pub(crate) fn failed(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::Failed(format!("{what}: {error}"))
}
