//! The memory that the starter and the process of the threads share: when the run begins and ends, and for each thread
//! its bell (the futex word by which it is woken), its tid and a ring of events, which the thread writes and the
//! starter reads. No locks: every word has one writer at a time.
//!
//! ```text
//!   run | thread 0: state, ring of events | thread 1: state, ring of events | ...
//! ```

use hls_monitor::event::What;
use hls_units::Nanos;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

/// Offsets of words in the state of the run.
mod run {
    pub const GO_AT: usize = 0;
    pub const END_AT: usize = 8;
    pub const BELL: usize = 16;
    pub const SIZE: usize = 64;
}

/// Offsets of words in the state of a thread.
mod thread {
    pub const BELL: usize = 0;
    pub const TID: usize = 4;
    pub const ADMITTED_AT: usize = 8;
    pub const WRITTEN: usize = 16;
    pub const LOST: usize = 24;
    /// On a cache line of its own, as the starter writes this word and the thread the others.
    pub const READ: usize = 64;
    pub const SIZE: usize = 128;
}

/// Bytes of an event: three words.
const EVENT: usize = 24;
/// The most bytes of all rings together, unless [`MIN_EVENTS`] for each thread take more.
const MAX_BYTES: usize = 64 << 20;
/// The least number of events that a ring holds.
const MIN_EVENTS: usize = 32;
/// The most events that a ring holds: a second of events for a thread with a job every millisecond.
const MAX_EVENTS: usize = 2048;

/// Stands in the place of an instant that is not known yet.
const NOT_YET: u64 = 0;

/// The shared memory, as one of the two processes has it mapped.
pub struct Area {
    memory: MmapRegion,
    threads: usize,
    /// How many events a ring holds.
    capacity: usize,
}

/// An event: its instant, from the start of the run, and what happened.
pub type Event = (Nanos, What);

impl Area {
    /// The bytes of an area for this number of threads, and the events of each ring in it.
    fn size(threads: usize) -> (usize, usize) {
        let capacity = (MAX_BYTES / EVENT / threads.max(1)).clamp(MIN_EVENTS, MAX_EVENTS);
        (run::SIZE + threads * (thread::SIZE + capacity * EVENT), capacity)
    }

    /// Creates an area, in a file without a name that is as long as the area.
    pub fn create(threads: u32) -> io::Result<(Area, File)> {
        let file = File::from(memfd_create("hls-real-threads", MemfdFlags::CLOEXEC)?);
        file.set_len(Area::size(threads as usize).0 as u64)?;
        Ok((Area::open(file.try_clone()?, threads)?, file))
    }

    /// Maps the area that is at the start of the file.
    pub fn open(file: File, threads: u32) -> io::Result<Area> {
        let threads = threads as usize;
        let (bytes, capacity) = Area::size(threads);
        let memory = MmapRegion::from_file(FileOffset::new(file, 0), bytes).map_err(io::Error::other)?;
        Ok(Area { memory, threads, capacity })
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        self.memory.get_atomic_ref(at).expect("offsets are within the area")
    }

    fn half(&self, at: usize) -> &AtomicU32 {
        self.memory.get_atomic_ref(at).expect("offsets are within the area")
    }

    /// The bell for all threads that wait for the start or the end of the run.
    pub fn bell(&self) -> &AtomicU32 {
        self.half(run::BELL)
    }

    /// The instant at which the run began, by CLOCK_MONOTONIC; `None` before that.
    pub fn go_at(&self) -> Option<Nanos> {
        Some(self.word(run::GO_AT).load(Acquire)).filter(|&at| at != NOT_YET).map(Nanos)
    }

    /// Lets the run begin at the instant `at`, by CLOCK_MONOTONIC, and last for `length`.
    pub fn go(&self, at: Nanos, length: Nanos) {
        self.end(length);
        self.word(run::GO_AT).store(at.0, Release);
    }

    /// When the run ends, counted from its start.
    pub fn end_at(&self) -> Nanos {
        Nanos(self.word(run::END_AT).load(Relaxed))
    }

    /// Lets the run end `at` after its start.
    pub fn end(&self, at: Nanos) {
        self.word(run::END_AT).store(at.0, Relaxed);
    }

    /// The part of the area that belongs to a thread.
    pub fn slot(&self, number: u32) -> Slot<'_> {
        assert!((number as usize) < self.threads, "a thread has its number from the orders");
        Slot { area: self, at: run::SIZE + number as usize * (thread::SIZE + self.capacity * EVENT) }
    }
}

/// The part of the area that belongs to one thread.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    area: &'a Area,
    at: usize,
}

impl<'a> Slot<'a> {
    fn word(self, offset: usize) -> &'a AtomicU64 {
        self.area.word(self.at + offset)
    }

    /// The bell that wakes the thread.
    pub fn bell(self) -> &'a AtomicU32 {
        self.area.half(self.at + thread::BELL)
    }

    /// The thread's tid; 0 until the thread has started.
    pub fn tid(self) -> &'a AtomicU32 {
        self.area.half(self.at + thread::TID)
    }

    /// The instant at which the starter admitted a thread that arrived after the start of the run; `None` before that.
    pub fn admitted_at(self) -> Option<Nanos> {
        Some(self.word(thread::ADMITTED_AT).load(Acquire)).filter(|&at| at != NOT_YET).map(Nanos)
    }

    /// Lets a thread that arrived later begin its program, at the instant `at`.
    pub fn admit(self, at: Nanos) {
        self.word(thread::ADMITTED_AT).store(at.0, Release);
    }

    /// Touches every event of the ring, so that no page fault delays the thread when it writes one.
    pub fn touch(self) {
        (0..self.area.capacity).for_each(|place| self.event(place as u64)[0].store(0, Relaxed));
    }

    fn event(self, number: u64) -> [&'a AtomicU64; 3] {
        let place = (number % self.area.capacity as u64) as usize;
        let at = thread::SIZE + place * EVENT;
        [self.word(at), self.word(at + 8), self.word(at + 16)]
    }

    /// Adds an event to the ring, or counts it as lost when the ring is full. Only the thread itself may call this.
    pub fn write(self, at: Nanos, what: What) {
        let written = self.word(thread::WRITTEN).load(Relaxed);
        if written - self.word(thread::READ).load(Acquire) >= self.area.capacity as u64 {
            self.word(thread::LOST).fetch_add(1, Relaxed);
            return;
        }
        let (kind, value) = packed(what);
        let [at_word, kind_word, value_word] = self.event(written);
        at_word.store(at.0, Relaxed);
        kind_word.store(kind, Relaxed);
        value_word.store(value, Relaxed);
        self.word(thread::WRITTEN).store(written + 1, Release);
    }

    /// Takes the oldest event out of the ring. Only one thread of the starter's process may call this.
    pub fn read(self) -> Option<Event> {
        let read = self.word(thread::READ).load(Relaxed);
        if read == self.word(thread::WRITTEN).load(Acquire) {
            return None;
        }
        let [at, kind, value] = self.event(read).map(|word| word.load(Relaxed));
        self.word(thread::READ).store(read + 1, Release);
        Some((Nanos(at), unpacked(kind, value)))
    }

    /// How many events were lost because the ring was full.
    pub fn lost(self) -> u64 {
        self.word(thread::LOST).load(Relaxed)
    }
}

/// An event that a thread records of itself, in two words. The kernel records all others.
fn packed(what: What) -> (u64, u64) {
    match what {
        What::Arrive => (0, 0),
        What::Leave => (1, 0),
        What::JobRelease { deadline } => (2, deadline.0),
        What::JobDone { response } => (3, response.0),
        What::Miss { count } => (4, count.into()),
        What::JobOpen { age } => (5, age.0),
        other => unreachable!("a thread does not record {other:?} of itself"),
    }
}

fn unpacked(kind: u64, value: u64) -> What {
    match kind {
        0 => What::Arrive,
        1 => What::Leave,
        2 => What::JobRelease { deadline: Nanos(value) },
        3 => What::JobDone { response: Nanos(value) },
        5 => What::JobOpen { age: Nanos(value) },
        _ => What::Miss { count: u32::try_from(value).unwrap_or(u32::MAX) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_as_they_went_in_until_the_ring_is_full() {
        let (starter, file) = Area::create(2).unwrap();
        let threads = Area::open(file, 2).unwrap();
        let events = [
            What::Arrive,
            What::JobRelease { deadline: Nanos::MAX },
            What::JobDone { response: Nanos(7) },
            What::Miss { count: 3 },
            What::JobOpen { age: Nanos(9) },
            What::Leave,
        ];
        (0..).zip(events).for_each(|(at, what)| threads.slot(1).write(Nanos(at), what));
        let read: Vec<Event> = std::iter::from_fn(|| starter.slot(1).read()).collect();
        assert_eq!(read, (0..).map(Nanos).zip(events).collect::<Vec<_>>());
        assert_eq!((starter.slot(0).read(), starter.slot(1).lost()), (None, 0));
        (0..MAX_EVENTS as u64 + 5).for_each(|at| threads.slot(1).write(Nanos(at), What::Arrive));
        assert_eq!(starter.slot(1).lost(), 5);
        assert_eq!(std::iter::from_fn(|| starter.slot(1).read()).count(), MAX_EVENTS);
    }

    #[test]
    fn many_threads_have_small_rings() {
        let (bytes, capacity) = Area::size(65_536);
        assert_eq!(capacity, 42);
        assert!(bytes < 80 << 20, "{bytes}");
    }
}
