//! The bytes of a hierarchy file as text, or why they are not text.

use crate::diagnostic::{Diagnostic, Sink};

/// The largest file that is read: 16 MiB, some four times what the largest hierarchy takes.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// The bytes as text; reports a file that is too large, empty or not UTF-8.
pub(crate) fn text<'b>(bytes: &'b [u8], sink: &mut Sink) -> Option<&'b str> {
    if bytes.len() > MAX_FILE_BYTES {
        let (found, expected) = (format!("{} bytes", bytes.len()), format!("at most {MAX_FILE_BYTES}"));
        sink.add(Diagnostic::error(0..0, "the file", found, expected));
        return None;
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let found = format!("the byte 0x{:02x}", bytes[at]);
        Diagnostic::error(at..at + 1, "the file", found, "UTF-8 text").into()
    });
    let text = sink.ok(text)?;
    if text.trim().is_empty() {
        let found = if text.is_empty() { "nothing" } else { "nothing but white space" };
        let expected = "a hierarchy of schedulers, such as fixed-priority \"FP\" { }";
        sink.add(Diagnostic::error(0..0, "the file", found, expected));
        return None;
    }
    Some(text)
}
