//! The stream: one record for each change of a virtual processor's state and for what the threads live through.

use hls_units::Nanos;

/// A virtual processor, that is an edge of the hierarchy, by its number in [`crate::result::Topology::vps`].
/// A thread is named by the VP at the bottom of the hierarchy that stands for it.
pub type VpId = u32;

/// A scheduler by its number in [`crate::result::Topology::schedulers`]: one of the file, or one that came by a
/// request. The core knows it by another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObservedScheduler(pub u32);

/// Something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, from the start of the run.
    pub at: Nanos,
    /// To which VP; 0 where the event belongs to a CPU only.
    pub vp: VpId,
    /// On which CPU; meaningful for `Grant`, `Revoke`, `Release`, `Stolen`, `Offline`, `Online`.
    pub cpu: u16,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The VP became ready: waiting → ready.
    Request,
    /// The VP was given the CPU: ready → running.
    Grant,
    /// The VP lost the CPU and still wants it: running → ready.
    Revoke,
    /// The VP wants no CPU any more: running or ready → waiting.
    Release,
    /// The VP is out of budget: it stays ready but may not run.
    Throttle,
    /// The VP has budget again; `budget` is the new amount, `deadline` the end of its period.
    Replenish {
        /// CPU time that the VP may use until `deadline`.
        budget: Nanos,
        /// Absolute.
        deadline: Nanos,
    },
    /// A thread (VP) came into being.
    Arrive,
    /// A thread (VP) ended.
    Leave,
    /// A job of the thread was released; `deadline` is absolute, `Nanos::MAX` for none.
    JobRelease {
        /// Absolute deadline or `Nanos::MAX`.
        deadline: Nanos,
    },
    /// The job that was released last is done; `response` is the time since its release.
    JobDone {
        /// Time since release.
        response: Nanos,
    },
    /// The thread missed `count` deadlines now.
    Miss {
        /// How many at once (a renderer may miss several frames in one gap).
        count: u32,
    },
    /// Interrupts or the host took the CPU for `length`, ending now.
    Stolen {
        /// For how long.
        length: Nanos,
    },
    /// The CPU has gone.
    Offline,
    /// The CPU is back.
    Online,
    /// The policy of a scheduler was disabled for what it did, and a fallback is in its place.
    PolicyDisabled {
        /// The scheduler.
        scheduler: ObservedScheduler,
        /// What the policy did.
        violation: &'static str,
    },
}
