//! The two pages as words (`include/hls_pages.h`), each of which is read and written whole.

use crate::SLOTS;
use crate::slots::{Event, Slot};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// How many of the last events the kernel page has.
pub(crate) const EVENTS: u64 = 64;
/// Kinds of events for which there is room.
const KINDS: usize = 8;
/// CPUs for which there are decisions.
const CPUS: usize = 64;
/// The version of the contract.
pub(crate) const VERSION: u64 = 1;

/// Words of the kernel page before the words of the slots.
const HEAD: usize = 7;

/// Words of the kernel page.
pub const KERNEL_WORDS: usize = HEAD + 3 * SLOTS + EVENTS as usize;
/// Words of the user page.
pub const USER_WORDS: usize = 3 + KINDS + CPUS + 2 * SLOTS;

/// What the engine writes: `struct hls_kernel_page`.
pub type KernelPage = [AtomicU64; KERNEL_WORDS];
/// What the process writes: `struct hls_user_page`.
pub type UserPage = [AtomicU64; USER_WORDS];

/// The pages of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Pages<'p> {
    /// What the engine writes. It is only read here.
    pub kernel: &'p KernelPage,
    /// What the process writes.
    pub user: &'p UserPage,
}

impl Pages<'_> {
    fn read(&self, place: usize) -> u64 {
        // A load with an order may write on some machines, and the page is for reading.
        let word = self.kernel[place].load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        word
    }

    pub(crate) fn version(&self) -> u64 {
        self.read(0)
    }

    pub(crate) fn events(&self) -> u64 {
        self.read(1)
    }

    pub(crate) fn wanting(&self) -> u64 {
        self.read(3)
    }

    pub(crate) fn at_ns(&self) -> u64 {
        self.read(4)
    }

    pub(crate) fn cpus(&self) -> u64 {
        self.read(5)
    }

    pub(crate) fn width(&self) -> u64 {
        self.read(6)
    }

    pub(crate) fn child(&self, slot: Slot) -> u64 {
        self.read(HEAD + 3 * slot)
    }

    pub(crate) fn ran_ns(&self, slot: Slot) -> u64 {
        self.read(HEAD + 3 * slot + 1)
    }

    pub(crate) fn last_event(&self, slot: Slot) -> u64 {
        self.read(HEAD + 3 * slot + 2)
    }

    /// The kind and the slot of an event, by its number; `None`: the ring does not have it any more.
    pub(crate) fn event(&self, number: u64) -> Option<(u8, Slot)> {
        let word = self.read(HEAD + 3 * SLOTS + (number % EVENTS) as usize);
        (word >> 16 == number << 16 >> 16).then_some(((word >> 8) as u8, word as usize % SLOTS))
    }

    fn write(&self, place: usize, word: u64) {
        self.user[place].store(word, Ordering::Release);
    }

    pub(crate) fn set_answered(&self, event: u64) {
        self.write(0, event);
    }

    pub(crate) fn set_wake_at_ns(&self, at_ns: u64) {
        self.write(1, at_ns);
    }

    /// Tells the engine that the urgencies of these slots have changed.
    pub(crate) fn touch(&self, slots: u64) {
        self.user[2].fetch_or(slots, Ordering::Release);
    }

    pub(crate) fn set_ask(&self, event: Event, slots: u64) {
        self.write(3 + event as usize, slots);
    }

    pub(crate) fn set_next(&self, cpu: usize, decision: u64) {
        self.write(3 + KINDS + cpu, decision);
    }

    pub(crate) fn urgency(&self, slot: Slot) -> u64 {
        self.user[3 + KINDS + CPUS + slot].load(Ordering::Relaxed)
    }

    pub(crate) fn set_urgency(&self, slot: Slot, urgency: u64) {
        self.write(3 + KINDS + CPUS + slot, urgency);
    }

    pub(crate) fn set_slice(&self, slot: Slot, slice: u64) {
        self.write(3 + KINDS + CPUS + SLOTS + slot, slice);
    }
}
