//! The pages through which schedulers in processes of their own communicate with the core: `include/hls_pages.h`. In
//! a [`Core`] they follow the domain; code that simulates the process reads them here, and writes words by calls,
//! which are recorded on tapes.

pub use crate::view::Decided;

use crate::core::Core;
use crate::numbers::CoreScheduler;
use crate::tape::{Call, Op};
use crate::{CoreError, Params, PolicyInfo, ffi, mirror};

/// Children of a scheduler that has pages.
pub const SLOTS: usize = 64;
/// The slot of the agent.
pub const AGENTS_SLOT: u64 = 0;
/// The parameter with a child's slot; [`SLOTS`] means any free slot except the agent's.
pub const SLOT: &str = "slot";
/// The parameter with the number that identifies a child to the process; 0: the engine chooses the number.
pub const CHILD: &str = "child";
/// How many of the last events the kernel page has.
pub const EVENTS: usize = 64;
/// Kinds of events.
pub const EVENT_KINDS: usize = 8;
/// Schedulers that have pages, at most.
pub const MAX_PAGES: usize = 64;
/// The version of the contract.
pub const VERSION: u64 = 1;
/// The urgency of a child that gets no CPU.
pub const HELD: u64 = u64::MAX;
/// The greatest urgency of other children.
pub const MOST_URGENT: u64 = (1 << 63) - 1;

/// What can happen to a child, or to the scheduler; `enum hls_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PageEvent {
    /// A child has come.
    New,
    /// A child has gone.
    Removed,
    /// It becomes runnable.
    Wakeup,
    /// It blocks.
    Block,
    /// It has yielded.
    Yield,
    /// Its slice has ended.
    Slice,
    /// The time has come at which the process wanted to be asked.
    Time,
    /// Its CPU went offline: it needs another one.
    Offline,
}

impl PageEvent {
    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<PageEvent> {
        use PageEvent::*;
        [New, Removed, Wakeup, Block, Yield, Slice, Time, Offline].get(usize::from(number)).copied()
    }
}

mirror! {
    /// The engine's data about a child.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct KernelSlot = "struct hls_kernel_slot" {
        /// The number that identifies it to the process; 0: the slot is free.
        pub child: u64,
        /// Its CPU time when it last lost a CPU.
        pub ran_ns: u64,
        /// The number of its last event.
        pub event: u64,
    }
}

/// The default number that identifies the scheduler of this number to the process of the scheduler above it: no
/// thread has it as its TID.
pub fn number_of_scheduler(scheduler: usize) -> u64 {
    (1 << 32) + scheduler as u64
}

/// Sets the number that identifies a child to the process of a scheduler of this policy: a thread's TID, or
/// [`number_of_scheduler`]. Changes nothing if the child's parameters in the hierarchy state a number, or if the
/// policy has no pages.
pub fn number_child(policy: &PolicyInfo, params: &mut Params, number: u64) {
    let child = policy.vp_params.iter().position(|param| param.name == CHILD);
    if let Some(child) = child.filter(|child| policy.properties.has_pages && params.0[*child] == 0) {
        params.0[child] = number;
    }
}

mirror! {
    /// What the engine writes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KernelPage = "struct hls_kernel_page" {
        /// [`VERSION`].
        pub version: u64,
        /// The number of events so far.
        pub events: u64,
        /// The number of the last event about which the agent is asked.
        pub asked: u64,
        /// A bit for each slot: the child is running or runnable.
        pub wanting: u64,
        /// The time of the last event, or of the agent's last grant.
        pub at_ns: u64,
        /// The CPUs of the hierarchy that were online at the agent's last grant, a bit each.
        pub cpus: u64,
        /// The most of these CPUs that the scheduler could have at once, at the agent's last grant.
        pub width: u64,
        /// The children.
        pub slot: [KernelSlot; SLOTS],
        /// The last events: [`KernelPage::event`] decodes them.
        pub ring: [u64; EVENTS],
    }
}

impl KernelPage {
    /// The kind and the slot of an event, by its number; `None`: it is not in the ring, or no longer.
    pub fn event(&self, number: u64) -> Option<(PageEvent, usize)> {
        let word = self.ring[number as usize % EVENTS];
        let kind = PageEvent::from_number((word >> 8) as u8)?;
        (number != 0 && word >> 16 == number).then_some((kind, word as usize % SLOTS))
    }
}

mirror! {
    /// What the process writes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UserPage = "struct hls_user_page" {
        /// The last event that the agent has dealt with.
        pub answered: u64,
        /// When the agent is asked even without an event.
        pub wake_at_ns: u64,
        /// A bit for each slot: its urgency has changed.
        pub touched: u64,
        /// By kind of event, a bit for each slot: the agent is asked.
        pub ask: [u64; EVENT_KINDS],
        /// By CPU: the [`decision`].
        pub next: [u64; 64],
        /// By slot.
        pub urgency: [u64; SLOTS],
        /// By slot: the [`slice()`].
        pub slice: [u64; SLOTS],
    }
}

impl UserPage {
    /// All words, in the order of their places.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        let first = [self.answered, self.wake_at_ns, self.touched];
        first.into_iter().chain(self.ask).chain(self.next).chain(self.urgency).chain(self.slice)
    }

    /// The value of a word; `None`: the page has no such place.
    pub fn word(&self, word: UserWord) -> Option<u64> {
        self.words().nth(word.place())
    }

    /// Changes a word, if the page has such a place.
    pub fn set(&mut self, word: UserWord, value: u64) {
        let first = [&mut self.answered, &mut self.wake_at_ns, &mut self.touched];
        let arrays = [&mut self.ask[..], &mut self.next, &mut self.urgency, &mut self.slice];
        let mut all = first.into_iter().chain(arrays.into_iter().flatten());
        if let Some(place) = all.nth(word.place()) {
            *place = value;
        }
    }
}

/// A word of the user page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserWord {
    /// [`UserPage::answered`].
    Answered,
    /// [`UserPage::wake_at_ns`].
    WakeAt,
    /// [`UserPage::touched`].
    Touched,
    /// [`UserPage::ask`], of a kind of event.
    Ask(PageEvent),
    /// [`UserPage::next`], of a CPU.
    Next(usize),
    /// [`UserPage::urgency`], of a slot.
    Urgency(usize),
    /// [`UserPage::slice`], of a slot.
    Slice(usize),
    /// Any word of the page, by its place: for processes that write anything.
    At(usize),
}

impl UserWord {
    /// How many words a page has.
    pub const COUNT: usize = size_of::<UserPage>() / size_of::<u64>();

    /// Its place in the page, in words.
    pub const fn place(self) -> usize {
        match self {
            UserWord::Answered => 0,
            UserWord::WakeAt => 1,
            UserWord::Touched => 2,
            UserWord::Ask(kind) => 3 + kind as usize,
            UserWord::Next(cpu) => 3 + EVENT_KINDS + cpu,
            UserWord::Urgency(slot) => 3 + EVENT_KINDS + 64 + slot,
            UserWord::Slice(slot) => 3 + EVENT_KINDS + 64 + SLOTS + slot,
            UserWord::At(place) => place,
        }
    }
}

/// Which object's last event a decision must take into account; `include/hls_pages.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// The scheduler.
    All,
    /// The child that it names (`HLS_LOOSE`).
    Child,
    /// The thread in this slot: its event is the last one and comes after the decision (`HLS_AFTER`).
    After(usize),
}

/// The decision that the child in `slot` gets the CPU next, after `events` events.
pub fn decision(events: u64, knows: Knows, slot: usize) -> u64 {
    let flags = match knows {
        Knows::All => 0,
        Knows::Child => 0x2000,
        Knows::After(decider) => 0x4000 | (decider as u64) << 6,
    };
    events << 16 | 0x1000 | flags | slot as u64
}

/// The slice of this number and length.
pub fn slice(number: u16, ns: u64) -> u64 {
    u64::from(number) << 48 | ns & ((1 << 48) - 1)
}

impl Core {
    /// The page that the engine writes for the scheduler's process; `None`: it has no pages.
    pub fn kernel_page(&self, scheduler: CoreScheduler) -> Option<&KernelPage> {
        // SAFETY: the core checks the number; the page is in the domain's allocation, which `self` borrows.
        unsafe { ffi::hls_kernel_page(self.address(), scheduler.0).cast::<KernelPage>().as_ref() }
    }

    /// The page that the scheduler's process writes; `None`: it has no pages.
    pub fn user_page(&self, scheduler: CoreScheduler) -> Option<&UserPage> {
        // SAFETY: as in `kernel_page`.
        unsafe { ffi::hls_user_page(self.address(), scheduler.0).cast::<UserPage>().as_ref() }
    }

    /// Writes a word of the scheduler's user page, as its process does. [`CoreError::NotFound`]: it has no pages.
    pub fn write_page(
        &mut self,
        scheduler: CoreScheduler,
        word: UserWord,
        value: u64,
    ) -> Result<(), CoreError> {
        let call = Call { a: scheduler.0, b: word.place() as u32, value, ..Call::default() };
        match self.call(Op::WritePage, call) {
            0 => Ok(()),
            error => Err(CoreError::from_answer(error)),
        }
    }
}
