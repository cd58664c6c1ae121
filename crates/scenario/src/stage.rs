//! Where scripts are carried out: a machine, and who is whom there.

use crate::{Event, Failure, Machine};
use hls_core::{Calls, CoreError, Library, Params, View, VpState};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A machine with the schedulers and threads of a script.
pub struct Stage {
    /// The machine.
    pub machine: Machine,
    /// The core's numbers of schedulers, by those of the script.
    schedulers: BTreeMap<usize, u32>,
    /// The VPs of threads, likewise.
    threads: BTreeMap<usize, u32>,
    /// Policies that take messages.
    listening: Vec<u8>,
    /// Whether there was one of them: then a thread may wait for a message.
    may_wait: bool,
    /// Whether policies may be taken out: then what they leave behind is looked at.
    pub forgives: bool,
}

impl Stage {
    /// An empty one.
    pub fn new(cpus: u16, library: Option<Arc<Library>>) -> Stage {
        let listening = library.iter().flat_map(|library| library.loaded());
        let listening =
            listening.filter(|policy| !policy.messages.is_empty()).map(|policy| policy.id).collect();
        let machine = Machine::new(cpus, library);
        let (schedulers, threads) = (BTreeMap::new(), BTreeMap::new());
        Stage { machine, schedulers, threads, listening, may_wait: false, forgives: false }
    }

    /// Has something happen, and looks whether all is as it must be.
    pub fn perform(&mut self, event: &Event) -> Result<(), Failure> {
        // What the core refuses is refused to anybody.
        let _refused = match event {
            Event::Pass(_) | Event::Reach | Event::Steal(..) | Event::Settle | Event::Alone(..) => {
                self.machine.settle()?;
                self.let_pass(event)?;
                Ok(())
            }
            Event::Scheduler { number, policy, params, below } => {
                self.add_scheduler(*number, *policy, *params, below)
            }
            Event::Thread { number, below, params } => self.add_thread(*number, *below, *params),
            Event::Move(thread, to, params) => self.move_thread(*thread, *to, *params),
            Event::Replace(scheduler, policy, params) => self.replace(*scheduler, *policy, *params),
            Event::Offline(cpu) => self.machine.offline(*cpu),
            Event::Online(cpu) => self.machine.core.online(*cpu, self.machine.now),
            Event::Wake(thread)
            | Event::Block(thread)
            | Event::Yield(thread)
            | Event::Bind(thread, _)
            | Event::Leave(thread)
            | Event::Set(thread, ..)
            | Event::Tell(thread, ..) => {
                self.threads.get(thread).copied().map_or(Ok(()), |vp| self.tell(event, vp))
            }
        };
        match self.machine.taken_out.last() {
            Some(taken_out) if !self.forgives => Err(Failure::TakenOut(*taken_out)),
            _ => Ok(()),
        }
    }

    /// Who a VP is in the script: the number of its thread.
    pub fn thread(&self, vp: u32) -> Option<usize> {
        self.threads.iter().find(|(_, known)| **known == vp).map(|(number, _)| *number)
    }

    /// Which scheduler of the script has this number in the core.
    pub fn scheduler(&self, s: u32) -> Option<usize> {
        self.schedulers.iter().find(|(_, known)| **known == s).map(|(number, _)| *number)
    }

    /// The number of a thread's VP.
    pub fn vp(&self, thread: usize) -> Option<u32> {
        self.threads.get(&thread).copied()
    }

    /// Something that takes time, or needs all else to be done.
    fn let_pass(&mut self, event: &Event) -> Result<(), Failure> {
        let machine = &mut self.machine;
        match event {
            Event::Pass(length) => machine.run_until(machine.now + *length),
            Event::Reach => {
                let next = machine.due();
                machine.now = if next < Nanos::MAX { next } else { machine.now };
                Ok(())
            }
            Event::Steal(cpu, length) => {
                machine.interrupt(*cpu, *length);
                Ok(())
            }
            Event::Alone(thread, length) => self.alone(*thread, *length),
            _ => Ok(()),
        }
    }

    /// Something that happens to a thread.
    fn tell(&mut self, event: &Event, vp: u32) -> Result<(), CoreError> {
        let (core, now) = (&mut self.machine.core, self.machine.now);
        match event {
            Event::Wake(_) => core.request(vp, now),
            Event::Block(_) => core.release(vp, now),
            Event::Yield(_) => core.yield_now(vp, now),
            Event::Bind(_, cpus) => core.set_affinity(vp, *cpus, now)?,
            Event::Set(_, param, value) => core.message(vp, *param, *value, now)?,
            Event::Tell(_, message, payload) => drop(core.tell(vp, *message, *payload, now)?),
            Event::Leave(thread) => {
                core.detach(vp, now)?;
                self.threads.remove(thread);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_scheduler(
        &mut self,
        number: usize,
        policy: u8,
        params: Params,
        below: &[(usize, Params)],
    ) -> Result<(), CoreError> {
        self.may_wait |= self.listening.contains(&policy);
        let core = &mut self.machine.core;
        let s = core.create_scheduler(policy, params)?;
        let mut is_hung = false;
        for (above, params) in below {
            let parent = self.schedulers.get(above);
            is_hung |= parent.is_some_and(|&parent| core.attach(parent, Some(s), *params).is_ok());
        }
        if below.is_empty() {
            is_hung = self.machine.make_root(s).is_ok();
        }
        if is_hung {
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

    fn move_thread(&mut self, thread: usize, to: usize, params: Params) -> Result<(), CoreError> {
        let vp = *self.threads.get(&thread).ok_or(CoreError::NotFound)?;
        let to = *self.schedulers.get(&to).ok_or(CoreError::NotFound)?;
        self.machine.core.move_to(vp, to, params, self.machine.now)
    }

    fn replace(&mut self, scheduler: usize, policy: u8, params: Params) -> Result<(), CoreError> {
        let s = *self.schedulers.get(&scheduler).ok_or(CoreError::NotFound)?;
        self.may_wait |= self.listening.contains(&policy);
        self.machine.core.replace(s, policy, params, self.machine.now)
    }

    /// A thread that waits for nobody is not forgotten.
    fn alone(&mut self, thread: usize, length: Nanos) -> Result<(), Failure> {
        let Some(vp) = self.vp(thread) else { return Ok(()) };
        let machine = &mut self.machine;
        for &other in self.threads.values().filter(|&&other| other != vp) {
            machine.core.release(other, machine.now);
        }
        machine.core.request(vp, machine.now);
        machine.settle()?;
        machine.run_until(machine.now + length)?;
        let view: &View = &machine.core;
        let there = view.offline().fold(u64::MAX, |cpus, cpu| cpus & !(1 << cpu));
        let may_run = machine.core.vp(vp).is_some_and(|entry| {
            entry.state == VpState::Ready && entry.usable & there & ((1 << machine.cpus) - 1) != 0
        });
        let is_stuck = may_run && !self.may_wait && !self.forgives && machine.due() == Nanos::MAX;
        if is_stuck { Err(Failure::Stuck(vp)) } else { Ok(()) }
    }
}
