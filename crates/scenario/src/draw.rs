//! Draws scripts from seeds: a hierarchy of some depth on a few CPUs, and threads that arrive, leave, move and send
//! messages in it, often at the very instant at which something else happens.
//!
//! Draws whether the core will accept an event or not: an event that it refuses does nothing.

use crate::random::Random;
use crate::{Event, Script};
use hls_core::pages::{EVENT_KINDS, HELD, Knows, PageEvent, UserWord, decision, slice};
use hls_core::{ParamInfo, Params, PolicyInfo, Unit, limits};
use hls_units::Nanos;
use std::mem::take;

const MS: u64 = 1_000_000;

/// No time below this one is drawn, unless a policy allows no other: it would only make more events.
const MIN_TIME: u64 = MS / 10;

impl Script {
    /// Draws the script of a seed: a hierarchy of schedulers with these policies, and `steps` steps of threads below
    /// them. Half of the schedulers have the policy `tried`, if there is one.
    pub fn draw(seed: u64, steps: u32, policies: &[PolicyInfo], tried: Option<&PolicyInfo>) -> Script {
        let mut random = Random(seed);
        let cpus = 1 + random.below(4) as u16;
        let policies: Vec<&PolicyInfo> = policies.iter().collect();
        let mut drawer = Drawer { random, cpus, policies, tried, ..Drawer::default() };
        drawer.draw_hierarchy();
        (0..steps).for_each(|_| drawer.draw_step());
        drawer.events.push(Event::Settle);
        let alone = take(&mut drawer.threads).into_iter().map(|thread| Event::Alone(thread, Nanos(50 * MS)));
        drawer.events.extend(alone);
        Script { cpus, events: drawer.events }
    }
}

/// A script that is being drawn.
struct Drawer<'p> {
    random: Random,
    cpus: u16,
    policies: Vec<&'p PolicyInfo>,
    tried: Option<&'p PolicyInfo>,
    /// The policy of each scheduler, if the core refuses no event.
    schedulers: Vec<&'p PolicyInfo>,
    /// The numbers of the threads that have arrived and not left, if the core refuses no event.
    threads: Vec<usize>,
    /// How many threads have arrived.
    arrivals: usize,
    events: Vec<Event>,
}

impl Default for Drawer<'_> {
    fn default() -> Self {
        Drawer {
            random: Random(0),
            cpus: 1,
            policies: Vec::new(),
            tried: None,
            schedulers: Vec::new(),
            threads: Vec::new(),
            arrivals: 0,
            events: Vec::new(),
        }
    }
}

/// Draws the hierarchy.
impl<'p> Drawer<'p> {
    fn policy(&mut self) -> Option<&'p PolicyInfo> {
        match self.tried {
            Some(tried) if self.random.once_in(2) => Some(tried),
            _ => self.random.pick(&self.policies).copied(),
        }
    }

    fn draw_hierarchy(&mut self) {
        let root = (0..100).find_map(|_| self.policy().filter(|policy| policy.max_children > 1));
        let Some(root) = root else { return };
        self.scheduler(root, Vec::new());
        // One hierarchy in eight is as deep as the core allows, and a little deeper, which the core refuses.
        let is_deep = self.random.once_in(8);
        for _ in 0..if is_deep { limits::MAX_DEPTH as u64 + 2 } else { self.random.below(8) } {
            let Some(policy) = self.policy() else { return };
            let last = self.schedulers.len() - 1;
            let above = if is_deep { last } else { self.random.below(last as u64 + 1) as usize };
            let mut below = Vec::new();
            for _ in 0..=self.random.below(self.cpus.into()) {
                below.push((above, self.params(&self.schedulers[above].vp_params)));
            }
            if policy.properties.joins {
                let other = self.random.below(last as u64 + 1) as usize;
                below.push((other, self.params(&self.schedulers[other].vp_params)));
            }
            self.scheduler(policy, below);
        }
        (0..12).for_each(|_| self.arrive());
        for thread in self.threads.clone() {
            if self.random.once_in(3) {
                let cpus = self.some_cpus();
                self.events.push(Event::Bind(thread, cpus));
            }
        }
    }

    fn scheduler(&mut self, policy: &'p PolicyInfo, below: Vec<(usize, Params)>) {
        let params = self.params(&policy.scheduler_params);
        let number = self.schedulers.len();
        self.schedulers.push(policy);
        self.events.push(Event::Scheduler { number, policy: policy.id, params, below });
    }

    fn some_cpus(&mut self) -> u64 {
        1 + self.random.below((1 << self.cpus) - 1)
    }

    /// Draws values in the ranges that a policy states. Times without a default are sorted, as no budget is longer than
    /// the period that follows it.
    fn params(&mut self, infos: &[ParamInfo]) -> Params {
        let mut values: Vec<u64> = infos.iter().map(|info| self.value(info)).collect();
        let is_given = |info: &ParamInfo| info.default.is_none() && info.unit == Unit::Time;
        let mut times: Vec<u64> =
            infos.iter().zip(&values).filter(|(info, _)| is_given(info)).map(|(_, value)| *value).collect();
        times.sort_unstable();
        let given = infos.iter().zip(&mut values).filter(|(info, _)| is_given(info));
        given.zip(times).for_each(|((info, value), time)| *value = time.clamp(info.min, info.max));
        Params::from_slice(&values)
    }

    fn value(&mut self, info: &ParamInfo) -> u64 {
        if let Some(default) = info.default.filter(|_| self.random.once_in(2)) {
            return default;
        }
        let range = info.max.saturating_sub(info.min);
        let usual = !self.random.once_in(8);
        match info.unit {
            Unit::Time if usual => (MS * (1 + self.random.below(40))).clamp(info.min, info.max),
            Unit::Time => (MIN_TIME << self.random.below(12)).clamp(info.min, info.max),
            Unit::Count if usual => info.min + self.random.below(range.min(4) + 1),
            Unit::Count => info.min + self.random.below(range.saturating_add(1)).min(range),
        }
    }
}

/// Draws what happens in the hierarchy.
impl Drawer<'_> {
    /// Lets time pass, and something happen to a thread.
    fn draw_step(&mut self) {
        let length = Nanos(self.random.below(8 * MS));
        match self.random.below(16) {
            0 | 1 => {
                let cpu = self.random.below(self.cpus.into()) as u16;
                self.events.extend([Event::Steal(cpu, Nanos(length.0 / 8)), Event::Pass(length)]);
            }
            2 | 3 => self.events.push(Event::Reach),
            _ => self.events.push(Event::Pass(length)),
        }
        if self.random.once_in(16) {
            self.storm();
        }
        self.write_pages();
        match self.random.pick(&self.threads) {
            Some(&thread) => self.draw_event(thread),
            None => self.arrive(),
        }
        // Several things may happen at one instant before the CPUs decide.
        if self.random.below(3) > 0 {
            self.events.push(Event::Settle);
        }
    }

    /// Lets threads wake up and block while no time passes.
    fn storm(&mut self) {
        for _ in 0..self.random.below(40) {
            let Some(&thread) = self.random.pick(&self.threads) else { return };
            let event = match self.random.below(4) {
                0 => Event::Settle,
                1 => Event::Block(thread),
                _ => Event::Wake(thread),
            };
            self.events.push(event);
        }
    }

    /// Lets the processes of schedulers that have pages write into them: decisions and what goes with them, or
    /// anything.
    fn write_pages(&mut self) {
        let paged = self.schedulers.iter().filter(|policy| policy.properties.has_pages).count() as u64;
        if paged == 0 {
            return;
        }
        if self.random.once_in(32) {
            let scheduler = self.random.below(paged) as usize;
            self.events.push(Event::RenewPages(scheduler));
        }
        for _ in 0..self.random.below(4) {
            let scheduler = self.random.below(paged) as usize;
            let (word, value) = match self.random.below(8) {
                0 => (UserWord::At(self.random.below(UserWord::COUNT as u64) as usize), self.random.word()),
                _ => self.sensible_word(),
            };
            self.events.push(Event::WritePage { scheduler, word: word.place(), value });
        }
    }

    /// A word of a user page, and what an agent might write there. The first slots are those that have children.
    fn sensible_word(&mut self) -> (UserWord, u64) {
        let slot = self.random.below(8) as usize;
        match self.random.below(8) {
            0 => (UserWord::Answered, self.random.below(2)),
            1 => (UserWord::WakeAt, self.random.below(1000) * MS),
            2 => (UserWord::Touched, self.random.below(256)),
            3 => {
                let kind = PageEvent::from_number(self.random.below(EVENT_KINDS as u64) as u8)
                    .expect("there are as many");
                (UserWord::Ask(kind), self.random.below(256))
            }
            4 | 5 => {
                let knows = match self.random.below(3) {
                    0 => Knows::All,
                    1 => Knows::Child,
                    _ => Knows::After(self.random.below(8) as usize),
                };
                let lacks = if self.random.once_in(2) { 0 } else { self.random.below(4) };
                (UserWord::Next(self.random.below(self.cpus.into()) as usize), decision(lacks, knows, slot))
            }
            6 if self.random.once_in(8) => (UserWord::Urgency(slot), HELD),
            6 => (UserWord::Urgency(slot), self.random.below(8)),
            _ => {
                let number = self.random.below(4) as u16;
                (UserWord::Slice(slot), slice(number, self.random.below(4 * MS)))
            }
        }
    }

    fn draw_event(&mut self, thread: usize) {
        let event = match self.random.below(16) {
            0..6 => Event::Wake(thread),
            6..9 => Event::Block(thread),
            9 if self.random.once_in(4) => Event::Suspend(thread),
            9 => Event::Stall(thread),
            10 if self.random.once_in(4) => Event::Resume(thread),
            10 => Event::Yield(thread),
            11 if self.random.once_in(2) => self.offline_or_online(),
            11 => Event::Bind(thread, self.some_cpus()),
            12 => {
                self.threads.retain(|&other| other != thread);
                Event::Leave(thread)
            }
            13 => return self.arrive(),
            14 => self.message(thread),
            _ if self.random.once_in(4) => return self.replace(),
            _ => {
                let to = self.random.below(self.schedulers.len() as u64) as usize;
                Event::Move(thread, to, self.params(&self.schedulers[to].vp_params))
            }
        };
        self.events.push(event);
    }

    fn arrive(&mut self) {
        let below = self.random.below(self.schedulers.len() as u64) as usize;
        let Some(policy) = self.schedulers.get(below) else { return };
        let params = self.params(&policy.vp_params);
        self.events.push(Event::Thread { number: self.arrivals, below, params });
        self.threads.push(self.arrivals);
        self.arrivals += 1;
    }

    /// Lets a thread set a parameter, or send its scheduler a message, which the scheduler's policy may not have.
    fn message(&mut self, thread: usize) -> Event {
        let messages = self.tried.map_or(&[][..], |tried| &tried.messages);
        let number = self.random.below(messages.len() as u64 + 1);
        match messages.get(number as usize) {
            Some(message) => Event::Tell(thread, number as u32, self.params(&message.fields)),
            None if self.random.once_in(4) => Event::Tell(thread, number as u32, Params::default()),
            None => {
                let value = self.random.below(40) * MS.pow(self.random.below(2) as u32);
                Event::Set(thread, self.random.below(3) as u32, value)
            }
        }
    }

    /// Takes a CPU offline, which the core refuses for the last one, or online again.
    fn offline_or_online(&mut self) -> Event {
        let cpu = self.random.below(self.cpus.into()) as u16;
        if self.random.below(3) > 0 { Event::Online(cpu) } else { Event::Offline(cpu) }
    }

    /// Gives a scheduler another policy in the place of its own, which the core may refuse.
    fn replace(&mut self) {
        let Some(policy) = self.policy() else { return };
        let at = self.random.below(self.schedulers.len() as u64) as usize;
        let params = self.params(&policy.scheduler_params);
        self.events.push(Event::Replace(at, policy.id, params));
        if policy.properties.joins == self.schedulers[at].properties.joins {
            self.schedulers[at] = policy;
        }
    }
}
