//! The simulator as the rest of the product uses it: a hierarchy and a workload in, records and a result out.
//!
//! Relies on the public interface of the crate and on the readers of both languages. Every run checks the core's
//! invariants after every event. Expected numbers are worked out by hand beside each test, not copied from a run.

mod conservation;
mod costs;
mod cpus;
mod determinism;
mod generator;
mod interrupts;
mod jobs;
mod lives;
mod misfits;
mod programs;
mod promises;
mod several_cpus;
mod sharing;
mod support;
mod tasks;
mod timers;
