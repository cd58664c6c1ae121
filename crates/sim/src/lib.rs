//! The simulator: a discrete-event machine with the C core as its scheduler.
//!
//! Deterministic: the same hierarchy, workload and seed give the same records, byte for byte. A run goes like this:
//! [`hls_plan`] makes threads and VPs of a hierarchy and a workload; [`engine`] carries events out in order of time,
//! with [`hls_thread`] interpreting the programs, and `machine` the CPUs, their ticks and what is stolen from them.
//! What changes the hierarchy in between is in `changes`.
//! Time stands still while the core decides; what a decision costs is a parameter of the machine. Does no IO: the
//! caller passes a function that takes the records.

pub mod agent;
mod agents;
mod changes;
pub mod engine;
mod events;
mod machine;
mod seat;
mod turns;

pub use engine::{Failure, Options, Simulation};
pub use hls_plan::Plan;
