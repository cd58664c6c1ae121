//! What a guarantee is worth: the least (`sbf`) and the most (`ubf`) CPU time in any window of a length.
//!
//! Reservations, EDP and MPR share one supply function, for RESB x,y is EDP(y, x, y) and RESC x,y is EDP(y, x, x) from
//! below. MPR P,x,m in the worst case is m VPs with RESBS x/m,P in step: Shin, Easwaran and Lee have the minimum over
//! the offset a of [x - m*a]+ + k*x + [x - m*(P-b)]+ with t = (P-a) + k*P + b, which is m times the supply of x/m.
//! (Their minimum is over whole numbers a. Over all numbers it is exact where time has no slots, and never more.)
//!
//! Relies on the invariants of [`Guarantee`]; a guarantee that breaks them promises nothing. Never rounds, except in
//! the two functions that say so in their names.

use crate::guarantee::{Continuity, Guarantee};
use crate::rational::{Rational, ceil_nanos, floor_nanos, from_nanos, positive_part, quotient, whole};
use hls_units::Nanos;
use num_traits::{One, Signed, Zero};

/// A periodic promise: `amount` within `deadline` of the start of every `period`.
pub struct Periodic {
    /// The length of each period.
    pub period: Rational,
    /// The CPU time in each.
    pub amount: Rational,
    /// How long after the start of a period its amount has been given.
    pub deadline: Rational,
    /// Whether the periods follow each other from the first on, so that the starts are known. Otherwise any window of
    /// the period's length has the amount.
    pub is_on_a_grid: bool,
}

impl Periodic {
    /// The least CPU time in any window of this length (Easwaran, Anand and Lee, RTSS 2007): the amount of one period
    /// was given as early as can be, just before the window begins, and the amounts of all later periods are given as
    /// late as can be.
    fn sbf(&self, window: &Rational) -> Rational {
        let early = &self.period - &self.amount;
        if *window < early || !self.period.is_positive() {
            return Rational::zero();
        }
        let periods = quotient(&(window - &early), &self.period).floor();
        let late = window - &early - &periods * &self.period - (&self.deadline - &self.amount);
        periods * &self.amount + positive_part(late).min(self.amount.clone())
    }
}

impl Guarantee {
    /// The least CPU time in any window of this length (nanoseconds) in which the CPU is requested all the time; for
    /// MPR on all VPs together. Zero for a window that is not positive. RESU promises nothing that does not depend on
    /// notifications, PS nothing in finite time, JOB nothing in a window that begins anywhere.
    pub fn sbf(&self, window: &Rational) -> Rational {
        if !window.is_positive() {
            return Rational::zero();
        }
        match (self, self.periodic()) {
            (_, Some(periodic)) => whole(u64::from(self.vps())) * periodic.sbf(window),
            (Guarantee::All, None) => window.clone(),
            (Guarantee::Psbe { share, delta }, None) => positive_part(share * window - delta),
            _ => Rational::zero(),
        }
    }

    /// The most CPU time in any window of this length (nanoseconds). Only hard reservations promise less than all.
    pub fn ubf(&self, window: &Rational) -> Rational {
        if !window.is_positive() {
            return Rational::zero();
        }
        match self {
            Guarantee::Reservation { continuity: Continuity::Continuous, hard: true, amount, period } => {
                let periods = quotient(window, period).floor();
                let rest = window - &periods * period;
                periods * amount + rest.min(amount.clone())
            }
            Guarantee::Reservation { continuity: Continuity::Basic, hard: true, amount, period }
                if window > amount =>
            {
                let periods = quotient(&(window - amount), period).floor();
                let rest = window - amount - &periods * period;
                amount + periods * amount + rest.min(amount.clone())
            }
            _ => whole(u64::from(self.vps())) * window,
        }
    }

    /// [`Guarantee::sbf`] rounded down to whole nanoseconds.
    pub fn sbf_floor_nanos(&self, window: Nanos) -> Nanos {
        floor_nanos(&self.sbf(&from_nanos(window)))
    }

    /// [`Guarantee::ubf`] rounded up to whole nanoseconds.
    pub fn ubf_ceil_nanos(&self, window: Nanos) -> Nanos {
        ceil_nanos(&self.ubf(&from_nanos(window)))
    }

    /// The share of one CPU in the long run; MPR may have a share of more than one. JOB has none: a request that goes
    /// on is promised its first amount, and a VP that makes no request nothing.
    pub fn rate(&self) -> Rational {
        match self {
            Guarantee::All => Rational::one(),
            Guarantee::Reservation { amount, period, .. }
            | Guarantee::Edp { amount, period, .. }
            | Guarantee::Mpr { amount, period, .. } => quotient(amount, period),
            Guarantee::Psbe { share, .. } | Guarantee::Resu { rate: share } | Guarantee::Ps { share } => {
                share.clone()
            }
            Guarantee::Null | Guarantee::Job { .. } => Rational::zero(),
        }
    }

    /// The longest window (nanoseconds) in which nothing need be received; `None` where it has no bound.
    pub fn blackout(&self) -> Option<Rational> {
        match (self, self.periodic()) {
            (_, Some(Periodic { period, amount, deadline, .. })) => {
                Some(period + deadline - whole(2) * amount)
            }
            (Guarantee::All, None) => Some(Rational::zero()),
            (Guarantee::Psbe { share, delta }, None) if share.is_positive() => Some(delta / share),
            _ => None,
        }
    }

    /// The window lengths at which a monitor should compare what was received with what was promised: at most five, in
    /// rising order, where the supply has just risen or (for hard guarantees) the limit is flat. Empty for what
    /// promises nothing in finite time.
    pub fn windows(&self) -> Vec<Nanos> {
        const PSBE_MULTIPLES: [u64; 4] = [2, 3, 10, 100];
        let lengths = match (self, self.periodic()) {
            (_, Some(Periodic { period, amount, deadline, .. })) => {
                let served = &period + deadline - &amount;
                let early =
                    if self.is_hard() { &period + &amount } else { &served - quotient(&amount, &whole(2)) };
                vec![early, served, &period * whole(2), &period * whole(3), period * whole(10)]
            }
            (Guarantee::Psbe { share, delta }, None) if share.is_positive() && delta.is_positive() => {
                PSBE_MULTIPLES.iter().map(|multiple| whole(*multiple) * delta / share).collect()
            }
            (Guarantee::All | Guarantee::Psbe { .. }, None) => {
                [1, 100].map(|millis| from_nanos(Nanos::from_millis(millis))).to_vec()
            }
            _ => Vec::new(),
        };
        let mut windows: Vec<Nanos> = lengths.iter().map(ceil_nanos).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    /// For how long a child that has come to a scheduler, or left it, may have, or owe, what it is promised: to the end
    /// of a period; or, with a share, for as long as virtual time takes to pass by what the child may be ahead.
    pub fn settles_in(&self) -> Nanos {
        self.settles_at_pace(&Rational::one())
    }

    /// The same where virtual time passes more slowly than it did when the guarantee was given, by the factor `pace`.
    pub fn settles_at_pace(&self, pace: &Rational) -> Nanos {
        match self {
            Guarantee::Psbe { share, delta } if share.is_positive() => ceil_nanos(&(delta / share * pace)),
            promised => promised.periodic().map_or(Nanos::ZERO, |it| ceil_nanos(&it.period)),
        }
    }

    /// How many VPs the guarantee is about.
    pub(crate) fn vps(&self) -> u16 {
        if let Guarantee::Mpr { cpus, .. } = self { *cpus } else { 1 }
    }

    /// The guarantee as a periodic promise, where it is one; for MPR the promise to each of the VPs, all in step.
    pub fn periodic(&self) -> Option<Periodic> {
        let (period, amount, deadline, is_on_a_grid) = match self {
            Guarantee::Reservation { continuity: Continuity::Basic, amount, period, .. } => {
                (period, amount.clone(), period, true)
            }
            Guarantee::Reservation { continuity: Continuity::Continuous, amount, period, .. } => {
                (period, amount.clone(), amount, false)
            }
            Guarantee::Edp { period, amount, deadline } => (period, amount.clone(), deadline, true),
            Guarantee::Mpr { period, amount, cpus } => {
                (period, quotient(amount, &whole(u64::from(*cpus))), period, true)
            }
            _ => return None,
        };
        Some(Periodic { period: period.clone(), amount, deadline: deadline.clone(), is_on_a_grid })
    }

    /// Whether the guarantee amounts to the whole of a CPU.
    pub(crate) fn is_whole_cpu(&self) -> bool {
        self.rate().is_one() && self.blackout().is_some_and(|blackout| blackout.is_zero())
    }
}
