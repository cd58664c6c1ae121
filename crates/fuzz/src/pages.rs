//! What processes write into the pages of their schedulers, beside what happens to the threads: one input is a machine,
//! a hierarchy, and a sequence of events in it.
//!
//! ```text
//!   root (fixed-priority) ── neighbour, which comes before all
//!     └─ a scheduler of a process, with VPs for as many CPUs
//!          ├─ its agent, and two threads
//!          └─ the next one, up to three below each other
//! ```
//!
//! The first byte says how many CPUs, the second how many schedulers, the third which of them are sealed. After that
//! each byte is an event, by [`Input::event`], and the bytes that follow it are its arguments. Where an input has ended
//! they are zero. Decisions come to an end, and then the core's invariants hold, no thread is on two CPUs, the
//! neighbour has a CPU if it wants one, and no agent has had more than its allowance.

use hls_core::pages::{HELD, Knows, UserWord, decision, slice};
use hls_core::{About, CoreVp, Params, PolicyInfo, VpState, policies};
use hls_scenario::{Event, EventInWords, Stage};
use hls_units::Nanos;

/// Events of an input that count.
const EVENTS: usize = 300;
/// Each agent's allowance, and its period.
const ALLOWANCE: Nanos = Nanos::from_millis(1);
const EVERY: Nanos = Nanos::from_millis(4);
/// The script's numbers of the root, and of the thread that comes before all.
const ROOT: usize = 0;
const NEIGHBOUR: usize = 0;
/// Its priority; threads that move below the root have less.
const GREATEST: u64 = 9;
/// Threads of a scheduler: the agent is the first.
const THREADS: usize = 3;
/// Any slot that is free.
const ANY: u64 = 64;

pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input { bytes, depth: 0, threads: 0 };
    let (cpus, depth, sealed) = (1 + input.below(4) as u16, 1 + input.below(3) as usize, input.byte());
    (input.depth, input.threads) = (depth, depth * THREADS);
    let mut trial = Trial { stage: Stage::new(cpus, None), depth, performed: 0 };
    trial.begin(cpus, sealed);
    while !input.bytes.is_empty() && trial.performed < EVENTS {
        let event = input.event(cpus);
        trial.perform(&event);
    }
    trial.perform(&Event::Settle);
}

fn policy(name: &str) -> &'static PolicyInfo {
    policies().iter().find(|policy| policy.name == name).expect("it is built in")
}

/// A scheduler with this policy, and `given` as its first parameters; the others have their presets.
fn scheduler(number: usize, name: &str, given: &[u64], below: Vec<(usize, Params)>) -> Event {
    let policy = policy(name);
    let mut params: Vec<u64> =
        policy.scheduler_params.iter().map(|param| param.default.unwrap_or(param.min)).collect();
    params[..given.len()].copy_from_slice(given);
    Event::Scheduler { number, policy: policy.id, params: Params::from_slice(&params), below }
}

/// The script's number of the agent of a scheduler, from 1 on.
fn agent(scheduler: usize) -> usize {
    1 + (scheduler - 1) * THREADS
}

struct Trial {
    stage: Stage,
    depth: usize,
    performed: usize,
}

impl Trial {
    /// Builds the hierarchy, in which all threads except the neighbour want a CPU.
    fn begin(&mut self, cpus: u16, sealed: u8) {
        let one = |params: &[u64]| Params::from_slice(params);
        self.perform(&scheduler(ROOT, "fixed-priority", &[], Vec::new()));
        self.perform(&Event::Thread { number: NEIGHBOUR, below: ROOT, params: one(&[GREATEST]) });
        for number in 1..=self.depth {
            let given = [ALLOWANCE.0, EVERY.0, u64::from(sealed >> number & 1)];
            let place = if number == 1 { one(&[1]) } else { one(&[1, ANY]) };
            self.perform(&scheduler(number, "user-level", &given, vec![(number - 1, place); cpus.into()]));
            for thread in 0..THREADS {
                let slot = if thread == 0 { 0 } else { ANY };
                let params = one(&[thread as u64, slot]);
                self.perform(&Event::Thread { number: agent(number) + thread, below: number, params });
                self.perform(&Event::Call(agent(number) + thread, About::request()));
            }
        }
        let last = agent(self.depth) + THREADS - 1;
        assert!(self.stage.vp(last).is_some(), "the hierarchy is not there");
    }

    fn perform(&mut self, event: &Event) {
        self.performed += 1;
        if let Err(failure) = self.stage.perform(event) {
            panic!("event {}, {}: {failure}", self.performed, EventInWords(event, policies()));
        }
        if matches!(event, Event::Settle | Event::Pass(_)) {
            self.look(event);
        }
    }

    /// Checks the state after all decisions were taken.
    fn look(&self, event: &Event) {
        let in_words = || format!("event {}, {}", self.performed, EventInWords(event, policies()));
        let machine = &self.stage.machine;
        let state = |vp: CoreVp| machine.core.vp(vp).map(|vp| vp.state);
        if let Some(neighbour) = self.stage.vp(NEIGHBOUR) {
            assert_ne!(state(neighbour), Some(VpState::Ready), "{}: the neighbour waits", in_words());
        }
        let most = ALLOWANCE.0 * (1 + machine.now.0.div_ceil(EVERY.0));
        for vp in (1..=self.depth).filter_map(|scheduler| self.stage.vp(agent(scheduler))) {
            let ran = machine.core.ran(vp, machine.now).0;
            assert!(ran <= most, "{}: the agent {vp} ran for {ran} of {most} ns", in_words());
        }
    }
}

/// The rest of an input.
struct Input<'b> {
    bytes: &'b [u8],
    depth: usize,
    /// How many threads there have been beside the neighbour.
    threads: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number of `0..below`.
    fn below(&mut self, below: usize) -> u64 {
        u64::from(self.byte()) % below as u64
    }

    /// A word of eight bytes.
    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Up to 4 ms, the shortest first.
    fn time(&mut self) -> Nanos {
        let byte = u64::from(self.byte());
        Nanos(byte * byte * 64)
    }

    /// Any thread except the neighbour.
    fn thread(&mut self) -> usize {
        1 + self.below(self.threads) as usize
    }

    /// A thread that is no agent, or was none at first.
    fn no_agent(&mut self) -> usize {
        let thread = self.thread();
        let is_agent = (1..=self.depth).any(|scheduler| agent(scheduler) == thread);
        if is_agent { thread + 1 } else { thread }
    }

    fn scheduler(&mut self) -> usize {
        1 + self.below(self.depth) as usize
    }

    /// A thread's place below a scheduler of a process.
    fn place(&mut self) -> Params {
        Params::from_slice(&[self.below(4), self.below(ANY as usize + 1), self.byte().into()])
    }

    fn event(&mut self, cpus: u16) -> Event {
        match self.below(24) {
            0..2 => Event::Call(self.thread(), About::request()),
            2 => Event::Call(self.thread(), About::release()),
            3..5 => Event::Call(self.thread(), About::yield_now()),
            5 => Event::Call(self.thread(), About::stall()),
            6 => Event::Call(NEIGHBOUR, About::request()),
            7 => Event::Call(NEIGHBOUR, About::release()),
            8..10 => Event::Pass(self.time()),
            10..12 => Event::Settle,
            12 => Event::Reach,
            13 => Event::Steal(self.below(cpus.into()) as u16, self.time()),
            14 => Event::Call(self.thread(), About::set_affinity(self.word())),
            15 => {
                self.threads += 1;
                Event::Thread { number: self.threads, below: self.scheduler(), params: self.place() }
            }
            16 => Event::Leave(self.no_agent()),
            17 => Event::Move(self.no_agent(), self.below(self.depth + 1) as usize, self.place()),
            18 => {
                let (thread, param) = (self.no_agent(), self.below(3) as u32);
                let value = if param == 0 { self.below(4) } else { self.byte().into() };
                Event::Call(thread, About::set_param(param, value))
            }
            19 if self.below(2) == 0 => Event::Offline(self.below(cpus.into()) as u16),
            19 => Event::Online(self.below(cpus.into()) as u16),
            20 => Event::RenewPages(self.scheduler() - 1),
            _ => self.written(cpus),
        }
    }

    /// A word of a page: one that means something to the scheduler, or any.
    fn written(&mut self, cpus: u16) -> Event {
        let scheduler = self.scheduler() - 1;
        let slot = self.below(8) as usize;
        let (word, value) = match self.below(8) {
            0 => (UserWord::Answered, self.byte().into()),
            1 => (UserWord::WakeAt, self.time().0 * 16),
            2 => (UserWord::Touched, self.byte().into()),
            3 => (UserWord::At(3 + slot), self.byte().into()),
            4 => (UserWord::Next(self.below(cpus.into()) as usize), self.decision()),
            5 => (UserWord::Urgency(slot), u64::from(self.byte()).checked_sub(1).unwrap_or(HELD)),
            6 => (UserWord::Slice(slot), slice(self.byte().into(), self.time().0)),
            _ => (UserWord::At(self.word() as usize % (UserWord::COUNT + 1)), self.word()),
        };
        Event::WritePage { scheduler, word: word.place(), value }
    }

    /// A decision: in place of the last event that it knows it has the number of events that it lacks.
    fn decision(&mut self) -> u64 {
        let knows = match self.below(4) {
            0 => Knows::All,
            1 => Knows::After(self.below(8) as usize),
            _ => Knows::Child,
        };
        decision(self.below(3), knows, self.below(8) as usize)
    }
}
