//! How a command ends: its exit code, and the last word on standard error.

use std::io;
use std::process::ExitCode;

/// A command that came to its end.
pub enum Verdict {
    /// All is well.
    Kept,
    /// A guarantee does not hold, or did not.
    Violated,
}

/// A command that did not.
pub enum Error {
    /// The user's input is wrong, and it has been said how.
    Reported,
    /// The user's input is wrong, like this.
    Input(String),
    /// The system failed: a file that cannot be written, an error of ours.
    System(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(error.to_string())
    }
}

/// What `main` returns. A reader that went away (a closed pipe) is not an error.
pub fn code(outcome: Result<Verdict, Error>) -> ExitCode {
    match outcome {
        Ok(Verdict::Kept) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Err(Error::Reported) => ExitCode::from(2),
        Err(Error::Input(message)) => {
            eprintln!("hls: {message}");
            ExitCode::from(2)
        }
        Err(Error::System(message)) => {
            eprintln!("hls: {message}");
            ExitCode::from(3)
        }
    }
}
