//! The core's numbers as types, so that the numbers of schedulers, of VPs, of the plan and of the result are not
//! mistaken for each other. Any code may make one from a bare number, such as one from a tape or from the command
//! line of a debugger.

use std::fmt;

/// A scheduler of the core; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreScheduler(pub u32);

impl CoreScheduler {
    /// No scheduler.
    pub const NONE: CoreScheduler = CoreScheduler(0);

    /// Its index in tables with one entry per scheduler.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CoreScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A virtual processor (VP) of the core, a thread's or a scheduler's; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreVp(pub u32);

impl CoreVp {
    /// No VP.
    pub const NONE: CoreVp = CoreVp(0);

    /// Its index in tables with one entry per VP.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CoreVp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
