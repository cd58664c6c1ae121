//! Tests of the simulator as other crates use it: a hierarchy and a workload go in, records and a result come out.
//!
//! Relies on the public interface of the crate and on the readers of hierarchies and workloads. Every run checks the
//! core's invariants after every event. Expected numbers are worked out by hand beside each test, not copied from a
//! run.

mod agents;
mod conservation;
mod costs;
mod cpus;
mod determinism;
pub mod generator;
mod interrupts;
mod jobs;
mod lives;
mod misfits;
mod programs;
mod promises;
mod several_cpus;
mod sharing;
mod siblings;
mod support;
mod tasks;
mod timers;
