//! The output of a session for its user: lines while it runs, and the error that stopped it. Relies on the caller to
//! show them.

use hls_hierarchy::Diagnostic;
use std::fmt::{self, Display};
use std::io;

/// Where a session writes what its user should know at once.
pub trait Console: Send + Sync {
    /// Shows a line, or a few; the last one ends without a newline.
    fn say(&self, text: &dyn Display);
}

/// Why a session did not come to its end.
#[derive(Debug)]
pub enum Error {
    /// The user's input is wrong; the text says how.
    Input(String),
    /// The hierarchy file is wrong, at these places.
    Hierarchy(Vec<Diagnostic>),
    /// The system failed: a file that cannot be written, an error of ours.
    System(String),
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(what) | Error::System(what) => f.write_str(what),
            Error::Hierarchy(wrong) => {
                let wrong: Vec<String> = wrong.iter().map(Diagnostic::to_string).collect();
                f.write_str(&wrong.join("; "))
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(error.to_string())
    }
}
