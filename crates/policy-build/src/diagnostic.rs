//! Mistakes in a policy, with their places in the author's file.

use std::fmt;
use std::path::{Path, PathBuf};

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Says more about the error before it.
    Note,
    /// Worth knowing; the policy is built nevertheless.
    Warning,
    /// The policy cannot be used as it is.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The author's file, by the path that the caller gave.
    pub file: PathBuf,
    /// Counted from 1; `None`: it is about the file as a whole.
    pub line: Option<usize>,
    /// Counted from 1; `None`: it is about the line as a whole.
    pub column: Option<usize>,
    /// How serious the message is.
    pub severity: Severity,
    /// What was found, and what was expected.
    pub message: String,
}

impl Diagnostic {
    /// An error.
    pub(crate) fn error(file: &Path, line: Option<usize>, message: impl Into<String>) -> Diagnostic {
        let (file, message) = (file.into(), message.into());
        Diagnostic { file, line, column: None, severity: Severity::Error, message }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, "{place}:")?;
        }
        write!(f, " {}: {}", self.severity, self.message)
    }
}

/// Why a policy was not built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The mistakes in the policies; never empty.
    Refused(Vec<Diagnostic>),
    /// The machine lacks something, or an operation failed; what, and what to do.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(diagnostics) => {
                for (i, diagnostic) in diagnostics.iter().enumerate() {
                    let end = if i == 0 { "" } else { "\n" };
                    write!(f, "{end}{diagnostic}")?;
                }
                Ok(())
            }
            Error::System(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}
