//! The language of guarantees: the types of section 4.2 of the HLS paper, EDP, MPR and JOB. Relies on exact rationals.
//! Says nothing about what a guarantee is worth; that is `supply.rs`.

use crate::rational::{Rational, share_floor, time_ceil, time_exact, time_floor, whole};
use num_traits::{One, Signed, ToPrimitive};
use std::fmt;

/// Whether the windows of a reservation lie on a grid that the scheduler chooses, or anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// On a grid with a fixed phase that is hidden from the receiver.
    Basic,
    /// Anywhere.
    Continuous,
}

/// A promise about the CPU time of a virtual processor, in every window in which it requests the CPU all the time; JOB
/// is about single requests.
///
/// Invariants, which [`Guarantee::check`] states and the parser and [`crate::analyse`] keep: times are nanoseconds; `0
/// < amount <= period`; shares and rates lie in `0 < s <= 1`; `delta >= 0`; `amount <= deadline <= period`, and so for
/// the response of JOB. MPR is about several VPs: `cpus >= 1` and `0 < amount <= cpus * period`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// The whole of one CPU.
    All,
    /// RESBH, RESBS, RESCH, RESCS: `amount` of CPU time in every `period`.
    Reservation {
        /// Where the windows of one period lie.
        continuity: Continuity,
        /// Whether `amount` is also the most that is received.
        hard: bool,
        /// CPU time a period, in nanoseconds.
        amount: Rational,
        /// Length of the period, in nanoseconds.
        period: Rational,
    },
    /// Proportional share with bounded error: at least `share * t - delta` in every window of length t.
    Psbe {
        /// Share of one CPU.
        share: Rational,
        /// How far the receiver may fall behind its share, in nanoseconds of CPU time.
        delta: Rational,
    },
    /// A uniformly slower processor: `rate` of the time between any two consecutive notified instants (deadlines and
    /// releases alike).
    Resu {
        /// Speed, as a share of one CPU.
        rate: Rational,
    },
    /// Proportional share in the long run, nothing in any finite window.
    Ps {
        /// Share of one CPU.
        share: Rational,
    },
    /// Best effort.
    Null,
    /// Explicit deadline periodic: `amount` within `deadline` of the start of every `period` of a hidden grid
    /// (Easwaran, Anand and Lee, RTSS 2007). With the deadline equal to the period EDP is RESBS; with the deadline
    /// equal to the amount it is RESCS.
    Edp {
        /// Length of the period, in nanoseconds.
        period: Rational,
        /// CPU time a period, in nanoseconds.
        amount: Rational,
        /// By when the amount is received, from the start of the period, in nanoseconds.
        deadline: Rational,
    },
    /// Multiprocessor periodic resource (Shin, Easwaran and Lee, ECRTS 2008), what a group of VPs needs: while they all
    /// request, they receive together, in every window, at least the supply of `amount` in every `period` of a hidden
    /// grid, on at most `cpus` CPUs at once. MPR is never a label, since a label is about one VP.
    Mpr {
        /// Length of the period, in nanoseconds.
        period: Rational,
        /// CPU time a period, on all CPUs together, in nanoseconds.
        amount: Rational,
        /// The most CPUs that give CPU time at once.
        cpus: u16,
    },
    /// A request that comes in its turn has waited for no more than `response - amount` when it has had `amount` of CPU
    /// time: it is done within `response` if it takes `amount` or less, and a shorter one as much sooner.
    ///
    /// A request lasts from a wake-up to the next sleep. It comes in its turn if it begins at least `period` after the
    /// last one that did. One that comes sooner, or takes more than `amount`, puts off the next turn: to its end, and a
    /// `period` more for each `amount`, or part of it, that it took.
    Job {
        /// CPU time that a request in its turn is certain of, in nanoseconds.
        amount: Rational,
        /// The least time between the beginnings of two such requests, in nanoseconds.
        period: Rational,
        /// Within which the amount comes, from the beginning of the request, in nanoseconds.
        response: Rational,
    },
}

/// The type of a guarantee without its parameters: a row or column of the paper's Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The whole of one CPU.
    All,
    /// A uniformly slower processor.
    Resu,
    /// A reservation.
    Reservation(Continuity, /* hard */ bool),
    /// Proportional share, bounded error.
    Psbe,
    /// Proportional share.
    Ps,
    /// Best effort.
    Null,
    /// Explicit deadline periodic.
    Edp,
    /// Multiprocessor periodic resource.
    Mpr,
    /// Single requests.
    Job,
}

impl Kind {
    /// Every kind.
    pub const EVERY: [Kind; 12] = [
        Kind::All,
        Kind::Resu,
        Kind::Reservation(Continuity::Basic, true),
        Kind::Reservation(Continuity::Basic, false),
        Kind::Reservation(Continuity::Continuous, true),
        Kind::Reservation(Continuity::Continuous, false),
        Kind::Psbe,
        Kind::Ps,
        Kind::Null,
        Kind::Edp,
        Kind::Mpr,
        Kind::Job,
    ];

    /// The kind's name in the paper and in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::All => "ALL",
            Kind::Resu => "RESU",
            Kind::Reservation(Continuity::Basic, true) => "RESBH",
            Kind::Reservation(Continuity::Basic, false) => "RESBS",
            Kind::Reservation(Continuity::Continuous, true) => "RESCH",
            Kind::Reservation(Continuity::Continuous, false) => "RESCS",
            Kind::Psbe => "PSBE",
            Kind::Ps => "PS",
            Kind::Null => "NULL",
            Kind::Edp => "EDP",
            Kind::Mpr => "MPR",
            Kind::Job => "JOB",
        }
    }

    /// What each number of the text form is, in the order of the text.
    pub(crate) fn parameters(self) -> &'static [(&'static str, Quantity)] {
        use Quantity::{Cpus, Share, Time};
        match self {
            Kind::All | Kind::Null => &[],
            Kind::Resu => &[("a rate", Share)],
            Kind::Ps => &[("a share", Share)],
            Kind::Psbe => &[("a share", Share), ("an error", Time)],
            Kind::Reservation(..) => &[("an amount", Time), ("a period", Time)],
            Kind::Edp => &[("a period", Time), ("an amount", Time), ("a deadline", Time)],
            Kind::Mpr => &[("a period", Time), ("an amount", Time), ("a number of CPUs", Cpus)],
            Kind::Job => &[("an amount", Time), ("a period", Time), ("a response time", Time)],
        }
    }

    /// The guarantee of this kind with these numbers; its invariants are not checked. `None` if there are not as many
    /// numbers as [`Kind::parameters`], or the number of CPUs is not one.
    pub(crate) fn with(self, numbers: &[Rational]) -> Option<Guarantee> {
        let guarantee = match (self, numbers) {
            (Kind::All, []) => Guarantee::All,
            (Kind::Null, []) => Guarantee::Null,
            (Kind::Resu, [rate]) => Guarantee::Resu { rate: rate.clone() },
            (Kind::Ps, [share]) => Guarantee::Ps { share: share.clone() },
            (Kind::Psbe, [share, delta]) => Guarantee::Psbe { share: share.clone(), delta: delta.clone() },
            (Kind::Reservation(continuity, hard), [amount, period]) => {
                Guarantee::Reservation { continuity, hard, amount: amount.clone(), period: period.clone() }
            }
            (Kind::Edp, [period, amount, deadline]) => {
                Guarantee::Edp { period: period.clone(), amount: amount.clone(), deadline: deadline.clone() }
            }
            (Kind::Job, [amount, period, response]) => {
                Guarantee::Job { amount: amount.clone(), period: period.clone(), response: response.clone() }
            }
            (Kind::Mpr, [period, amount, cpus]) => Guarantee::Mpr {
                period: period.clone(),
                amount: amount.clone(),
                cpus: cpus.to_u16().filter(|_| cpus.is_integer())?,
            },
            _ => return None,
        };
        Some(guarantee)
    }
}

/// What a number of a guarantee's text form counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Nanoseconds.
    Time,
    /// A part of one CPU.
    Share,
    /// CPUs.
    Cpus,
}

/// A parameter that breaks an invariant of [`Guarantee`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which parameter, counted from 0 in the order of the text form.
    pub parameter: usize,
    /// What the parameter should have been.
    pub expected: String,
}

/// How the parameters of a guarantee are written: the share; times where more is better for the receiver; times where
/// less is better.
struct Writing {
    share: fn(&Rational) -> String,
    amount: fn(&Rational) -> String,
    cost: fn(&Rational) -> String,
}

impl Guarantee {
    /// A basic reservation with a limit: RESBH `amount`, `period`, in nanoseconds.
    pub fn resbh(amount: Rational, period: Rational) -> Guarantee {
        Guarantee::Reservation { continuity: Continuity::Basic, hard: true, amount, period }
    }

    /// A basic reservation: RESBS `amount`, `period`, in nanoseconds.
    pub fn resbs(amount: Rational, period: Rational) -> Guarantee {
        Guarantee::Reservation { continuity: Continuity::Basic, hard: false, amount, period }
    }

    /// A continuous reservation: RESCS `amount`, `period`, in nanoseconds.
    pub fn rescs(amount: Rational, period: Rational) -> Guarantee {
        Guarantee::Reservation { continuity: Continuity::Continuous, hard: false, amount, period }
    }

    /// The guarantee's type.
    pub fn kind(&self) -> Kind {
        match self {
            Guarantee::All => Kind::All,
            Guarantee::Reservation { continuity, hard, .. } => Kind::Reservation(*continuity, *hard),
            Guarantee::Psbe { .. } => Kind::Psbe,
            Guarantee::Resu { .. } => Kind::Resu,
            Guarantee::Ps { .. } => Kind::Ps,
            Guarantee::Null => Kind::Null,
            Guarantee::Edp { .. } => Kind::Edp,
            Guarantee::Mpr { .. } => Kind::Mpr,
            Guarantee::Job { .. } => Kind::Job,
        }
    }

    /// Whether the guarantee also limits what is received.
    pub fn is_hard(&self) -> bool {
        matches!(self, Guarantee::Reservation { hard: true, .. })
    }

    /// The same promise without its upper limit.
    pub fn softened(&self) -> Guarantee {
        let mut soft = self.clone();
        if let Guarantee::Reservation { hard, .. } = &mut soft {
            *hard = false;
        }
        soft
    }

    /// The same promise with every amount of CPU time multiplied by `scale`: from the time of a slower processor to
    /// real time (HLS section 5.1, on RESU). Periods and deadlines are real time already.
    pub fn scaled(&self, scale: &Rational) -> Guarantee {
        let mut scaled = self.clone();
        match &mut scaled {
            Guarantee::All if scale.is_one() => {}
            Guarantee::All => scaled = Guarantee::Resu { rate: scale.clone() },
            Guarantee::Reservation { amount, .. }
            | Guarantee::Edp { amount, .. }
            | Guarantee::Mpr { amount, .. }
            | Guarantee::Job { amount, .. } => *amount *= scale,
            Guarantee::Psbe { share, delta } => {
                *share *= scale;
                *delta *= scale;
            }
            Guarantee::Resu { rate: share } | Guarantee::Ps { share } => *share *= scale,
            Guarantee::Null => {}
        }
        scaled
    }

    /// A number of the text form, counted from 0 as in [`Fault`]; of MPR not the CPUs.
    pub fn number(&self, at: usize) -> Option<&Rational> {
        match self {
            Guarantee::All | Guarantee::Null => None,
            Guarantee::Reservation { amount, period, .. } => [amount, period].get(at).copied(),
            Guarantee::Psbe { share, delta } => [share, delta].get(at).copied(),
            Guarantee::Resu { rate: share } | Guarantee::Ps { share } => [share].get(at).copied(),
            Guarantee::Edp { period, amount, deadline } => [period, amount, deadline].get(at).copied(),
            Guarantee::Mpr { period, amount, .. } => [period, amount].get(at).copied(),
            Guarantee::Job { amount, period, response } => [amount, period, response].get(at).copied(),
        }
    }

    /// The same guarantee with another value for this number; whether the invariants still hold is not checked.
    #[must_use]
    pub fn with_number(&self, at: usize, value: &Rational) -> Guarantee {
        let mut changed = self.clone();
        let number = match &mut changed {
            Guarantee::All | Guarantee::Null => None,
            Guarantee::Reservation { amount, period, .. } => [amount, period].into_iter().nth(at),
            Guarantee::Psbe { share, delta } => [share, delta].into_iter().nth(at),
            Guarantee::Resu { rate: share } | Guarantee::Ps { share } => [share].into_iter().nth(at),
            Guarantee::Edp { period, amount, deadline } => [period, amount, deadline].into_iter().nth(at),
            Guarantee::Mpr { period, amount, .. } => [period, amount].into_iter().nth(at),
            Guarantee::Job { amount, period, response } => [amount, period, response].into_iter().nth(at),
        };
        number.into_iter().for_each(|number| number.clone_from(value));
        changed
    }

    /// Checks the invariants; the error names the first parameter that breaks one.
    pub fn check(&self) -> Result<(), Fault> {
        let fault = |parameter, expected: &str| Err(Fault { parameter, expected: expected.to_owned() });
        match self {
            Guarantee::All | Guarantee::Null => Ok(()),
            Guarantee::Reservation { amount, period, .. } => match () {
                () if !amount.is_positive() => fault(0, "an amount above zero"),
                () if !period.is_positive() => fault(1, "a period above zero"),
                () if amount > period => {
                    fault(0, &format!("an amount of at most the period, {}", time_exact(period)))
                }
                () => Ok(()),
            },
            Guarantee::Psbe { share, delta } => match () {
                () if !is_share(share) => fault(0, SHARE),
                () if delta.is_negative() => fault(1, "an error of zero or more"),
                () => Ok(()),
            },
            Guarantee::Resu { rate: share } | Guarantee::Ps { share } => {
                if is_share(share) {
                    Ok(())
                } else {
                    fault(0, SHARE)
                }
            }
            Guarantee::Edp { period, amount, deadline } => match () {
                () if !period.is_positive() => fault(0, "a period above zero"),
                () if !amount.is_positive() => fault(1, "an amount above zero"),
                () if deadline > period => {
                    fault(2, &format!("a deadline of at most the period, {}", time_exact(period)))
                }
                () if amount > deadline => {
                    fault(1, &format!("an amount of at most the deadline, {}", time_exact(deadline)))
                }
                () => Ok(()),
            },
            Guarantee::Job { amount, period, response } => match () {
                () if !amount.is_positive() => fault(0, "an amount above zero"),
                () if !period.is_positive() => fault(1, "a period above zero"),
                () if response > period => {
                    let most = format!("a response time of at most the period, {}", time_exact(period));
                    fault(2, &most)
                }
                () if amount > response => {
                    let most = format!("an amount of at most the response time, {}", time_exact(response));
                    fault(0, &most)
                }
                () => Ok(()),
            },
            Guarantee::Mpr { period, amount, cpus } => match () {
                () if !period.is_positive() => fault(0, "a period above zero"),
                () if !amount.is_positive() => fault(1, "an amount above zero"),
                () if *cpus == 0 => fault(2, "at least one CPU"),
                () if *amount > period * whole(u64::from(*cpus)) => {
                    fault(1, &format!("an amount of at most {cpus} times the period, {}", time_exact(period)))
                }
                () => Ok(()),
            },
        }
    }

    /// The text for people: as `Display`, but what has no short exact form is rounded against the receiver (amounts and
    /// shares down, periods, deadlines and errors up). Never decide by it.
    pub fn rounded_for_people(&self) -> String {
        self.write(&Writing { share: share_floor, amount: time_floor, cost: time_ceil })
    }

    fn write(&self, form: &Writing) -> String {
        let name = self.kind().name();
        match self {
            Guarantee::All | Guarantee::Null => name.to_owned(),
            Guarantee::Reservation { amount, period, .. } => {
                format!("{name} {} {}", (form.amount)(amount), (form.cost)(period))
            }
            Guarantee::Psbe { share, delta } => {
                format!("{name} {} {}", (form.share)(share), (form.cost)(delta))
            }
            Guarantee::Resu { rate: share } | Guarantee::Ps { share } => {
                format!("{name} {}", (form.share)(share))
            }
            Guarantee::Edp { period, amount, deadline } => {
                format!("{name} {} {} {}", (form.cost)(period), (form.amount)(amount), (form.cost)(deadline))
            }
            Guarantee::Job { amount, period, response } => {
                format!("{name} {} {} {}", (form.amount)(amount), (form.cost)(period), (form.cost)(response))
            }
            Guarantee::Mpr { period, amount, cpus } => {
                format!("{name} {} {} {cpus}", (form.cost)(period), (form.amount)(amount))
            }
        }
    }
}

const SHARE: &str = "a share above 0 and at most 1";

fn is_share(value: &Rational) -> bool {
    value.is_positive() && *value <= Rational::one()
}

impl fmt::Display for Guarantee {
    /// The exact text, which [`Guarantee::parse`] reads back: `RESBH 10ms 33ms`, `PSBE 1/3 10/3ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.write(&Writing { share: Rational::to_string, amount: time_exact, cost: time_exact }))
    }
}
