//! Errors of BPF operations: this process or this kernel may not do it, or it went wrong.

use crate::{Exit, Refusal};
use hls_core::{Fault, Unsound};
use std::fmt;

/// Why something with BPF could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The kernel does not let this process use BPF, or has no arenas; the reason.
    NotAllowed(String),
    /// The process may use BPF, but this failed: what was tried, and the error.
    Failed(String),
    /// The kernel refuses a BPF object.
    Refused(Refusal),
    /// A tape has a call that no build of the core can make.
    Unsound(Unsound),
    /// The kernel has taken its threads back.
    Ended(Exit),
    /// An invariant of the core is broken.
    Broken(Fault),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotAllowed(reason) => write!(f, "BPF cannot be used: {reason}"),
            Error::Failed(what) => f.write_str(what),
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Unsound(unsound) => unsound.fmt(f),
            Error::Ended(exit) => exit.fmt(f),
            Error::Broken(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
