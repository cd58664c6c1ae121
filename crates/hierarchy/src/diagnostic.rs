//! What the reader says about a file: diagnostics, and the ways to print them.
//!
//! Relies on nothing but the text of the file. Never prints anything itself.

use crate::model::Span;
use hls_units::is_hidden;
use miette::{LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::sync::Arc;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably does not say what its author means.
    Warning,
}

/// One thing that is wrong with a file: where, what was found, and what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the file can be used all the same.
    pub severity: Severity,
    /// The bytes of the file that the diagnostic is about.
    pub span: Span,
    /// The part of the hierarchy that the diagnostic is about, such as ``property `quantum` of scheduler `PS` ``.
    pub message: String,
    /// What stands there.
    pub found: String,
    /// What was expected there instead.
    pub expected: String,
    /// What the user can do about it.
    pub help: Option<String>,
    /// If the diagnostic is about the second of two things where one is allowed: the place of the first.
    pub first: Option<Span>,
}

impl Diagnostic {
    /// An error that is about these bytes of the file.
    pub fn error(
        span: Span,
        message: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            span,
            message: on_one_line(message.into()),
            found: on_one_line(found.into()),
            expected: on_one_line(expected.into()),
            help: None,
            first: None,
        }
    }

    /// The diagnostic as a warning.
    pub(crate) fn into_warning(self) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..self }
    }

    /// The diagnostic with the place of the first of the two things that it is about.
    pub(crate) fn first(self, first: Span) -> Diagnostic {
        Diagnostic { first: Some(first), ..self }
    }

    /// The diagnostic with advice, when there is any.
    pub(crate) fn help(self, advice: impl Into<Option<String>>) -> Diagnostic {
        Diagnostic { help: advice.into().map(on_one_line), ..self }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}", self.message, self.found, self.expected)
    }
}

/// Why something was refused, as an error to return.
pub(crate) type Refusal = Box<Diagnostic>;

/// The text without line ends and other hidden characters, which names and values in a file may have.
fn on_one_line(text: String) -> String {
    if text.contains(is_hidden) { text.replace(is_hidden, " ") } else { text }
}

/// How many errors, and how many warnings, are reported of one file.
pub const MAX_DIAGNOSTICS: usize = 1000;

/// Collects the diagnostics of one file.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Sink {
    /// Adds a diagnostic, unless there are too many already.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        let kept = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if kept.len() < MAX_DIAGNOSTICS {
            kept.push(diagnostic);
        }
    }

    /// The value of a result; adds its error where it is one.
    pub(crate) fn ok<T>(&mut self, result: Result<T, Refusal>) -> Option<T> {
        result.map_err(|error| self.add(*error)).ok()
    }

    /// Whether an error was added.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// Whether no more errors are added, so that there is no use in looking for more.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_DIAGNOSTICS
    }

    /// All diagnostics in the order of the file. Where there are too many, a last one says so.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let overflow = [(&self.errors, "errors"), (&self.warnings, "warnings")].map(|(kept, what)| {
            let last = kept.get(MAX_DIAGNOSTICS - 1)?;
            let found = format!("{} {what} or more", kept.len());
            let closing =
                Diagnostic::error(last.span.clone(), "the file", found, "fewer: the others are not reported");
            Some(Diagnostic { severity: last.severity, ..closing })
        });
        let mut all = self.errors;
        all.extend(self.warnings);
        all.sort_by_key(|diagnostic| diagnostic.span.start);
        all.extend(overflow.into_iter().flatten());
        all
    }
}

/// A file's name and text, with its lines found, for printing places in it.
#[derive(Clone, Debug)]
pub struct Source {
    named: Arc<NamedSource<String>>,
    line_starts: Vec<usize>,
}

impl Source {
    /// Takes the file's name, as its user wrote it, and its bytes. Bytes that are not UTF-8 are shown as `U+FFFD`.
    pub fn new(name: &str, bytes: &[u8]) -> Source {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Source { named: Arc::new(NamedSource::new(name, text)), line_starts }
    }

    /// Line and column, both counted from 1, of a byte of the text. Columns are counted in characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        let before = self.named.inner().as_bytes().get(start..offset).unwrap_or_default();
        (line, 1 + before.iter().filter(|&&byte| !is_continuation(byte)).count())
    }

    /// One line: `FILE:LINE:COLUMN: error: what: found this, expected that (the first is at LINE:COLUMN) (advice)`.
    pub fn line(&self, diagnostic: &Diagnostic) -> String {
        let (line, column) = self.line_column(diagnostic.span.start);
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut text = format!("{}:{line}:{column}: {severity}: {diagnostic}", self.named.name());
        if let Some(first) = &diagnostic.first {
            let (line, column) = self.line_column(first.start);
            text += &format!(" (the first is at {line}:{column})");
        }
        diagnostic.help.iter().for_each(|help| text += &format!(" ({help})"));
        text
    }

    /// The diagnostic together with its source, for `miette` to print with the lines that it is about.
    pub fn report(&self, diagnostic: &Diagnostic) -> Report {
        Report { named: Arc::clone(&self.named), diagnostic: diagnostic.clone() }
    }
}

/// Whether a byte continues a UTF-8 character that an earlier byte began.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// A diagnostic that knows its source: what `miette` prints.
#[derive(Clone, Debug)]
pub struct Report {
    named: Arc<NamedSource<String>>,
    diagnostic: Diagnostic,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}", self.diagnostic.message, self.diagnostic.found)
    }
}

impl std::error::Error for Report {}

impl miette::Diagnostic for Report {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&*self.named)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let expected = format!("expected {}", self.diagnostic.expected);
        let here = LabeledSpan::new_primary_with_span(Some(expected), self.diagnostic.span.clone());
        let first = self.diagnostic.first.clone();
        let first = first.map(|first| LabeledSpan::new_with_span(Some("the first".to_owned()), first));
        Some(Box::new(std::iter::once(here).chain(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_lines_from_one() {
        let source = Source::new("f.kdl", "é x\ny\n".as_bytes());
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(3), (1, 3));
        assert_eq!(source.line_column(5), (2, 1));
        assert_eq!(source.line_column(7), (3, 1));
    }

    #[test]
    fn a_place_in_bytes_that_are_no_text_is_still_a_place() {
        let source = Source::new("f.kdl", b"ab\n\xff\xfe");
        assert_eq!(source.line_column(3), (2, 1));
        assert_eq!(source.line_column(usize::MAX), (2, 1));
    }

    #[test]
    fn too_many_errors_end_with_a_word_about_it() {
        let mut sink = Sink::default();
        for _ in 0..MAX_DIAGNOSTICS + 3 {
            sink.add(Diagnostic::error(0..1, "it", "this", "that"));
        }
        assert!(sink.is_full());
        sink.add(Diagnostic::error(0..1, "it", "this", "that").into_warning());
        let all = sink.into_diagnostics();
        assert_eq!(all.len(), MAX_DIAGNOSTICS + 2);
        assert_eq!(all[MAX_DIAGNOSTICS + 1].found, "1000 errors or more");
    }

    #[test]
    fn too_many_warnings_hide_no_error() {
        let mut sink = Sink::default();
        for _ in 0..MAX_DIAGNOSTICS + 3 {
            sink.add(Diagnostic::error(0..1, "it", "this", "that").into_warning());
        }
        assert!(!sink.has_errors() && !sink.is_full());
        sink.add(Diagnostic::error(0..1, "it", "this", "that"));
        assert!(sink.has_errors());
    }
}
