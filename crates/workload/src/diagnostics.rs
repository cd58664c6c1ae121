//! What is wrong with a workload file, and what it asks for that cannot be simulated, each with its place.
//!
//! Relies on byte offsets into the text of the file. Never stops a reader: it collects, so that a user sees all of
//! a file's errors at once.

use hls_units::is_hidden;
use std::fmt;

/// One thing that is wrong with a workload file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadError {
    /// The name of the file, as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What was found there.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
}

impl fmt::Display for WorkloadError {
    /// `FILE:LINE:COL: found X, expected Y`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkloadError { file, line, column, found, expected } = self;
        write!(f, "{file}:{line}:{column}: found {found}, expected {expected}")
    }
}

impl std::error::Error for WorkloadError {}

/// An error before its offset is turned to a line and a column.
#[derive(Debug)]
pub(crate) struct Problem {
    /// Offset in bytes.
    pub at: usize,
    /// What was found there.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
}

/// Collects the problems of one file.
#[derive(Default)]
pub(crate) struct Diagnostics {
    problems: Vec<Problem>,
    unsupported: Vec<(usize, String)>,
}

impl Diagnostics {
    /// Notes an error at byte `at`.
    pub fn error(&mut self, at: usize, found: impl Into<String>, expected: impl Into<String>) {
        self.problems.push(Problem { at, found: found.into(), expected: expected.into() });
    }

    /// Notes, in one sentence, what the file asks for at byte `at` and a run does not do.
    pub fn unsupported(&mut self, at: usize, sentence: String) {
        self.unsupported.push((at, sentence));
    }

    /// How many errors there are so far.
    pub fn errors(&self) -> usize {
        self.problems.len()
    }

    /// All errors in file order, each on one line; or, when there are none, the notes on what a run does not do, in
    /// file order.
    pub fn finish(mut self, file: &str, text: &[u8]) -> Result<Vec<String>, Vec<WorkloadError>> {
        let mut cursor = Cursor::new(text);
        if self.problems.is_empty() {
            self.unsupported.sort();
            let place_it = |(at, sentence): (usize, String)| {
                cursor.advance(at);
                format!("{file}:{}:{}: {}", cursor.line, cursor.column, printable(&sentence))
            };
            return Ok(self.unsupported.into_iter().map(place_it).collect());
        }
        self.problems.sort_by_key(|problem| problem.at);
        let place_it = |Problem { at, found, expected }| {
            cursor.advance(at);
            let (found, expected) = (printable(&found), printable(&expected));

            WorkloadError { file: file.to_owned(), line: cursor.line, column: cursor.column, found, expected }
        };
        Err(self.problems.into_iter().map(place_it).collect())
    }
}

/// A message without hidden characters: keys of the file are in it.
fn printable(message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    for c in message.chars() {
        if is_hidden(c) { shown.extend(c.escape_debug()) } else { shown.push(c) }
    }
    shown
}

/// Finds line and column of rising offsets in one pass through the text, so that a thousand errors cost no more than
/// one.
struct Cursor<'a> {
    text: &'a [u8],
    offset: usize,
    line: usize,
    column: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { text, offset: 0, line: 1, column: 1 }
    }

    /// Moves on to byte `to`, which must not lie before the present place.
    fn advance(&mut self, to: usize) {
        let to = to.min(self.text.len());
        for &byte in &self.text[self.offset..to] {
            if byte == b'\n' {
                (self.line, self.column) = (self.line + 1, 1);
            } else if byte & 0xc0 != 0x80 {
                // Not a continuation byte of UTF-8: a character begins.
                self.column += 1;
            }
        }
        self.offset = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_by_their_numbers() {
        assert_eq!(printable("key `a\u{202e}b\u{1b}ä`"), r"key `a\u{202e}b\u{1b}ä`");
    }

    #[test]
    fn places_are_lines_and_columns_in_characters() {
        let text = "aé\n€b".as_bytes();
        let mut diagnostics = Diagnostics::default();
        // Out of order on purpose: the result is in file order.
        diagnostics.error(text.len(), "the end", "more");
        diagnostics.error(0, "a", "b");
        diagnostics.error(7, "b", "c");
        let errors = diagnostics.finish("f", text).unwrap_err();
        let shown: Vec<String> = errors.iter().map(WorkloadError::to_string).collect();
        assert_eq!(
            shown,
            [
                "f:1:1: found a, expected b",
                "f:2:2: found b, expected c",
                "f:2:3: found the end, expected more"
            ]
        );
    }

    #[test]
    fn messages_show_control_characters_of_keys() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.error(0, "nothing", "a number for `run\n\u{1b}[2Jé`");
        let errors = diagnostics.finish("f", b"").unwrap_err();
        assert_eq!(errors[0].to_string(), "f:1:1: found nothing, expected a number for `run\\n\\u{1b}[2Jé`");
        let mut diagnostics = Diagnostics::default();
        diagnostics.unsupported(0, "`a\tb` is left out".into());
        assert_eq!(diagnostics.finish("f", b"").unwrap(), ["f:1:1: `a\\tb` is left out"]);
    }
}
