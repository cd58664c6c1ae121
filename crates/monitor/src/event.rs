//! The stream: one record for each change of a virtual processor's state and for what the threads live through.

use hls_units::Nanos;
use serde::{Deserialize, Serialize};

/// A virtual processor, that is an edge of the hierarchy, by its number in [`crate::result::Topology::vps`]; 0 is none.
/// A thread is named by the VP at the bottom of the hierarchy that stands for it. The core knows a VP by another
/// number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObservedVp(pub u32);

impl ObservedVp {
    /// No VP.
    pub const NONE: ObservedVp = ObservedVp(0);

    /// The VP that entry `index` of [`crate::result::Topology::vps`] describes.
    ///
    /// # Panics
    /// Beyond 2³² entries, which no topology has.
    pub fn at(index: usize) -> ObservedVp {
        ObservedVp(u32::try_from(index).expect("fewer VPs than a u32 counts"))
    }

    /// The VP with a number greater by `count`: VPs that are alike have numbers in a row.
    ///
    /// # Panics
    /// Beyond the greatest number, which no topology has.
    #[must_use]
    pub fn plus(self, count: u32) -> ObservedVp {
        ObservedVp(self.0.checked_add(count).expect("fewer VPs than a u32 counts"))
    }

    /// Its entry in [`crate::result::Topology::vps`], and in every table that has an entry a VP.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A scheduler by its number in [`crate::result::Topology::schedulers`]: one of the file, or one that came by a
/// request. The core knows it by another number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObservedScheduler(pub u32);

impl ObservedScheduler {
    /// The scheduler that entry `index` of [`crate::result::Topology::schedulers`] describes.
    ///
    /// # Panics
    /// Beyond 2³² entries, which no topology has.
    pub fn at(index: usize) -> ObservedScheduler {
        ObservedScheduler(u32::try_from(index).expect("fewer schedulers than a u32 counts"))
    }

    /// Its entry in [`crate::result::Topology::schedulers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, from the start of the run.
    pub at: Nanos,
    /// To which VP; 0 where the event belongs to a CPU only.
    pub vp: ObservedVp,
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
    /// The VP's scheduler, which is a process, makes it wait, whatever its budget: it stays ready but may not run.
    Hold {
        /// Whether it is the thread that decides in that process, and is parked until it is asked.
        is_agent: bool,
    },
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
    /// The thread ends, or the run does, and the thread is not done with its job: `age` is the time since its release.
    JobOpen {
        /// Time since release.
        age: Nanos,
    },
    /// The thread missed `count` deadlines now.
    Miss {
        /// How many at once (a renderer may miss several frames in one gap).
        count: u32,
    },
    /// The VP is charged for CPU time that threads below it had without a grant, because others waited for them.
    Pay {
        /// For how much.
        length: Nanos,
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
    /// Records before this one were lost. What any VP does is not known until a record tells it. If a lost record was
    /// about a CPU that went or came, or about a disabled policy, another record repeats it.
    Lost,
    /// The policy of a scheduler was disabled for what it did, and a fallback is in its place.
    PolicyDisabled {
        /// The scheduler.
        scheduler: ObservedScheduler,
        /// What the policy did.
        violation: &'static str,
    },
}
