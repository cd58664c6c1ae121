//! The queue of what is to happen at a known time.
//!
//! Events of one instant come in the order in which they were added, so that a run does not depend on the heap.

use hls_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Source number `.0` of stolen time takes its CPU.
    Interrupt(u32),
    /// The interrupt on CPU `.0` is over.
    InterruptOver(u16),
    /// Thread `.0` comes into being.
    Arrive(u32),
    /// Thread `.0` is ended from outside.
    Leave(u32),
    /// Thread `.0` has slept long enough.
    Wake(u32),
}

/// The queue.
#[derive(Clone, Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    added: u64,
}

impl Events {
    /// Adds an event.
    pub fn add(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse((at, self.added, event)));
        self.added += 1;
    }

    /// When the first one is due; the end of time when there is none.
    pub fn next_at(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((at, _, _))| *at)
    }

    /// Takes the first one if it is due at `now`.
    pub fn take_due(&mut self, now: Nanos) -> Option<Event> {
        let Reverse((at, _, _)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, event))| event)
    }
}
