//! How far a virtual processor (VP) lags behind a share of the CPU that it was promised with an error.
//!
//! With share s the lag grows by s for each unit of time and shrinks by 1 for each unit of CPU time, and never falls
//! below zero: it is then the greatest of `s*t - W` over all windows of length t and service W that end now and begin
//! no earlier than the wake-up. So the promise of at least `s*t - error` in every window holds if and only if the lag
//! never exceeds the error. Exact: the lag is kept in fractions of a nanosecond, with the denominator of the share.

use crate::curve::Gets;
use crate::owed::Standing;
use hls_units::Nanos;

/// A promise of a share of the CPU in every window, less an error once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The share is `numerator / denominator`, at most 1, both above zero.
    pub numerator: u64,
    /// See `numerator`.
    pub denominator: u64,
    /// How far the VP may lag behind.
    pub error: Nanos,
}

/// The lag of a VP.
#[derive(Clone, Debug)]
pub(crate) struct Lag {
    promise: Share,
    lag: i128,
    /// What the lag would be if stolen time were no excuse.
    unexcused: i128,
}

impl Lag {
    pub fn new(promise: Share) -> Lag {
        Lag { promise, lag: 0, unexcused: 0 }
    }

    /// The VP wakes up.
    pub fn begin(&mut self) {
        (self.lag, self.unexcused) = (0, 0);
    }

    /// For `length` the VP gets `gets`.
    pub fn advance(&mut self, length: Nanos, gets: Gets) {
        let Share { numerator, denominator, .. } = self.promise;
        let due = i128::from(length.0).saturating_mul(i128::from(numerator));
        let got = i128::from(length.0).saturating_mul(i128::from(denominator));
        let most = self.error();
        let wait = |lag: i128| lag.saturating_add(due);
        // A wait that was too long breaks the promise once; the next one is not to blame for it.
        let run = |lag: i128| (lag.min(most) + due - got).max(0);
        match gets {
            Gets::Nothing => (self.lag, self.unexcused) = (wait(self.lag), wait(self.unexcused)),
            Gets::Excuse => {
                (self.lag, self.unexcused) = ((self.lag + due - got).max(0), wait(self.unexcused));
            }
            Gets::Cpu => (self.lag, self.unexcused) = (run(self.lag), run(self.unexcused)),
        }
    }

    pub fn standing(&self) -> Standing {
        let Share { numerator, denominator, .. } = self.promise;
        // Rounded up: what exceeds the error by any part of a nanosecond breaks the promise.
        let beyond = |lag: i128| -(self.error() - lag).div_euclid(i128::from(denominator).max(1));
        Standing {
            spare: (self.error() - self.lag).div_euclid(i128::from(numerator).max(1)),
            missing: beyond(self.lag),
            missing_unexcused: beyond(self.unexcused),
        }
    }

    fn error(&self) -> i128 {
        i128::from(self.promise.error.0).saturating_mul(i128::from(self.promise.denominator))
    }
}
