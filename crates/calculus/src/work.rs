//! How much work an analysis may be. Work is counted in elementary steps where they are taken, never by a clock, so
//! that the same question has the same answer on every machine. Relies on nothing. Never lets more steps be taken than
//! were given.
//!
//! A step takes some microseconds: as long as it takes to make a label, without the analysis that finds the label's
//! guarantee. An analysis without steps left answers on the safe side, as at any other bound of an analysis; the caller
//! that gave the steps looks whether they were enough.

use std::cell::Cell;

/// Steps for the supply of one guarantee at one length of a window.
pub(crate) const STEPS_A_SUPPLY: usize = 4;
/// This many operations on plain integers take as long as a step.
pub(crate) const INTEGERS_A_STEP: usize = 128;

/// Steps that are left. Shared by all parts of one analysis, or of one search over many.
#[derive(Debug)]
pub struct Work {
    given: u64,
    left: Cell<Option<u64>>,
}

impl Work {
    /// A budget that never ends: only the analyses' own bounds hold.
    pub fn unlimited() -> Work {
        Work::of(u64::MAX)
    }

    /// A budget of `steps`.
    pub fn of(steps: u64) -> Work {
        Work { given: steps, left: Cell::new(Some(steps)) }
    }

    /// How many steps were given.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Takes `steps`; whether that many were left. Once a caller wanted more than were left, no steps are left for any
    /// caller.
    pub(crate) fn take(&self, steps: usize) -> bool {
        let taken = u64::try_from(steps).unwrap_or(u64::MAX);
        self.left.set(self.left.get().and_then(|left| left.checked_sub(taken)));
        self.left.get().is_some()
    }

    /// How many steps are left; `None` once a caller wanted more than were left.
    pub fn left(&self) -> Option<u64> {
        self.left.get()
    }
}
