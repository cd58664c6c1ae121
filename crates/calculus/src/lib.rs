//! The calculus of guarantees: what a scheduler is promised, what it can promise in turn, and why.
//!
//! Follows Regehr and Stankovic, "HLS: A Framework for Composing Soft Real-Time Schedulers" (RTSS 2001), sections 3 to
//! 5, corrected where the paper is loose; every correction is stated where it is made. Numbers are exact rationals;
//! rounding happens only in functions whose names say so. Relies on `hls_units` for time. Never does IO, never uses a
//! float, never panics on any input.
//!
//! [`Guarantee`] is the language, [`implies`] compares two of them, [`analyse`] labels a whole hierarchy, and a
//! [`Derivation`] says how a label came about.

mod compose;
mod derivation;
mod guarantee;
mod parse;
mod rational;
mod rewrite;
pub mod schedulers;
mod supply;
pub mod tasks;
mod together;

pub use compose::{Analysis, Child, Edge, Graph, Label, Mode, Place, Problem, Scheduler, analyse};
pub use derivation::{Derivation, Rule};
pub use guarantee::{Continuity, Fault, Guarantee, Kind};
pub use parse::ParseError;
pub use rational::{Rational, ceil_nanos, floor_nanos};
pub use rewrite::{Refusal, best_basic_amount, implies, notified, rewrite};
pub use together::{Shortfall, Sum, Supply};
