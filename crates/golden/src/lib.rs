//! Golden files: output of a program that a person has approved, kept beside the tests that print it again.
//!
//! A test calls [`assert_golden`] with a file and a text. Where the two differ the test fails, and shows the first line
//! that does. To accept the new text, run `make bless`, or the test with `HLS_BLESS=1`, and read what git says has
//! changed. For tests alone: this crate writes files of the repository, and panics.

use std::env;
use std::fmt::Write;
use std::path::Path;

/// The environment variable that has golden files written anew, whatever its value.
pub const BLESS: &str = "HLS_BLESS";

/// Whether golden files are to be written anew.
///
/// # Panics
/// In continuous integration, where a golden file that is written anew is a test that cannot fail.
#[must_use]
pub fn is_blessing() -> bool {
    let is_blessing = env::var_os(BLESS).is_some();
    assert!(
        !(is_blessing && env::var_os("CI").is_some()),
        "found {BLESS} in CI, expected a person to read the changes"
    );
    is_blessing
}

/// Fails unless the golden file has this text; with `HLS_BLESS=1` gives it this text.
///
/// # Panics
/// Where the texts differ, with the first line in which they do and the whole new text.
#[track_caller]
pub fn assert_golden(golden: &Path, found: &str) {
    if let Some(difference) = difference(golden, found) {
        panic!("{difference}");
    }
}

/// In which line a golden file has another text than `found`, for tests that look at many files before they fail;
/// `None` where it has the same. With `HLS_BLESS=1` it gets this text.
///
/// # Panics
/// When the golden file cannot be written.
#[must_use]
pub fn difference(golden: &Path, found: &str) -> Option<String> {
    if is_blessing() {
        std::fs::write(golden, found).expect("a golden file can be written");
        return None;
    }
    // A file that is missing has no text, which only an empty text equals.
    let expected = std::fs::read_to_string(golden).unwrap_or_default();
    (found != expected).then(|| describe(golden, &expected, found))
}

fn describe(golden: &Path, expected: &str, found: &str) -> String {
    let (mut old, mut new) = (expected.lines(), found.lines());
    let mut text = String::new();
    for number in 1.. {
        let (old, new) = (old.next(), new.next());
        if old == new && old.is_some() {
            continue;
        }
        let show = |line: Option<&str>| line.map_or("the end".to_owned(), |line| format!("`{line}`"));
        let path = golden.display();
        write!(text, "{path}:{number}: found {}, expected {}", show(new), show(old)).expect("a string grows");
        break;
    }
    text + &format!("\n{BLESS}=1 writes the golden file anew. The whole text that was found:\n{found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let golden = folder.path().join("a.txt");
        std::fs::write(&golden, "one\ntwo\n").unwrap();
        assert_eq!(difference(&golden, "one\ntwo\n"), None);
        let second = difference(&golden, "one\n2\n").unwrap();
        assert!(second.contains("a.txt:2: found `2`, expected `two`\n"), "{second}");
        let longer = difference(&golden, "one\ntwo\nthree\n").unwrap();
        assert!(longer.contains("a.txt:3: found `three`, expected the end\n"), "{longer}");
    }

    #[test]
    fn a_file_that_is_missing_has_no_text() {
        assert!(difference(Path::new("none.txt"), "text\n").unwrap().contains("expected the end"));
    }
}
