//! Small worlds, explored exhaustively: everything that can happen in them, up to a number of events.
//!
//! [`scheduling`] drives the core through all sequences of events in all hierarchies of up to three schedulers, with
//! three threads and two CPUs, and checks after each event what must hold then. [`glue`] is a model of what the kernel
//! engine has around the core, and of the kernel around the engine: all interleavings of two CPUs, at the points where
//! locks are released. Both ask the real core. Neither touches anything of the machine.

pub mod decision;
pub mod glue;
pub mod scheduling;
mod states;

pub use states::{Bounds, Choice, Explored, Memory, Model, Violation, explore};
