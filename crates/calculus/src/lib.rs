//! The calculus of guarantees: what a scheduler is promised, what it can promise in turn, and why.
//!
//! Follows Regehr and Stankovic, "HLS: A Framework for Composing Soft Real-Time Schedulers" (RTSS 2001), sections 3 to
//! 5, corrected where the paper is loose; every correction is stated where it is made. Numbers are exact rationals; a
//! function that rounds says so in its name. Relies on `hls_units` for time. Never does IO, never uses a float, never
//! panics on any input.
//!
//! [`Guarantee`] is the language, [`implies`] compares two of them, [`analyse`] labels a whole hierarchy, a
//! [`Derivation`] says how a label came about, and [`mend()`] finds what to change where one is too weak.

mod admission;
mod cap;
mod caps;
mod compose;
mod corners;
mod declaration;
mod derivation;
mod description;
mod graph;
mod guarantee;
mod label;
mod local;
mod mend;
mod narrow;
mod parse;
mod rational;
mod rewrite;
mod rules;
pub mod schedulers;
mod stolen;
mod supply;
pub mod tasks;
mod together;
pub mod warps;
mod work;

pub use admission::Admission;
pub use compose::{Analysis, analyse};
pub use corners::Corner;
pub use derivation::{Derivation, Rule};
pub use graph::{Child, Edge, Graph, GraphEdge, Policy, Scheduler, Stolen};
pub use guarantee::{Continuity, Fault, Guarantee, Kind};
pub use label::Label;
pub use local::{Place, Problem};
pub use mend::{Extent, MOST_STEPS, Mend, Mends, Owner, Setting, mend};
pub use parse::ParseError;
pub use rational::{Rational, ceil_nanos, floor_nanos, share_floor, time_ceil, time_exact, time_floor};
pub use rewrite::{Refusal, best_basic_amount, implies, rewrite};
pub use rules::{Mode, Rules};
pub use supply::Periodic;
pub use together::{Shortfall, Sum, Supply};
pub use work::Work;
