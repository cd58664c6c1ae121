//! What a policy is, the turn, and what a policy may do in it. Makes no system call.

use crate::SLOTS;
use crate::pages::{EVENTS, Pages};
use crate::settings::setting;
use crate::slots::{Event, Slot, Slots};

/// The urgency of a child that is to get no CPU.
pub const HELD: u64 = u64::MAX;
/// The greatest urgency of any other child.
pub const MOST_URGENT: u64 = (1 << 63) - 1;

/// How often a turn begins again because there were events meanwhile.
const MOST_ROUNDS: usize = 4;

/// What makes a policy: `struct hls_user_policy`.
pub trait Policy {
    /// The events that the agent is asked about at once. It hears of the others later.
    const ASKS: &'static [Event] = &Event::ALL;

    /// A child has come, and wants no CPU yet.
    fn thread_new(&mut self, _scheduler: &mut Scheduler<'_>, _slot: Slot) {}

    /// The child has gone, whether or not it wanted a CPU.
    fn thread_remove(&mut self, _scheduler: &mut Scheduler<'_>, _slot: Slot) {}

    /// The child wants a CPU from now on.
    fn wakeup(&mut self, _scheduler: &mut Scheduler<'_>, _slot: Slot) {}

    /// The child wants no CPU any more.
    fn block(&mut self, _scheduler: &mut Scheduler<'_>, _slot: Slot) {}

    /// The child has let others go first; or it has to, because its slice is over.
    fn yielded(&mut self, _scheduler: &mut Scheduler<'_>, _slot: Slot) {}

    /// The child has had `ran_ns` more of CPU time. Comes before what happened after that time.
    fn elapsed(&mut self, _scheduler: &mut Scheduler<'_>, _slot: Slot, _ran_ns: u64) {}

    /// The time of [`Scheduler::wake_at`] has come.
    fn timer(&mut self, _scheduler: &mut Scheduler<'_>) {}

    /// Which of the candidates, at least one, is to have the CPU; `None`: urgencies choose. The answer may go unused:
    /// if something else happens first, the policy is asked again.
    fn schedule(&mut self, _scheduler: &mut Scheduler<'_>, _cpu: usize, _candidates: Slots) -> Option<Slot> {
        None
    }
}

/// What the library knows of a child.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    child: u64,
    ran_ns: u64,
    /// The urgency that the policy gave it; 0: the hierarchy's.
    urgency: u64,
    /// How many slices the policy has given it; wraps around.
    slices: u16,
}

/// A scheduler, as its policy sees it.
#[derive(Debug)]
pub struct Scheduler<'p> {
    pages: Pages<'p>,
    settings: String,
    now_ns: u64,
    /// The last event that was worked off.
    seen: u64,
    /// Slots with a child; slots with a child that wants a CPU; slots with a child that is to get none.
    present: u64,
    wanting: u64,
    held: u64,
    /// Urgencies that the page has, and the engine was not told of.
    touched: u64,
    wake_at_ns: u64,
    asks: [u64; Event::ALL.len()],
    known: [Known; SLOTS],
}

impl<'p> Scheduler<'p> {
    /// Begins with what is in the kernel page; clears what an earlier agent left in the user page. `settings`: as in
    /// the environment's `HLS_SETTINGS`.
    pub fn new<P: Policy>(pages: Pages<'p>, settings: &str) -> Scheduler<'p> {
        let asks = Event::ALL.map(|event| if P::ASKS.contains(&event) { u64::MAX } else { 0 });
        let mut scheduler = Scheduler {
            pages,
            settings: settings.to_owned(),
            now_ns: 0,
            seen: 0,
            present: 0,
            wanting: 0,
            held: 0,
            touched: 0,
            wake_at_ns: 0,
            asks,
            known: [Known::default(); SLOTS],
        };
        for slot in 0..SLOTS {
            pages.set_next(slot, 0);
            pages.set_slice(slot, 0);
            scheduler.show_urgency(slot);
        }
        scheduler.show_asks();
        scheduler
    }

    /// The pages lie elsewhere from now on.
    pub fn set_pages(&mut self, pages: Pages<'p>) {
        self.pages = pages;
    }

    /// The time, or a little earlier; never later.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The slots that have a child, except the agent's.
    pub fn present(&self) -> Slots {
        Slots(self.present)
    }

    /// The slots among them with a child that wants a CPU.
    pub fn wanting(&self) -> Slots {
        Slots(self.wanting)
    }

    /// The hierarchy's number of the child in the slot: a thread's is its TID; 0: the slot is free.
    pub fn child(&self, slot: Slot) -> u64 {
        self.known[slot].child
    }

    /// The setting of a slot at a place, counted from 0.
    pub fn setting(&self, slot: Slot, place: usize) -> Option<u64> {
        setting(&self.settings, slot, place)
    }

    /// Where no decision names a child, the child of the greatest urgency runs. 0: the urgency stated by the hierarchy.
    pub fn set_urgency(&mut self, slot: Slot, urgency: u64) {
        self.known[slot].urgency = urgency.min(MOST_URGENT);
        self.show_urgency(slot);
    }

    /// The child gets no CPU until it is let go. It is no candidate meanwhile.
    pub fn hold(&mut self, slot: Slot) {
        self.held |= 1 << slot;
        self.show_urgency(slot);
    }

    /// Ends a hold.
    pub fn let_go(&mut self, slot: Slot) {
        self.held &= !(1 << slot);
        self.show_urgency(slot);
    }

    /// From now on the child loses its CPU after each `ns` of CPU time; 0: it does not. A child that is interrupted
    /// goes on with what is left of its slice.
    pub fn give_slice(&mut self, slot: Slot, ns: u64) {
        let number = &mut self.known[slot].slices;
        *number = number.wrapping_add(1);
        self.pages.set_slice(slot, u64::from(*number) << 48 | ns << 16 >> 16);
    }

    /// [`Policy::timer`] is called at this time, or soon after; replaces a time that was set before; 0: never.
    pub fn wake_at(&mut self, at_ns: u64) {
        self.wake_at_ns = at_ns;
    }

    /// Has the agent asked at once about these events of the child, and about no others.
    pub fn ask(&mut self, slot: Slot, events: &[Event]) {
        for event in Event::ALL {
            let ask = &mut self.asks[event as usize];
            *ask = *ask & !(1 << slot) | u64::from(events.contains(&event)) << slot;
        }
        self.show_asks();
    }

    /// A turn: works off the events, asks the policy, and answers. Goes on while there are events, as the loop of the
    /// paper's Figure 5 does.
    pub fn turn(&mut self, policy: &mut impl Policy) {
        for _ in 0..MOST_ROUNDS {
            self.take_events(policy);
            self.decide(policy);
            if self.pages.events() == self.seen {
                break;
            }
        }
        if self.touched != 0 {
            self.pages.touch(std::mem::take(&mut self.touched));
        }
        self.pages.set_wake_at_ns(self.wake_at_ns);
        self.pages.set_answered(self.seen);
    }

    fn show_urgency(&mut self, slot: Slot) {
        let urgency = if Slots(self.held).has(slot) { HELD } else { self.known[slot].urgency };
        if self.pages.urgency(slot) != urgency {
            self.pages.set_urgency(slot, urgency);
            self.touched |= 1 << slot;
        }
    }

    fn show_asks(&self) {
        Event::ALL.iter().zip(self.asks).for_each(|(event, slots)| self.pages.set_ask(*event, slots));
    }

    fn take_events(&mut self, policy: &mut impl Policy) {
        let events = self.pages.events();
        self.now_ns = self.pages.at_ns();
        self.take_times(policy);
        if !self.take_ring(policy, events) {
            self.rescan(policy);
        }
        self.seen = events;
        if self.wake_at_ns != 0 && self.wake_at_ns <= self.now_ns {
            self.wake_at_ns = 0;
            policy.timer(self);
        }
    }

    fn take_times(&mut self, policy: &mut impl Policy) {
        for slot in self.present() {
            let (ran_ns, before_ns) = (self.pages.ran_ns(slot), self.known[slot].ran_ns);
            self.known[slot].ran_ns = ran_ns;
            if ran_ns > before_ns {
                policy.elapsed(self, slot, ran_ns - before_ns);
            }
        }
    }

    /// Works off the events in the ring up to this one. Returns whether the ring still had all of them.
    fn take_ring(&mut self, policy: &mut impl Policy, events: u64) -> bool {
        if events.wrapping_sub(self.seen) > EVENTS {
            return false;
        }
        while self.seen != events {
            let number = self.seen.wrapping_add(1);
            let Some((kind, slot)) = self.pages.event(number) else { return false };
            self.seen = number;
            self.take_event(policy, kind, slot);
        }
        true
    }

    fn take_event(&mut self, policy: &mut impl Policy, kind: u8, slot: Slot) {
        match Event::ALL.get(usize::from(kind)) {
            Some(Event::New) => self.take_new(policy, slot),
            Some(Event::Removed) => self.take_removed(policy, slot),
            Some(Event::Wakeup) => self.take_wish(policy, slot, true),
            Some(Event::Block) => self.take_wish(policy, slot, false),
            Some(Event::Yield | Event::Slice) if self.present().has(slot) => policy.yielded(self, slot),
            _ => {}
        }
    }

    /// Looks at every slot, as events of it after the last that was worked off may have been missed. A child that
    /// wanted a CPU then and wants one now, and had an event, may have slept in between: the policy is told so.
    fn rescan(&mut self, policy: &mut impl Policy) {
        let wanting = Slots(self.pages.wanting());
        for slot in 1..SLOTS {
            if self.pages.child(slot) != self.known[slot].child {
                self.take_removed(policy, slot);
            }
            self.take_new(policy, slot);
            if self.pages.last_event(slot) > self.seen {
                self.take_wish(policy, slot, false);
            }
            self.take_wish(policy, slot, wanting.has(slot));
        }
    }

    fn take_new(&mut self, policy: &mut impl Policy, slot: Slot) {
        let child = self.pages.child(slot);
        if slot == 0 || self.present().has(slot) || child == 0 {
            return;
        }
        self.present |= 1 << slot;
        self.known[slot].child = child;
        self.known[slot].ran_ns = self.pages.ran_ns(slot);
        policy.thread_new(self, slot);
    }

    /// The child in the slot has gone. The next one there begins with nothing of it.
    fn take_removed(&mut self, policy: &mut impl Policy, slot: Slot) {
        if !self.present().has(slot) {
            return;
        }
        policy.thread_remove(self, slot);
        self.present &= !(1 << slot);
        self.wanting &= !(1 << slot);
        self.known[slot].child = 0;
        self.give_slice(slot, 0);
        self.held &= !(1 << slot);
        self.set_urgency(slot, 0);
    }

    fn take_wish(&mut self, policy: &mut impl Policy, slot: Slot, wants: bool) {
        if !self.present().has(slot) || self.wanting().has(slot) == wants {
            return;
        }
        self.wanting ^= 1 << slot;
        if wants { policy.wakeup(self, slot) } else { policy.block(self, slot) }
    }

    /// Asks the policy which children get the CPUs, and writes that down. A scheduler that has fewer CPUs at once than
    /// there are may have any of them: what it decides for the first ones holds for the others, too.
    fn decide(&mut self, policy: &mut impl Policy) {
        const NAMED: u64 = 0x1000;
        const LOOSE: u64 = 0x2000;
        let width = self.pages.width().clamp(1, SLOTS as u64) as usize;
        let knows = if width > 1 { NAMED | LOOSE } else { NAMED };
        let mut candidates = Slots(self.wanting & !self.held);
        let mut decisions = [0; SLOTS];
        for (place, cpu) in Slots(self.pages.cpus()).enumerate() {
            if place < width {
                let chosen = if candidates.0 == 0 { None } else { policy.schedule(self, cpu, candidates) };
                let chosen = chosen.filter(|slot| candidates.has(*slot));
                decisions[place] = chosen.map_or(0, |slot| self.seen << 16 | knows | slot as u64);
                candidates.0 &= !chosen.map_or(0, |slot| 1 << slot);
            }
            self.pages.set_next(cpu, decisions[place % width]);
        }
    }
}
