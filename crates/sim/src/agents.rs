//! The agents that a hierarchy file can name: those that schedule, and those that do harm, as far as they can.

use crate::agent::{Agent, Seen, Then};
use hls_core::pages::{
    EVENT_KINDS, HELD, KernelPage, Knows, PageEvent, SLOTS, UserPage, UserWord, decision, slice,
};
use hls_units::Nanos;
use hls_workload::program;
use oorandom::Rand32;
use std::collections::{BTreeMap, VecDeque};

/// The urgencies that the hierarchy states, by the numbers of children in the kernel page.
pub type Urgencies = BTreeMap<u64, u64>;

/// The agent of this kind; `None` for a program, which the caller opens.
pub fn of_kind(kind: &program::Agent, urgencies: Urgencies, random: Rand32) -> Option<Box<dyn Agent>> {
    Some(match *kind {
        program::Agent::FixedPriority => Box::new(FixedPriority { urgencies, behind: 0 }),
        program::Agent::Stale { behind } => Box::new(FixedPriority { urgencies, behind }),
        program::Agent::RoundRobin { slice } => Box::new(RoundRobin::new(slice)),
        program::Agent::Dead => Box::new(Idle(Then::Sleep)),
        program::Agent::Loops => Box::new(Idle(Then::GoOn)),
        program::Agent::Storms => Box::new(Storms),
        program::Agent::Garbage => Box::new(Garbage { random }),
        program::Agent::Object(_) => return None,
    })
}

/// Wants to be asked about everything that happens to children.
fn ask_all(user: &mut UserPage) {
    user.ask.fill(u64::MAX);
}

/// The slots of the children that want a CPU.
fn wanting(kernel: &KernelPage) -> impl Iterator<Item = usize> + '_ {
    (1..SLOTS).filter(|slot| (kernel.wanting >> slot) & 1 == 1)
}

/// Names these slots, each for one of the CPUs that the scheduler has at once. If it has several, what happens on one
/// must not spoil what was decided for the others.
fn decide(kernel: &KernelPage, user: &mut UserPage, knows_events: u64, slots: &[usize]) {
    let width = kernel.width.max(1) as usize;
    let knows = if width > 1 { Knows::Child } else { Knows::All };
    let cpus = (0..user.next.len()).filter(|cpu| (kernel.cpus >> cpu) & 1 == 1);
    for (place, cpu) in cpus.enumerate() {
        let named = slots.get(place % width);
        user.next[cpu] = named.map_or(0, |slot| decision(knows_events, knows, *slot));
    }
}

/// Decides by the urgencies that the hierarchy states, and says that it knows `behind` events fewer than there were.
struct FixedPriority {
    urgencies: Urgencies,
    behind: u64,
}

impl Agent for FixedPriority {
    fn turn(&mut self, seen: &Seen, user: &mut UserPage) -> Then {
        let urgency = |slot: &usize| self.urgencies.get(&seen.kernel.slot[*slot].child).copied().unwrap_or(0);
        let mut slots: Vec<usize> = wanting(seen.kernel).collect();
        slots.sort_by_key(|slot| std::cmp::Reverse(urgency(slot)));
        ask_all(user);
        decide(seen.kernel, user, seen.kernel.events.saturating_sub(self.behind), &slots);
        user.answered = seen.kernel.events;
        Then::Park
    }
}

/// Lets the children have turns. A child that yields, wakes up, or has had its slice, goes behind the others.
struct RoundRobin {
    slice: Nanos,
    /// The slots of the children that want a CPU, in the order of their turns.
    line: VecDeque<usize>,
    /// How many turns each slot was given.
    turns: [u16; SLOTS],
    /// The last event that it knows.
    seen: u64,
}

impl RoundRobin {
    fn new(slice: Nanos) -> RoundRobin {
        RoundRobin { slice, line: VecDeque::new(), turns: [0; SLOTS], seen: 0 }
    }

    fn go_behind(&mut self, slot: usize) {
        self.line.retain(|other| *other != slot);
        self.line.push_back(slot);
        self.turns[slot] = self.turns[slot].wrapping_add(1);
    }
}

impl Agent for RoundRobin {
    fn turn(&mut self, seen: &Seen, user: &mut UserPage) -> Then {
        for number in self.seen + 1..=seen.kernel.events {
            if let Some((PageEvent::Wakeup | PageEvent::Yield | PageEvent::Slice, slot)) =
                seen.kernel.event(number)
            {
                self.go_behind(slot);
            }
        }
        self.seen = seen.kernel.events;
        self.line.retain(|slot| (seen.kernel.wanting >> slot) & 1 == 1);
        // The ring lacks some events, if there were many.
        let missed: Vec<usize> = wanting(seen.kernel).filter(|slot| !self.line.contains(slot)).collect();
        missed.into_iter().for_each(|slot| self.go_behind(slot));
        self.line.iter().for_each(|slot| user.slice[*slot] = slice(self.turns[*slot], self.slice.0));
        ask_all(user);
        decide(seen.kernel, user, self.seen, self.line.make_contiguous());
        user.answered = self.seen;
        Then::Park
    }
}

/// Wants to be asked about everything, and never answers.
struct Idle(Then);

impl Agent for Idle {
    fn turn(&mut self, _: &Seen, user: &mut UserPage) -> Then {
        ask_all(user);
        self.0
    }
}

/// The same; and when it was asked nothing, it wants to be asked at once.
struct Storms;

impl Agent for Storms {
    fn turn(&mut self, _: &Seen, user: &mut UserPage) -> Then {
        ask_all(user);
        user.wake_at_ns = 1;
        Then::Park
    }
}

/// In nanoseconds.
const MICROSECOND: u64 = 1_000;

/// Writes words that look as if they meant something, and words that do not. It wants to be asked again, unless one of
/// them says something else.
struct Garbage {
    random: Rand32,
}

impl Garbage {
    /// A number of `0..below`.
    fn below(&mut self, below: u32) -> u64 {
        self.random.rand_range(0..below).into()
    }

    fn any(&mut self) -> u64 {
        u64::from(self.random.rand_u32()) << 32 | u64::from(self.random.rand_u32())
    }

    /// Within five milliseconds.
    fn soon(&mut self, seen: &Seen) -> u64 {
        seen.now.0 + self.below(5_000) * MICROSECOND
    }

    fn word(&mut self, seen: &Seen) -> (UserWord, u64) {
        let slot = self.below(8) as usize;
        match self.below(8) {
            0 => (UserWord::At(self.below(UserWord::COUNT as u32) as usize), self.any()),
            1 => (UserWord::Answered, seen.kernel.events.saturating_sub(self.below(3))),
            2 => (UserWord::WakeAt, self.soon(seen)),
            3 => {
                let kind =
                    PageEvent::from_number(self.below(EVENT_KINDS as u32) as u8).unwrap_or(PageEvent::Wakeup);
                (UserWord::Ask(kind), self.any())
            }
            4 => {
                let knows = [Knows::All, Knows::Child, Knows::After(slot)][self.below(3) as usize];
                let events = (seen.kernel.events + 1).saturating_sub(self.below(3));
                let cpu = self.below(seen.kernel.cpus.count_ones().max(1)) as usize;
                (UserWord::Next(cpu), decision(events, knows, self.below(8) as usize))
            }
            5 => (UserWord::Urgency(slot), if self.below(4) == 0 { HELD } else { self.below(8) }),
            6 => (UserWord::Slice(slot), slice(self.below(4) as u16, self.below(4_000) * MICROSECOND)),
            _ => (UserWord::Touched, self.any()),
        }
    }
}

impl Agent for Garbage {
    fn turn(&mut self, seen: &Seen, user: &mut UserPage) -> Then {
        ask_all(user);
        user.wake_at_ns = self.soon(seen);
        for _ in 0..self.below(12) {
            let (word, value) = self.word(seen);
            user.set(word, value);
        }
        Then::Park
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_core::pages::{EVENTS, KernelSlot};

    /// The page after these events; its children are 100, 101 and so on.
    fn page(cpus: u64, wanting: u64, events: &[(PageEvent, usize)]) -> KernelPage {
        let (mut slot, mut ring) = ([KernelSlot::default(); SLOTS], [0; EVENTS]);
        (100..).zip(&mut slot).for_each(|(child, slot)| slot.child = child);
        for (number, (kind, slot)) in (1..).zip(events) {
            ring[number as usize % EVENTS] = number << 16 | (*kind as u64) << 8 | *slot as u64;
        }
        let (events, width) = (events.len() as u64, cpus.count_ones().into());
        KernelPage { version: 1, events, asked: 0, wanting, at_ns: 0, cpus, width, slot, ring }
    }

    fn empty() -> UserPage {
        let words = [0; 64];
        UserPage {
            answered: 0,
            wake_at_ns: 0,
            touched: 0,
            ask: [0; 8],
            next: words,
            urgency: words,
            slice: words,
        }
    }

    #[test]
    fn fixed_priority_names_the_most_urgent() {
        let urgencies = BTreeMap::from([(101, 1), (102, 7), (103, 5)]);
        let turn = |behind, cpus| {
            let kernel = page(cpus, 0b1111, &[(PageEvent::Wakeup, 1); 5]);
            let (mut agent, mut user) = (FixedPriority { urgencies: urgencies.clone(), behind }, empty());
            let seen = Seen { kernel: &kernel, now: Nanos(0) };
            assert_eq!(agent.turn(&seen, &mut user), Then::Park);
            assert_eq!(user.answered, 5);
            user.next
        };
        assert_eq!(turn(0, 0b1)[..2], [decision(5, Knows::All, 2), 0]);
        assert_eq!(turn(2, 0b1)[0], decision(3, Knows::All, 2));
        let on_four: Vec<u64> = [2, 3, 1].map(|slot| decision(5, Knows::Child, slot)).into();
        assert_eq!(turn(0, 0b1111)[..4], [&on_four[..], &[0]].concat());
    }

    #[test]
    fn round_robin_gives_turns() {
        let mut agent = RoundRobin::new(Nanos(9));
        let mut events = vec![(PageEvent::Wakeup, 1), (PageEvent::Wakeup, 2), (PageEvent::Wakeup, 3)];
        let mut turn = |wanting, events: &[(PageEvent, usize)]| {
            let (kernel, mut user) = (page(0b1, wanting, events), empty());
            agent.turn(&Seen { kernel: &kernel, now: Nanos(0) }, &mut user);
            (user.next[0], user.slice[1])
        };
        assert_eq!(turn(0b1110, &events), (decision(3, Knows::All, 1), slice(1, 9)));
        events.push((PageEvent::Slice, 1));
        assert_eq!(turn(0b1110, &events), (decision(4, Knows::All, 2), slice(2, 9)));
        events.extend([(PageEvent::Block, 2), (PageEvent::Yield, 3)]);
        assert_eq!(turn(0b1010, &events), (decision(6, Knows::All, 1), slice(2, 9)));
        // More events than the ring has.
        events.extend([(PageEvent::Block, 1); 100]);
        assert_eq!(turn(0b0100, &events), (decision(106, Knows::All, 2), 0));
    }
}
