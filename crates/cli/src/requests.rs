//! What requests change in a run that goes on, and what they are told of it.
//!
//! Whoever comes into the hierarchy by a request gets a number in the observer, as the file's have; what is promised
//! from then on is held against what happens. Relies on the engine to record how a VP stands when it gets its number.

use crate::exit::Error;
use crate::kernel::Run;
use crate::newer::NewerEngine;
use hls_control::{EngineError, Observed, Promisee, ThreadKey};
use hls_core::{CoreError, Params};
use hls_record::event::VpId;
use hls_record::observe::Promise;
use hls_record::result::{Child, SchedulerInfo, VpInfo};
use hls_units::Nanos;
use std::collections::HashMap;

/// The observer's numbers for what the core has.
pub struct Numbers {
    /// By the core's number of a scheduler.
    schedulers: HashMap<u32, u32>,
    /// How many of them are the file's.
    planned: u32,
}

impl Numbers {
    /// Those of the file's schedulers, of each of which this is the core's.
    pub fn new(schedulers: &[u32]) -> Numbers {
        Numbers {
            schedulers: schedulers.iter().copied().zip(0..).collect(),
            planned: schedulers.len() as u32,
        }
    }
}

impl Run<'_> {
    /// Creates a scheduler; which it is in the core.
    pub fn create_scheduler(&mut self, name: String, policy: u8, params: Params) -> Result<u32, CoreError> {
        let scheduler = self.engine.create_scheduler(policy, params)?;
        let policy = self.engine.policy(policy).map_or(String::new(), |info| info.name.to_owned());
        let info = SchedulerInfo { name, policy };
        self.numbers.schedulers.insert(scheduler, self.listeners.observer.create_scheduler(info));
        Ok(scheduler)
    }

    /// An engine with other policies takes over. One that cannot do so whole ends the run.
    pub fn take_over(&mut self, newer: NewerEngine) -> Result<(), EngineError> {
        self.engine.take_over(newer).map_err(|error| {
            let error = error.to_string();
            self.fail(Error::System(error.clone()));
            EngineError::Failed(error)
        })
    }

    /// Destroys a scheduler.
    pub fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        self.engine.destroy_scheduler(scheduler)?;
        let number = self.numbers.schedulers.remove(&scheduler);
        if let Some(number) = number.filter(|number| *number >= self.numbers.planned) {
            self.listeners.observer.destroy_scheduler(number);
        }
        Ok(())
    }

    /// Hangs a scheduler below another; which VP of the core that is.
    pub fn attach_scheduler(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, CoreError> {
        let core_vp = self.engine.attach_scheduler(parent, child, params)?;
        if let Some(&number) = self.numbers.schedulers.get(&child) {
            let name = &self.listeners.observer.topology().schedulers[number as usize].name;
            let name = name.as_str().into();
            self.join(
                core_vp,
                0,
                VpInfo { name, child: Child::Scheduler(number), ..VpInfo::default() },
                parent,
            );
        }
        Ok(core_vp)
    }

    /// Holds what happens from now on against this promise, or, where it is none, against no promise any more.
    pub fn promise(&mut self, to: Promisee, promise: Promise) {
        let now = self.hear_now();
        let Some(vp) = self.number_of(to, &promise) else { return };
        match promise.windows.is_empty() {
            true => self.listeners.observer.withdraw(vp, now),
            false => self.listeners.observer.promise(Promise { vp, ..promise }, now),
        }
    }

    /// The observer's number for somebody; one that comes by this promise gets it now.
    fn number_of(&mut self, to: Promisee, promise: &Promise) -> Option<VpId> {
        let is_some = |vp: &VpId| *vp != 0;
        let ThreadKey { tid, vp: core_vp, since } = match to {
            Promisee::Place(edge) => return self.places.get(&edge).copied(),
            Promisee::Scheduler(core_vp) => return Some(self.engine.number(core_vp)).filter(is_some),
            Promisee::Thread(thread) => thread,
        };
        let thread = self.engine.thread(tid).filter(|found| found.since == since)?;
        if thread.vp != 0 || promise.windows.is_empty() {
            return Some(thread.vp).filter(is_some);
        }
        let comm = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
        // The number first: tables cut long names.
        let name = format!("{tid} {}", comm.trim_end_matches('\n')).into();
        let guarantee = promise.text.as_str().into();
        self.join(
            core_vp,
            tid,
            VpInfo { name, child: Child::Thread, guarantee, parent: None },
            thread.scheduler,
        )
    }

    /// Gives a VP of the core, of the thread `tid` or of a scheduler, a number in the observer.
    fn join(&mut self, core_vp: u32, tid: u32, info: VpInfo, parent: u32) -> Option<VpId> {
        let parent = self.numbers.schedulers.get(&parent).copied();
        let vp = self.listeners.observer.join(VpInfo { parent, ..info });
        let watched = self.engine.watch(core_vp, tid, vp);
        if watched.is_err() {
            self.listeners.observer.leave(vp, Nanos::ZERO);
        }
        watched.ok().map(|()| vp)
    }

    /// What became of these VPs of the core.
    pub fn observed(&mut self, core_vps: &[u32]) -> Vec<Observed> {
        let now = self.hear_now();
        let one = |core_vp: &u32| match self.engine.number(*core_vp) {
            0 => Observed { ran: self.engine.ran(*core_vp), ..Observed::default() },
            vp => {
                let standing = self.listeners.observer.standing(vp, now);
                Observed {
                    ran: standing.ran,
                    promised: standing.promised,
                    stolen: standing.stolen,
                    broken: standing.counts.broken(),
                }
            }
        };
        core_vps.iter().map(one).collect()
    }
}
