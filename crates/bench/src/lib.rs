//! Benchmarks of the core and of the simulator: commands that print figures, not tests that pass or fail.
//!
//! `events`: scheduling events a second against a bare event queue. `decisions`: work for callgrind to count the
//! instructions of a decision. `memory`: bytes a thread. `replay`: the BPF build beside the native one. `make
//! bench` runs them all.
