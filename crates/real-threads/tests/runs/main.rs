//! Workloads as real threads, under whatever scheduler this machine has.
//!
//! The machine may be busy: a run lasts until there is enough to look at, and what is checked then holds however long
//! that took. CPU time is counted exactly, however little there is, except for what the host of a virtual machine
//! takes: see [`support::exact`].

mod life;
mod programs;
mod sharing;
mod support;
