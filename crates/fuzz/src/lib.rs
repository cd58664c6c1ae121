//! The targets of the fuzzer: each gives any bytes to a reader of untrusted bytes.
//!
//! A target takes one input, from the fuzzer or from the corpus, and calls the code of `hls` that reads such
//! input, and all the code that works on the result, within the limits that `hls` sets. Input may be refused, for
//! whatever reason; a target panics where the answer breaks a promise of its reader. Relies on panics to end the
//! process. Never writes a file, and never compiles or loads the code in an input.

mod declared;
mod hierarchy;
mod object;
mod pages;
mod socket;
mod workload;

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
    /// An object with the descriptions of loaded policies.
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

    /// Its name on the command line, which is also the name of its inputs in the corpus.
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

    /// Gives the target an input.
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
