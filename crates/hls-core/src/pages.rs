//! The pages by which schedulers in processes of their own talk to the core: `include/hls_pages.h`. In a [`Core`] they
//! lie behind the domain; whoever plays the process reads them here, and writes words by calls, which are on tapes.

pub use crate::view::Decided;

use crate::core::Core;
use crate::numbers::CoreScheduler;
use crate::tape::{Call, Op};
use crate::{CoreError, Params, PolicyInfo, ffi};

/// Children of a scheduler that has pages.
pub const SLOTS: usize = 64;
/// The slot of the agent.
pub const AGENTS_SLOT: u64 = 0;
/// The parameter of a child that says its slot; [`SLOTS`] means any that is free, but for the agent's.
pub const SLOT: &str = "slot";
/// The parameter of a child that says by what number the process knows it; 0: by that which the engine gives it.
pub const CHILD: &str = "child";
/// How many of the last events the kernel page has.
pub const EVENTS: usize = 64;
/// Kinds of events.
pub const EVENT_KINDS: usize = 8;
/// Schedulers that have pages, at most.
pub const MAX_PAGES: usize = 64;
/// The version of the contract.
pub const VERSION: u64 = 1;
/// The urgency of a child that is to get no CPU.
pub const HELD: u64 = u64::MAX;
/// The greatest urgency of another one.
pub const MOST_URGENT: u64 = (1 << 63) - 1;

/// What can happen to a child, or to the scheduler; `enum hls_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PageEvent {
    /// A child has come.
    New,
    /// A child has gone.
    Removed,
    /// It wants a CPU now.
    Wakeup,
    /// It wants none any more.
    Block,
    /// It has let others go first.
    Yield,
    /// Its slice is over.
    Slice,
    /// The time has come that the process wanted to be asked at.
    Time,
    /// Its CPU went offline: it wants another one.
    Offline,
}

impl PageEvent {
    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<PageEvent> {
        use PageEvent::*;
        [New, Removed, Wakeup, Block, Yield, Slice, Time, Offline].get(usize::from(number)).copied()
    }
}

/// A child, as the engine sees it; `struct hls_kernel_slot`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct KernelSlot {
    /// By what the process knows it; 0: the slot is free.
    pub child: u64,
    /// CPU time that it had until it lost a CPU last.
    pub ran_ns: u64,
    /// The number of its last event.
    pub event: u64,
}

/// By what number the process of a scheduler knows the scheduler of this number below it, where the hierarchy says
/// nothing else: no thread has it for its TID.
pub fn number_of_scheduler(scheduler: usize) -> u64 {
    (1 << 32) + scheduler as u64
}

/// Says by what number the process of a scheduler of this policy knows a child: of a thread, its TID; of a scheduler,
/// [`number_of_scheduler`]. Where the hierarchy states a number in the child's parameters, or the policy has no pages,
/// nothing changes.
pub fn number_child(policy: &PolicyInfo, params: &mut Params, number: u64) {
    let child = policy.vp_params.iter().position(|param| param.name == CHILD);
    if let Some(child) = child.filter(|child| policy.has_pages && params.0[*child] == 0) {
        params.0[child] = number;
    }
}

/// What the engine writes; `struct hls_kernel_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct KernelPage {
    /// [`VERSION`].
    pub version: u64,
    /// How many events there were.
    pub events: u64,
    /// The number of the last one that the agent is asked about.
    pub asked: u64,
    /// A bit a slot: the child has a CPU, or wants one.
    pub wanting: u64,
    /// The time of the last event, or of the agent's last grant.
    pub at_ns: u64,
    /// The CPUs of the hierarchy that are online, a bit each, at the agent's last grant.
    pub cpus: u64,
    /// How many of them the scheduler had at once at most, at the agent's last grant.
    pub width: u64,
    /// The children.
    pub slot: [KernelSlot; SLOTS],
    /// The last events: [`KernelPage::event`] takes them apart.
    pub ring: [u64; EVENTS],
}

impl KernelPage {
    /// The kind and the slot of an event, by its number; `None`: it is not in the ring, or not any more.
    pub fn event(&self, number: u64) -> Option<(PageEvent, usize)> {
        let word = self.ring[number as usize % EVENTS];
        let kind = PageEvent::from_number((word >> 8) as u8)?;
        (number != 0 && word >> 16 == number).then_some((kind, word as usize % SLOTS))
    }
}

/// What the process writes; `struct hls_user_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct UserPage {
    /// The last event that the agent has dealt with.
    pub answered: u64,
    /// When the agent is to be asked whatever happens.
    pub wake_at_ns: u64,
    /// A bit a slot: its urgency has changed.
    pub touched: u64,
    /// By kind of event, a bit a slot: the agent is asked.
    pub ask: [u64; EVENT_KINDS],
    /// By CPU: the [`decision`].
    pub next: [u64; 64],
    /// By slot.
    pub urgency: [u64; SLOTS],
    /// By slot: the [`slice()`].
    pub slice: [u64; SLOTS],
}

impl UserPage {
    /// All words, in the order of their places.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        let first = [self.answered, self.wake_at_ns, self.touched];
        first.into_iter().chain(self.ask).chain(self.next).chain(self.urgency).chain(self.slice)
    }

    /// A word; `None`: the page has no such place.
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
    /// Any word of the page, by its place: for processes that write what they like.
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

/// Of what a decision must know the last event; `include/hls_pages.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// Of the scheduler.
    All,
    /// Of the child that it names (`HLS_LOOSE`).
    Child,
    /// Of the thread in this slot, whose event is the last one and comes after the decision (`HLS_AFTER`).
    After(usize),
}

/// The decision that the child in `slot` is to have the CPU next, after `events` events.
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
    /// What the engine has written for the scheduler's process; `None`: it has no pages.
    pub fn kernel_page(&self, scheduler: CoreScheduler) -> Option<&KernelPage> {
        // SAFETY: the core checks the number; the page lies in the domain's allocation, which `self` borrows.
        unsafe { ffi::hls_kernel_page(self.address(), scheduler.0).cast::<KernelPage>().as_ref() }
    }

    /// What the scheduler's process has written; `None`: it has no pages.
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
