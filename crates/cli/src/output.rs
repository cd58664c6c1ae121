//! Standard output, for results.
//!
//! A reader that goes away (`hls policies | head -1`) has read enough: the rest is dropped, the command goes on, and
//! its exit code stays true. Every other error is returned.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

/// Paragraphs fit a terminal of this many columns.
const WIDTH: usize = 80;

/// Standard output, buffered: the caller flushes it at the end, and before writing to standard error.
pub fn output() -> BufWriter<impl Write> {
    BufWriter::new(Output { stdout: io::stdout().lock() })
}

/// Writes words in lines of at most [`WIDTH`] columns: the first line begins with `head`, the others are indented as
/// far as `head` is long.
pub fn paragraph(out: &mut impl Write, head: &str, words: &str) -> io::Result<()> {
    let mut line = head.to_owned();
    for word in words.split_whitespace() {
        if line.len() > head.len() {
            if line.len() + 1 + word.len() > WIDTH {
                writeln!(out, "{line}")?;
                line = " ".repeat(head.len());
            } else {
                line.push(' ');
            }
        }
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

struct Output {
    stdout: StdoutLock<'static>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_when_closed(self.stdout.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        or_when_closed(self.stdout.flush(), ())
    }
}

/// The result, or `closed` where the reader of standard output has gone away.
fn or_when_closed<T>(result: io::Result<T>, closed: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(closed),
        Err(error) => Err(io::Error::new(error.kind(), format!("standard output: {error}"))),
        done => done,
    }
}
