//! What the threads of a run do, the same in every engine: [`thread`] interprets a program and says which step comes
//! next, with `serving` for one that serves tasks; [`sync`] knows which threads hold and await what they share.
//!
//! Deterministic: the random numbers of a thread depend on the run's seed and on its number only. Carries nothing
//! out: the engine does what a step asks for, in simulated time or in real time.

mod job;
mod serving;
pub mod sync;
pub mod thread;

pub use job::{Job, draw};
pub use sync::{Signalled, Sync};
pub use thread::{Action, Compute, Thread};
