//! What requests change while the time of a run stands still: schedulers come and go, threads are moved, policies are
//! loaded. All in the core's numbers, and each as the core does it or refuses it.
//!
//! What becomes due by them is decided when [`Simulation::settle`] is called, or the run goes on.

use crate::engine::{Failure, Simulation, Sink};
use hls_core::{Calls, CoreError, Library, Params, PolicyInfo};
use hls_monitor::event::{VpId, What};
use hls_plan::Had;
use hls_units::Nanos;
use std::sync::Arc;

/// A thread while it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its VP in the core.
    pub core_vp: u32,
    /// The core's scheduler above it.
    pub scheduler: u32,
    /// The CPUs that it may use, a bit each.
    pub cpus: u64,
}

impl Simulation {
    /// Delivers the records made up to now to `sink`.
    pub fn deliver_records(&mut self, sink: &mut Sink) {
        self.take_records();
        self.records.drain(..).for_each(|record| sink(&record));
    }

    /// Takes the decisions that changes have made due, and delivers the records to `sink`.
    ///
    /// # Errors
    /// Those of [`Simulation::run_until`].
    pub fn settle(&mut self, sink: &mut Sink) -> Result<(), Failure> {
        self.steps_at_instant = 0;
        self.decide()?;
        self.conclude(sink)
    }

    /// Charges the time up to now to the threads and schedulers as they were before the change that follows.
    fn charge_up_to_now(&mut self) {
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].interrupted.is_some_and(|(since, _)| since < self.now) {
                self.steal_so_far(cpu);
            }
            self.count_progress(cpu);
        }
        self.scheduling_events += 1;
    }

    /// Makes all calls from now on to this build of the core; `None`: to the one that is built in. See
    /// [`hls_core::Core::set_library`].
    pub fn set_library(&mut self, library: Option<Arc<Library>>) {
        self.built.core.set_library(library);
    }

    /// The policy of this number.
    pub fn policy(&self, number: u8) -> Option<&PolicyInfo> {
        self.built.core.policy(number)
    }

    /// The core's scheduler for each of the hierarchy.
    pub fn schedulers(&self) -> &[u32] {
        &self.built.schedulers
    }

    /// The core's VPs of an edge of the hierarchy to a scheduler.
    pub fn vps_of(&self, edge: usize) -> Vec<u32> {
        self.built.vps_of(&self.plan, edge)
    }

    /// Creates a scheduler; which it is in the core.
    ///
    /// # Errors
    /// What the core says.
    pub fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<u32, CoreError> {
        self.built.core.create_scheduler(policy, params)
    }

    /// Destroys a scheduler without VPs.
    ///
    /// # Errors
    /// What the core says.
    pub fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        self.built.core.destroy_scheduler(scheduler)
    }

    /// Hangs a scheduler below another; which VP of the core that is.
    ///
    /// # Errors
    /// What the core says.
    pub fn attach_scheduler(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, CoreError> {
        self.built.core.attach(parent, Some(child), params)
    }

    /// Gives a scheduler another policy in its place.
    ///
    /// # Errors
    /// What the core says; see [`Calls::replace`].
    pub fn replace_policy(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), CoreError> {
        self.charge_up_to_now();
        self.built.core.replace(scheduler, policy, params, self.now)
    }

    /// The policy that a scheduler has now; `None`: there is no such scheduler.
    pub fn policy_of(&self, scheduler: u32) -> Option<&'static str> {
        self.built.core.scheduler(scheduler).map(|entry| entry.policy)
    }

    /// Takes a VP of a scheduler out of the hierarchy.
    ///
    /// # Errors
    /// What the core says.
    pub fn detach_scheduler(&mut self, core_vp: u32) -> Result<(), CoreError> {
        self.charge_up_to_now();
        let had = Had::of(&self.built.core, core_vp, self.now);
        self.built.core.detach(core_vp, self.now)?;
        self.built.of_schedulers.retire(core_vp, had);
        let vp = self.number(core_vp);
        self.record(vp, 0, What::Leave);
        self.built.name(core_vp, 0);
        Ok(())
    }

    /// From now on what happens to a VP of the core is recorded under this number, how it stands at first.
    ///
    /// # Errors
    /// There is no such VP.
    pub fn watch(&mut self, core_vp: u32, vp: VpId) -> Result<(), CoreError> {
        self.take_records();
        self.built.name(core_vp, vp);
        self.built.core.watch(core_vp, true)
    }

    /// The number under which what happens to a VP of the core is recorded; 0: it is not.
    pub fn number(&self, core_vp: u32) -> VpId {
        self.built.planned.get(core_vp as usize).copied().unwrap_or(0)
    }

    /// The thread of the plan with this VP; `None` before it comes, and when it is no more.
    pub fn thread(&self, vp: VpId) -> Option<Present> {
        let core_vp = self.core_vp(vp).ok()?;
        let cpus = self.built.core.vp(core_vp)?.usable;
        Some(Present { core_vp, scheduler: self.built.core.parent(core_vp), cpus })
    }

    /// The VPs of the plan whose threads are there.
    pub fn present(&self) -> Vec<VpId> {
        let all = self.threads.iter().zip(&self.core_vps);
        all.filter(|(_, core_vp)| **core_vp != 0).map(|(thread, _)| thread.vp).collect()
    }

    fn core_vp(&self, vp: VpId) -> Result<u32, CoreError> {
        let thread = self.thread_of.get(vp as usize).and_then(|thread| self.core_vps.get(*thread as usize));
        thread.copied().filter(|core_vp| *core_vp != 0).ok_or(CoreError::NotFound)
    }

    /// Moves a thread below a scheduler of the core. What it has worked so far counts below those of the result that
    /// were above it.
    ///
    /// # Errors
    /// What the core says; the thread is not there.
    pub fn move_thread(
        &mut self,
        vp: VpId,
        to: u32,
        params: Params,
        were_above: &[u32],
    ) -> Result<(), CoreError> {
        let core_vp = self.core_vp(vp)?;
        self.charge_up_to_now();
        self.built.core.move_to(core_vp, to, params, self.now)?;
        let work = self.threads[self.thread_of[vp as usize] as usize].work;
        let before = self.work_before.insert(vp, work).unwrap_or_default();
        for above in were_above {
            *self.work_below.entry(*above).or_default() += work - before;
        }
        Ok(())
    }

    /// The thread of the plan with this VP comes below another scheduler of the core than the plan says, if it has not
    /// come yet.
    pub fn redirect(&mut self, vp: VpId, to: u32, params: Params) {
        self.redirected.insert(vp, (to, params));
    }

    /// Sets a parameter of a thread's VP.
    ///
    /// # Errors
    /// What the core says; the thread is not there.
    pub fn message(&mut self, vp: VpId, param: u32, value: u64) -> Result<(), CoreError> {
        let core_vp = self.core_vp(vp)?;
        self.charge_up_to_now();
        self.built.core.message(core_vp, param, value, self.now)
    }

    /// CPU time that a VP of the core has had.
    pub fn ran(&self, core_vp: u32) -> Nanos {
        self.built.core.ran(core_vp, self.now)
    }

    /// Time that was stolen from the machine so far, over all CPUs.
    pub fn stolen(&self) -> Nanos {
        let cpus = 0..self.cpus.len() as u16;
        cpus.map(|cpu| self.built.core.stolen(cpu)).fold(Nanos::ZERO, Nanos::saturating_add)
    }
}
