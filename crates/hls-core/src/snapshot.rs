//! Snapshots: copies of everything that a domain has in use, to be read and to be restored. They are exact, except
//! for the records that wait to be read, which do not affect decisions. A snapshot of a small domain takes some
//! kilobytes and a microsecond: code that explores a domain's futures takes one at each fork.

use crate::core::Core;
use crate::images::{CpuImage, HeadImage, NodeImage, SchedulerImage, TreeNodeImage, VpImage};
use crate::pages::{KernelPage, UserPage};
use crate::{ffi, mirror};

mirror! {
    /// The pages of a scheduler.
    #[derive(Clone, Copy, Debug)]
    pub struct PagesImage = "struct hls_pages" {
        /// The page that the core writes.
        pub kernel: KernelPage,
        /// The page that the process writes.
        pub user: UserPage,
    }
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

    /// The words of each part of a snapshot: the head, CPUs, schedulers, timers, nodes, nodes of search trees, VPs,
    /// pages.
    fn lengths(&self) -> [usize; PARTS] {
        [
            words_of::<HeadImage>(),
            words_of::<CpuImage>() * self.cpus,
            words_of::<SchedulerImage>() * self.schedulers,
            words_of::<NodeImage>() * self.schedulers,
            words_of::<NodeImage>() * self.vps,
            words_of::<TreeNodeImage>() * self.vps,
            words_of::<TreeNodeImage>() * self.vps,
            words_of::<VpImage>() * self.vps,
            words_of::<PagesImage>() * self.pages,
        ]
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
unsafe fn image<'d>(counts: Counts, at: [*mut u64; PARTS]) -> Image<'d> {
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
        let mut at = [std::ptr::null_mut(); PARTS];
        for (at, words) in at.iter_mut().zip(self.parts()) {
            *at = words.as_ptr().cast_mut();
        }
        // SAFETY: the words of each part were copied from the core's structs in these numbers.
        unsafe { image(self.counts, at) }
    }

    /// The words of each part.
    fn parts(&self) -> impl Iterator<Item = &[u64]> {
        let mut rest = &self.words[..];
        self.counts.lengths().into_iter().map(move |length| {
            let (part, after) = rest.split_at(length);
            rest = after;
            part
        })
    }
}

impl Core {
    /// Where the first entry of each kind is in the domain.
    fn addresses(&self) -> [*mut u64; PARTS] {
        let h = self.address();
        // SAFETY: the addresses of the first entries of the domain's arrays.
        unsafe {
            [
                h.cast(),
                ffi::hls_cpu(h, 0).cast_mut().cast(),
                ffi::hls_scheduler(h, 0).cast_mut().cast(),
                ffi::hls_timer_node(h, 0).cast_mut().cast(),
                ffi::hls_node(h, 0).cast_mut().cast(),
                ffi::hls_queue_node(h, 0).cast_mut().cast(),
                ffi::hls_wanting_node(h, 0).cast_mut().cast(),
                ffi::hls_vp(h, 0).cast_mut().cast(),
                ffi::hls_first_pages(h).cast_mut().cast(),
            ]
        }
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
        unsafe { image(counts, self.addresses()) }
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
        snapshot.words.reserve_exact(snapshot.counts.lengths().iter().sum());
        for (at, length) in self.addresses().into_iter().zip(snapshot.counts.lengths()) {
            // SAFETY: the domain's array has more entries than are in use, each a whole number of words, and all its
            // bytes were zeroed at first; nothing writes while `self` is borrowed.
            let words = unsafe { std::slice::from_raw_parts(at, length) };
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
            for (at, length) in self.addresses().into_iter().zip(unused.lengths()) {
                // SAFETY: as in `snapshot`: no more than the array has.
                unsafe { at.write_bytes(0, length) };
            }
        }
        for (at, from) in self.addresses().into_iter().zip(snapshot.parts()) {
            // SAFETY: as in `snapshot`; the indexes in the words come from a domain of the same build.
            unsafe { at.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        }
        self.forget_records();
    }
}
