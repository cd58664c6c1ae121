//! Runs the workloads of a plan with real threads, so that an engine that schedules the machine has what the simulator
//! has, from the same programs and the same seed.
//!
//! The threads live in a process of their own: an engine exempts itself from scheduling, and not them. [`Load`] starts
//! that process, which calls [`serve`], and is told what the threads live through:
//!
//! ```text
//!   Load::start ──── orders: the programs ─────────────► serve ──► a thread of Linux for each planned one
//!        ▲  │                                              │                │
//!        │  └── go, admit, end ──► area: shared memory ◄───┼── tids, events ┘
//!        └───────────── messages: ready, arrived, done ◄───┘
//! ```
//!
//! [`hls_thread`] says what a thread does next; `body` carries that out. Computing is counted in the thread's own CPU
//! time, so that nobody computes while preempted; sleeping ends at absolute times, so that nothing drifts. A thread
//! takes a lock only where its program shares something, and allocates only there and where its distribution of
//! latencies grows. Telling an event is writing three words: nobody is woken or waited for. The process ends with the
//! thread that started it, whatever happens to that.

mod area;
mod body;
mod clock;
mod load;
mod orders;
mod process;
mod sharing;
mod stage;

pub use load::{Load, Outcome, Tid};
pub use orders::ThreadEnd;
pub use process::serve;
