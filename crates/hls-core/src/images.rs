//! Everything that a domain has besides pages, as the core keeps it: `core/core.h` for Rust.

use crate::{limits, mirror};

mirror! {
    /// The domain's data besides its CPUs, schedulers, VPs and records.
    #[derive(Clone, Copy, Debug)]
    pub struct HeadImage = "struct hls" {
        /// The time of the last call.
        pub now_ns: u64,
        /// CPUs on which a decision is due, a bit each.
        pub kick: u64,
        /// The slice that the last grant hook set.
        pub slice_ns: u64,
        /// CPUs of the domain.
        pub cpus: u64,
        /// The CPUs that are offline.
        pub offline: u64,
        /// How often a grant hook was called.
        pub decisions: u64,
        /// How often a decision was ended since it went round without end.
        pub cut_short: u64,
        /// The number of the next member of a queue, which orders members with equal keys.
        pub seq: u64,
        /// The minimum mean time between calls that a loaded policy requests.
        pub pace_ns: u64,
        /// The pages that are in use, a bit each.
        pub pages_taken: u64,
        /// When the last hook was called.
        pub hook_at_ns: u64,
        /// Steps that the hook has left.
        pub steps: u32,
        /// The hook.
        pub hook: u32,
        /// The hook's scheduler.
        pub hook_scheduler: u32,
        /// The VP or CPU of the hook's call.
        pub hook_about: u32,
        /// Whether a scheduler waits for the fallback.
        pub has_faulty: u32,
        /// Threads that may not use every CPU.
        pub nr_pinned: u32,
        /// The first of the pending schedulers, which may have to request or withdraw VPs.
        pub pending: u32,
        /// The first of the VPs that seek a CPU.
        pub seeking: u32,
        /// The root of the heap of timers.
        pub timers: u32,
        /// The first free VP.
        pub free_vp: u32,
        /// The first free scheduler.
        pub free_scheduler: u32,
        /// The largest VP number that was ever used.
        pub used_vps: u32,
        /// The largest scheduler number that was ever used.
        pub used_schedulers: u32,
        /// Records ever written.
        pub nr_records: u64,
        /// Scratch of a request.
        pub way: [u32; limits::MAX_DEPTH],
        /// Scratch of a change of parameters.
        pub new_params: [u64; limits::SCHEDULER_PARAMS],
        /// The invariant that the last check found broken: its number, and its scheduler, VP and CPU.
        pub fault: [u32; 4],
    }
}

mirror! {
    /// A CPU.
    #[derive(Clone, Copy, Debug)]
    pub struct CpuImage = "struct hls_cpu" {
        /// By how much the CPU's clock is behind the time.
        pub stolen_ns: u64,
        /// The last stretch of such time.
        pub stolen_from_ns: u64,
        /// Its end.
        pub stolen_to_ns: u64,
        /// The VP with which the machine grants the CPU.
        pub root_vp: u32,
        /// How much of the path is in use.
        pub depth: u32,
        /// The levels at which a decision is due, a bit each.
        pub resched: u64,
        /// The first of the VPs that claim the CPU.
        pub claims: u32,
        /// The VPs to which the CPU is granted, the root's first.
        pub path: [StepImage; limits::MAX_DEPTH + 1],
    }
}

mirror! {
    /// A place in a CPU's path.
    #[derive(Clone, Copy, Debug)]
    pub struct StepImage = "struct hls_step" {
        /// When the VP's slice ends, by the CPU's clock.
        pub expires_at: u64,
        /// When the first slice from the root's place to this one ends.
        pub first_expiry: u64,
        /// The VP; 0: a decision is due here.
        pub vp: u32,
        unused: u32,
    }
}

mirror! {
    /// A scheduler.
    #[derive(Clone, Copy, Debug)]
    pub struct SchedulerImage = "struct hls_scheduler" {
        /// The number of its policy; 0: the entry is free.
        pub policy: u8,
        /// The level of its children in a CPU's path.
        pub level: u8,
        /// Bits: it is in the list of pending schedulers (1), it has something to report to its parents (2).
        pub in_pending: u8,
        /// Whether a VP that it holds refuses some CPU.
        pub refused: u8,
        /// Whether it is a join.
        pub joins: u8,
        /// Whether it holds one VP, refuses no CPU and is no join.
        pub single: u8,
        /// How its loaded policy broke the contract.
        pub violation: u8,
        /// The hook in which it broke the contract.
        pub violating_hook: u8,
        /// The number of VPs that it holds of its parents.
        pub nr_up: u16,
        /// How many of these VPs are READY or RUNNING.
        pub nr_requested: u16,
        /// Its children.
        pub nr_children: u32,
        /// How many of its children are READY and not throttled.
        pub nr_ready: u32,
        /// How many of its children are RUNNING.
        pub nr_running: u32,
        /// The first of the VPs that it holds.
        pub first_up: u32,
        /// The first of its children.
        pub first_child: u32,
        /// The root of the search tree of its children that are READY, not throttled, and cannot use every CPU.
        pub pinned: u32,
        /// The members of that tree.
        pub nr_pinned: u32,
        /// The first of its other runnable children, if it holds several VPs.
        pub first_wanting: u32,
        /// Whether its policy receives reports of schedulers below it.
        pub hears: u8,
        /// Whether its children hold slower processors.
        pub slows: u8,
        /// The number of its pages; 0: it has none.
        pub page: u8,
        /// Whether it pays for what threads below it have without a grant.
        pub pays: u8,
        /// The next pending scheduler, or the next free one.
        pub pending_next: u32,
        /// The VP or CPU of the violating hook's call.
        pub violation_about: u32,
        /// When its timer is due; `u64::MAX`: not at all.
        pub timer_at: u64,
        /// When its policy was last called at its own request.
        pub called_at: u64,
        /// When its loaded policy last set the timer.
        pub asked_at: u64,
        /// The debt of a loaded policy for slices.
        pub owed_for_slices_ns: u64,
        /// Its debt for timers.
        pub owed_for_timer_ns: u64,
        /// Its report to the schedulers above it: its earliest deadline, and its warp.
        pub told: [u64; 2],
        /// Its parameters.
        pub param: [u64; limits::SCHEDULER_PARAMS],
        /// Its policy's own words.
        pub word: [u64; limits::SCHEDULER_WORDS],
    }
}

mirror! {
    /// The data of a VP or a scheduler as a member of a heap or of a list.
    #[derive(Clone, Copy, Debug)]
    pub struct NodeImage = "struct hls_node" {
        /// Orders the members of a heap.
        pub key: u64,
        /// Orders members with equal keys.
        pub seq: u64,
        /// Its place in a queue in order of arrival.
        pub place: u64,
        /// 0: it is in no heap.
        pub dist: u32,
        /// Its first child in the heap.
        pub left: u32,
        /// Its second child in the heap.
        pub right: u32,
        /// The node above in the heap.
        pub up: u32,
        /// The member before it in a list.
        pub prev: u32,
        /// The member after it in a list.
        pub next: u32,
    }
}

mirror! {
    /// The data of a VP as a member of a search tree.
    #[derive(Clone, Copy, Debug)]
    pub struct TreeNodeImage = "struct hls_tree_node" {
        /// Orders the members of a tree.
        pub key: u64,
        /// Orders members with equal keys.
        pub seq: u64,
        /// The CPUs that it can use.
        pub cpus: u64,
        /// The CPUs that it or a member below it can use.
        pub below: u64,
        /// Its children.
        pub child: [u32; 2],
        /// The node above.
        pub up: u32,
        /// 0: it is in no tree.
        pub height: u32,
    }
}

mirror! {
    /// A VP.
    #[derive(Clone, Copy, Debug)]
    pub struct VpImage = "struct hls_vp" {
        /// The scheduler that grants CPUs to it.
        pub parent: u32,
        /// The scheduler that may use it; 0: a thread.
        pub child: u32,
        /// The next VP of the same child scheduler, or the next free one.
        pub up_next: u32,
        /// The sibling before it.
        pub sib_prev: u32,
        /// The sibling after it.
        pub sib_next: u32,
        /// The next VP in the list of VPs that seek or claim a CPU.
        pub seeking_next: u32,
        /// How often it was granted a CPU.
        pub nr_grants: u32,
        /// How often it was preempted.
        pub nr_revokes: u32,
        /// 0: not suspended; 1: suspended; 2: suspended, and its thread is runnable.
        pub suspension: u8,
        /// 0: WAITING, 1: READY, 2: RUNNING.
        pub state: u8,
        /// Its flags, as `core/core.h` has them.
        pub flags: u16,
        /// What its scheduler owes, in microseconds (`core/debts.c`).
        pub owed_us: u16,
        /// Its present or last CPU.
        pub cpu: u8,
        /// Its place in the path of that CPU.
        pub level: u8,
        /// The CPUs that it can use.
        pub usable: u64,
        /// The time of its CPU's clock when it was last granted or charged.
        pub granted_at: u64,
        /// CPU time that it had until then.
        pub ran_ns: u64,
        /// Its parameters.
        pub param: [u64; limits::VP_PARAMS],
        /// The words of its scheduler's policy in it.
        pub word: [u64; limits::VP_WORDS],
    }
}

impl VpImage {
    /// Whether the entry is taken.
    pub fn is_used(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether it is out of budget.
    pub fn is_throttled(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether its next request continues an interrupted one.
    pub fn is_resumed(&self) -> bool {
        self.flags & 4 != 0
    }
}
