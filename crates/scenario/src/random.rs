//! A small generator of random numbers (linear congruential, as in Knuth's MMIX): the same seed gives the same numbers
//! on every machine and for ever.

const FACTOR: u64 = 6364136223846793005;

/// A generator of random numbers, by its state, which begins as the seed.
#[derive(Clone, Debug)]
pub struct Random(pub(crate) u64);

impl Random {
    /// The generator of a seed. Each `stream` has other numbers for the same seed.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(seed.wrapping_add(stream.wrapping_mul(FACTOR)))
    }

    /// Draws a number of `0..n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n.max(1)
    }

    /// Draws a number of `min..=max`.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.below(max - min + 1)
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

    /// Draws `true` in this part of all times.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws one of the choices; `None` where there are none.
    pub fn pick<'t, T>(&mut self, choices: &'t [T]) -> Option<&'t T> {
        choices.get(self.below(choices.len() as u64) as usize)
    }

    /// Draws one of the choices, of which there is at least one.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
