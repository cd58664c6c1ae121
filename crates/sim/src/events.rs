//! The queue of what is to happen at a known time.
//!
//! Events of one instant come in the order in which they were added, so that a run does not depend on the heap.

use hls_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event of a run that is known before its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Source number `.0` of interrupts takes its CPU.
    Interrupt(u32),
    /// The interrupt of source number `.0` is over.
    InterruptOver(u32),
    /// Thread `.0` comes into being.
    Arrive(u32),
    /// Thread `.0` is ended from outside.
    Leave(u32),
    /// Thread `.0` has slept long enough.
    Wake(u32),
}

/// An event in one word, as the queue is searched all the time: its kind in 3 bits, its number in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u32);

impl From<Event> for Packed {
    fn from(event: Event) -> Packed {
        let (kind, number) = match event {
            Event::Interrupt(source) => (0, source),
            Event::InterruptOver(source) => (1, source),
            Event::Arrive(thread) => (2, thread),
            Event::Leave(thread) => (3, thread),
            Event::Wake(thread) => (4, thread),
        };
        assert!(number < 1 << 29, "numbers of threads and sources are smaller");
        Packed(kind << 29 | number)
    }
}

impl From<Packed> for Event {
    fn from(Packed(word): Packed) -> Event {
        let number = word & ((1 << 29) - 1);
        match word >> 29 {
            0 => Event::Interrupt(number),
            1 => Event::InterruptOver(number),
            2 => Event::Arrive(number),
            3 => Event::Leave(number),
            _ => Event::Wake(number),
        }
    }
}

/// The queue of planned events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// For each event its instant, how many events had been added before it, and the event itself. That count begins
    /// anew after 2^32: no order is promised among that many events.
    heap: BinaryHeap<Reverse<(Nanos, u32, Packed)>>,
    added: u32,
}

impl Events {
    /// Adds an event that happens at `at`.
    pub fn add(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse((at, self.added, event.into())));
        self.added = self.added.wrapping_add(1);
    }

    /// When the first event is due; [`Nanos::MAX`] when there is none.
    pub fn next_at(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((at, _, _))| *at)
    }

    /// Takes the first event out of the queue if it is due at `now`.
    pub fn take_due(&mut self, now: Nanos) -> Option<Event> {
        let Reverse((at, _, _)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, event))| event.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_they_were_added() {
        let mut events = Events::default();
        let added = [
            Event::Wake(70_000),
            Event::InterruptOver(63),
            Event::Leave(1),
            Event::Arrive(0),
            Event::Interrupt(5),
        ];
        events.add(Nanos(9), Event::Wake(9));
        added.iter().for_each(|&event| events.add(Nanos(5), event));
        assert_eq!((events.next_at(), events.take_due(Nanos(4))), (Nanos(5), None));
        let taken: Vec<Event> = std::iter::from_fn(|| events.take_due(Nanos(5))).collect();
        assert_eq!(taken, added);
        assert_eq!(events.take_due(Nanos(9)), Some(Event::Wake(9)));
        assert_eq!(events.next_at(), Nanos::MAX);
    }
}
