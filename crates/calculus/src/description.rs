//! What a hierarchy file must know of a policy that the core does not have, so that it can be analysed, not run: what
//! it is and its parameters. Policies of the core are described by its own registry. Relies on nothing, decides
//! nothing.

/// What a parameter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// A plain whole number.
    Count,
}

/// A parameter of a scheduler or of a VP that it schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in a file.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// The value when the file gives none; `None`: it must be given.
    pub default: Option<u64>,
    /// Least allowed value.
    pub min: u64,
    /// Greatest allowed value.
    pub max: u64,
    /// What it is, for people.
    pub doc: &'static str,
}

/// A policy that is analysed and not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it is, for people.
    pub doc: &'static str,
    /// Parameters of an instance.
    pub scheduler_params: &'static [Param],
    /// Parameters of each VP that an instance schedules.
    pub vp_params: &'static [Param],
}

const MICROSECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;

/// A whole rate, in the unit of the parameter `rate-ppm`.
pub(crate) const WHOLE_RATE: u64 = 1_000_000;

/// A reservation's amount.
pub(crate) const BUDGET: Param = Param {
    name: "budget",
    unit: Unit::Time,
    default: None,
    min: MICROSECOND,
    max: 3_600 * SECOND,
    doc: "CPU time that the VP gets in every period",
};

/// A reservation's period.
pub(crate) const PERIOD: Param = Param {
    name: "period",
    unit: Unit::Time,
    default: None,
    min: MICROSECOND,
    max: 3_600 * SECOND,
    doc: "length of a period",
};
