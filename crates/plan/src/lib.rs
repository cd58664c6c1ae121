//! The plan of a run: a hierarchy under a workload, fixed numbers of its threads and VPs, and which threads of a
//! real machine they are. Every engine starts from the plan, and every report uses its numbers. Promises are derived
//! elsewhere. Does no IO.

pub mod assign;
mod plan;

pub use plan::{Plan, PlanError, PlannedEdge, PlannedThread, PlannedThreads};
