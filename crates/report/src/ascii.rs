//! JSON in ASCII: names, which threads and users choose, must not do anything to a terminal.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Writes JSON on one line; all characters beyond ASCII, and DEL, are escaped.
///
/// # Errors
/// The errors of `out`.
pub fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Ascii(CompactFormatter)))?;
    writeln!(out)
}

/// The same, indented.
///
/// # Errors
/// The errors of `out`.
pub fn write_indented(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Ascii(PrettyFormatter::new())))?;
    writeln!(out)
}

/// As the other formatter, but all strings are ASCII.
struct Ascii<F>(F);

/// Forwards these methods to the other formatter.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name<W: Write + ?Sized>(&mut self, out: &mut W, $($argument: $type),*) -> io::Result<()> {
            self.0.$name(out, $($argument),*)
        }
    )*};
}

impl<F: Formatter> Formatter for Ascii<F> {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        for c in fragment.chars() {
            if c.is_ascii() && c != '\u{7f}' {
                out.write_all(&[c as u8])?;
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }

    forward! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_text_is_ascii_and_means_the_same() {
        let value = json!({ "ä\u{9b}": ["\u{202e}", "\u{7f}\n\"", "\u{1f600}", 7, null, {}, []] });
        let (mut line, mut indented) = (Vec::new(), Vec::new());
        write_line(&mut line, &value).unwrap();
        write_indented(&mut indented, &value).unwrap();
        for text in [&line, &indented] {
            assert!(text.iter().all(|byte| byte.is_ascii_graphic() || b" \n".contains(byte)));
            assert_eq!(serde_json::from_slice::<Value>(text).unwrap(), value);
        }
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(indented.strip_suffix(b"\n").unwrap().len() + 1, indented.len());
        let plain = json!({ "a": [1, { "b": "c" }] });
        let mut indented = Vec::new();
        write_indented(&mut indented, &plain).unwrap();
        assert_eq!(
            String::from_utf8(indented).unwrap(),
            serde_json::to_string_pretty(&plain).unwrap() + "\n"
        );
    }
}
