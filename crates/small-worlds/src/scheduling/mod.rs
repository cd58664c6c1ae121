//! The core in small worlds: [`hierarchies`] lists them, [`World`] lets an event happen in one, [`promises`] says what
//! must hold, [`normal`] which states have the same futures; [`explore`] goes through all sequences of events in one.

pub mod hierarchies;
mod model;
pub mod normal;
mod pages;
mod parts;
mod plans;
pub mod promises;
mod run;
mod world;

pub(crate) use model::add_core;
pub use pages::Written;
pub use run::{Outcome, calls, explore, explore_all};
pub use world::{Event, World, WorldState};
