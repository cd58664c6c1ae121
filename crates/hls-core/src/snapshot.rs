//! Snapshots: copies of all that a domain has in use, to be looked at, and to be put back. They are exact, but for the
//! records that wait to be read, which decide nothing. A snapshot of a small domain takes some kilobytes, and a
//! microsecond: whoever explores a domain's futures takes one at each fork.

use crate::core::Core;
use crate::pages::{KernelPage, UserPage};
use crate::{ffi, limits};
use std::ops::Range;

/// All that a domain has besides its CPUs, schedulers, VPs and records.
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
    /// Those of them that are offline.
    pub offline: u64,
    /// How often a grant hook was called.
    pub decisions: u64,
    /// The next number that a member of a queue gets, to order what else would be equal.
    pub seq: u64,
    /// Least mean time between calls that a loaded policy causes.
    pub pace_ns: u64,
    /// The pages that schedulers have, a bit each.
    pub pages_taken: u64,
    /// When the last hook was called.
    pub hook_at_ns: u64,
    /// Steps that the hook has left.
    pub steps: u32,
    /// The hook.
    pub hook: u32,
    /// The hook's scheduler.
    pub hook_scheduler: u32,
    /// The VP or CPU that the hook was called about.
    pub hook_about: u32,
    /// Whether a scheduler waits for the fallback.
    pub has_faulty: u32,
    /// Threads that may not use every CPU.
    pub nr_pinned: u32,
    /// The first of the schedulers that may have to request or withdraw VPs.
    pub pending: u32,
    /// The first of the VPs that look for a CPU.
    pub seeking: u32,
    /// The root of the heap of timers.
    pub timers: u32,
    /// The first free VP.
    pub free_vp: u32,
    /// The first free scheduler.
    pub free_scheduler: u32,
    /// VPs were ever used up to this one.
    pub used_vps: u32,
    /// Schedulers were ever used up to this one.
    pub used_schedulers: u32,
    /// Records ever written.
    pub nr_records: u64,
    /// Scratch of a request.
    pub way: [u32; limits::MAX_DEPTH],
    /// Scratch of a change of parameters.
    pub new_params: [u64; limits::SCHEDULER_PARAMS],
    /// The invariant that the last check found broken: its number, and the scheduler, VP and CPU where.
    pub fault: [u32; 4],
}

/// A CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuImage {
    /// By how much the CPU's clock is behind the time.
    pub stolen_ns: u64,
    /// The VP by which the machine grants the CPU.
    pub root_vp: u32,
    /// How much of the path is in use.
    pub depth: u32,
    /// The levels at which a decision is due, a bit each.
    pub resched: u64,
    /// The first of the VPs that claim the CPU.
    pub claims: u32,
    /// The VPs that the CPU is granted to, the root's first.
    pub path: [StepImage; limits::MAX_DEPTH + 1],
}

/// A place in a CPU's path.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StepImage {
    /// When the VP's slice is over, by the CPU's clock.
    pub expires_at: u64,
    /// When the first slice from the root's place to this one is over.
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
    /// Whether it is in the list of pending schedulers (1), and has something to tell (2).
    pub in_pending: u8,
    /// Whether a VP that it holds refuses some CPU.
    pub refused: u8,
    /// Whether it is a join.
    pub joins: u8,
    /// Whether it holds one VP, refuses no CPU and is no join.
    pub single: u8,
    /// How its loaded policy violated the contract.
    pub violation: u8,
    /// In which hook.
    pub violating_hook: u8,
    /// VPs that it holds of its parents.
    pub nr_up: u16,
    /// Those of them that are READY or RUNNING.
    pub nr_requested: u16,
    /// Its children.
    pub nr_children: u32,
    /// Those of them that are READY and not throttled.
    pub nr_ready: u32,
    /// Those of them that are RUNNING.
    pub nr_running: u32,
    /// The first of the VPs that it holds.
    pub first_up: u32,
    /// The first of its children.
    pub first_child: u32,
    /// The root of the search tree of its children that are READY, not throttled, and cannot use every CPU.
    pub pinned: u32,
    /// The members of that tree.
    pub nr_pinned: u32,
    /// The first of its other children that want a CPU, if it holds several VPs.
    pub first_wanting: u32,
    /// Whether its policy hears what schedulers below it tell.
    pub hears: u8,
    /// Whether its children hold slower processors.
    pub slows: u8,
    /// The number of its pages; 0: it has none.
    pub page: u8,
    unused: u8,
    /// The next pending scheduler, or the next free one.
    pub pending_next: u32,
    /// What the violating hook was called about.
    pub violation_about: u32,
    /// When its timer is due; `u64::MAX`: not at all.
    pub timer_at: u64,
    /// When its policy last had itself called.
    pub called_at: u64,
    /// When its loaded policy last set the timer.
    pub asked_at: u64,
    /// What a loaded policy owes for slices and for timers.
    pub owed_ns: [u64; 2],
    /// What it tells the schedulers above it: its earliest deadline, and its warp.
    pub told: [u64; 2],
    /// Its parameters.
    pub param: [u64; limits::SCHEDULER_PARAMS],
    /// Its policy's own words.
    pub word: [u64; limits::SCHEDULER_WORDS],
}

/// What a VP, or a scheduler, needs as the member of a heap or of a list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeImage {
    /// Orders the members of a heap.
    pub key: u64,
    /// Orders those whose keys are equal.
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

/// What a VP needs as the member of a search tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TreeNodeImage {
    /// Orders the members of a tree.
    pub key: u64,
    /// Orders those whose keys are equal.
    pub seq: u64,
    /// The CPUs that it can use.
    pub cpus: u64,
    /// Those that it or a member below it can use.
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
    /// The sibling behind it.
    pub sib_next: u32,
    /// The next VP in the list of those that seek a CPU, or claim one.
    pub seeking_next: u32,
    /// How often it was granted a CPU.
    pub nr_grants: u32,
    /// How often it lost one while it wanted to go on.
    pub nr_revokes: u32,
    /// 0: not suspended; 1: suspended; 2: and its thread wants a CPU.
    pub suspension: u8,
    unused: [u8; 3],
    /// 0: WAITING, 1: READY, 2: RUNNING.
    pub state: u8,
    /// Its flags, as `core/hls.h` has them.
    pub flags: u8,
    /// The CPU that it has, or had last.
    pub cpu: u8,
    /// Its place in the path of that CPU.
    pub level: u8,
    /// The CPUs that it can use.
    pub usable: u64,
    /// The time of its CPU's clock when it was granted or charged last.
    pub granted_at: u64,
    /// CPU time that it had until then.
    pub ran_ns: u64,
    /// Its parameters.
    pub param: [u64; limits::VP_PARAMS],
    /// The words that its scheduler's policy has in it.
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

    /// Whether its next request goes on where an earlier one was interrupted.
    pub fn is_resumed(&self) -> bool {
        self.flags & 4 != 0
    }
}

/// The pages of a scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PagesImage {
    /// What the core wrote.
    pub kernel: KernelPage,
    /// What the process wrote.
    pub user: UserPage,
}

/// The kinds of entries that a snapshot has.
const PARTS: usize = 9;

/// How many entries a snapshot has of each kind, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    cpus: usize,
    /// Entry 0, which no scheduler has, included.
    schedulers: usize,
    /// Likewise.
    vps: usize,
    pages: usize,
}

/// A kind of entry: its place in the domain, and in the words of a snapshot.
struct Part {
    /// Where in the domain the first entry lies.
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

    /// Where in a snapshot each part ends: the head, CPUs, schedulers, timers, nodes, nodes of search trees, VPs,
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

/// A copy of what a domain had in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    words: Vec<u64>,
    counts: Counts,
}

/// All that a domain has in use, to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Image<'d> {
    /// All that is neither of a CPU, nor of a scheduler, nor of a VP.
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
    /// The places of the VPs among the children of their schedulers that want a CPU.
    pub wanting_nodes: &'d [TreeNodeImage],
    /// The VPs that were ever used, by their numbers; entry 0 is none.
    pub vps: &'d [VpImage],
    /// The pages that schedulers have, by their numbers less 1.
    pub pages: &'d [PagesImage],
}

/// # Safety
/// The words at these places are those of so many of the core's structs, aligned like them, and stay as they are for
/// as long as the image is used.
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
    /// What the domain had in use.
    pub fn image(&self) -> Image<'_> {
        let ends = self.counts.ends();
        let mut from = 0;
        let at = ends.map(|end| self.words[std::mem::replace(&mut from, end)..].as_ptr());
        // SAFETY: the words of each part were copied from so many of the core's structs.
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
        // SAFETY: the head lies at the beginning of the domain, and nothing writes while `self` is borrowed.
        unsafe { &*self.address().cast() }
    }

    /// What the domain has in use.
    pub fn image(&self) -> Image<'_> {
        let counts = self.counts();
        // SAFETY: the domain's arrays have more entries than are in use, and nothing writes while `self` is borrowed.
        unsafe { image(counts, self.parts(counts).map(|part| part.at.cast_const())) }
    }

    /// Copies all that the domain has in use.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot { words: vec![], counts: self.counts() };
        self.snapshot_into(&mut snapshot);
        snapshot
    }

    /// The same, in place of another snapshot, whose memory it uses.
    pub fn snapshot_into(&self, snapshot: &mut Snapshot) {
        snapshot.counts = self.counts();
        snapshot.words.clear();
        snapshot.words.reserve_exact(snapshot.counts.ends()[PARTS - 1]);
        for part in self.parts(snapshot.counts) {
            // SAFETY: the domain's array has more entries than that are in use, each a whole number of words, and all
            // its bytes were zeroed at first; nothing writes while `self` is borrowed.
            let words = unsafe { std::slice::from_raw_parts(part.at, part.words.len()) };
            snapshot.words.extend_from_slice(words);
        }
    }

    /// Makes the domain what it was when the snapshot was taken, of this domain or of another one with the same build
    /// of the core; only records are as they happen to be. The call is not recorded in a tape.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let mut unused = self.counts();
        unused.cpus = unused.cpus.max(snapshot.counts.cpus);
        unused.schedulers = unused.schedulers.max(snapshot.counts.schedulers);
        unused.vps = unused.vps.max(snapshot.counts.vps);
        unused.pages = unused.pages.max(snapshot.counts.pages);
        if unused != snapshot.counts {
            for part in self.parts(unused) {
                // SAFETY: as of `snapshot`: no more than the array has.
                unsafe { part.at.write_bytes(0, part.words.len()) };
            }
        }
        for part in self.parts(snapshot.counts) {
            let from = &snapshot.words[part.words];
            // SAFETY: as of `snapshot`; the indexes in the words are those of a domain of the same build.
            unsafe { part.at.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        }
        self.forget_records();
    }
}
