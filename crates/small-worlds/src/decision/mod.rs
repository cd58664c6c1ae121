//! One decision of a user-level scheduler, word by word: the engine and the scheduler's process on two CPUs, and all
//! interleavings of what each writes and reads. Under the engine's lock the model calls the real core.
//!
//! ```text
//!  the engine, under its lock                          the process, without a lock
//!  ring[n], wanting, then events = n   ── kernel page ──►  events, then ring up to that
//!  at an event: ask; at a park: answered; at a grant: next  ◄── user page ──  next of each CPU, then answered; park
//! ```
//! Each arrow is a word at a time: between any two words the other side may go on. The engine holds its lock until the
//! last word of an operation is written; the process sees the words as they come.
//!
//! *What must hold.* No stale decision is ever followed: where the core follows one, its maker knew all that it had to
//! know. And an agent that was asked is never left parked: when nothing is due any more and the agent is parked, it has
//! seen all events that it was asked about.
//!
//! What is not in the model: allowances that run out, slices, holds, urgencies that change, time.

mod model;
mod programs;

pub use model::{Decision, Event};
pub use programs::Orders;
