//! A simulated run as a manager's engine: what `hls ctl`, `hls load` and `hls unload` do to one in the kernel, a script
//! does to this.
//!
//! A thread is known by the number of its VP in the plan, which it keeps wherever it is moved. Building a policy takes
//! no simulated time.

use crate::Error;
use crate::policies::library;
use crate::registry::{Books, Changing, take_untold};
use hls_calculus::Guarantee;
use hls_control::{
    EngineError, Hsi, Observed, PolicySource, Preparation, Prepared, Promisee, TakenOut, Thread, ThreadKey,
};
use hls_core::{CoreError, Library, Params};
use hls_monitor::event::VpId;
use hls_sim::{Failure, Simulation};
use hls_units::Nanos;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// A run in the simulator, and everyone who listens to it.
pub struct Simulated<'t> {
    pub simulation: Simulation,
    pub books: Books<'t>,
    /// What the machine gives.
    pub machine: Guarantee,
    /// For each VP of a thread that is where the file has it, its edge in the calculus' graph.
    pub slots: HashMap<VpId, usize>,
    /// All CPUs, a bit each.
    pub cpus: u64,
    /// The core's number of the default scheduler, and the parameters of threads there.
    pub default: (u32, Params),
}

impl Simulated<'_> {
    /// Runs up to that time, or until a policy is taken out; whether it has come to that time.
    pub fn run_until(&mut self, end: Nanos) -> Result<bool, Failure> {
        let Simulated { simulation, books, .. } = self;
        while simulation.step(end, &mut |record| books.hear(record))? {
            if books.say_who_was_taken_out(simulation) {
                return Ok(false);
            }
        }
        simulation.run_until(end, &mut |record| books.hear(record)).map(|()| true)
    }

    /// Takes the decisions that changes have made due.
    pub fn settle(&mut self) -> Result<(), Failure> {
        let Simulated { simulation, books, .. } = self;
        simulation.settle(&mut |record| books.hear(record))?;
        books.say_who_was_taken_out(simulation);
        Ok(())
    }

    /// Hears what happened up to now.
    fn hear_now(&mut self) -> Nanos {
        let Simulated { simulation, books, .. } = self;
        simulation.deliver_records(&mut |record| books.hear(record));
        books.say_who_was_taken_out(simulation);
        simulation.now()
    }

    /// Whether it is the VP of a thread that is there.
    fn present(&self, thread: ThreadKey) -> Result<VpId, EngineError> {
        if self.lives(thread) { Ok(thread.tid) } else { Err(EngineError::Gone) }
    }
}

impl Changing for Simulation {
    fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<u32, CoreError> {
        Simulation::create_scheduler(self, policy, params)
    }

    fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        Simulation::destroy_scheduler(self, scheduler)
    }

    fn attach_scheduler(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, CoreError> {
        Simulation::attach_scheduler(self, parent, child, params)
    }

    fn policy_name(&mut self, policy: u8) -> String {
        self.policy(policy).map_or(String::new(), |info| info.name.to_owned())
    }

    fn watch(&mut self, core_vp: u32, _: u32, vp: VpId) -> Result<(), CoreError> {
        Simulation::watch(self, core_vp, vp)
    }

    fn number(&self, core_vp: u32) -> VpId {
        Simulation::number(self, core_vp)
    }

    fn ran(&mut self, core_vp: u32) -> Nanos {
        Simulation::ran(self, core_vp)
    }

    fn replace_policy(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), CoreError> {
        Simulation::replace_policy(self, scheduler, policy, params)
    }

    fn policy_of(&mut self, scheduler: u32) -> Option<&'static str> {
        Simulation::policy_of(self, scheduler)
    }
}

fn unusable(error: Error) -> EngineError {
    match error {
        Error::Input(what) => EngineError::Policy(what),
        Error::System(what) => EngineError::Failed(what),
    }
}

impl Hsi for Simulated<'_> {
    type Newer = Option<Arc<Library>>;

    fn prepare(&mut self, policies: Vec<PolicySource>) -> Result<Preparation<Self::Newer>, EngineError> {
        Ok(Box::new(move || {
            let newer = match &policies[..] {
                [] => None,
                some => Some(Arc::new(library(some).map_err(unusable)?.0)),
            };
            let policies = newer.as_deref().map_or(hls_core::policies(), Library::policies).to_vec();
            Ok(Prepared { newer, policies, build: Duration::ZERO, verify: Duration::ZERO })
        }))
    }

    fn publish(&mut self, newer: Self::Newer) -> Result<(), EngineError> {
        self.simulation.set_library(newer);
        Ok(())
    }

    fn replace(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), EngineError> {
        Ok(self.books.replace_policy(&mut self.simulation, scheduler, policy, params)?)
    }

    fn taken_out(&mut self) -> Vec<TakenOut> {
        take_untold(self.books.untold())
    }

    fn create_scheduler(&mut self, name: &str, policy: u8, params: Params) -> Result<u32, EngineError> {
        Ok(self.books.create_scheduler(&mut self.simulation, name.to_owned(), policy, params)?)
    }

    fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), EngineError> {
        Ok(self.books.destroy_scheduler(&mut self.simulation, scheduler)?)
    }

    fn attach(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, EngineError> {
        Ok(self.books.attach_scheduler(&mut self.simulation, parent, child, params)?)
    }

    fn detach(&mut self, vp: u32) -> Result<(), EngineError> {
        Ok(self.simulation.detach_scheduler(vp)?)
    }

    fn move_thread(&mut self, thread: ThreadKey, to: u32, params: Params) -> Result<(), EngineError> {
        let vp = self.present(thread)?;
        let above = self.books.listeners.observer.topology().above(vp);
        self.simulation.move_thread(vp, to, params, &above)?;
        let now = self.hear_now();
        if let Some(scheduler) = self.books.scheduler(to) {
            self.books.listeners.observer.move_below(vp, scheduler, now);
        }
        if let Some(slot) = self.slots.remove(&vp) {
            self.books.places.remove(&slot);
        }
        Ok(())
    }

    fn messenger(&mut self) -> Result<OwnedFd, EngineError> {
        Err(EngineError::Failed(
            "found a simulated run, expected real threads that talk to their schedulers".into(),
        ))
    }

    fn close(&mut self, place: usize) -> Result<(), EngineError> {
        let now = self.hear_now();
        let (default, params) = self.default;
        let Some(vp) = self.books.places.remove(&place) else { return Ok(()) };
        self.slots.remove(&vp);
        self.simulation.redirect(vp, default, params);
        if let (None, Some(scheduler)) = (self.simulation.thread(vp), self.books.scheduler(default)) {
            self.books.listeners.observer.move_below(vp, scheduler, now);
        }
        Ok(())
    }

    fn message(&mut self, thread: ThreadKey, param: u32, value: u64) -> Result<(), EngineError> {
        let vp = self.present(thread)?;
        Ok(self.simulation.message(vp, param, value)?)
    }

    fn thread(&mut self, tid: u32) -> Option<Thread> {
        let found = self.simulation.thread(tid)?;
        Some(Thread {
            key: ThreadKey { tid, vp: found.core_vp, since: 0 },
            pid: tid,
            comm: self.books.listeners.observer.topology().child_name(tid).to_owned(),
            uid: None,
            pinned: found.cpus & self.cpus != self.cpus,
            scheduler: found.scheduler,
            slot: self.slots.get(&tid).copied(),
        })
    }

    fn lives(&self, thread: ThreadKey) -> bool {
        self.simulation.thread(thread.tid).is_some_and(|found| found.core_vp == thread.vp)
    }

    fn threads(&mut self) -> Vec<Thread> {
        self.simulation.present().into_iter().filter_map(|vp| self.thread(vp)).collect()
    }

    fn promise(&mut self, to: Promisee, guarantee: &Guarantee) {
        let now = self.hear_now();
        let vp = match to {
            // Of a thread that was moved it is the place no longer.
            Promisee::Place(edge) => self.books.places.get(&edge).copied(),
            Promisee::Scheduler(core_vp) => Some(self.simulation.number(core_vp)).filter(|vp| *vp != 0),
            Promisee::Thread(thread) => Some(thread.tid),
        };
        if let Some(vp) = vp {
            self.books.promise(vp, hls_check::promise(vp, guarantee, &self.machine), now);
        }
    }

    fn observed(&mut self, vps: &[u32]) -> Vec<Observed> {
        let now = self.hear_now();
        self.books.observed(&mut self.simulation, vps, now)
    }

    fn stolen(&mut self) -> Nanos {
        self.simulation.stolen()
    }
}
