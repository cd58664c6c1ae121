//! What requests change in a run of the kernel, and what they are told of it: the engine's side of the books.

use super::Run;
use super::next_engine::NewerEngine;
use crate::Error;
use crate::registry::Changing;
use hls_control::{EngineError, Observed, Promisee, ThreadKey};
use hls_core::{CoreError, Params};
use hls_kernel_engine::Engine;
use hls_monitor::event::VpId;
use hls_monitor::observe::Promise;
use hls_monitor::result::{Child, VpInfo};
use hls_units::Nanos;

impl Changing for Engine {
    fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<u32, CoreError> {
        Engine::create_scheduler(self, policy, params)
    }

    fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        Engine::destroy_scheduler(self, scheduler)
    }

    fn attach_scheduler(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, CoreError> {
        Engine::attach_scheduler(self, parent, child, params)
    }

    fn policy_name(&mut self, policy: u8) -> String {
        self.policy(policy).map_or(String::new(), |info| info.name.to_owned())
    }

    fn watch(&mut self, core_vp: u32, tid: u32, vp: VpId) -> Result<(), CoreError> {
        Engine::watch(self, core_vp, tid, vp)
    }

    fn number(&self, core_vp: u32) -> VpId {
        Engine::number(self, core_vp)
    }

    fn ran(&mut self, core_vp: u32) -> Nanos {
        Engine::ran(self, core_vp)
    }

    fn replace_policy(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), CoreError> {
        Engine::replace_policy(self, scheduler, policy, params)
    }

    fn policy_of(&mut self, scheduler: u32) -> Option<&'static str> {
        Engine::policy_of(self, scheduler)
    }
}

impl Run<'_> {
    /// Creates a scheduler; which it is in the core.
    pub fn create_scheduler(&mut self, name: String, policy: u8, params: Params) -> Result<u32, CoreError> {
        self.books.create_scheduler(&mut self.engine, name, policy, params)
    }

    /// Destroys a scheduler.
    pub fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        self.books.destroy_scheduler(&mut self.engine, scheduler)
    }

    /// Hangs a scheduler below another; which VP of the core that is.
    pub fn attach_scheduler(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, CoreError> {
        self.books.attach_scheduler(&mut self.engine, parent, child, params)
    }

    /// Nobody takes this place of the file any more.
    pub fn close(&mut self, place: usize) {
        if let Some(vp) = self.books.places.remove(&place) {
            self.engine.close(vp);
        }
    }

    /// An engine with other policies takes over. One that cannot do so whole ends the run.
    pub fn take_over(&mut self, newer: NewerEngine) -> Result<(), EngineError> {
        self.engines.take_over(&mut self.engine, newer).map_err(|error| {
            let error = error.to_string();
            self.fail(Error::System(error.clone()));
            EngineError::Failed(error)
        })
    }

    /// Holds what happens from now on against this promise, or, where it is none, against no promise any more.
    pub fn promise(&mut self, to: Promisee, promise: Promise) {
        let now = self.hear_now();
        if let Some(vp) = self.number_of(to, &promise) {
            self.books.promise(vp, promise, now);
        }
    }

    /// The observer's number for somebody; one that comes by this promise gets it now.
    fn number_of(&mut self, to: Promisee, promise: &Promise) -> Option<VpId> {
        let is_some = |vp: &VpId| *vp != 0;
        let ThreadKey { tid, vp: core_vp, since } = match to {
            Promisee::Place(edge) => return self.books.places.get(&edge).copied(),
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
        let info = VpInfo { name, child: Child::Thread, guarantee, parent: None };
        self.books.join(&mut self.engine, core_vp, tid, info, thread.scheduler)
    }

    /// What became of these VPs of the core.
    pub fn observed(&mut self, core_vps: &[u32]) -> Vec<Observed> {
        let now = self.hear_now();
        self.books.observed(&mut self.engine, core_vps, now)
    }
}
