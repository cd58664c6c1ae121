//! A simulated run as a manager's engine: a script makes the requests that `hls ctl`, `hls load` and `hls unload`
//! make to a run in the kernel.
//!
//! A thread's number is the number of its VP in the plan; a move does not change it. Building a policy takes no
//! simulated time.

use crate::changes::ChangeableRun;
use crate::console::Error;
use crate::policies::library;
use crate::registry::{DueChange, RunRegistry};
use hls_calculus::Guarantee;
use hls_client::Pages;
use hls_control::{
    Counts, Created, EngineError, HierarchyChange, Observed, PolicySource, Preparation, Prepared, Promisee,
    Readings, RunningEngine, Thread,
};
use hls_core::{CoreScheduler, CoreVp, Library};
use hls_engine::{ChangeableEngine, ThreadKey};
use hls_monitor::event::ObservedVp;
use hls_sim::{Failure, Simulation};
use hls_units::Nanos;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// A run in the simulator, and the registry of its VPs and schedulers.
pub struct SimulatedRun {
    pub simulation: Simulation,
    pub registry: RunRegistry,
    /// What the machine gives.
    pub machine: Guarantee,
}

impl SimulatedRun {
    /// Runs up to `end`, or until a policy is disabled. Returns whether it has reached `end`.
    pub fn run_until(&mut self, end: Nanos) -> Result<bool, Failure> {
        let SimulatedRun { simulation, registry, .. } = self;
        while simulation.step(end, &mut |record| registry.record(record))? {
            if registry.report_disabled_policies(simulation) {
                return Ok(false);
            }
        }
        simulation.run_until(end, &mut |record| registry.record(record)).map(|()| true)
    }

    /// Makes the scheduling decisions that changes have made due.
    pub fn settle(&mut self) -> Result<(), Failure> {
        let SimulatedRun { simulation, registry, .. } = self;
        simulation.settle(&mut |record| registry.record(record))?;
        registry.report_disabled_policies(simulation);
        Ok(())
    }

    /// The run for a request. Simulated time stands still during a request, so the run cannot end.
    fn changeable(&mut self) -> ChangeableRun<'_, Simulation> {
        let SimulatedRun { simulation, registry, .. } = self;
        ChangeableRun { engine: simulation, registry, goes_on: |_| Ok(()) }
    }

    /// Passes on the records up to now.
    fn process(&mut self) {
        let SimulatedRun { simulation, registry, .. } = self;
        simulation.deliver_records(&mut |record| registry.record(record));
        registry.report_disabled_policies(simulation);
    }

    /// Changes the registry. Nothing else waits for the records before the change.
    fn change_registry(&mut self, change: Option<DueChange>) {
        if let Some(change) = change {
            self.process();
            self.registry.change(change);
        }
    }
}

fn unusable(error: Error) -> EngineError {
    match error {
        Error::System(what) => EngineError::Failed(what),
        other => EngineError::Policy(other.to_string()),
    }
}

impl RunningEngine for SimulatedRun {
    /// The core with other policies; `None`: without loaded policies.
    type NextEngine = Option<Arc<Library>>;

    fn now(&mut self) -> Result<Nanos, EngineError> {
        Ok(self.simulation.now())
    }

    fn change(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        let (created, later) = self.changeable().carry_out(change)?;
        self.change_registry(later);
        Ok(created)
    }

    fn prepare(
        &mut self,
        policies: Vec<PolicySource>,
        _built_in: Option<u8>,
    ) -> Result<Preparation<Self::NextEngine>, EngineError> {
        Ok(Box::new(move || {
            let next = match &policies[..] {
                [] => None,
                some => Some(Arc::new(library(some).map_err(unusable)?)),
            };
            let policies =
                next.as_deref().map_or(hls_core::policies(), |library| library.policies()).to_vec();
            Ok(Prepared { next, policies, build: Duration::ZERO, verify: Duration::ZERO })
        }))
    }

    fn take_over(&mut self, next: Self::NextEngine) -> Result<(), EngineError> {
        self.simulation.set_library(next);
        Ok(())
    }

    fn messenger(&mut self) -> Result<OwnedFd, EngineError> {
        Err(EngineError::Failed(
            "found a simulated run, expected real threads that talk to their schedulers".into(),
        ))
    }

    fn make_pages(&mut self, _scheduler: CoreScheduler) -> Result<Pages, EngineError> {
        Err(EngineError::Failed(
            "found a simulated run, expected real threads, of which one can decide for others".into(),
        ))
    }

    fn thread(&mut self, tid: u32) -> Result<Option<Thread>, EngineError> {
        self.changeable().thread(tid)
    }

    fn live(&mut self, threads: &[ThreadKey]) -> Result<Vec<bool>, EngineError> {
        self.changeable().live(threads)
    }

    fn promise(&mut self, to: Promisee, guarantee: &Guarantee, after: Nanos) {
        let promise = hls_check::promise(ObservedVp::NONE, guarantee, &self.machine);
        let later = self.changeable().promise(to, promise, after);
        self.change_registry(later);
    }
}

impl Readings for SimulatedRun {
    fn threads(&mut self) -> Result<Vec<Thread>, EngineError> {
        let tids = self.simulation.tids();
        self.changeable().threads(&tids)
    }

    fn observed(&mut self, vps: &[CoreVp]) -> Result<Vec<Observed>, EngineError> {
        self.process();
        let now = self.simulation.now();
        self.changeable().observed(vps, now)
    }

    fn counts(&mut self) -> Result<Counts, EngineError> {
        Ok(self.changeable().counts())
    }
}
