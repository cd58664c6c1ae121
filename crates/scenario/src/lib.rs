//! What is to be tried on a core: hierarchies drawn from a seed, and what happens in them. All invariants are checked
//! after every event, and no policy may be taken out.
//!
//! A [`Script`] is drawn as data ([`Script::draw`]) before anything of it is done, so that what goes wrong can be made
//! small and told: [`Stage`] has it done on a [`Machine`], a core whose caller keeps the rules of `core/hls.h`. Does no
//! IO, and trusts no policy: one that crashes or never returns takes the process with it, which is then the caller's
//! to notice.

mod draw;
mod event;
mod machine;
mod random;
mod stage;
mod trial;

pub use event::{Event, Script, Told};
pub use machine::{Failure, Machine, TakenOut};
pub use stage::Stage;
pub use trial::{Finding, Trial};
