//! The command as its users meet it: what it prints where, and how it exits.
//!
//! Relies on the built `hls` and on nothing else of the crate.

mod agents;
mod bad_input;
mod baseline;
mod cpus;
mod ctl;
mod doctor;
mod examples;
mod files;
mod fit;
mod guarantee;
mod help;
mod mends;
mod outcome;
mod policy;
mod runs;
mod script;
mod verdicts;
