//! Workloads: what the threads of a hierarchy do when it is run.
//!
//! Reads rt-app's JSON as rt-app reads it ([`read_rt_app`]) and translates it to [`program::Program`]s. Relies on
//! `jsonc-parser` for the tokens of JSON with comments. Does no IO and never panics, whatever the bytes are.

mod diagnostics;
mod json;
pub mod program;
mod rt_app;

pub use diagnostics::WorkloadError;
pub use rt_app::read_rt_app;
