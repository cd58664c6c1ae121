//! How an analysis is made, where there is a choice. Relies on nothing, decides nothing.

/// Which bound of start-time fair queuing is used (see `schedulers/proportional_share.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The paper's formula, inflated by one over the parent's share.
    Paper,
    /// The tight bound.
    #[default]
    Tight,
}

/// How an analysis is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The bound of start-time fair queuing.
    pub mode: Mode,
    /// Whether a fixed-priority scheduler may look below its children for their limits, and promise what is left over
    /// to the lower ones. The paper does not: there a guarantee depends on the path to the root alone.
    pub global: bool,
}

impl From<Mode> for Rules {
    fn from(mode: Mode) -> Rules {
        Rules { mode, global: false }
    }
}
