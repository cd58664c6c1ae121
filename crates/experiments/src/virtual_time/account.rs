//! The virtual times of one virtual processor (VP) below a scheduler of borrowed virtual time, as `policies/bvt.c` has
//! them, worked out again from what the VP was seen to do. Knows of no other VP.

use super::Borrower;
use hls_units::Nanos;

/// A virtual time: 1/256 ns of CPU time per unit of share.
pub(super) type Virtual = i128;

const SHIFT: u32 = 8;

/// `time` in nanoseconds of virtual time, if all VPs together have `shares`.
pub(super) fn nanoseconds_floor(time: Virtual, shares: u64) -> i128 {
    (time * i128::from(shares)) >> SHIFT
}

/// Whether the VP runs ahead of its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warp {
    No,
    Yes,
    /// It would, but nothing is left of its limit.
    Barred,
}

/// A VP with what it was seen to use.
#[derive(Clone, Debug)]
pub(super) struct Account {
    borrower: Borrower,
    /// The actual virtual time, and the rest of the division that made it.
    actual: Virtual,
    rest: u128,
    pub wants: bool,
    /// On which CPU it runs, and up to when that is charged.
    running: Option<(u16, Nanos)>,
    warp: Warp,
    /// What is left of the limit, and when the VP last ran warped.
    left: Nanos,
    warped_at: Option<Nanos>,
}

impl Account {
    pub fn new(borrower: Borrower) -> Account {
        Account {
            borrower,
            actual: 0,
            rest: 0,
            wants: false,
            running: None,
            warp: Warp::No,
            left: Nanos::ZERO,
            warped_at: None,
        }
    }

    pub fn borrower(&self) -> &Borrower {
        &self.borrower
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub fn runs_on(&self, cpu: u16) -> bool {
        self.running.is_some_and(|(on, _)| on == cpu)
    }

    /// The actual virtual time, charged until `now`.
    pub fn actual(&self, now: Nanos) -> Virtual {
        self.actual + self.due(now).0
    }

    /// The effective virtual time, by which the scheduler chooses, charged until `now`.
    pub fn effective(&self, now: Nanos) -> Virtual {
        let borrowed = u128::from(self.borrower.warp.0) << SHIFT;
        let ahead = if self.warp == Warp::Yes { borrowed / u128::from(self.borrower.share) } else { 0 };
        self.actual(now) - ahead as Virtual
    }

    /// What is to be charged at `now`, and the rest.
    fn due(&self, now: Nanos) -> (Virtual, u128) {
        let used = self.running.map_or(Nanos::ZERO, |(_, since)| now.saturating_sub(since));
        let service = (u128::from(used.0) << SHIFT) + self.rest;
        let share = u128::from(self.borrower.share);
        ((service / share) as Virtual, service % share)
    }

    /// Charges what the VP has used until `now`.
    pub fn charge(&mut self, now: Nanos) {
        let Some((cpu, since)) = self.running else { return };
        let (due, rest) = self.due(now);
        (self.actual, self.rest) = (self.actual + due, rest);
        self.running = Some((cpu, since.max(now)));
        let used = now.saturating_sub(since);
        if self.warp == Warp::Yes && used > Nanos::ZERO {
            self.warped_at = Some(now);
            self.left = self.left.saturating_sub(used);
            if self.left == Nanos::ZERO && self.borrower.limit > Nanos::ZERO {
                self.warp = Warp::No;
            }
        }
    }

    /// What was taken of the CPU until `now`, since the last charge, is not the VP's.
    pub fn forgive(&mut self, now: Nanos) {
        if let Some((_, since)) = &mut self.running {
            *since = now.max(*since);
        }
    }

    /// The VP wants a CPU, when the scheduler's virtual time is `least`.
    pub fn wake(&mut self, now: Nanos, least: Virtual) {
        self.wants = true;
        if self.actual < least {
            (self.actual, self.rest) = (least, 0);
        }
        if self.borrower.warp > Nanos::ZERO {
            self.begin_warp(now);
        }
    }

    pub fn grant(&mut self, cpu: u16, now: Nanos) {
        self.wants = true;
        self.running = Some((cpu, now));
    }

    /// The VP, which is charged, lost the CPU.
    pub fn revoke(&mut self) {
        self.running = None;
    }

    /// The VP, which is charged, wants no CPU.
    pub fn release(&mut self) {
        (self.running, self.wants, self.warp) = (None, false, Warp::No);
    }

    /// When the VP begins to warp, or has used up its limit, if it goes on as it does now.
    pub fn next_change(&self) -> Option<Nanos> {
        match (self.warp, self.running) {
            (Warp::Barred, _) => Some(self.bar_end()),
            (Warp::Yes, Some((_, since))) if self.borrower.limit > Nanos::ZERO => {
                Some(since.saturating_add(self.left))
            }
            _ => None,
        }
    }

    /// The VP, which is charged until the change that was due at `now`, goes on.
    pub fn change(&mut self, now: Nanos) {
        if self.warp == Warp::Barred {
            self.begin_warp(now);
        }
    }

    fn bar_end(&self) -> Nanos {
        self.warped_at.map_or(Nanos::ZERO, |at| at.saturating_add(self.borrower.unwarp))
    }

    /// The VP may warp from now on, if something is left of its limit, or the limit is renewed.
    fn begin_warp(&mut self, now: Nanos) {
        if now >= self.bar_end() {
            self.left = self.borrower.limit;
        }
        let is_free = self.borrower.limit == Nanos::ZERO;
        self.warp = if is_free || self.left > Nanos::ZERO { Warp::Yes } else { Warp::Barred };
    }
}
