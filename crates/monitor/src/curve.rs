//! What a VP has got up to any instant of the recent past, and what was stolen from it: piecewise linear functions of
//! the time, which bend only where it starts or stops running, or time begins or ends to be stolen.
//!
//! Relies on times that do not go back. Exact: integers only.

use hls_units::Nanos;
use std::collections::VecDeque;

/// What a VP has of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Has {
    /// Nothing: the VP waits for a CPU, or wants none.
    #[default]
    Nothing,
    /// The VP runs.
    Cpu,
    /// Nothing, since something outside of the hierarchy has the CPU that the VP has been granted, or might be granted.
    Stolen,
}

/// A point where one of the functions may bend.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bend {
    pub at: Nanos,
    /// What the VP has got up to `at`.
    pub supply: Nanos,
    /// What was stolen from the VP up to `at`.
    pub stolen: Nanos,
    /// What the VP has from here to the next bend.
    pub has: Has,
}

impl Bend {
    /// The bend that results from going on to `at`, no later than the next bend.
    pub fn until(self, at: Nanos) -> Bend {
        let length = at.saturating_sub(self.at);
        let when = |has| if self.has == has { length } else { Nanos::ZERO };
        Bend { at, supply: self.supply + when(Has::Cpu), stolen: self.stolen + when(Has::Stolen), ..self }
    }
}

/// The recent part of both functions. Bends are numbered from the start of the run.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Never empty.
    bends: VecDeque<Bend>,
    /// How many bends have been dropped from the front.
    dropped: u64,
}

impl Curve {
    /// Nothing up to `at`, nor after it.
    pub fn new(at: Nanos) -> Curve {
        Curve { bends: VecDeque::from([Bend { at, ..Bend::default() }]), dropped: 0 }
    }

    /// The bend with that number, unless it is yet to come.
    pub fn get(&self, number: u64) -> Option<Bend> {
        let index = usize::try_from(number.checked_sub(self.dropped)?).ok()?;
        self.bends.get(index).copied()
    }

    /// The newest bend.
    pub fn last(&self) -> Bend {
        self.bends.back().copied().unwrap_or_default()
    }

    /// The number of the newest bend.
    pub fn newest(&self) -> u64 {
        self.dropped + self.bends.len() as u64 - 1
    }

    /// How many bends are kept.
    pub fn len(&self) -> usize {
        self.bends.len()
    }

    /// Adds a bend at `at`, no earlier than the newest.
    pub fn push(&mut self, at: Nanos, has: Has) {
        self.bends.push_back(Bend { has, ..self.last().until(at) });
    }

    /// The VP has something else from the newest bend on.
    pub fn turn(&mut self, has: Has) {
        if let Some(last) = self.bends.back_mut() {
            last.has = has;
        }
    }

    /// Forgets the bends with lower numbers, but never the newest.
    pub fn drop_below(&mut self, number: u64) {
        while self.dropped < number && self.bends.len() > 1 {
            self.bends.pop_front();
            self.dropped += 1;
        }
    }
}

/// What a VP gets in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gets {
    Nothing,
    Cpu,
    /// Nothing: the time was stolen, beyond what the promise takes into account.
    Excuse,
}
