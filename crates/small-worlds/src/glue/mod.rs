//! The kernel engine's glue (`bpf/engine.bpf.c`, `bpf/threads.h`, `bpf/errands.h`, `bpf/cpus.h`, `bpf/lock.h`) as a
//! model in user space: two CPUs, three VPs, and all interleavings of the two CPUs at the points where locks are
//! released. Under the engine's lock the model calls the real core; only what stands around the core is modelled, and
//! what sched_ext does in the kernel between the engine's operations. Time does not pass.
//!
//! Each operation is cut into [`Part`]s, which are atomic: a section under the engine's lock (two parts: to take the
//! lock; to do the work and release it), one exchange in a map, one insert into a queue. A CPU does the parts of an
//! operation in order, and between any two of them the other CPU may do as many of its own as locks allow. The locks
//! of run queues are modelled too: what the kernel calls under such a lock, it calls here under it. A timer's function
//! may be called wherever interrupts are on, and as late as it likes.
//!
//! What is not in the model: what timers do when time has passed, stolen time, kernel threads, suspended threads. See
//! `docs/internals/small-worlds.md`.

mod engine;
mod errands;
mod event;
mod kernel;
mod model;
mod moments;
mod orders;
mod rest;
mod state;
pub mod worlds;

pub use event::Event;
pub use model::{Glue, Start};
pub use orders::{Back, Insert, Noted, Orders};
pub use state::{Part, Section};
