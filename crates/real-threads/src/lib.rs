//! Runs the threads of a plan as threads of Linux, so that an engine that schedules the machine has the same programs,
//! with the same random numbers, as the simulator.
//!
//! The threads live in a process of their own, since the engine schedules the threads of its own process otherwise. The
//! starter, [`ThreadProcess`], starts that process, which calls [`serve`], and receives the events of the threads:
//!
//! ```text
//!   ThreadProcess::start ── orders: the programs ─────────► serve ──► a thread of Linux for each planned one
//!          ▲  │                                               │                │
//!          │  └── go, admit, end ──► area: shared memory ◄────┼── tids, events ┘
//!          └───────────── messages: ready, arrived, done ◄────┘
//! ```
//!
//! [`hls_thread`] says what a thread does next; `body` carries that out. Computing is counted in the thread's own CPU
//! time, so that no thread computes while it is preempted; sleeping ends at absolute times, so that nothing drifts. A
//! thread takes a lock only where its program shares something, and allocates only there and where its distribution of
//! latencies grows. To record an event it writes three words: it wakes nobody and waits for nobody. The process ends
//! with the thread that started it, however that thread ends.

mod area;
mod body;
mod clock;
mod context;
mod orders;
mod process;
mod sharing;
mod starter;

pub use orders::ThreadEnd;
pub use process::serve;
pub use starter::{Outcome, ThreadProcess, Tid};
