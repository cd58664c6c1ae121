//! Snapshots: copies of everything that a domain has in use, to be read and to be restored. They are exact, except
//! for the records that wait to be read, which do not affect decisions. A snapshot of a small domain takes some
//! kilobytes and a microsecond: code that explores a domain's futures takes one at each fork.

use crate::core::Core;
use crate::pages::{KernelPage, UserPage};
use crate::{ffi, limits};
use std::ops::Range;

/// The domain's data besides its CPUs, schedulers, VPs and records.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeadImage {
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

/// A CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuImage {
    /// By how much the CPU's clock is behind the time.
    pub stolen_ns: u64,
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

/// A place in a CPU's path.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StepImage {
    /// When the VP's slice ends, by the CPU's clock.
    pub expires_at: u64,
    /// When the first slice from the root's place to this one ends.
    pub first_expiry: u64,
    /// The VP; 0: a decision is due here.
    pub vp: u32,
    unused: u32,
}

/// A scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SchedulerImage {
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
    unused: u8,
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
    /// The debt of a loaded policy for slices and for timers.
    pub owed_ns: [u64; 2],
    /// Its report to the schedulers above it: its earliest deadline, and its warp.
    pub told: [u64; 2],
    /// Its parameters.
    pub param: [u64; limits::SCHEDULER_PARAMS],
    /// Its policy's own words.
    pub word: [u64; limits::SCHEDULER_WORDS],
}

/// The data of a VP or a scheduler as a member of a heap or of a list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeImage {
    /// Orders the members of a heap.
    pub key: u64,
    /// Orders members with equal keys.
    pub seq: u64,
    /// Its place in a queue in order of arrival.
    pub place: u64,
    /// 0: it is in no heap.
    pub dist: u32,
    /// Its children in the heap, and the node above.
    pub left_right_up: [u32; 3],
    /// Its neighbours in a list.
    pub prev_next: [u32; 2],
}

/// The data of a VP as a member of a search tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TreeNodeImage {
    /// Orders the members of a tree.
    pub key: u64,
    /// Orders members with equal keys.
    pub seq: u64,
    /// The CPUs that it can use.
    pub cpus: u64,
    /// The CPUs that it or a member below it can use.
    pub below: u64,
    /// Its children, and the node above.
    pub children_up: [u32; 3],
    /// 0: it is in no tree.
    pub height: u32,
}

/// A VP.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct VpImage {
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
    unused: [u8; 3],
    /// 0: WAITING, 1: READY, 2: RUNNING.
    pub state: u8,
    /// Its flags, as `core/hls.h` has them.
    pub flags: u8,
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

/// The pages of a scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PagesImage {
    /// The page that the core writes.
    pub kernel: KernelPage,
    /// The page that the process writes.
    pub user: UserPage,
}

/// The number of kinds of entries in a snapshot.
const PARTS: usize = 9;

/// The number of entries of each kind in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    cpus: usize,
    /// With entry 0, which is no scheduler.
    schedulers: usize,
    /// Likewise.
    vps: usize,
    pages: usize,
}

/// A kind of entry: its place in the domain, and in the words of a snapshot.
struct Part {
    /// The address of the first entry in the domain.
    at: *mut u64,
    words: Range<usize>,
}

const fn words_of<T>() -> usize {
    size_of::<T>() / size_of::<u64>()
}

impl Counts {
    fn of(head: &HeadImage) -> Counts {
        Counts {
            cpus: (u64::BITS - head.cpus.leading_zeros()) as usize,
            schedulers: head.used_schedulers as usize + 1,
            vps: head.used_vps as usize + 1,
            pages: (u64::BITS - head.pages_taken.leading_zeros()) as usize,
        }
    }

    /// The end of each part in a snapshot: the head, CPUs, schedulers, timers, nodes, nodes of search trees, VPs,
    /// pages.
    fn ends(&self) -> [usize; PARTS] {
        let lengths = [
            words_of::<HeadImage>(),
            words_of::<CpuImage>() * self.cpus,
            words_of::<SchedulerImage>() * self.schedulers,
            words_of::<NodeImage>() * self.schedulers,
            words_of::<NodeImage>() * self.vps,
            words_of::<TreeNodeImage>() * self.vps,
            words_of::<TreeNodeImage>() * self.vps,
            words_of::<VpImage>() * self.vps,
            words_of::<PagesImage>() * self.pages,
        ];
        let mut end = 0;
        lengths.map(|length| {
            end += length;
            end
        })
    }
}

/// A copy of everything that a domain had in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    words: Vec<u64>,
    counts: Counts,
}

/// Everything that a domain has in use, for reading.
#[derive(Clone, Copy, Debug)]
pub struct Image<'d> {
    /// The data that belongs to no CPU, scheduler or VP.
    pub head: &'d HeadImage,
    /// The CPUs, by their numbers.
    pub cpus: &'d [CpuImage],
    /// The schedulers that were ever used, by their numbers; entry 0 is none.
    pub schedulers: &'d [SchedulerImage],
    /// The places of the schedulers in the heap of timers.
    pub timers: &'d [NodeImage],
    /// The places of the VPs in the queues of their schedulers.
    pub nodes: &'d [NodeImage],
    /// The places of the VPs in the search trees of their schedulers' queues.
    pub queue_nodes: &'d [TreeNodeImage],
    /// The places of the VPs among the runnable children of their schedulers.
    pub wanting_nodes: &'d [TreeNodeImage],
    /// The VPs that were ever used, by their numbers; entry 0 is none.
    pub vps: &'d [VpImage],
    /// The pages of schedulers, by their numbers minus 1.
    pub pages: &'d [PagesImage],
}

/// # Safety
/// The words at these places are the core's structs in these numbers, aligned like them, and do not change as long as
/// the image is used.
unsafe fn image<'d>(counts: Counts, at: [*const u64; PARTS]) -> Image<'d> {
    // SAFETY: the caller's promise; all bytes of the images above may have any value.
    unsafe {
        Image {
            head: &*at[0].cast(),
            cpus: std::slice::from_raw_parts(at[1].cast(), counts.cpus),
            schedulers: std::slice::from_raw_parts(at[2].cast(), counts.schedulers),
            timers: std::slice::from_raw_parts(at[3].cast(), counts.schedulers),
            nodes: std::slice::from_raw_parts(at[4].cast(), counts.vps),
            queue_nodes: std::slice::from_raw_parts(at[5].cast(), counts.vps),
            wanting_nodes: std::slice::from_raw_parts(at[6].cast(), counts.vps),
            vps: std::slice::from_raw_parts(at[7].cast(), counts.vps),
            pages: std::slice::from_raw_parts(at[8].cast(), counts.pages),
        }
    }
}

impl Snapshot {
    /// Everything that the domain had in use.
    pub fn image(&self) -> Image<'_> {
        let ends = self.counts.ends();
        let mut from = 0;
        let at = ends.map(|end| self.words[std::mem::replace(&mut from, end)..].as_ptr());
        // SAFETY: the words of each part were copied from the core's structs in these numbers.
        unsafe { image(self.counts, at) }
    }
}

impl Core {
    fn parts(&self, counts: Counts) -> [Part; PARTS] {
        let h = self.address();
        // SAFETY: the addresses of the first entries of the domain's arrays.
        let at: [*const u64; PARTS] = unsafe {
            [
                h.cast_const().cast(),
                ffi::hls_cpu(h, 0).cast(),
                ffi::hls_scheduler(h, 0).cast(),
                ffi::hls_timer_node(h, 0).cast(),
                ffi::hls_node(h, 0).cast(),
                ffi::hls_queue_node(h, 0).cast(),
                ffi::hls_wanting_node(h, 0).cast(),
                ffi::hls_vp(h, 0).cast(),
                ffi::hls_first_pages(h).cast(),
            ]
        };
        let mut from = 0;
        let mut ends = counts.ends().into_iter();
        at.map(|at| {
            let to = ends.next().unwrap_or(from);
            let words = from..to;
            from = to;
            Part { at: at.cast_mut(), words }
        })
    }

    fn counts(&self) -> Counts {
        Counts::of(self.head())
    }

    fn head(&self) -> &HeadImage {
        // SAFETY: the head is at the beginning of the domain, and nothing writes while `self` is borrowed.
        unsafe { &*self.address().cast() }
    }

    /// Everything that the domain has in use.
    pub fn image(&self) -> Image<'_> {
        let counts = self.counts();
        // SAFETY: the domain's arrays have more entries than are in use, and nothing writes while `self` is borrowed.
        unsafe { image(counts, self.parts(counts).map(|part| part.at.cast_const())) }
    }

    /// Copies everything that the domain has in use.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot { words: vec![], counts: self.counts() };
        self.snapshot_into(&mut snapshot);
        snapshot
    }

    /// The same, reusing the memory of an old snapshot.
    pub fn snapshot_into(&self, snapshot: &mut Snapshot) {
        snapshot.counts = self.counts();
        snapshot.words.clear();
        snapshot.words.reserve_exact(snapshot.counts.ends()[PARTS - 1]);
        for part in self.parts(snapshot.counts) {
            // SAFETY: the domain's array has more entries than are in use, each a whole number of words, and all its
            // bytes were zeroed at first; nothing writes while `self` is borrowed.
            let words = unsafe { std::slice::from_raw_parts(part.at, part.words.len()) };
            snapshot.words.extend_from_slice(words);
        }
    }

    /// Restores the state of a snapshot, which was taken of this domain or of another one with the same build of the
    /// core. Only records are not restored. The call is not recorded on a tape.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let mut unused = self.counts();
        unused.cpus = unused.cpus.max(snapshot.counts.cpus);
        unused.schedulers = unused.schedulers.max(snapshot.counts.schedulers);
        unused.vps = unused.vps.max(snapshot.counts.vps);
        unused.pages = unused.pages.max(snapshot.counts.pages);
        if unused != snapshot.counts {
            for part in self.parts(unused) {
                // SAFETY: as in `snapshot`: no more than the array has.
                unsafe { part.at.write_bytes(0, part.words.len()) };
            }
        }
        for part in self.parts(snapshot.counts) {
            let from = &snapshot.words[part.words];
            // SAFETY: as in `snapshot`; the indexes in the words come from a domain of the same build.
            unsafe { part.at.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        }
        self.forget_records();
    }
}
