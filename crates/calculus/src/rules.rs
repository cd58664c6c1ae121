//! How an analysis is made, where there is a choice. Relies on nothing, decides nothing.

/// Whose bounds are used where the paper's are not the best: those of start-time fair queuing (see
/// `schedulers/proportional_share.rs`) and of round robin (see `schedulers/round_robin.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The paper's: for fair queuing a formula inflated by one over the parent's share, for round robin nothing.
    Paper,
    /// The tight ones.
    #[default]
    Tight,
}

/// How an analysis is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whose bounds are used.
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
