//! Slots and events. Touches nothing.

/// The place of a child in the pages.
pub type Slot = usize;

/// Some slots, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots(pub u64);

impl Slots {
    /// Whether the slot is one of them.
    pub fn has(self, slot: Slot) -> bool {
        slot < u64::BITS as usize && (self.0 >> slot) & 1 == 1
    }
}

impl Iterator for Slots {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let first = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (first < u64::BITS as usize).then_some(first)
    }
}

/// What can happen to a child, or to the scheduler; `enum hls_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
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
    /// The time of [`Scheduler::wake_at`](crate::Scheduler::wake_at) has come.
    Time,
    /// Its CPU went offline: it wants another one.
    Offline,
}

impl Event {
    /// All of them, by their numbers.
    pub const ALL: [Event; 8] = [
        Event::New,
        Event::Removed,
        Event::Wakeup,
        Event::Block,
        Event::Yield,
        Event::Slice,
        Event::Time,
        Event::Offline,
    ];
}
