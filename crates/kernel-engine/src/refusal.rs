//! Why the kernel does not take a BPF object, in words for people.

use std::fmt;

/// Why the kernel does not take an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In short.
    pub what: String,
    /// What libbpf said, and the end of what the verifier did.
    pub log: String,
    /// This process may not load anything.
    pub is_of_rights: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel does not load the BPF build of the core: {}", self.what)?;
        let last = self.log.lines().rev().take(SHOWN).collect::<Vec<_>>();
        last.iter().rev().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// Lines of a log that people are shown.
const SHOWN: usize = 20;
