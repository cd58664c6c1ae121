//! Finds whether this kernel can run a hierarchy, and what to do if it cannot.
//!
//! [`Facts::gather`] reads facts about the kernel, [`judge()`] says what they mean. Loads nothing, changes nothing,
//! and needs no rights: facts that may not be read are reported as unknown.

mod btf;
mod facts;
mod judge;

pub use btf::{NEEDED_NAMES, Needed};
pub use facts::{Btf, Config, Facts, NEEDED_OPTIONS, cpus};
pub use judge::{Finding, Verdict, can_run, judge};
