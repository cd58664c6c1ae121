//! What is to be run: a hierarchy under a workload, its threads and VPs numbered for good, and which threads of a real
//! machine these are. Every engine starts from this, and every report speaks of its numbers. What is promised to whom
//! is derived elsewhere. Does no IO.

pub mod assign;
mod built;
mod plan;
mod running;
mod shares;
mod turns;

pub use built::{
    Built, ObservedSchedulers, OfSchedulers, VpUsage, planned_record, unplaced_params, vp_params,
};
pub use plan::{Plan, PlanError, PlannedEdge, PlannedThread, PlannedThreads};
pub use running::{ChangeableEngine, EngineThread, ThreadKey};
pub use shares::ShareScale;
pub use turns::Turns;
