//! For authors of user-level schedulers in Rust: a program decides which threads of a hierarchy run. It is the Rust
//! counterpart of `include/hls_scheduler.h`; `docs/user-level-schedulers.md` is for both.
//!
//! An author writes the functions of Figure 8 of G. Parmer and R. West, "Predictable and Configurable Component-Based
//! Scheduling in the Composite OS", ACM TECS 13(1s), 2013: a [`Policy`]. [`Scheduler::turn`] works off the events,
//! tells the policy, asks it which child is to run, and writes that down. It makes no system call, and uses nothing
//! but the two pages and what it is given. [`run`] is the loop around it for the thread that is the agent.
//!
//! ```no_run
//! use hls_user_level_scheduler::{Policy, Scheduler, Slot, Slots, run};
//!
//! struct First;
//! impl Policy for First {
//!     fn schedule(&mut self, _: &mut Scheduler<'_>, _cpu: usize, mut candidates: Slots) -> Option<Slot> {
//!         candidates.next()
//!     }
//! }
//! run(&mut First).expect("`hls ctl promote` has made this process an agent");
//! ```
//!
//! Only the library in C has the lock and decisions by threads that are about to block. It also has requests to the
//! control server; in Rust the crate `hls-control` has these.

mod mapping;
mod pages;
mod process;
mod scheduler;
mod settings;
mod slots;

pub use pages::{KERNEL_WORDS, KernelPage, Pages, USER_WORDS, UserPage};
pub use process::{OpenError, open, run};
pub use scheduler::{HELD, MOST_URGENT, Policy, Scheduler};
pub use slots::{Event, Slot, Slots};

/// Children of a scheduler, the agent in slot 0 included.
pub const SLOTS: usize = 64;
