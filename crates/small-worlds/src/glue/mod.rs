//! The kernel engine's glue (`bpf/engine.bpf.c`, `bpf/threads.h`, `bpf/lock.h`) as a model in user space: two CPUs,
//! three VPs, and all interleavings of the two CPUs at the points where locks are released. Under the engine's lock
//! the model calls the real core; only what stands around the core is modelled, and of the kernel what sched_ext does
//! between the engine's operations. Time does not pass.
//!
//! Each operation is cut into [`Part`]s, which are atomic: a section under the engine's lock (two parts: to take the
//! lock; to do the work and release it), one exchange in a map, one insert into a queue. A CPU does the parts of an
//! operation in order, and between any two of them the other CPU may do as many of its own as locks allow. The locks
//! of run queues are modelled too: what the kernel calls under such a lock, it calls here under it.
//!
//! What is not in the model: timers, stolen time, the rescue of starved threads, CPUs that go offline, kernel threads,
//! a second engine. See `docs/internals/small-worlds.md`.

mod engine;
mod kernel;
mod model;
mod state;

pub use engine::{Insert, Orders};
pub use model::{Event, Glue};
pub use state::{Part, Section};
