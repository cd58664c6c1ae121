//! The tokens of a KDL 2 text: words, braces, ends of nodes. White space, comments and line continuations vanish here.
//!
//! A word is everything between two separators: a name, a number, or a string with its quotes; what it says is decided
//! by [`crate::syntax`] with the `kdl` crate. Relies on text only. Never recurses, so that no text exhausts the stack.

use crate::diagnostic::{Diagnostic, Sink};
use crate::model::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, number or string.
    Word,
    /// A word that was reported already.
    BadWord,
    /// `=`
    Equals,
    /// `{`
    Open,
    /// `}`
    Close,
    /// A new line or `;`: a node ends.
    End,
    /// `/-`: what comes next is commented out.
    Slashdash,
    /// The end of the file.
    Eof,
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// Splits a text into tokens.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    peeked: Option<Token>,
}

/// What KDL takes for the end of a line (KDL 2, section 3.18). `\r\n` needs no mention: it ends a line twice.
fn is_newline(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{b}' | '\u{c}' | '\u{2028}' | '\u{2029}')
}

/// What KDL takes for white space inside a line (KDL 2, section 3.17).
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\t' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

impl<'t> Lexer<'t> {
    /// Begins at the start of the text, behind a byte order mark.
    pub(crate) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 }, peeked: None }
    }

    /// The next token, which stays the next one.
    pub(crate) fn peek(&mut self, sink: &mut Sink) -> Kind {
        let token = self.next(sink);
        self.peeked.insert(token).kind
    }

    /// The next token. At the end of the text: `Eof`, again and again.
    pub(crate) fn next(&mut self, sink: &mut Sink) -> Token {
        if let Some(token) = self.peeked.take() {
            return token;
        }
        self.skip_blanks(sink);
        let start = self.at;
        let kind = match self.rest().chars().next() {
            None => Kind::Eof,
            Some('=') => self.single(Kind::Equals),
            Some('{') => self.single(Kind::Open),
            Some('}') => self.single(Kind::Close),
            Some(c) if c == ';' || is_newline(c) => self.single(Kind::End),
            Some(_) if self.rest().starts_with("/-") => {
                self.at += 2;
                Kind::Slashdash
            }
            Some(_) => self.word(sink),
        };
        Token { kind, span: start..self.at }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Goes past one character.
    fn bump(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    fn single(&mut self, kind: Kind) -> Kind {
        self.bump();
        kind
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        self.at = self.text.len() - self.rest().trim_start_matches(wanted).len();
    }

    /// Goes past white space, comments and continued lines.
    fn skip_blanks(&mut self, sink: &mut Sink) {
        loop {
            let start = self.at;
            self.skip_while(is_blank);
            if self.rest().starts_with("//") {
                self.skip_while(|c| !is_newline(c));
            } else if self.rest().starts_with("/*") {
                self.skip_comment(sink);
            } else if self.rest().starts_with('\\') {
                self.skip_line_end();
            }
            if self.at == start {
                return;
            }
        }
    }

    /// Goes past `/* ... */`, which may hold others.
    fn skip_comment(&mut self, sink: &mut Sink) {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(next) = self.rest().find(['*', '/']) {
            self.at += next;
            match self.rest().as_bytes() {
                [b'/', b'*', ..] => depth += 1,
                [b'*', b'/', ..] => depth -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return;
            }
        }
        self.at = self.text.len();
        sink.add(Diagnostic::error(start..start + 2, "a comment", "no end of it", "`*/`"));
    }

    /// Goes past a `\` that continues a line, if it does.
    fn skip_line_end(&mut self) {
        let start = self.at;
        self.at += 1;
        self.skip_while(is_blank);
        if self.rest().starts_with("//") {
            self.skip_while(|c| !is_newline(c));
        }
        if self.rest().starts_with("\r\n") {
            self.at += 2;
        } else if self.rest().starts_with(is_newline) || (self.rest().is_empty() && self.at > start + 1) {
            self.bump();
        } else {
            self.at = start;
        }
    }

    /// Goes past a word: up to the next separator outside of strings.
    fn word(&mut self, sink: &mut Sink) -> Kind {
        let start = self.at;
        while let Some(c) = self.rest().chars().next() {
            let separates = matches!(c, '=' | '{' | '}' | ';') || is_blank(c) || is_newline(c);
            let continues_line = c == '\\' && self.at > start;
            if separates || continues_line || self.rest().starts_with("//") || self.rest().starts_with("/*") {
                break;
            }
            let at = self.at;
            let hashes = self.rest().len() - self.rest().trim_start_matches('#').len();
            let closed = match self.rest()[hashes..].starts_with('"') {
                true if hashes > 0 => self.skip_raw_string(hashes),
                true => self.skip_string(),
                false => {
                    self.at += c.len_utf8().max(hashes);
                    true
                }
            };
            if !closed {
                let found = "no end of it on its line";
                sink.add(Diagnostic::error(at..at + 1, "a string", found, "a closing quote"));
                return Kind::BadWord;
            }
        }
        Kind::Word
    }

    /// Goes past `"..."` or `"""..."""`; `false` when it has no end. Then the next line is read as if it had one.
    fn skip_string(&mut self) -> bool {
        let quotes = if self.rest().starts_with("\"\"\"") { "\"\"\"" } else { "\"" };
        self.at += quotes.len();
        while let Some(c) = self.rest().chars().next() {
            if self.rest().starts_with(quotes) {
                self.at += quotes.len();
                return true;
            }
            if is_newline(c) && quotes.len() == 1 {
                return false;
            }
            self.bump();
            if c == '\\' && self.rest().starts_with(|c| is_blank(c) || is_newline(c)) {
                self.skip_while(|c| is_blank(c) || is_newline(c));
            } else if c == '\\' {
                self.bump();
            }
        }
        false
    }

    /// Goes past `#"..."#` or `#"""..."""#`; `false` when it has no end.
    fn skip_raw_string(&mut self, hashes: usize) -> bool {
        let body = &self.rest()[hashes..];
        let quotes = if body.starts_with("\"\"\"") { "\"\"\"" } else { "\"" };
        let closing = format!("{quotes}{}", "#".repeat(hashes));
        self.at += hashes + quotes.len();
        let line = if quotes.len() == 1 { self.rest().find(is_newline) } else { None };
        let within = line.unwrap_or(self.rest().len());
        match self.rest()[..within].find(&closing) {
            Some(end) => self.at += end + closing.len(),
            None => self.at += within,
        }
        self.text[..self.at].ends_with(&closing)
    }
}
