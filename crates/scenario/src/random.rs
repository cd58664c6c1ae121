//! A small generator of random numbers (linear congruential, as in Knuth's MMIX): the same seed gives the same numbers
//! on every machine and for ever.

/// The state of the generator, which begins as the seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Draws a number of `0..n`; 0 where `n` is 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n.max(1)
    }

    /// Draws any number.
    pub(crate) fn word(&mut self) -> u64 {
        let half = 1 << 32;
        self.below(half) << 33 | self.below(half) << 2 | self.below(4)
    }

    /// Draws `true` once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Draws one of the choices; `None` where there are none.
    pub(crate) fn pick<'t, T>(&mut self, choices: &'t [T]) -> Option<&'t T> {
        choices.get(self.below(choices.len() as u64) as usize)
    }
}
