//! A small generator of random numbers, so that a seed says all.

/// A state that a seed begins.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number of `0..n`; 0 where there is none.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n.max(1)
    }

    /// Once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub(crate) fn of<'t, T>(&mut self, these: &'t [T]) -> Option<&'t T> {
        these.get(self.below(these.len() as u64) as usize)
    }
}
