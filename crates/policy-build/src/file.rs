//! A policy file: reads it, checks it as far as that needs no compiler, and renames the policy if that is asked for.

use crate::diagnostic::{Diagnostic, Error};
use crate::tokens::{self, Kind};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Largest file that is read, in bytes. The longest built-in policy is a hundredth as large.
const MAX_BYTES: u64 = 1 << 20;

/// Longest name of a policy, in bytes.
const MAX_NAME: usize = 40;

/// A policy that may be loaded: one file of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    path: PathBuf,
    /// What the policy's identifiers began with when the file was read.
    stem: String,
    /// What the identifiers begin with now: another name, if the policy was renamed.
    identifier: String,
    text: String,
}

impl PolicyFile {
    /// Reads a policy from its file.
    pub fn read(path: &Path) -> Result<PolicyFile, Error> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| refuse(path, None, format!("cannot be read: {error}")))?;
        PolicyFile::new(path, bytes)
    }

    /// A policy with the content of its file. The path determines its name, and appears in messages.
    pub fn new(path: &Path, bytes: Vec<u8>) -> Result<PolicyFile, Error> {
        let refuse = |line, what: String| refuse(path, line, what);
        let stem = stem(path).map_err(|what| refuse(None, what))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(refuse(None, format!("found a larger file, expected {MAX_BYTES} bytes at most")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count();
            refuse(Some(line), "found a byte that is not UTF-8, expected a text".into())
        })?;
        if let Some(at) = text.find('\0') {
            return Err(refuse(Some(line_of(&text, at)), "found a NUL, expected a text".into()));
        }
        let file = PolicyFile { path: path.into(), identifier: stem.clone(), stem, text };
        let (range, found) = file.said_name()?;
        match file.name() {
            expected if found == expected => Ok(file),
            expected => {
                let what = format!("found the name {found:?}, expected {expected:?} in {}", path.display());
                Err(refuse(Some(line_of(&file.text, range.start)), what))
            }
        }
    }

    /// The same policy under another name, in the form of hierarchy files (`asked-times-2`): so several versions can
    /// exist. Every identifier that begins with the old name then begins with the new one; lines stay where they are.
    pub fn renamed(&self, name: &str) -> Result<PolicyFile, Error> {
        let identifier = name.replace('-', "_");
        let parts = name.split('-').all(is_part);
        if !(parts && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= MAX_NAME) {
            let expected = format!("lower-case words joined by `-`, {MAX_NAME} letters at most");
            return Err(refuse(
                &self.path,
                None,
                format!("found the new name {name:?}, expected {expected}"),
            ));
        }
        let (range, _) = self.said_name()?;
        let rename = |text| tokens::rename(text, &self.identifier, &identifier);
        // This is the only string that changes.
        let text =
            format!("{}\"{name}\"{}", rename(&self.text[..range.start]), rename(&self.text[range.end..]));
        Ok(PolicyFile { identifier, text, ..self.clone() })
    }

    /// The file, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The policy's name in hierarchy files.
    pub fn name(&self) -> String {
        self.identifier.replace('_', "-")
    }

    /// What the policy's functions and types begin with.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }

    /// The text that is compiled: the author's text, if the policy was not renamed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A message with the policy's first name, which its author knows, in place of the other name.
    pub(crate) fn in_its_own_words(&self, message: &str) -> String {
        // Word by word: quotes in a message do not follow the rules of C.
        let words = message.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.map(|word| tokens::rename(word, &self.identifier, &self.stem)).collect()
    }

    /// Whether a word belongs to this policy: it is the policy's name, or begins with it.
    pub(crate) fn owns(&self, word: &str) -> bool {
        let behind = |name: &str| tokens::behind(word, name).is_some();
        behind(&self.identifier) || behind(&self.identifier.to_uppercase())
    }

    /// The first line with this word, outside of strings and comments.
    pub(crate) fn line_with(&self, word: &str) -> Option<usize> {
        let place = tokens::find(&self.text, &[Some(word)])?;
        Some(line_of(&self.text, place[0].start))
    }

    /// A diagnostic about a string of the policy's struct, such as `provides`, from one of its bytes on, with that
    /// byte's place in the file if it can be found.
    pub fn wrong_in(&self, member: &str, byte: usize, message: String) -> Diagnostic {
        let before = self.place_in(member, byte).map(|at| &self.text[..at]);
        let line = before.map(|before| line_of(before, before.len()));
        let column = before.map(|before| 1 + before.len() - before.rfind('\n').map_or(0, |end| end + 1));
        Diagnostic { column, ..Diagnostic::error(&self.path, line, message) }
    }

    /// The place of a byte of such a string, which may consist of several literals; if a macro hides the string, the
    /// member's place.
    fn place_in(&self, member: &str, byte: usize) -> Option<usize> {
        let from = self.description()?.end;
        let said = tokens::find(&self.text[from..], &[".", member, "="].map(Some))?;
        let (mut place, behind) = (from + said[0].start, from + said[2].end);
        let solid = tokens::tokens(&self.text[behind..]).filter(|(kind, _)| *kind != Kind::Blank);
        let mut rest = byte;
        for (_, part) in solid.take_while(|(kind, _)| *kind == Kind::Text) {
            // Without its quotes.
            let length = part.len().saturating_sub(2);
            place = behind + part.start + 1 + rest.min(length);
            if rest < length {
                break;
            }
            rest -= length;
        }
        Some(place)
    }

    /// The beginning of the policy's struct, up to the brace.
    fn description(&self) -> Option<Range<usize>> {
        let variable = format!("{}_policy", self.identifier);
        let opening = tokens::find(&self.text, &["hls_policy", &variable, "=", "{"].map(Some))?;
        Some(opening[0].start..opening[3].end)
    }

    /// The policy's name in its struct, and its place in the file.
    fn said_name(&self) -> Result<(Range<usize>, &str), Error> {
        let Some(opening) = self.description() else {
            let expected = format!("`static const struct hls_policy {}_policy = {{`", self.stem);
            return Err(refuse(&self.path, None, format!("found no policy, expected {expected}")));
        };
        let from = opening.end;
        let said = tokens::find(&self.text[from..], &[Some("."), Some("name"), Some("="), None]);
        let Some(said) = said else {
            let line = Some(line_of(&self.text, opening.start));
            let what =
                format!("found no name in `{}_policy`, expected `.name = \"{}\"`", self.stem, self.name());
            return Err(refuse(&self.path, line, what));
        };
        let range = from + said[3].start..from + said[3].end;
        Ok((range.clone(), self.text[range].trim_matches('"')))
    }
}

fn refuse(path: &Path, line: Option<usize>, message: impl Into<String>) -> Error {
    Error::Refused(vec![Diagnostic::error(path, line, message)])
}

/// The line of a place, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn is_part(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// What the identifiers in a file of this name begin with.
fn stem(path: &Path) -> Result<String, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".c").filter(|stem| {
        stem.split('_').all(is_part)
            && stem.starts_with(|c: char| c.is_ascii_lowercase())
            && stem.len() <= MAX_NAME
    });
    stem.map(str::to_owned).ok_or_else(|| {
        let expected = format!("lower-case words joined by `_`, {MAX_NAME} letters at most, and `.c`");
        format!("found a file that is named {name:?}, expected {expected}")
    })
}
