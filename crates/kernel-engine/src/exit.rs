//! Why the kernel ended a scheduler: `struct engine_exit` of `bpf/engine.bpf.c`.

use std::fmt;

/// Why the kernel ended a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The kind of the end, by sched_ext's number: below 1024 the end was asked for, from 1024 on it is an error.
    pub kind: u32,
    /// The kind of the end in words.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// The state of the hierarchy at the end, if the end was an error; see [`crate::Engine::dump`].
    pub dump: String,
}

impl Exit {
    /// Whether an error was the cause of the end, not a request.
    pub fn is_error(&self) -> bool {
        /// SCX_EXIT_ERROR, the first kind of error
        const FIRST: u32 = 1024;
        self.kind >= FIRST
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel has taken its threads back: {}", self.reason)?;
        if !self.message.is_empty() {
            write!(f, " ({})", self.message)?;
        }
        if self.dump.is_empty() { Ok(()) } else { write!(f, "\n{}", self.dump.trim_end()) }
    }
}

/// Reads the bytes that the engine's program left: why the kernel ended the scheduler, if it did. `None`: too few
/// bytes.
pub fn parse(bytes: &[u8]) -> Option<Option<Exit>> {
    let (kind, rest) = bytes.split_first_chunk::<4>()?;
    let kind = u32::from_ne_bytes(*kind);
    let (reason, message) = rest.split_at_checked(128)?;
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let exit = Exit { kind, reason: text(reason), message: text(message), dump: String::new() };
    Some((kind != 0).then_some(exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_program_writes() {
        let mut bytes = vec![0; 4 + 128 + 1024];
        assert_eq!(parse(&bytes), Some(None));
        bytes[..4].copy_from_slice(&66_u32.to_ne_bytes());
        bytes[4..9].copy_from_slice(b"hello");
        let exit = parse(&bytes).flatten().expect("it has ended");
        assert_eq!((exit.kind, &exit.reason[..], &exit.message[..]), (66, "hello", ""));
        assert!(!exit.is_error());
        assert!(Exit { kind: 1026, ..exit }.is_error());
        assert_eq!(parse(&bytes[..20]), None);
    }
}
