//! What changes while the time of a run stands still: schedulers come and go, threads are moved, policies are loaded.
//! Each as the core does it or refuses it.
//!
//! What becomes due by a change is decided when [`Simulation::settle`] is called, or the run goes on.

use crate::engine::{Failure, Simulation, Sink};
use hls_core::{About, Calls, Core, CoreError, CoreScheduler, CoreVp, Library, Params};
use hls_engine::{Built, ChangeableEngine, EngineThread, ThreadKey};
use hls_monitor::event::{ObservedScheduler, ObservedVp, What};
use hls_units::Nanos;
use std::sync::Arc;

impl Simulation {
    /// Delivers the records made up to now to `sink`.
    pub fn deliver_records(&mut self, sink: &mut Sink) {
        self.take_records();
        self.records.drain(..).for_each(|record| sink(&record));
    }

    /// Takes the decisions that changes have made due, and delivers the records to `sink`.
    ///
    /// # Errors
    /// The errors of [`Simulation::run_until`].
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

    fn core_vp(&self, vp: ObservedVp) -> Result<CoreVp, CoreError> {
        let thread = self.thread_of.get(vp.index()).and_then(|thread| self.core_vps.get(*thread as usize));
        thread.copied().filter(|core_vp| *core_vp != CoreVp::NONE).ok_or(CoreError::NotFound)
    }
}

/// A thread's number is the number of its VP in the plan.
impl ChangeableEngine for Simulation {
    type Core = Core;

    fn built(&mut self) -> &mut Built<Core> {
        &mut self.built
    }

    fn elapsed(&mut self) -> Nanos {
        self.now
    }

    fn charge_until_now(&mut self) -> Result<Nanos, CoreError> {
        self.charge_up_to_now();
        Ok(self.now)
    }

    fn watch(&mut self, core_vp: CoreVp, _: u32, vp: ObservedVp) -> Result<(), CoreError> {
        self.take_records();
        self.built.name(core_vp, vp);
        self.built.core.watch(core_vp, true)
    }

    fn unwatch(&mut self, core_vp: CoreVp) {
        let vp = self.built.number(core_vp);
        if vp != ObservedVp::NONE {
            self.record(vp, 0, What::Leave);
            self.built.name(core_vp, ObservedVp::NONE);
        }
    }

    fn thread(&mut self, tid: u32) -> Option<EngineThread> {
        let core_vp = self.core_vp(ObservedVp(tid)).ok()?;
        let number = self.thread_of[tid as usize];
        // Only CPUs that every phase of its program may use count: a promise is for the whole run.
        let planned = &self.plan.groups[self.threads[number as usize].group as usize];
        let cpus = planned.affinities().fold(self.built.core.vp(core_vp)?.usable, |cpus, mask| cpus & mask);
        let key = ThreadKey { tid, vp: core_vp, generation: 0 };
        let (name, scheduler) = (self.name(number).to_owned(), self.built.core.parent(core_vp));
        Some(EngineThread { key, name, process: tid, scheduler, cpus, vp: ObservedVp(tid) })
    }

    fn tids(&mut self) -> Vec<u32> {
        let all = self.threads.iter().zip(&self.core_vps);
        all.filter(|(_, core_vp)| **core_vp != CoreVp::NONE).map(|(thread, _)| thread.vp.0).collect()
    }

    /// What it has worked so far counts below the schedulers that were above it.
    fn move_thread(
        &mut self,
        tid: u32,
        to: CoreScheduler,
        params: Params,
        above: &[ObservedScheduler],
    ) -> Result<(), CoreError> {
        self.call_about(tid, About::move_to(to, params))?;
        let work = self.threads[self.thread_of[tid as usize] as usize].work;
        let before = self.work_before.insert(ObservedVp(tid), work).unwrap_or_default();
        for above in above {
            *self.work_below.entry(*above).or_default() += work - before;
        }
        Ok(())
    }

    fn call_about(&mut self, tid: u32, about: About) -> Result<CoreVp, CoreError> {
        let core_vp = self.core_vp(ObservedVp(tid))?;
        self.charge_up_to_now();
        self.built.core.make_about(core_vp, about, self.now).map(|_| core_vp)
    }

    fn close_place(&mut self, vp: ObservedVp) -> Option<CoreScheduler> {
        let default = self.built.default;
        self.redirected.insert(vp, default);
        self.core_vp(vp).is_err().then_some(default.0)
    }

    fn ran(&mut self, core_vp: CoreVp) -> Nanos {
        self.built.core.ran(core_vp, self.now)
    }
}
