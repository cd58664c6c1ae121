//! How a command ends: its exit code, and its last message on standard error.

use hls_hierarchy::{Diagnostic, MAX_DIAGNOSTICS, Source};
use hls_units::is_hidden;
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// How a command came to its end.
pub use hls_facade::Verdict;

/// Why a command did not come to its end.
pub enum Error {
    /// The user's input is wrong, and the messages about it have been printed.
    Reported,
    /// The user's input is wrong at these places: the messages, still to be printed.
    Wrong(Source, Vec<Diagnostic>),
    /// The user's input is wrong: the message, still to be printed.
    Input(String),
    /// The system failed: a file that cannot be written, an error of ours.
    System(String),
}

impl From<hls_session::Error> for Error {
    fn from(error: hls_session::Error) -> Error {
        match error {
            hls_session::Error::System(what) => Error::System(what),
            other => Error::Input(other.to_string()),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(error.to_string())
    }
}

/// Writes a line, or a few, to standard error, without what names in it might do to a terminal. If that fails, no
/// reader is left to tell.
pub fn say(text: impl Display) {
    let text = text.to_string().replace(|c| is_hidden(c) && !matches!(c, '\n' | '\t'), "?");
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints what is wrong and where: a line each, or on a terminal with the file's text drawn around the place.
pub fn report(source: &Source, diagnostics: &[Diagnostic]) {
    let for_people = io::stderr().is_terminal();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode());
    for diagnostic in diagnostics.iter().take(MAX_DIAGNOSTICS + 1) {
        let mut text = String::new();
        let drawn = for_people && handler.render_report(&mut text, &source.report(diagnostic)).is_ok();
        say(if drawn { text } else { source.line(diagnostic) });
    }
    if diagnostics.len() > MAX_DIAGNOSTICS + 1 {
        say(format_args!("... and {} more", diagnostics.len() - MAX_DIAGNOSTICS - 1));
    }
}

/// The messages of a session go to standard error.
pub struct StandardError;

impl hls_session::Console for StandardError {
    fn say(&self, text: &dyn Display) {
        say(text);
    }
}

/// What `main` returns for a run in a process of its own, which has already printed all messages.
#[cfg(feature = "kernel")]
pub fn of_run(outcome: Result<u8, Error>) -> ExitCode {
    outcome.map_or_else(|error| code(Err(error)), ExitCode::from)
}

/// What `main` returns.
pub fn code(outcome: Result<Verdict, Error>) -> ExitCode {
    match outcome {
        Ok(verdict) => ExitCode::from(verdict.exit_code()),
        Err(Error::Reported) => ExitCode::from(2),
        Err(Error::Wrong(source, errors)) => {
            report(&source, &errors);
            ExitCode::from(2)
        }
        Err(Error::Input(message)) => {
            say(format_args!("hls: {message}"));
            ExitCode::from(2)
        }
        Err(Error::System(message)) => {
            say(format_args!("hls: {message}"));
            ExitCode::from(3)
        }
    }
}
