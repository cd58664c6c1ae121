//! How much work an analysis may be: elementary steps, counted where they are taken, never by a clock, so that the same
//! question has the same answer on every machine. Relies on nothing. Never says that there is more than was given.
//!
//! A step takes some microseconds: what it takes to make a label, without its analysis. Who is out of steps answers on
//! the safe side, as at any other bound of an analysis; who gave the steps looks whether they were enough.

use std::cell::Cell;

/// Steps for the supply of one guarantee at one length of a window.
pub(crate) const STEPS_A_SUPPLY: usize = 4;
/// As many operations on plain integers take as long as a step.
pub(crate) const INTEGERS_A_STEP: usize = 128;

/// Steps that are left. Shared by all who take part in one analysis, or in one search over many.
#[derive(Debug)]
pub(crate) struct Work {
    left: Cell<Option<u64>>,
}

impl Work {
    /// As many steps as the analyses' own bounds allow.
    pub(crate) fn unlimited() -> Work {
        Work::of(u64::MAX)
    }

    /// So many steps.
    pub(crate) fn of(steps: u64) -> Work {
        Work { left: Cell::new(Some(steps)) }
    }

    /// Takes so many steps; whether there were that many left. Once there were not, there are none.
    pub(crate) fn take(&self, steps: usize) -> bool {
        let taken = u64::try_from(steps).unwrap_or(u64::MAX);
        self.left.set(self.left.get().and_then(|left| left.checked_sub(taken)));
        self.left.get().is_some()
    }

    /// How many steps are left; `None` once more were wanted than there were.
    pub(crate) fn left(&self) -> Option<u64> {
        self.left.get()
    }
}
