//! Rust bindings of the C core. Of all crates only this one, the kernel engine's, and `mapping.rs` of
//! `user-level-scheduler` have `unsafe` code in them.
//!
//! [`Core`] owns one `struct hls`, a root domain, and offers its entry points (`core/call.h`) as methods. `core/core.h`
//! has rules for callers: one call at a time, time never backwards, every kicked CPU scheduled. The type system
//! enforces them (`&mut self`) or the core asserts them. A call that breaks them may give a wrong schedule, but never
//! touches memory outside the domain: indexes are checked here.

mod agent;
mod calls;
mod core;
mod description;
mod ffi;
mod images;
mod library;
#[doc(hidden)]
pub mod mirror;
mod numbers;
pub mod pages;
mod policy;
mod properties;
mod shared_object;
mod snapshot;
mod tape;
mod view;

pub use crate::core::Core;
pub use agent::{AgentProgram, ProgramAgent};
pub use calls::{About, Calls, CoreError, Params};
pub use description::{DescriptionError, described_policies};
pub use images::{CpuImage, HeadImage, NodeImage, SchedulerImage, StepImage, TreeNodeImage, VpImage};
pub use library::{Library, OpenError};
pub use numbers::{CoreScheduler, CoreVp};
pub use policy::{MessageInfo, ParamInfo, PolicyInfo, PolicyTable, Unit, hook, policies, violation};
pub use properties::PolicyProperties;
pub use snapshot::{Image, PagesImage, Snapshot};
pub use tape::{Call, Op, Unsound};
pub use view::{Fault, RawRecord, RecordKind, SchedulerEntry, View, VpEntry, VpState};

/// The named limits of the core; `core/core.h` has their reasons. A test compares them with the C side.
pub mod limits {
    /// Levels of schedulers.
    pub const MAX_DEPTH: usize = 32;
    /// CPUs of one root domain.
    pub const MAX_CPUS: usize = 64;
    /// Schedulers, entry 0 unused.
    pub const MAX_SCHEDULERS: usize = 4096;
    /// VPs, threads' VPs included, entry 0 unused.
    pub const MAX_VPS: usize = 4096 + 65536;
    /// Records that may wait to be taken.
    pub const MAX_RECORDS: usize = 16384;
    /// Parameters of a scheduler.
    pub const SCHEDULER_PARAMS: usize = 5;
    /// Parameters of a VP; values of a message.
    pub const VP_PARAMS: usize = 4;
    /// Words that a policy has in each of its schedulers.
    pub const SCHEDULER_WORDS: usize = 102;
    /// Words that a policy has in each VP that it schedules.
    pub const VP_WORDS: usize = 4;
    /// Built-in policies with numbers from here on may be left out of an engine.
    pub const FIRST_OPTIONAL: u8 = 8;
    /// Loaded policies have numbers from here on.
    pub const FIRST_LOADED: u8 = 64;
}

#[cfg(test)]
mod tests;
