//! What the process of the scheduler does, a word at a time: the turns of its agent, as `include/hls_turn.h` has them;
//! and a thread that decides before it blocks.

use hls_core::pages::{EVENTS, Knows, PageEvent, UserWord, decision};

/// Which orders the two sides keep.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// The engine writes `events` as the last word of an event.
    pub events_come_last: bool,
    /// The agent reads `events` before what they tell of.
    pub agent_reads_events_first: bool,
    /// The agent answers the events that it has read, not those that there are by then.
    pub answers_what_it_read: bool,
}

impl Orders {
    /// The orders of the engine and of the library.
    pub const TODAY: Orders =
        Orders { events_come_last: true, agent_reads_events_first: true, answers_what_it_read: true };
}

/// The kernel page as processes see it while the engine writes.
#[derive(Clone, Copy)]
pub(super) struct Visible {
    pub(super) events: u64,
    pub(super) wanting: u64,
    pub(super) ring: [u64; EVENTS],
}

/// What the agent does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentStep {
    /// Reads how many events there are.
    Events,
    /// Reads an event, by its number.
    Ring(u64),
    /// Reads which children want a CPU, in place of the events that tell it: an order that is a fault.
    Wanting,
    /// Decides for a CPU.
    Next(usize),
    /// Says which events it has dealt with.
    Answered,
    /// Yields.
    Park,
    /// It has yielded, and does nothing before it is granted a CPU again.
    InKernel,
}

/// The agent.
#[derive(Clone, Copy)]
pub(super) struct Agent {
    pub(super) next: AgentStep,
    /// The events that it has read.
    pub(super) events: u64,
    /// The last event that it has worked off.
    pub(super) seen: u64,
    /// Which children want a CPU, as far as it knows.
    pub(super) wanting: u64,
}

/// What a step of a program asks for.
pub(super) enum Asks {
    /// Nothing: it has read a word.
    Nothing,
    /// To write a word. A decision for a CPU comes with the children that its maker believes to want one.
    Write(UserWord, u64, Option<(usize, u64)>),
    /// To yield.
    Yield,
    /// To block.
    Block,
}

/// The child that the process names for a CPU: the least urgent of those that want one, and for another CPU the next.
/// Urgencies would choose other children.
fn choose(wanting: u64, cpu: usize) -> Option<usize> {
    let mut slots = (1..u64::BITS as usize).rev().filter(|slot| (wanting >> slot) & 1 == 1);
    slots.nth(cpu)
}

impl Agent {
    /// The agent before its first turn.
    pub(super) const NEW: Agent = Agent { next: AgentStep::InKernel, events: 0, seen: 0, wanting: 0 };

    /// The agent has been granted a CPU: it begins a turn, unless it is in one.
    pub(super) fn has_cpu(&mut self, orders: Orders) {
        if self.next == AgentStep::InKernel {
            self.next = if orders.agent_reads_events_first { AgentStep::Events } else { AgentStep::Wanting };
        }
    }

    /// Takes its next step on a machine with `cpus` CPUs.
    pub(super) fn step(&mut self, page: &Visible, orders: Orders, cpus: usize) -> Result<Asks, String> {
        let knows = if cpus > 1 { Knows::Child } else { Knows::All };
        match self.next {
            AgentStep::Events => {
                self.events = page.events;
                if !orders.agent_reads_events_first {
                    self.seen = self.events;
                }
                self.next = self.next_event();
            }
            AgentStep::Wanting => {
                self.wanting = page.wanting & !1;
                self.next = AgentStep::Events;
            }
            AgentStep::Ring(number) => {
                self.take(number, page)?;
                self.next = self.next_event();
            }
            AgentStep::Next(cpu) => {
                self.next = if cpu + 1 < cpus { AgentStep::Next(cpu + 1) } else { AgentStep::Answered };
                let named = choose(self.wanting, cpu);
                let word = named.map_or(0, |slot| decision(self.events, knows, slot));
                return Ok(Asks::Write(UserWord::Next(cpu), word, Some((cpu, self.wanting))));
            }
            AgentStep::Answered => {
                self.next = AgentStep::Park;
                let answered = if orders.answers_what_it_read { self.events } else { page.events };
                return Ok(Asks::Write(UserWord::Answered, answered, None));
            }
            AgentStep::Park => {
                self.next = AgentStep::InKernel;
                return Ok(Asks::Yield);
            }
            AgentStep::InKernel => {}
        }
        Ok(Asks::Nothing)
    }

    fn next_event(&self) -> AgentStep {
        if self.seen < self.events { AgentStep::Ring(self.seen + 1) } else { AgentStep::Next(0) }
    }

    /// Works off an event.
    fn take(&mut self, number: u64, page: &Visible) -> Result<(), String> {
        let word = page.ring[number as usize % EVENTS];
        if word >> 16 != number {
            return Err(format!("there are {} events, and event {number} is not in the ring", self.events));
        }
        let child = 1 << (word & 0x3f);
        match PageEvent::from_number((word >> 8) as u8) {
            Some(PageEvent::Wakeup) => self.wanting |= child,
            Some(PageEvent::Block | PageEvent::Removed) => self.wanting &= !child,
            _ => {}
        }
        self.seen = number;
        Ok(())
    }
}

/// A thread that decides before it blocks: what it does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeciderStep {
    /// Reads how many events there are.
    Events,
    /// Reads which children want a CPU.
    Wanting,
    /// Decides.
    Next,
    /// Blocks.
    Block,
}

/// A thread that decides before it blocks.
#[derive(Clone, Copy)]
pub(super) struct Decider {
    /// Its slot.
    pub(super) slot: usize,
    pub(super) next: DeciderStep,
    pub(super) events: u64,
    pub(super) wanting: u64,
}

impl Decider {
    /// The thread in this slot before its first step.
    pub(super) fn new(slot: usize) -> Decider {
        Decider { slot, next: DeciderStep::Events, events: 0, wanting: 0 }
    }

    /// Takes its next step, for the CPU that it has.
    pub(super) fn step(&mut self, page: &Visible, cpu: usize) -> Asks {
        match self.next {
            DeciderStep::Events => {
                self.events = page.events;
                self.next = DeciderStep::Wanting;
            }
            DeciderStep::Wanting => {
                self.wanting = page.wanting & !1 & !(1 << self.slot);
                self.next = DeciderStep::Next;
            }
            DeciderStep::Next => {
                self.next = DeciderStep::Block;
                let named = choose(self.wanting, 0);
                let knows = Knows::After(self.slot);
                let word = named.map_or(0, |slot| decision(self.events + 1, knows, slot));
                return Asks::Write(UserWord::Next(cpu), word, Some((cpu, self.wanting)));
            }
            DeciderStep::Block => return Asks::Block,
        }
        Asks::Nothing
    }
}
