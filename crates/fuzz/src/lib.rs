//! What reads bytes that others wrote, called with any bytes: the targets of the fuzzer.
//!
//! A target takes one input, as the fuzzer or a file of the corpus has it, and calls what reads such input in `hls`,
//! and all that goes on with what was read, with the limits that `hls` gives it. Input may be refused, for whatever
//! reason; a target panics where the answer breaks a promise of its reader. Relies on panics to end the process.
//! Never writes a file, and never compiles or loads what an input has.

mod declared;
mod hierarchy;
mod object;
mod pages;
mod socket;
mod workload;

use std::path::{Path, PathBuf};

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A hierarchy file: read, planned, analysed, and run for a moment.
    Hierarchy,
    /// A workload in rt-app's JSON: read, planned in a hierarchy with its threads, and run for a moment.
    Workload,
    /// What clients send to the socket of a running hierarchy, one request after the other.
    Socket,
    /// What a loaded policy declares that it accepts and provides.
    Declared,
    /// An object in which loaded policies say what they are.
    Object,
    /// What processes write into the pages of their schedulers, beside what happens to threads.
    Pages,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 6] = [
        Target::Hierarchy,
        Target::Workload,
        Target::Socket,
        Target::Declared,
        Target::Object,
        Target::Pages,
    ];

    /// The name by which the command knows it; its folder in the corpus has that name, too.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Target::Hierarchy => "hierarchy",
            Target::Workload => "workload",
            Target::Socket => "socket",
            Target::Declared => "declared",
            Target::Object => "object",
            Target::Pages => "pages",
        }
    }

    /// The target of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// The folder of its inputs that are kept.
    #[must_use]
    pub fn corpus(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name())
    }

    /// Gives it an input.
    ///
    /// # Panics
    /// The input has found a defect.
    pub fn run(self, input: &[u8]) {
        match self {
            Target::Hierarchy => hierarchy::run(input),
            Target::Workload => workload::run(input),
            Target::Socket => socket::run(input),
            Target::Declared => declared::run(input),
            Target::Object => object::run(input),
            Target::Pages => pages::run(input),
        }
    }
}
