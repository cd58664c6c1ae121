//! The words of a C file: enough of the language to rename identifiers without changing strings, comments and the
//! number of lines. Reads any text; text that is not C gives some pieces, too.

use std::ops::Range;

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or a keyword.
    Word,
    /// A string, with its quotes.
    Text,
    /// White space or a comment.
    Blank,
    /// A number, a character constant or one sign.
    Other,
}

/// The pieces of a text, in order and without gaps.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = (Kind, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (kind, length) = first(&text[at..])?;
        at += length;
        Some((kind, at - length..at))
    })
}

/// The first piece of a text: what it is, and its length in bytes.
fn first(text: &str) -> Option<(Kind, usize)> {
    let mut chars = text.chars();
    let (first, second) = (chars.next()?, chars.next());
    Some(match (first, second) {
        ('/', Some('*')) => (Kind::Blank, text[2..].find("*/").map_or(text.len(), |end| end + 4)),
        ('/', Some('/')) => (Kind::Blank, end_of_line(text)),
        ('"', _) => (Kind::Text, quoted(text, '"')),
        ('\'', _) => (Kind::Other, quoted(text, '\'')),
        (c, _) if c.is_whitespace() => (Kind::Blank, run(text, char::is_whitespace)),
        (c, _) if is_word(c) && !c.is_ascii_digit() => (Kind::Word, run(text, is_word)),
        // A number with its suffix, which is not an identifier.
        (c, _) if c.is_ascii_digit() => (Kind::Other, run(text, |c| is_word(c) || c == '.')),
        (c, _) => (Kind::Other, c.len_utf8()),
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Up to the end of the line, which a backslash may continue.
fn end_of_line(text: &str) -> usize {
    let ends = text.match_indices('\n').map(|(at, _)| at);
    let mut ends = ends.filter(|&at| !text[..at].trim_end_matches('\r').ends_with('\\'));
    ends.next().unwrap_or(text.len())
}

/// Up to the closing quote. A quote that is not closed in its line (`#error don't`) ends there.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = c == '\r',
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Replaces `from` by `to` in every identifier that is `from` or begins with `from_`; the same for both names in
/// capitals.
pub(crate) fn rename(text: &str, from: &str, to: &str) -> String {
    let (capital_from, capital_to) = (from.to_uppercase(), to.to_uppercase());
    let mut renamed = String::with_capacity(text.len());
    for (kind, range) in tokens(text) {
        let word = &text[range];
        match (kind, behind(word, from), behind(word, &capital_from)) {
            (Kind::Word, Some(rest), _) => renamed.extend([to, rest]),
            (Kind::Word, _, Some(rest)) => renamed.extend([&capital_to, rest]),
            _ => renamed.push_str(word),
        }
    }
    renamed
}

/// The rest of a word that is `name`, or begins with `name` and `_`.
pub(crate) fn behind<'w>(word: &'w str, name: &str) -> Option<&'w str> {
    word.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// The first places where these pieces follow each other, apart from blanks, from the first piece to the last. `None`
/// matches any string.
pub(crate) fn find(text: &str, pieces: &[Option<&str>]) -> Option<Vec<Range<usize>>> {
    let solid: Vec<_> = tokens(text).filter(|(kind, _)| *kind != Kind::Blank).collect();
    let matches = |window: &[(Kind, Range<usize>)]| {
        window.iter().zip(pieces).all(|((kind, range), piece)| match piece {
            Some(piece) => &text[range.clone()] == *piece,
            None => *kind == Kind::Text,
        })
    };
    let window = solid.windows(pieces.len()).find(|window| matches(window))?;
    Some(window.iter().map(|(_, range)| range.clone()).collect())
}
