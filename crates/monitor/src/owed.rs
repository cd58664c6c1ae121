//! What a virtual processor (VP) is still owed under a promise of CPU time in every period, from its wake-up on.
//!
//! At every instant there is one amount due by one end. Let that be `owed` by `end`; then L(u), the least service that
//! the promise implies within u of the wake-up, is reached if and only if `owed <= end - now` at all times: a VP that
//! is owed more CPU time than is left until the end cannot get it in time. CPU time received lowers `owed`; at `end`
//! the next period begins, in which `amount` is owed by `end + period`:
//!
//! ```text
//!   CPU time
//!     ^                        L(u) by `first` (here 2): "2 by 5, then 3 in every 8"
//!   5 |                    ______
//!     |                   /          The VP may be anywhere above the line; `spare` is its distance to the right,
//!   2 |   _______________/           the time that the next piece of CPU time could still be put off.
//!     |  /
//!   0 +--+-+-------------+-+----> u
//!        3 5            10 13
//! ```
//!
//! Promises differ in which amount is due first, and when. For a reservation scheduler this depends on what the VP had
//! left when it went to sleep: the wake-up rule of `policies/reservation.c`, which is carried out here on what was
//! observed. With budget c left and t before the end d of the period:
//!
//! ```text
//!            asleep ---- wakes, t >= d or c > (d-t)*amount/period ----> amount by t + period
//!              |  ^
//!              |  +----- wakes otherwise -----------------------------> c by d, then amount in every period
//!              |
//!   not known what it had left (records lost; run elsewhere behind a join; a tie that the slack could turn):
//!              +-------- wakes within a period of falling asleep -----> nothing by d, then amount in every period,
//!                                                                       d a period after it fell asleep
//! ```
//!
//! All other promises of this kind keep no state: the VP is owed the amount by the end of the longest window that need
//! not hold more, and then an amount in every period. (Budgets with a wake-up rule: Abeni and Buttazzo, RTSS 1998; the
//! least supply of a periodic resource: Shin and Lee, RTSS 2003.)
//!
//! What a VP gets ahead of time counts for one period at most: from any later instant on it is promised as much again.
//! Exact: integers only. Constant time for each stretch of time, however long. Relies on stretches in time order.

use crate::curve::Gets;
use hls_units::Nanos;

/// A promise of CPU time in every period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    /// CPU time a period, above zero.
    pub amount: Nanos,
    /// Length of a period, no less than the amount.
    pub period: Nanos,
    /// What is due first after a wake-up.
    pub wakes: Wakes,
}

/// What is due first after a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakes {
    /// The amount, within this time from the wake-up.
    Anew(Nanos),
    /// What the wake-up rule of the policy `reservation` says.
    Reservation {
        /// Whether what is left of a budget at a wake-up is certain to come by the end of its period. It is if the
        /// scheduler has all of its CPUs; else only whole budgets are certain.
        are_rests_due: bool,
        /// Whether the VP may go on where it was interrupted, since its child may run elsewhere (it is behind a join).
        resumes: bool,
    },
}

/// How a VP stands with its promise, while it wants the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// For how long it could still get nothing without falling short; negative: since when it is too late.
    pub spare: i128,
    /// CPU time that it lacks already.
    pub missing: i128,
    /// What it would lack if stolen time were no excuse.
    pub missing_unexcused: i128,
}

/// What a VP is owed.
#[derive(Clone, Debug)]
pub(crate) struct Owed {
    promise: Periodic,
    /// CPU time due by `end`; below zero where the VP is ahead.
    owed: i128,
    /// The part of the received CPU time that was in truth stolen.
    excused: i128,
    end: i128,
    /// Whether `owed` is due at `end`, or only what comes after it.
    is_due: bool,
    /// What a reservation has left in its period.
    budget: i128,
    /// Whether `budget` and `end` are known to be the reservation's.
    is_exact: bool,
    asleep_since: Option<Nanos>,
}

impl Owed {
    /// From the start of a run, `at` 0, nothing has been used; later it is not known what has.
    pub fn new(promise: Periodic, at: Nanos) -> Owed {
        Owed {
            promise,
            owed: 0,
            excused: 0,
            end: 0,
            is_due: true,
            budget: 0,
            is_exact: at == Nanos::ZERO,
            asleep_since: None,
        }
    }

    /// The VP wakes up, or begins to be tested while it is awake. What it had left is taken as known up to the slack.
    pub fn begin(&mut self, at: Nanos, slack: Nanos) {
        let Periodic { amount, period, wakes } = self.promise;
        let now = i128::from(at.0);
        self.excused = 0;
        match wakes {
            Wakes::Anew(first) => self.owe(i128::from(amount.0), now + i128::from(first.0)),
            Wakes::Reservation { are_rests_due, .. } => self.wake(now, slack, are_rests_due),
        }
        // Nothing is due later than two periods from now, also if the records say that time ran backwards.
        self.end = self.end.clamp(now, now + 2 * i128::from(period.0));
    }

    /// The wake-up rule, as in the drawing above.
    fn wake(&mut self, now: i128, slack: Nanos, are_rests_due: bool) {
        let (amount, period) = (i128::from(self.promise.amount.0), i128::from(self.promise.period.0));
        if !self.is_exact {
            self.end = self.asleep_since.map_or(now, |since| i128::from(since.0)) + period;
            if now < self.end {
                return self.owe_nothing();
            }
        }
        self.is_exact = true;
        let rest = self.end - now;
        // Above zero: more than what the rest of the period may hold.
        let excess = self.budget * period - amount * rest;
        if rest > 0 && slack > Nanos::ZERO && excess.abs() <= i128::from(slack.0) * period {
            self.is_exact = false;
            self.owe_nothing();
        } else if rest <= 0 || excess > 0 {
            self.budget = amount;
            self.owe(amount, now + period);
        } else {
            self.owe(self.budget, self.end);
            self.is_due = are_rests_due;
        }
    }

    fn owe(&mut self, owed: i128, end: i128) {
        (self.owed, self.end, self.is_due) = (owed, end, true);
    }

    fn owe_nothing(&mut self) {
        (self.owed, self.is_due) = (0, false);
    }

    /// From `from` to `to` the VP gets `gets`; reports how it stands at the end of each period on the way.
    pub fn advance(&mut self, from: Nanos, to: Nanos, gets: Gets, mut report: impl FnMut(Nanos, Standing)) {
        let (mut from, to) = (i128::from(from.0), i128::from(to.0));
        let period = i128::from(self.promise.period.0).max(1);
        while self.end <= to {
            self.receive(self.end - from, gets);
            from = self.end;
            if self.is_due || self.owed < 0 {
                report(Nanos(u64::try_from(from).unwrap_or(u64::MAX)), self.standing(from));
            }
            self.renew();
            let whole = (to - from) / period;
            if whole > 1 {
                from += self.skip(whole - 1, gets);
            }
        }
        self.receive(to - from, gets);
    }

    /// How the VP stands at an instant up to which it was advanced.
    pub fn standing(&self, now: i128) -> Standing {
        let due = if self.is_due { self.owed } else { self.owed.min(0) };
        let left = self.end - now;
        let next = i128::from(self.promise.period.0) - i128::from(self.promise.amount.0);
        Standing {
            spare: if due > 0 { left - due } else { left + next - due },
            missing: due - left,
            missing_unexcused: if self.is_due { due + self.excused - left } else { 0 },
        }
    }

    /// The VP goes to sleep.
    pub fn sleep(&mut self, at: Nanos) {
        self.asleep_since = Some(at);
        if matches!(self.promise.wakes, Wakes::Reservation { resumes: true, .. }) {
            self.is_exact = false;
        }
    }

    /// What the VP has left is not known from here on; it is asleep, or may not be.
    pub fn lose_track(&mut self, at: Nanos, is_asleep: bool) {
        self.is_exact = false;
        self.asleep_since = is_asleep.then_some(at);
    }

    fn receive(&mut self, length: i128, gets: Gets) {
        match gets {
            Gets::Nothing => return,
            Gets::Cpu => self.budget = (self.budget - length).max(0),
            Gets::Excuse => self.excused += length,
        }
        self.owed -= length;
    }

    /// The next period begins. What is missing is lost; at most one amount of what the VP is ahead is carried over.
    fn renew(&mut self) {
        let amount = i128::from(self.promise.amount.0);
        let ahead = (-self.owed).clamp(0, amount);
        self.excused = self.excused.min(ahead);
        self.owe(amount - ahead, self.end + i128::from(self.promise.period.0));
        self.budget = amount;
    }

    /// Passes `periods` whole periods, all of them like the next one, or better; returns their length.
    fn skip(&mut self, periods: i128, gets: Gets) -> i128 {
        let (amount, period) = (i128::from(self.promise.amount.0), i128::from(self.promise.period.0));
        let length = periods.saturating_mul(period);
        match gets {
            Gets::Nothing => (self.owed, self.excused) = (amount, 0),
            Gets::Cpu => self.owed = (self.owed - periods.saturating_mul(period - amount)).max(0),
            Gets::Excuse => {
                self.owed = (self.owed - periods.saturating_mul(period - amount)).max(0);
                self.excused = amount - self.owed;
            }
        }
        self.end += length;
        length
    }
}
