//! Whether this kernel can run a hierarchy, and what to do where it cannot.
//!
//! [`Facts::gather`] reads what the kernel tells of itself, [`judge()`] says what these facts mean. Loads nothing,
//! changes nothing, and needs no rights: a fact that may not be read is reported as unknown.

mod btf;
mod facts;
mod judge;

pub use btf::{NEEDED_NAMES, Needed};
pub use facts::{Btf, Config, Facts, NEEDED_OPTIONS, cpus};
pub use judge::{Finding, Verdict, can_run, judge};
