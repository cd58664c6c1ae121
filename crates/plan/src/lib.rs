//! What is to be run and what it promises: a hierarchy under a workload, its threads and VPs numbered for good, with
//! the guarantee of each. Every engine starts from this, and every report speaks of its numbers. Does no IO.

mod advice;
pub mod assign;
mod bounds;
mod built;
mod derived;
mod fit;
mod plan;
mod requests;
mod shares;
mod tasks;

pub use bounds::{TaskBound, hold_to_bounds};
pub use built::{Built, Had, OfSchedulers, planned_record, vp_params};
pub use derived::{Derived, promise};
pub use fit::Change;
pub use plan::{Plan, PlanError, PlannedEdge, PlannedThread, PlannedThreads};
pub use shares::ShareScale;
pub use tasks::Serves;
