//! What is promised for a length of windows, and where a promise was broken: the terms that the tests of windows and of
//! requests share. Judges nothing.

use hls_units::Nanos;

/// A length of windows to be watched and what is promised for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Length of the windows.
    pub length: Nanos,
    /// The least CPU time that such a window must get while the VP wants the CPU: sbf(length), rounded down.
    pub promised: Nanos,
    /// The most that such a window may get: ubf(length), rounded up; `None` where the guarantee is soft.
    pub allowed: Option<Nanos>,
    /// How much of such a window may be stolen by the sources that `promised` takes into account.
    pub accounted: Nanos,
}

/// Where a promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Where the window begins, or when the VP woke up. A window that got too much is shorter than its length where the
    /// VP did not want the CPU before.
    pub from: Nanos,
    /// Where the window ends, or when the request was seen to lack something.
    pub to: Nanos,
    /// What the VP got.
    pub got: Nanos,
    /// What was stolen from the VP.
    pub stolen: Nanos,
    /// By what the promise was missed.
    pub what: Missed,
}

/// By what a promise was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// A window got too little.
    Window(Window),
    /// A window got too much.
    Excess(Window),
    /// A request lacks this much of what was due by then.
    InRequest {
        /// CPU time.
        missing: Nanos,
    },
}

impl Breach {
    /// Whether the VP got too much, rather than too little.
    pub fn is_over(&self) -> bool {
        matches!(self.what, Missed::Excess(_))
    }
}
