//! What a virtual processor (VP) was promised, in the form in which a run is held against it. Decides nothing.

use crate::event::ObservedVp;
use crate::requests::{RequestRule, RequestTest, Wakes};
use crate::result::Counts;
use crate::windows::Window;
use hls_units::Nanos;

/// What one VP was promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The VP.
    pub vp: ObservedVp,
    /// The guarantee as text.
    pub text: String,
    /// The lengths of windows to watch, with what is promised for each.
    pub windows: Vec<Window>,
    /// What it says of each request; `None`: nothing.
    pub requests: Option<RequestTest>,
    /// What it comes to in the long run.
    pub pace: Pace,
}

impl Promise {
    /// Whether it says nothing that a run could be held against.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty() && self.requests.is_none()
    }

    /// The same promise, if it is known what is due when the VP wakes up.
    #[must_use]
    pub fn waking(mut self, known: Option<Wakes>) -> Promise {
        if let (Some(RequestTest { rule: RequestRule::Periodic(periodic), .. }), Some(known)) =
            (&mut self.requests, known)
        {
            periodic.wakes = known;
        }
        self
    }
}

/// What is promised for a stretch of time of any length, roughly: a line below all of sbf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// CPU time a second, rounded down.
    pub per_second: Nanos,
    /// For how long there may be none at first, rounded up.
    pub blackout: Nanos,
}

impl Pace {
    /// What is promised for a stretch of length `wanted` in which the CPU is wanted.
    pub fn promised_in(self, wanted: Nanos) -> Nanos {
        let served = u128::from(wanted.saturating_sub(self.blackout).0);
        let promised = served * u128::from(self.per_second.0) / u128::from(Nanos::from_secs(1).0);
        Nanos(u64::try_from(promised).unwrap_or(u64::MAX))
    }
}

/// What a VP got so far, and what became of what it was promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// CPU time that the VP has had since its promise began, as is all below; for a VP without a promise, since it
    /// came.
    pub ran: Nanos,
    /// The least CPU time that was promised for the time in which the VP wanted a CPU (see [`Pace`]).
    pub promised: Nanos,
    /// What was stolen from the VP, as far as is known.
    pub stolen: Nanos,
    /// How often the promise was missed.
    pub counts: Counts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_below_what_is_promised() {
        // 5 of every 33 ms, after 56 ms at worst.
        let pace = Pace { per_second: Nanos(151_515_151), blackout: Nanos::from_millis(56) };
        assert_eq!(pace.promised_in(Nanos::from_millis(56)), Nanos(0));
        assert_eq!(pace.promised_in(Nanos::from_millis(89)), Nanos(4_999_999));
        let most = Pace { per_second: Nanos::from_secs(1), blackout: Nanos::ZERO };
        assert_eq!(most.promised_in(Nanos::MAX), Nanos::MAX);
    }
}
