//! Random trials of a core: hierarchies drawn from a seed, and what happens in them. After every event all invariants
//! are checked, and a policy that the core disables is a failure.
//!
//! Every random hierarchy is drawn here: a [`Tree`] grows by schedulers in the places of threads, and the numbers
//! of a scheduler and its children are drawn from what its policy states, such that they fit together ([`Place`]). The
//! tests of the simulator give its threads something to do, and write it as a file.
//!
//! A [`Script`] is drawn as data ([`Script::draw`]) before its first event is carried out, so that a script that fails
//! can be made small and printed. A [`Stage`] carries it out on a [`Machine`], which calls a core by the rules of
//! `core/core.h`. Does no IO. Does not contain a policy that crashes or never returns: that ends the process or hangs
//! it, and the caller has to watch for it.

mod draw;
mod event;
mod machine;
mod params;
mod random;
mod stage;
mod tree;
mod trial;

pub use event::{Event, EventInWords, Script};
pub use machine::{Failure, Machine, PolicyDisabled};
pub use params::{Given, Place, RATE, Supply, Value, WholeCpu, budget_and_period};
pub use random::Random;
pub use stage::Stage;
pub use tree::{Edge, Node, Scheduler, Tree, What, times};
pub use trial::{Finding, Trial};
