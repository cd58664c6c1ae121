//! Why the kernel refuses a BPF object, as text for people.

use std::fmt;

/// Why the kernel refuses an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason in short.
    pub what: String,
    /// What libbpf printed, and the end of the verifier's log.
    pub log: String,
    /// Whether the reason is that this process may not load anything.
    pub is_of_rights: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel does not load the BPF build of the core: {}", self.what)?;
        let last = self.log.lines().rev().take(SHOWN).collect::<Vec<_>>();
        last.iter().rev().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// How many lines of a log are shown.
const SHOWN: usize = 20;
