//! Workloads as real threads, under whatever scheduler this machine has.
//!
//! The machine may be busy: what is checked holds however little CPU time there is, or leaves it much room. That CPU
//! time is counted exactly does not depend on how much there is.

mod life;
mod programs;
mod sharing;
mod support;
