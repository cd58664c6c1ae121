//! What a virtual processor (VP) is still owed under a promise about single requests (JOB), from its wake-up on.
//!
//! A request that comes in its turn gets the amount within the response time, or is done: until then it waits for no
//! more than response - amount, and after that nothing is owed in the request.
//!
//! ```text
//!              wakes, now >= turn                            had the amount, or `end` is over, or sleeps
//!     asleep ----------------------> the amount due by `end` ------------------------> nothing is owed
//!       |  ^                                                                              |
//!       |  +----------------------------------- sleeps -----------------------------------+
//!       +------------ wakes, now < turn: too soon, nothing is owed
//!
//!     sleeps, at `now`, after a request that began at `begun` and had `had`:
//!       it came in its turn, and had <= amount:  turn := begun + period
//!       else, if it had anything:                turn := max(turn, now) + period for each amount, or part of it
//! ```
//!
//! Exact: integers only. Relies on stretches in time order. Where the VP's CPU time is not known, the greatest possible
//! is assumed, so that no request is judged that the promise may not be about.

use crate::curve::Gets;
use crate::owed::Standing;
use hls_units::Nanos;

/// A promise about single requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// CPU time that is certain in a request, above zero.
    pub amount: Nanos,
    /// The least time from the beginning of one request to the beginning of the next.
    pub period: Nanos,
    /// The amount comes within this time, which is no less than the amount.
    pub response: Nanos,
}

/// What a VP is owed of its present request.
#[derive(Clone, Debug)]
pub(crate) struct JobOwed {
    promise: Job,
    /// When the next request may come.
    turn: i128,
    begun: i128,
    is_in_turn: bool,
    /// CPU time that the request has had.
    had: i128,
    /// The part of the received CPU time that was in truth stolen.
    excused: i128,
    /// Whether anything is due by `end`.
    is_due: bool,
    end: i128,
    /// Up to when what the VP had is known.
    known_until: i128,
}

impl JobOwed {
    /// For a promise that begins at `at`, to a VP that has had `before` of CPU time.
    pub fn new(promise: Job, at: Nanos, before: Nanos) -> JobOwed {
        let mut owed = JobOwed {
            promise,
            turn: i128::from(at.0),
            begun: i128::from(at.0),
            is_in_turn: false,
            had: 0,
            excused: 0,
            is_due: false,
            end: 0,
            known_until: i128::from(at.0),
        };
        owed.put_off(i128::from(at.0), i128::from(before.0));
        owed
    }

    /// The VP wakes up, or begins to be tested while it is awake.
    pub fn begin(&mut self, at: Nanos) {
        self.begun = i128::from(at.0);
        (self.had, self.excused) = (0, 0);
        self.is_in_turn = self.begun >= self.turn;
        self.is_due = self.is_in_turn;
        self.end = self.begun + i128::from(self.promise.response.0);
        self.known_until = self.begun;
    }

    /// Whether any part of the present request can still be tested.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// From `from` to `to` the VP gets `gets`; reports how the VP stands if the response time ends on the way.
    pub fn advance(&mut self, from: Nanos, to: Nanos, gets: Gets, mut report: impl FnMut(Nanos, Standing)) {
        let (from, to) = (i128::from(from.0), i128::from(to.0));
        let middle = self.end.clamp(from, to.max(from));
        self.receive(middle - from, gets);
        if self.is_due && self.end <= to {
            report(Nanos(u64::try_from(middle).unwrap_or(u64::MAX)), self.standing(middle));
            self.is_due = false;
        }
        self.receive(to - middle, gets);
        self.is_due &= self.owed() > 0;
        self.known_until = to;
    }

    /// How the VP stands at an instant up to which it was advanced.
    pub fn standing(&self, now: i128) -> Standing {
        if !self.is_due {
            // It can wait for ever.
            return Standing { spare: i128::from(u64::MAX), ..Standing::default() };
        }
        let (owed, left) = (self.owed(), self.end - now);
        Standing { spare: left - owed, missing: owed - left, missing_unexcused: owed + self.excused - left }
    }

    /// The VP goes to sleep.
    pub fn sleep(&mut self, at: Nanos) {
        self.had += (i128::from(at.0) - self.known_until).max(0);
        if self.is_in_turn && self.had <= i128::from(self.promise.amount.0) && self.had > 0 {
            self.turn = self.begun + i128::from(self.promise.period.0);
        } else {
            self.put_off(i128::from(at.0), self.had);
        }
        self.is_due = false;
        self.known_until = i128::from(at.0);
    }

    /// What the VP had from the last known instant until `at` is not known.
    pub fn lose_track(&mut self, at: Nanos) {
        let at = i128::from(at.0);
        self.put_off(at, self.had + (at - self.known_until).max(0));
        (self.is_in_turn, self.is_due, self.had, self.known_until) = (false, false, 0, at);
    }

    /// The next turn is a period later for each amount, or part of it.
    fn put_off(&mut self, now: i128, had: i128) {
        let amount = i128::from(self.promise.amount.0).max(1);
        let periods = (had.max(0) + amount - 1) / amount;
        if periods > 0 {
            self.turn = self.turn.max(now) + periods.saturating_mul(i128::from(self.promise.period.0));
        }
    }

    fn owed(&self) -> i128 {
        i128::from(self.promise.amount.0) - self.had - self.excused
    }

    fn receive(&mut self, length: i128, gets: Gets) {
        match gets {
            Gets::Nothing => {}
            Gets::Cpu => self.had += length,
            Gets::Excuse => self.excused += length,
        }
    }
}
