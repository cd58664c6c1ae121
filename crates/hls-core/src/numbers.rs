//! The core's numbers as types, so that a scheduler is not taken for a VP, nor either for one of the plan or of the
//! result. Anybody may make one of a bare number: what the core's calls take and return is still that.

/// A scheduler of the core; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreScheduler(pub u32);

/// A virtual processor (VP) of the core, a thread's or a scheduler's; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreVp(pub u32);
