//! What the engines have in common: the hierarchy of a plan in a core; the result's numbers of the core's schedulers
//! and VPs, the core's records in these numbers, and what the VPs have used; and what an engine offers for changes of
//! its hierarchy. The code that asks an engine for changes uses it, too. Does no IO.

mod built;
mod params;
mod records;
mod running;
mod schedulers;
mod shares;
mod turns;
mod usage;

pub use built::Built;
pub use params::{unplaced_params, vp_params};
pub use records::planned_record;
pub use running::{ChangeableEngine, EngineThread, ThreadKey};
pub use schedulers::ObservedSchedulers;
pub use shares::ShareScale;
pub use turns::Turns;
pub use usage::{OfSchedulers, VpUsage};
