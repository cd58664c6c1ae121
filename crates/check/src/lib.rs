//! What can be promised to the threads and schedulers of a plan, by the calculus: the guarantee of each, the problems
//! with their place in the file and what mends them, the tasks that threads serve, the least reservations that would
//! do, and which costs of the machine all this leaves out. Does no IO, runs nothing.

mod advice;
mod backlog;
mod bounds;
mod derived;
mod fit;
mod ideal;
mod least_budget;
mod problems;
mod requests;
mod siblings;
mod tasks;
mod warps;

pub use bounds::{TaskBound, hold_to_bounds};
pub use derived::{Derived, promise};
pub use fit::ReservationChange;
pub use ideal::LeftOut;
pub use least_budget::{at_least, unenforceable_budget, unenforceable_budgets};
pub use tasks::ThreadTasks;
pub use warps::{PlannedChild, PlannedScheduler, WarpChange};
