//! Carries out the events of scripts on a machine, and knows the core's numbers of a script's schedulers and threads.

use crate::{Event, Failure, Machine};
use hls_core::pages::UserWord;
use hls_core::{About, Calls, CoreError, CoreScheduler, CoreVp, Library, Params, View, VpState, policies};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Words of a user page by their places: see [`Event::WritePage`].
const ANSWERED: usize = UserWord::Answered.place();
const DECISIONS: Range<usize> = UserWord::Next(0).place()..UserWord::Urgency(0).place();

/// A machine with the schedulers and threads of a script.
pub struct Stage {
    /// The machine.
    pub machine: Machine,
    /// The core's number of each scheduler, by its number in the script.
    schedulers: BTreeMap<usize, CoreScheduler>,
    /// The core's VP of each thread, by its number in the script.
    threads: BTreeMap<usize, CoreVp>,
    /// The numbers of the loaded policies that take messages, and of those that have pages.
    waiting_policies: Vec<u8>,
    /// Whether a scheduler has or had such a policy: then a thread may wait for a message, or for what a process
    /// writes, and is not stuck.
    may_wait: bool,
    /// Whether it is no failure that the core takes a policy out: then the script goes on with what that leaves behind.
    pub forgives: bool,
}

impl Stage {
    /// A machine without schedulers and threads, with this build of the core; `None`: the one that is built in.
    pub fn new(cpus: u16, library: Option<Arc<Library>>) -> Stage {
        let loaded = library.iter().flat_map(|library| library.loaded());
        let with_messages = loaded.filter(|policy| !policy.messages.is_empty());
        let with_pages = policies().iter().filter(|policy| policy.properties.has_pages);
        let waiting_policies = with_messages.chain(with_pages).map(|policy| policy.id).collect();
        let machine = Machine::new(cpus, library);
        let (schedulers, threads) = (BTreeMap::new(), BTreeMap::new());
        Stage { machine, schedulers, threads, waiting_policies, may_wait: false, forgives: false }
    }

    /// Carries out an event; an error where the core breaks its rules.
    pub fn perform(&mut self, event: &Event) -> Result<(), Failure> {
        // An event that the core refuses has no effect, and is no failure.
        let _refused = match event {
            Event::Pass(_) | Event::Reach | Event::Steal(..) | Event::Settle | Event::Alone(..) => {
                self.machine.settle()?;
                self.carry_out_when_settled(event)?;
                Ok(())
            }
            Event::Scheduler { number, policy, params, below } => {
                self.add_scheduler(*number, *policy, *params, below)
            }
            Event::Thread { number, below, params } => self.add_thread(*number, *below, *params),
            Event::Move(thread, to, params) => self.move_thread(*thread, *to, *params),
            Event::Replace(scheduler, policy, params) => self.replace(*scheduler, *policy, *params),
            Event::WritePage { scheduler, word, value } => self.write_page(*scheduler, *word, *value),
            Event::RenewPages(scheduler) => self.renew_pages(*scheduler),
            Event::Offline(cpu) => self.machine.offline(*cpu),
            Event::Online(cpu) => self.machine.core.online(*cpu, self.machine.now),
            Event::Call(thread, about) => self.call(*thread, *about),
            Event::Leave(thread) => self.remove_thread(*thread),
        };
        match self.machine.disabled_policies.last() {
            Some(disabled) if !self.forgives => Err(Failure::PolicyDisabled(*disabled)),
            _ => Ok(()),
        }
    }

    /// The number in the script of the thread that has this VP in the core.
    pub fn thread(&self, vp: CoreVp) -> Option<usize> {
        self.threads.iter().find(|(_, known)| **known == vp).map(|(number, _)| *number)
    }

    /// The number in the script of the scheduler that has this number in the core.
    pub fn scheduler(&self, s: CoreScheduler) -> Option<usize> {
        self.schedulers.iter().find(|(_, known)| **known == s).map(|(number, _)| *number)
    }

    /// The core's VP of a thread of the script.
    pub fn vp(&self, thread: usize) -> Option<CoreVp> {
        self.threads.get(&thread).copied()
    }

    /// Carries out an event that takes time, after all decisions that were due before.
    fn carry_out_when_settled(&mut self, event: &Event) -> Result<(), Failure> {
        let machine = &mut self.machine;
        match event {
            Event::Pass(length) => machine.run_until(machine.now + *length),
            Event::Reach => {
                let next = machine.due();
                machine.now = if next < Nanos::MAX { next } else { machine.now };
                Ok(())
            }
            Event::Steal(cpu, length) => machine.interrupt(*cpu, *length),
            Event::Alone(thread, length) => self.alone(*thread, *length),
            _ => Ok(()),
        }
    }

    fn add_scheduler(
        &mut self,
        number: usize,
        policy: u8,
        params: Params,
        below: &[(usize, Params)],
    ) -> Result<(), CoreError> {
        self.may_wait |= self.waiting_policies.contains(&policy);
        let core = &mut self.machine.core;
        let s = core.create_scheduler(policy, params)?;
        if number % 2 == 1 {
            core.let_pay(s)?;
        }
        let mut is_attached = false;
        for (above, params) in below {
            let parent = self.schedulers.get(above);
            is_attached |= parent.is_some_and(|&parent| core.attach(parent, Some(s), *params).is_ok());
        }
        if below.is_empty() {
            is_attached = self.machine.make_root(s).is_ok();
        }
        if is_attached {
            self.schedulers.insert(number, s);
            return Ok(());
        }
        self.machine.core.destroy_scheduler(s)
    }

    fn add_thread(&mut self, number: usize, below: usize, params: Params) -> Result<(), CoreError> {
        let parent = *self.schedulers.get(&below).ok_or(CoreError::NotFound)?;
        let vp = self.machine.core.attach(parent, None, params)?;
        self.threads.insert(number, vp);
        self.machine.core.watch(vp, number % 2 == 1)
    }

    fn remove_thread(&mut self, thread: usize) -> Result<(), CoreError> {
        let vp = self.vp(thread).ok_or(CoreError::NotFound)?;
        self.machine.core.detach(vp, self.machine.now)?;
        self.threads.remove(&thread);
        Ok(())
    }

    fn call(&mut self, thread: usize, about: About) -> Result<(), CoreError> {
        let vp = self.vp(thread).ok_or(CoreError::NotFound)?;
        self.machine.core.make_about(vp, about, self.machine.now).map(drop)
    }

    fn move_thread(&mut self, thread: usize, to: usize, params: Params) -> Result<(), CoreError> {
        let vp = self.vp(thread).ok_or(CoreError::NotFound)?;
        let to = *self.schedulers.get(&to).ok_or(CoreError::NotFound)?;
        self.machine.core.move_to(vp, to, params, self.machine.now)
    }

    fn replace(&mut self, scheduler: usize, policy: u8, params: Params) -> Result<(), CoreError> {
        let s = *self.schedulers.get(&scheduler).ok_or(CoreError::NotFound)?;
        self.may_wait |= self.waiting_policies.contains(&policy);
        self.machine.core.replace(s, policy, params, self.machine.now)
    }

    /// The scheduler at this place in the list of schedulers with pages.
    fn with_pages(&self, scheduler: usize) -> Result<CoreScheduler, CoreError> {
        let mut paged = self.schedulers.values().filter(|&&s| self.machine.core.pages(s).is_some());
        paged.nth(scheduler).copied().ok_or(CoreError::NotFound)
    }

    fn renew_pages(&mut self, scheduler: usize) -> Result<(), CoreError> {
        let s = self.with_pages(scheduler)?;
        self.machine.core.renew_pages(s, self.machine.now)
    }

    fn write_page(&mut self, scheduler: usize, word: usize, value: u64) -> Result<(), CoreError> {
        let s = self.with_pages(scheduler)?;
        let core = &mut self.machine.core;
        let events = core.kernel_page(s).ok_or(CoreError::NotFound)?.events;
        let value = match word {
            ANSWERED => events.wrapping_sub(value),
            _ if DECISIONS.contains(&word) => events.wrapping_sub(value >> 16) << 16 | (value & 0xffff),
            _ => value,
        };
        core.write_page(s, UserWord::At(word), value)
    }

    /// Lets only this thread want a CPU, for this long; an error where the thread is then ready, could run, and nothing
    /// is due that would give it a CPU.
    fn alone(&mut self, thread: usize, length: Nanos) -> Result<(), Failure> {
        let Some(vp) = self.vp(thread) else { return Ok(()) };
        let machine = &mut self.machine;
        for &other in self.threads.values().filter(|&&other| other != vp) {
            machine.core.release(other, machine.now);
        }
        // No effect where it is not suspended.
        let _ = machine.core.suspend(vp, false, machine.now);
        machine.core.request(vp, machine.now);
        machine.settle()?;
        machine.run_until(machine.now + length)?;
        let view: &View = &machine.core;
        let online = view.offline().fold(u64::MAX, |cpus, cpu| cpus & !(1 << cpu));
        let may_run = machine.core.vp(vp).is_some_and(|entry| {
            entry.state == VpState::Ready && entry.usable & online & ((1 << machine.cpus) - 1) != 0
        });
        let is_stuck = may_run && !self.may_wait && !self.forgives && machine.due() == Nanos::MAX;
        if is_stuck { Err(Failure::Stuck(vp)) } else { Ok(()) }
    }
}
