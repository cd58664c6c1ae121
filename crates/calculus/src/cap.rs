//! The most that a VP takes in a window: a line. Relies on exact rationals. Does not know which VP takes it; that is
//! `caps.rs`.

use crate::rational::{Rational, whole};
use num_traits::{One, Zero};

/// At most `rate * t + burst` in every window of length t, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    pub(crate) rate: Rational,
    pub(crate) burst: Rational,
    /// The burst of windows that begin when the VP requests nothing; no more than `burst`.
    pub(crate) burst_from_idle: Rational,
}

impl Cap {
    fn nothing() -> Cap {
        let zero = Rational::zero;
        Cap { rate: zero(), burst: zero(), burst_from_idle: zero() }
    }

    /// The cap of a VP with a budget x in every period y, which may use all of one budget at the end of its period and
    /// all of the next at the start of its own.
    pub(crate) fn of_budget(budget: &Rational, period: &Rational) -> Cap {
        let rate = budget / period;
        let burst = whole(2) * budget * (Rational::one() - &rate);
        Cap { rate, burst_from_idle: burst.clone(), burst }
    }

    /// The cap of a VP with a budget that keeps the wake-up rule: what is left when the VP wakes up is no more than the
    /// rest of the period is worth.
    pub(crate) fn of_paid_budget(budget: &Rational, period: &Rational) -> Cap {
        let cap = Cap::of_budget(budget, period);
        let burst_from_idle = budget * (Rational::one() - &cap.rate);
        Cap { burst_from_idle, ..cap }
    }

    /// The cap of a VP if it is not known when it is idle.
    pub(crate) fn never_known_idle(self) -> Cap {
        Cap { burst_from_idle: self.burst.clone(), ..self }
    }

    /// The cap of `count` VPs together, each with this cap.
    pub(crate) fn times(self, count: &Rational) -> Cap {
        Cap {
            rate: self.rate * count,
            burst: self.burst * count,
            burst_from_idle: self.burst_from_idle * count,
        }
    }

    /// The cap of several VPs together.
    pub(crate) fn sum(caps: impl IntoIterator<Item = Cap>) -> Cap {
        caps.into_iter().fold(Cap::nothing(), |sum, cap| Cap {
            rate: sum.rate + cap.rate,
            burst: sum.burst + cap.burst,
            burst_from_idle: sum.burst_from_idle + cap.burst_from_idle,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much a server with a budget of `x` slots in every `y` used in each slot. The bits of a random number say
    /// when the server wants the CPU and when it is granted one. Budget, deadline and the wake-up rule are as in
    /// `policies/reservation.c`.
    fn used(x: u64, y: u64, random: &mut u64) -> Vec<u64> {
        let (mut budget, mut deadline, mut awake) = (0, 0, false);
        let slot = |now: u64| {
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            let wants = if awake { !random.is_multiple_of(5) } else { random.is_multiple_of(3) };
            if wants && (!awake && (deadline <= now || budget * y > (deadline - now) * x)) {
                (budget, deadline) = (x, now + y);
            } else if wants && deadline <= now {
                (budget, deadline) = (x, deadline + y);
            }
            awake = wants;
            let runs = u64::from(wants && budget > 0 && (*random >> 32).is_multiple_of(2));
            budget -= runs;
            runs
        };
        (0..300).map(slot).collect()
    }

    #[test]
    fn a_server_that_sleeps_and_wakes_stays_below_its_cap() {
        let (mut random, mut attained) = (0x5eed_u64, 0);
        for case in 0..2_000 {
            let y = 1 + case % 11;
            let x = 1 + case / 11 % y;
            let used = used(x, y, &mut random);
            let cap = Cap::of_budget(&whole(x), &whole(y));
            let caps: Vec<Rational> = (0..=300).map(|t| &cap.rate * whole(t) + &cap.burst).collect();
            let most: Vec<u64> = caps.iter().map(|cap| cap.to_integer().try_into().unwrap()).collect();
            for from in 0..used.len() {
                let mut sum = 0;
                for (length, slot) in (1..).zip(&used[from..]) {
                    sum += slot;
                    assert!(sum <= most[length], "{sum} in {length} of {x} a {y}");
                    attained += u64::from(x < y && sum == 2 * x && caps[length] == whole(sum));
                }
            }
        }
        assert!(attained > 10, "a cap that nobody reaches is too large: {attained}");
    }
}
