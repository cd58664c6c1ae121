//! Benchmarks of the core, of the simulator and of the kernel engine: commands that print figures, not tests that pass
//! or fail.
//!
//! `events`: scheduling events a second against a bare event queue. `decisions`: work for callgrind to count the
//! instructions of a decision. `memory`: bytes a thread. `replay`: the BPF build beside the native one. `make
//! bench` runs these and others. `cost`: what a switch and a load cost in the kernel of the test machine, `make cost`;
//! it has `load` run in the guest.
