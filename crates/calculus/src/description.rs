//! The parameters of policies, as the calculus has them. Relies on nothing, decides nothing.

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

/// A whole rate, in the unit of the parameter `rate-ppm`.
pub(crate) const WHOLE_RATE: u64 = 1_000_000;
