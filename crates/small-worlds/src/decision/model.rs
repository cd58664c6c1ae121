//! The model as a whole: what may happen, what each side can do next, and what must hold.

use super::programs::{Agent, AgentStep, Asks, Decider, DeciderStep, Orders, Visible};
use crate::scheduling::add_core;
use crate::states::{Digest, Model};
use hls_core::pages::{EVENTS, KernelPage, PageEvent, UserWord};
use hls_core::{Calls, Core, CoreError, CoreScheduler, CoreVp, Params, Snapshot, VpState, policies};
use hls_units::Nanos;
use std::fmt;

/// The slots of the scheduler that are in use; slot 0 is the agent's.
const SLOTS: usize = 3;
/// CPUs, at most.
const MAX_CPUS: usize = 2;
/// Time does not pass.
const NOW: Nanos = Nanos(1_000_000);
/// An allowance that never runs out.
const LONG: u64 = 10_000_000_000;

/// Something that happens; or a step that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The child in a slot wakes up.
    Wake(usize),
    /// It blocks, whether it runs or waits for a CPU.
    Block(usize),
    /// It yields.
    Yield(usize),
    /// It begins to decide which child is next when it has blocked.
    Decide(usize),
    /// The engine writes the next word of an event.
    Publish,
    /// The agent reads or writes its next word.
    Agent,
    /// The child that decides does.
    Decider,
    /// A CPU takes its decision.
    Schedule(usize),
    /// A timer of the engine is due.
    Timers,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::Wake(slot) => write!(f, "child {slot} wakes up"),
            Event::Block(slot) => write!(f, "child {slot} blocks"),
            Event::Yield(slot) => write!(f, "child {slot} yields"),
            Event::Decide(slot) => write!(f, "child {slot} begins to decide before it blocks"),
            Event::Publish => f.write_str("  the engine writes a word of an event"),
            Event::Agent => f.write_str("  the agent takes a step"),
            Event::Decider => f.write_str("  the child that decides takes a step"),
            Event::Schedule(cpu) => write!(f, "  CPU {cpu} decides"),
            Event::Timers => f.write_str("  the engine's timer is due"),
        }
    }
}

/// Which word of an event the engine writes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Ring,
    Wanting,
    Events,
}

/// What the model has beside the core.
#[derive(Clone, Copy)]
struct State {
    visible: Visible,
    /// The words of an event that the engine has yet to write. It has its lock until then.
    unwritten: [Option<Word>; 3],
    agent: Agent,
    decider: Option<Decider>,
    /// The thread's VP that each CPU was told to run.
    running: [Option<CoreVp>; MAX_CPUS],
    /// Whether that thread has yielded, and does nothing before the CPU has decided.
    yields: [bool; MAX_CPUS],
    /// The CPU that has decided, and has not written all words of an event: its thread does nothing yet.
    decides: Option<usize>,
    /// For the decision for each CPU, the children that its maker believed to want a CPU.
    believed: [u64; MAX_CPUS],
}

/// A copy of the model's state.
pub struct DecisionState {
    core: Snapshot,
    state: State,
}

/// The engine and a process.
pub struct Decision {
    core: Core,
    state: State,
    orders: Orders,
    cpus: usize,
    scheduler: CoreScheduler,
    /// By slot.
    threads: [CoreVp; SLOTS],
}

impl Decision {
    /// A user-level scheduler with an agent and two children on `cpus` CPUs, one or two. The agent wants to be asked
    /// about everything.
    ///
    /// # Errors
    /// The core has refused the hierarchy.
    pub fn new(cpus: usize, orders: Orders) -> Result<Decision, CoreError> {
        let mut core = Core::new();
        (0..cpus).try_for_each(|cpu| core.add_cpu(cpu as u16))?;
        let policy =
            policies().iter().find(|policy| policy.properties.has_pages).ok_or(CoreError::NotFound)?;
        let scheduler = core.create_scheduler(policy.id, Params::from_slice(&[LONG, LONG, 0]))?;
        for cpu in 0..cpus {
            core.attach_root(scheduler, cpu as u16)?;
        }
        let mut attach =
            |slot| core.attach(scheduler, None, Params::from_slice(&[SLOTS as u64 - slot, slot, slot]));
        let threads = [attach(0)?, attach(1)?, attach(2)?];
        for kind in (0..).map_while(PageEvent::from_number) {
            core.write_page(scheduler, UserWord::Ask(kind), u64::MAX)?;
        }
        let visible = Visible { events: 0, wanting: 0, ring: [0; EVENTS] };
        let state = State {
            visible,
            unwritten: [None; 3],
            agent: Agent::NEW,
            decider: None,
            running: [None; MAX_CPUS],
            yields: [false; MAX_CPUS],
            decides: None,
            believed: [0; MAX_CPUS],
        };
        let mut model = Decision { core, state, orders, cpus, scheduler, threads };
        let KernelPage { events, wanting, ring, .. } = *model.page();
        model.state.visible = Visible { events, wanting, ring };
        Ok(model)
    }

    /// The states from which sequences begin: the agent is parked; and the children are asleep, or awake. To be called
    /// once.
    ///
    /// # Errors
    /// What is broken on the way there.
    pub fn starts(&mut self) -> Result<[DecisionState; 2], String> {
        self.core.request(self.threads[0], NOW);
        self.settle()?;
        let asleep = self.state();
        for slot in 1..SLOTS {
            self.perform(Event::Wake(slot))?;
            self.settle()?;
        }
        Ok([asleep, self.state()])
    }

    /// Takes the steps that are due, the first of them first, until none is.
    fn settle(&mut self) -> Result<(), String> {
        loop {
            let mut due = vec![];
            self.list_due(&mut due);
            let Some(step) = due.first() else { return self.check() };
            self.perform(*step)?;
        }
    }

    fn page(&self) -> &KernelPage {
        self.core.kernel_page(self.scheduler).expect("the first scheduler of a core has pages")
    }

    /// The CPU on which the thread in this slot runs, and can take steps.
    fn cpu_of(&self, slot: usize) -> Option<usize> {
        let vp = self.threads[slot];
        let is_awake = self.core.state(vp) != VpState::Waiting;
        let cpu = self.state.running.iter().position(|running| *running == Some(vp));
        let is_in_kernel = |cpu: &usize| self.state.yields[*cpu] || self.state.decides == Some(*cpu);
        cpu.filter(|cpu| is_awake && !is_in_kernel(cpu))
    }

    fn is_lock_free(&self) -> bool {
        self.state.unwritten == [None; 3]
    }

    /// Has the engine carry something out under its lock, which it keeps until it has written all words of an event.
    fn under_lock(&mut self, operation: impl FnOnce(&mut Core)) -> Result<(), String> {
        let before = self.page().events;
        operation(&mut self.core);
        match self.page().events - before {
            0 => Ok(()),
            1 => {
                let last = [Word::Ring, Word::Wanting, Word::Events];
                let first = [Word::Events, Word::Ring, Word::Wanting];
                self.state.unwritten = if self.orders.events_come_last { last } else { first }.map(Some);
                Ok(())
            }
            more => Err(format!("the model has operations of one event, and this one has {more}")),
        }
    }

    /// The engine writes the next word of an event.
    fn publish(&mut self) {
        let KernelPage { events, wanting, ring, .. } = *self.page();
        let State { visible, unwritten, .. } = &mut self.state;
        match unwritten.iter_mut().find_map(Option::take) {
            Some(Word::Ring) => visible.ring[events as usize % EVENTS] = ring[events as usize % EVENTS],
            Some(Word::Wanting) => visible.wanting = wanting,
            Some(Word::Events) => visible.events = events,
            None => {}
        }
        if self.is_lock_free() {
            self.state.decides = None;
        }
    }

    fn carry_out(&mut self, slot: usize, asks: Asks) -> Result<(), String> {
        let vp = self.threads[slot];
        match asks {
            Asks::Nothing => Ok(()),
            Asks::Write(word, value, belief) => {
                if let Some((cpu, wanting)) = belief {
                    self.state.believed[cpu] = wanting;
                }
                self.core.write_page(self.scheduler, word, value).map_err(|error| error.to_string())
            }
            Asks::Yield => self.give_way(slot),
            Asks::Block => self.under_lock(|core| core.release(vp, NOW)),
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Wake(slot) => {
                let vp = self.threads[slot];
                self.under_lock(|core| core.request(vp, NOW))
            }
            Event::Block(slot) => {
                let vp = self.threads[slot];
                // A thread that is made to block while it decides does not finish its decision.
                self.state.decider = self.state.decider.filter(|decider| decider.slot != slot);
                self.under_lock(|core| core.release(vp, NOW))
            }
            Event::Yield(slot) => self.give_way(slot),
            Event::Decide(slot) => {
                self.state.decider = Some(Decider::new(slot));
                Ok(())
            }
            Event::Publish => {
                self.publish();
                Ok(())
            }
            Event::Agent => {
                let asks = self.state.agent.step(&self.state.visible, self.orders, self.cpus)?;
                self.carry_out(0, asks)
            }
            Event::Decider => {
                let Some(mut decider) = self.state.decider else { return Ok(()) };
                let cpu = self.cpu_of(decider.slot).unwrap_or_default();
                let asks = decider.step(&self.state.visible, cpu);
                self.state.decider = Some(decider).filter(|_| !matches!(asks, Asks::Block));
                self.carry_out(decider.slot, asks)
            }
            Event::Schedule(cpu) => self.schedule(cpu),
            Event::Timers => self.under_lock(|core| {
                core.timers(NOW);
            }),
        }
    }

    /// The thread in this slot yields.
    fn give_way(&mut self, slot: usize) -> Result<(), String> {
        let vp = self.threads[slot];
        if let Some(cpu) = self.cpu_of(slot) {
            self.state.yields[cpu] = true;
        }
        self.under_lock(|core| core.yield_now(vp, NOW))
    }

    /// A CPU decides; a decision of the process that is followed must not be stale.
    fn schedule(&mut self, cpu: usize) -> Result<(), String> {
        let followed = |core: &Core, scheduler| core.decided(scheduler).map_or(0, |decided| decided.followed);
        let before = followed(&self.core, self.scheduler);
        let word = self.core.user_page(self.scheduler).map_or(0, |page| page.next[cpu]);
        let mut chosen = None;
        self.under_lock(|core| chosen = core.schedule(cpu as u16, NOW))?;
        (self.state.running[cpu], self.state.yields[cpu]) = (chosen, false);
        self.state.decides = Some(cpu).filter(|_| !self.is_lock_free());
        if followed(&self.core, self.scheduler) == before { Ok(()) } else { self.is_not_stale(cpu, word) }
    }

    /// The maker of the decision that was followed knew all that it had to know: for a loose decision whether the child
    /// wants a CPU, for others whether each child does.
    fn is_not_stale(&self, cpu: usize, word: u64) -> Result<(), String> {
        const LOOSE: u64 = 0x2000;
        let known = if word & LOOSE != 0 { 1 << (word & 0x3f) } else { !1 };
        let (wanting, believed) = (self.page().wanting & known, self.state.believed[cpu] & known);
        if wanting == believed {
            return Ok(());
        }
        Err(format!(
            "a stale decision was followed: {believed:#b} were believed to want a CPU, and {wanting:#b} do"
        ))
    }
}

impl Model for Decision {
    type State = DecisionState;
    type Step = Event;

    fn state(&self) -> DecisionState {
        DecisionState { core: self.core.snapshot(), state: self.state }
    }

    fn state_into(&self, other: &mut DecisionState) {
        self.core.snapshot_into(&mut other.core);
        other.state = self.state;
    }

    fn set(&mut self, state: &DecisionState) {
        self.core.restore(&state.core);
        self.state = state.state;
    }

    fn key(&mut self) -> u128 {
        let mut digest = Digest::default();
        add_core(&mut digest, &self.core.image());
        let State { visible, unwritten, agent, decider, running, yields, decides, believed } = &self.state;
        let page = self.page();
        // What is not visible yet.
        let last = page.ring[page.events as usize % EVENTS];
        [page.events, page.wanting, last].iter().for_each(|word| digest.add(*word));
        [visible.events, visible.wanting].iter().chain(&visible.ring).for_each(|word| digest.add(*word));
        unwritten.iter().for_each(|word| digest.add(word.map_or(0, |word| word as u64 + 1)));
        digest.add(match agent.next {
            AgentStep::Events => 0,
            AgentStep::Wanting => 1,
            AgentStep::Answered => 2,
            AgentStep::Park => 3,
            AgentStep::InKernel => 4,
            AgentStep::Next(cpu) => 5 + cpu as u64,
            AgentStep::Ring(number) => 5 + MAX_CPUS as u64 + number,
        });
        [agent.events, agent.seen, agent.wanting].iter().for_each(|word| digest.add(*word));
        digest.add(decider.map_or(0, |decider| (decider.slot as u64) << 8 | decider.next as u64));
        digest.add(decider.map_or(0, |decider| decider.events << 32 | decider.wanting));
        running.iter().for_each(|vp| digest.add(vp.unwrap_or_default().0.into()));
        yields.iter().for_each(|yields| digest.add((*yields).into()));
        digest.add(decides.map_or(0, |cpu| cpu as u64 + 1));
        believed.iter().for_each(|wanting| digest.add(*wanting));
        digest.key()
    }

    fn list_events(&mut self, events: &mut Vec<Event>) {
        if !self.is_lock_free() {
            return;
        }
        for slot in 1..SLOTS {
            if self.core.state(self.threads[slot]) == VpState::Waiting {
                events.push(Event::Wake(slot));
                continue;
            }
            let decides = self.state.decider.is_some_and(|decider| decider.slot == slot);
            match self.cpu_of(slot) {
                Some(_) if decides => {}
                Some(_) => {
                    events.extend([Event::Block(slot), Event::Yield(slot)]);
                    if self.state.decider.is_none() {
                        events.push(Event::Decide(slot));
                    }
                }
                None => events.push(Event::Block(slot)),
            }
        }
    }

    fn list_due(&mut self, steps: &mut Vec<Event>) {
        let is_lock_free = self.is_lock_free();
        if !is_lock_free {
            steps.push(Event::Publish);
        }
        let parks = self.state.agent.next == AgentStep::Park;
        let agent_goes_on = self.cpu_of(0).is_some();
        if agent_goes_on && (is_lock_free || !parks) {
            steps.push(Event::Agent);
        }
        if let Some(decider) = self.state.decider {
            let blocks = decider.next == DeciderStep::Block;
            if self.cpu_of(decider.slot).is_some() && (is_lock_free || !blocks) {
                steps.push(Event::Decider);
            }
        }
        if is_lock_free {
            let kick = self.core.kick();
            steps.extend((0..self.cpus).filter(|cpu| (kick >> cpu) & 1 == 1).map(Event::Schedule));
            if self.core.timer_at() <= NOW {
                steps.push(Event::Timers);
            }
        }
    }

    fn describe(&self, event: Event) -> String {
        event.to_string()
    }

    fn perform(&mut self, event: Event) -> Result<(), String> {
        self.happen(event)?;
        if self.cpu_of(0).is_some() {
            self.state.agent.has_cpu(self.orders);
        }
        Ok(())
    }

    /// Whenever nothing is due: the core's invariants; and a parked agent has seen all that it was asked about.
    fn check(&mut self) -> Result<(), String> {
        let mut due = vec![];
        self.list_due(&mut due);
        if !due.is_empty() {
            return Ok(());
        }
        self.core.check().map_err(|fault| fault.to_string())?;
        let is_parked = self.core.vp(self.threads[0]).is_some_and(|vp| vp.throttled);
        let (asked, seen) = (self.page().asked, self.state.agent.seen);
        if is_parked && asked > seen {
            return Err(format!("the agent is parked, was asked about event {asked}, and has seen {seen}"));
        }
        Ok(())
    }
}
