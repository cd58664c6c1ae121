//! Time in slots: what a monitor says of a virtual processor (VP) by what the VP does in each slot; and a reservation,
//! slot by slot.

use hls_monitor::requests::{Accounted, Periodic, RequestRule, RequestTest, Wakes};
use hls_monitor::result::RequestsResult;
use hls_monitor::windows::Monitor;
use hls_units::Nanos;

pub use crate::player::Unit::{self, *};
pub use crate::player::play_units;

pub fn monitor(rule: RequestRule, accounted: Accounted, slack: u64) -> Monitor {
    let test = RequestTest { rule, accounted };
    Monitor::new(Vec::new(), Nanos::ZERO, Nanos(slack)).with_requests(Some(test), Nanos::ZERO, Nanos::ZERO)
}

/// Plays the units to a monitor from 0 on; what it says of the requests.
pub fn play(units: &[Unit], monitor: &mut Monitor) -> RequestsResult {
    play_units(units, monitor);
    monitor.finish(Nanos(units.len() as u64));
    monitor.requests().expect("the promise says something of requests")
}

pub fn judged(units: &[Unit], rule: RequestRule) -> RequestsResult {
    play(units, &mut monitor(rule, Accounted::default(), 0))
}

/// The least service in any window of length u: of EDP, and with other deadlines of RESB and RESC.
pub fn sbf(period: u64, amount: u64, deadline: u64, u: u64) -> u64 {
    let Some(after) = u.checked_sub(period - amount) else { return 0 };
    after / period * amount + (after % period).saturating_sub(deadline - amount).min(amount)
}

pub fn reservation(amount: u64, period: u64, are_rests_due: bool, resumes: bool) -> RequestRule {
    let wakes = Wakes::Reservation { are_rests_due, resumes };
    RequestRule::Periodic(Periodic { amount: Nanos(amount), period: Nanos(period), wakes })
}

/// A server of the policy `reservation`, slot by slot.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub amount: u64,
    pub period: u64,
    pub budget: u64,
    pub end: u64,
}

impl Server {
    pub fn wake(&mut self, now: u64) {
        if now >= self.end || self.budget * self.period > self.amount * (self.end - now) {
            (self.budget, self.end) = (self.amount, now + self.period);
        }
    }

    /// What is left after a slot that begins at `now`.
    pub fn pass(&mut self, now: u64, runs: bool) {
        self.budget = self.budget.saturating_sub(u64::from(runs));
        if now + 1 == self.end {
            (self.budget, self.end) = (self.amount, self.end + self.period);
        }
    }
}
