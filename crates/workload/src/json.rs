//! JSON as rt-app takes it, with the place of every key and value, the order of the keys, and repeated keys kept.
//!
//! Relies on `jsonc-parser` for tokens (strings with their escapes, numbers, comments); the grammar is here, because no
//! reader of strict JSON keeps places, order and repetition together, and because rt-app and its front end `workgen`
//! take more than JSON: comments, single quotes, a comma before a closing bracket, and a key without a value
//! (`"suspend",`). Never recurses deeper than [`MAX_DEPTH`], and never gives a number a meaning: a value keeps its text
//! until a caller knows what it is for.

use crate::diagnostics::Problem;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{ParseStringErrorKind, Scanner, ScannerOptions};
use std::borrow::Cow;

/// How deep objects and arrays may nest: the limit of json-c, which rt-app reads with.
pub(crate) const MAX_DEPTH: usize = 32;

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// Offset of the value's first byte; for [`Value::Missing`], of the token that stands where a value should.
    pub at: usize,
    /// The value.
    pub value: Value<'a>,
}

/// A JSON value.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    /// A key without a value.
    Missing,
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    Object(Vec<Member<'a>>),
}

/// A key of an object with its value.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// Offset of the key's first byte.
    pub at: usize,
    /// The key, without its quotes.
    pub key: Cow<'a, str>,
    /// The value.
    pub node: Node<'a>,
}

impl Node<'_> {
    /// What the value is, for the `found` of an error.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Missing => "nothing".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(text) => shorten(text),
            Value::Text(text) => quote(text),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        }
    }
}

/// A name from the file between quotes, on one line and not too long to read.
pub(crate) fn quote(text: &str) -> String {
    format!("\"{}\"", shorten(text).escape_debug())
}

/// At most 40 characters of a text.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}...", &text[..cut]),
    }
}

/// Reads one JSON value and nothing behind it. Stops at the first error: what follows it cannot be interpreted.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, Problem> {
    // json-c knows none of the further liberties that JSON5 takes.
    let options = ScannerOptions {
        allow_single_quoted_strings: true,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut parser = Parser { scanner: Scanner::new(text, &options), text, token: None, at: 0, depth: 0 };
    parser.advance()?;
    let root = parser.value()?;
    match parser.token {
        None => Ok(root),
        Some(_) => Err(parser.unexpected("the end of the file")),
    }
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    text: &'a str,
    /// The token to look at next; `None` at the end of the file.
    token: Option<Token<'a>>,
    /// Offset of that token.
    at: usize,
    /// How many objects and arrays are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Makes the next token that is not a comment the present one.
    fn advance(&mut self) -> Result<(), Problem> {
        loop {
            match self.scanner.scan().map_err(|error| self.bad_token(&error))? {
                Some(Token::CommentLine(_) | Token::CommentBlock(_)) => {}
                token => {
                    self.token = token;
                    self.at = self.scanner.token_start();
                    return Ok(());
                }
            }
        }
    }

    fn value(&mut self) -> Result<Node<'a>, Problem> {
        let at = self.at;
        let value = match self.token.take() {
            Some(Token::OpenBrace) => Value::Object(self.sequence(&Token::CloseBrace, Self::member)?),
            Some(Token::OpenBracket) => Value::Array(self.sequence(&Token::CloseBracket, Self::value)?),
            Some(Token::String(text)) => Value::Text(text),
            Some(Token::Number(text)) => Value::Number(text),
            Some(Token::Boolean(value)) => Value::Bool(value),
            Some(Token::Null) => Value::Null,
            token => {
                self.token = token;
                return Err(
                    self.unexpected("a value: a number, a string, an object, an array, true or false")
                );
            }
        };
        self.advance()?;
        Ok(Node { at, value })
    }

    /// The items up to the closing bracket, which stays the present token. A comma before it is allowed.
    fn sequence<T>(
        &mut self,
        close: &Token<'a>,
        item: fn(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        if self.depth == MAX_DEPTH {
            let expected = format!("at most {MAX_DEPTH} objects and arrays in each other");
            return Err(Problem { at: self.at, found: "one more level of nesting".to_owned(), expected });
        }
        self.depth += 1;
        self.advance()?;
        let mut items = Vec::new();
        while self.token.as_ref() != Some(close) {
            items.push(item(self)?);
            match &self.token {
                Some(Token::Comma) => self.advance()?,
                Some(token) if token == close => {}
                _ => return Err(self.unexpected(&format!("`,` or `{}`", close.as_str()))),
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn member(&mut self) -> Result<Member<'a>, Problem> {
        let at = self.at;
        let Some(Token::String(key)) = self.token.take_if(|token| matches!(token, Token::String(_))) else {
            return Err(self.unexpected("a key in quotes or `}`"));
        };
        self.advance()?;
        let node = match self.token {
            Some(Token::Colon) => {
                self.advance()?;
                self.value()?
            }
            Some(Token::Comma | Token::CloseBrace) => Node { at, value: Value::Missing },
            _ => return Err(self.unexpected("`:` after the key")),
        };
        Ok(Member { at, key, node })
    }

    /// The error that the present token is not what the grammar wants.
    fn unexpected(&self, expected: &str) -> Problem {
        let found = match &self.token {
            None => "the end of the file".to_owned(),
            Some(Token::String(text)) => quote(text),
            Some(token) => format!("`{}`", shorten(token.as_str())),
        };
        Problem { at: self.at, found, expected: expected.to_owned() }
    }

    /// The error that the text at this place begins no token.
    fn bad_token(&self, error: &ParseError) -> Problem {
        let at = error.range().start;
        let (found, expected) = match error.kind() {
            ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
                ("a string without an end".to_owned(), "a closing quote")
            }
            ParseErrorKind::String(_) => (
                "a backslash that begins no escape".to_owned(),
                r#"one of \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits"#,
            ),
            ParseErrorKind::UnterminatedCommentBlock => ("a comment without an end".to_owned(), "`*/`"),
            ParseErrorKind::UnexpectedToken => (self.character(at), "JSON"),
            _ => (
                format!("a number that begins with {}", self.character(at)),
                "digits, with `-` before them or not",
            ),
        };
        Problem { at, found, expected: expected.to_owned() }
    }

    /// The character at an offset.
    fn character(&self, at: usize) -> String {
        match self.text.get(at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the file".to_owned(),
            Some(character) => format!("`{}`", character.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let problem = parse(text).unwrap_err();
        format!("{}: found {}, expected {}", problem.at, problem.found, problem.expected)
    }

    #[test]
    fn order_repetition_and_places_are_kept() {
        let text = "{ // first\n 'run': 1, \"sleep\": 2, /* again */ \"run\": [3, null,], }";
        let Value::Object(members) = parse(text).unwrap().value else { panic!("not an object") };
        let keys: Vec<&str> = members.iter().map(|member| &*member.key).collect();
        assert_eq!(keys, ["run", "sleep", "run"]);
        for member in &members {
            assert_eq!(&text[member.at + 1..][..member.key.len()], member.key);
        }
        assert_eq!(members[2].node.describe(), "an array");
        assert_eq!(&text[members[2].node.at..][..1], "[");
    }

    #[test]
    fn a_key_may_lack_its_value_but_a_value_not_its_key() {
        let Value::Object(members) = parse(r#"{"suspend", "run": 1, "suspend"}"#).unwrap().value else {
            panic!("not an object")
        };
        assert!(matches!(members[0].node.value, Value::Missing));
        assert!(matches!(members[2].node.value, Value::Missing));
        assert_eq!(refusal("{1}"), "1: found `1`, expected a key in quotes or `}`");
        assert_eq!(refusal(r#"{"run":}"#).split(", ").next(), Some("7: found `}`"));
    }

    #[test]
    fn the_first_fault_is_named_with_its_place() {
        for (text, expected) in [
            ("[1 2]", "3: found `2`, expected `,` or `]`"),
            ("{\"a\":1", "6: found the end of the file, expected `,` or `}`"),
            ("[\"a]", "1: found a string without an end, expected a closing quote"),
            ("[1] /* on", "4: found a comment without an end, expected `*/`"),
            ("{} {}", "3: found `{`, expected the end of the file"),
            ("[#]", "1: found `#`, expected JSON"),
            ("[0x1]", "1: found a number that begins with `0`, expected digits, with `-` before them or not"),
            ("[+1]", "1: found a number that begins with `+`, expected digits, with `-` before them or not"),
        ] {
            assert_eq!(refusal(text), expected, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(refusal(&nested(MAX_DEPTH + 1)).starts_with("32: found one more level of nesting"));
        assert!(refusal(&"[".repeat(1 << 20)).starts_with("32: found one more level of nesting"));
    }
}
