//! Draws scripts from seeds: a hierarchy of some depth on a few CPUs, and threads that arrive, leave, move and send
//! messages in it, often at the very instant at which something else happens.
//!
//! Draws whether the core will accept an event or not: an event that it refuses does nothing.

use crate::params::{Place, WholeCpu, in_order};
use crate::random::Random;
use crate::tree::{Tree, What};
use crate::{Event, Script};
use hls_core::pages::{EVENT_KINDS, HELD, Knows, PageEvent, UserWord, decision, slice};
use hls_core::{About, ParamInfo, Params, PolicyInfo, limits};
use hls_units::Nanos;
use std::mem::take;

const MS: u64 = 1_000_000;

/// How many threads there are when the hierarchy is complete.
const THREADS: usize = 12;

impl Script {
    /// Draws the script of a seed: a hierarchy of schedulers with these policies, and `steps` steps of threads below
    /// them. Half of the schedulers have the policy `tried`, if there is one.
    pub fn draw(seed: u64, steps: u32, policies: &[PolicyInfo], tried: Option<&PolicyInfo>) -> Script {
        let mut random = Random::new(seed, 0);
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
            random: Random::new(0, 0),
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
        let mut tree = Tree::new(());
        self.grow(&mut tree, 0, root);
        // One hierarchy in eight is as deep as the core allows, and a little deeper, which the core refuses.
        let is_deep = self.random.once_in(8);
        for _ in 0..if is_deep { limits::MAX_DEPTH as u64 + 2 } else { self.random.below(8) } {
            let Some(policy) = self.policy() else { break };
            let places = tree.places();
            let (Some(&last), Some(&any)) = (places.last(), self.random.pick(&places)) else { break };
            let at = if is_deep { last } else { any };
            match self.random.pick(&places) {
                Some(&other) if policy.properties.joins && other != at => tree.join([at, other], policy, &()),
                _ => self.grow(&mut tree, at, policy),
            }
        }
        self.events_of(&tree);
        (self.threads.len()..THREADS).for_each(|_| self.arrive());
        for thread in self.threads.clone() {
            if self.random.once_in(3) {
                let cpus = self.some_cpus();
                self.events.push(Event::Call(thread, About::set_affinity(cpus)));
            }
        }
    }

    /// Puts a scheduler in the place of a thread: half of them with children that fit together, the others with
    /// whatever their policies allow.
    fn grow(&mut self, tree: &mut Tree<'p, ()>, at: usize, policy: &'p PolicyInfo) {
        let place = Place { held: &WholeCpu, cpus: self.cpus.into(), is_roomy: self.random.once_in(4) };
        tree.grow(&mut self.random, at, policy, &place, &());
        if self.random.once_in(2) {
            if let What::Scheduler(scheduler) = &mut tree.nodes[at].what {
                scheduler.params = self.random.any_params(&policy.scheduler_params);
            }
            for child in tree.children(at) {
                tree.nodes[child].above[0].params = self.random.any_params(&policy.vp_params);
            }
        }
    }

    /// The schedulers of a hierarchy come, and then some of its threads.
    fn events_of(&mut self, tree: &Tree<'p, ()>) {
        let mut numbers = vec![0; tree.nodes.len()];
        for (at, node) in tree.nodes.iter().enumerate() {
            let Some(scheduler) = tree.scheduler(at) else { continue };
            let mut below = Vec::new();
            for edge in &node.above {
                let (above, infos) = (numbers[edge.parent], &self.schedulers[numbers[edge.parent]].vp_params);
                below.push((above, in_order(infos, &edge.params)));
            }
            // More VPs of the first parent, which may differ.
            for _ in 0..if below.is_empty() { 0 } else { self.random.below(self.cpus.into()) } {
                let (above, same) = below[0];
                let other = self.params(&self.schedulers[above].vp_params);
                below.push((above, if self.random.once_in(2) { same } else { other }));
            }
            numbers[at] = self.schedulers.len();
            let (number, policy) = (numbers[at], scheduler.policy);
            let params = in_order(&policy.scheduler_params, &scheduler.params);
            self.schedulers.push(policy);
            self.events.push(Event::Scheduler { number, policy: policy.id, params, below });
        }
        let mut threads = tree.threads();
        while threads.len() > THREADS {
            threads.swap_remove(self.random.below(threads.len() as u64) as usize);
        }
        for thread in threads {
            let edge = &tree.nodes[thread].above[0];
            let below = numbers[edge.parent];
            let params = in_order(&self.schedulers[below].vp_params, &edge.params);
            self.thread(below, params);
        }
    }

    fn some_cpus(&mut self) -> u64 {
        1 + self.random.below((1 << self.cpus) - 1)
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
                1 => Event::Call(thread, About::release()),
                _ => Event::Call(thread, About::request()),
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
            0..6 => Event::Call(thread, About::request()),
            6 if self.random.once_in(4) => Event::Call(thread, About::owe(Nanos(self.random.below(4 * MS)))),
            6..9 => Event::Call(thread, About::release()),
            9 if self.random.once_in(4) => Event::Call(thread, About::suspend(true)),
            9 => Event::Call(thread, About::stall()),
            10 if self.random.once_in(4) => Event::Call(thread, About::suspend(false)),
            10 => Event::Call(thread, About::yield_now()),
            11 if self.random.once_in(2) => self.offline_or_online(),
            11 => Event::Call(thread, About::set_affinity(self.some_cpus())),
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
        self.thread(below, params);
    }

    fn thread(&mut self, below: usize, params: Params) {
        self.events.push(Event::Thread { number: self.arrivals, below, params });
        self.threads.push(self.arrivals);
        self.arrivals += 1;
    }

    /// Draws values in the ranges that a policy states.
    fn params(&mut self, infos: &[ParamInfo]) -> Params {
        in_order(infos, &self.random.any_params(infos))
    }

    /// Lets a thread set a parameter, or send its scheduler a message, which the scheduler's policy may not have.
    fn message(&mut self, thread: usize) -> Event {
        let messages = self.tried.map_or(&[][..], |tried| &tried.messages);
        let number = self.random.below(messages.len() as u64 + 1);
        match messages.get(number as usize) {
            Some(message) => Event::Call(thread, About::tell(number as u32, self.params(&message.fields))),
            None if self.random.once_in(4) => {
                Event::Call(thread, About::tell(number as u32, Params::default()))
            }
            None => {
                let value = self.random.below(40) * MS.pow(self.random.below(2) as u32);
                Event::Call(thread, About::set_param(self.random.below(3) as u32, value))
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
