//! How an analysis is made, where there is a choice. Relies on nothing, decides nothing.

/// Which bounds are used where the HLS paper's are not the best: for start-time fair queuing (see
/// `schedulers/proportional_share.rs`) and for round robin (see `schedulers/round_robin.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The bounds of the paper: for fair queuing a formula inflated by one over the parent's share, for round robin
    /// nothing.
    Paper,
    /// Tighter bounds, which this crate derives.
    #[default]
    Tight,
}

/// How an analysis is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Which bounds are used.
    pub mode: Mode,
    /// Whether a fixed-priority scheduler may look below its children for their limits, and promise what is left over
    /// to its children of lower priority. The paper does not allow that: there a guarantee depends on the path to the
    /// root alone.
    pub global: bool,
}

impl From<Mode> for Rules {
    fn from(mode: Mode) -> Rules {
        Rules { mode, global: false }
    }
}
