//! The registry of a run: who the VPs and schedulers of the core are in the result, who has which place of the file,
//! and everyone who listens to the records, whichever engine carries the run out.
//!
//! Whoever comes into the hierarchy by a request gets a number in the observer, as the file's have. Relies on the
//! engine to record how a VP stands when it gets its number, and on its caller to hand on all records up to now first.

use crate::listeners::Listeners;
use crate::{Console, LoadedPolicies};
use hls_control::{Layout, Observed, TakenOut};
use hls_core::Calls;
use hls_monitor::event::{Record, VpId, What};
use hls_monitor::observe::{Observer, Promise};
use hls_monitor::result::{self, SchedulerInfo, VpInfo};
use hls_plan::{Built, ChangeableEngine, Derived, Plan, PlannedThread};
use hls_report::broken::taken_out_in_words;
use hls_units::Nanos;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Policies that were taken out, of which the manager is to hear; shared with it.
#[derive(Clone, Default)]
pub struct TakenOutPolicies(Arc<Mutex<Vec<TakenOut>>>);

impl TakenOutPolicies {
    fn push(&self, taken_out: TakenOut) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(taken_out);
    }

    /// All of them; from now on the manager has heard of them.
    pub fn take(&self) -> Vec<TakenOut> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The places for threads that the file promises something: each an edge of the calculus' graph and the VP of the plan
/// that has it.
#[derive(Default)]
pub struct Places {
    vps: HashMap<usize, VpId>,
    edges: HashMap<VpId, usize>,
}

impl Places {
    /// Those of a plan.
    pub fn new(plan: &Plan, derived: &Derived) -> Places {
        let edge = |thread: PlannedThread| derived.input.graph_edge_of(thread.edge, thread.instance);
        let edges: HashMap<VpId, usize> =
            plan.threads().filter_map(|thread| Some((thread.vp, edge(thread)?))).collect();
        Places { vps: edges.iter().map(|(vp, edge)| (*edge, *vp)).collect(), edges }
    }

    /// The VP that has a place.
    pub fn vp(&self, place: usize) -> Option<VpId> {
        self.vps.get(&place).copied()
    }

    /// The place that a VP has.
    pub fn of(&self, vp: VpId) -> Option<usize> {
        self.edges.get(&vp).copied()
    }

    /// Nobody has this place any more; who had it.
    pub fn close(&mut self, place: usize) -> Option<VpId> {
        let vp = self.vps.remove(&place)?;
        self.edges.remove(&vp);
        Some(vp)
    }

    /// A VP leaves its place, which nobody has then.
    pub fn leave(&mut self, vp: VpId) {
        if let Some(place) = self.edges.remove(&vp) {
            self.vps.remove(&place);
        }
    }
}

/// Who is who, and everyone who listens.
pub struct RunRegistry<'t> {
    pub listeners: Listeners<'t>,
    pub places: Places,
    /// All CPUs, a bit each.
    pub cpus: u64,
    /// The observer's number of each scheduler of the core.
    schedulers: HashMap<u32, u32>,
    /// How many of them are the file's.
    planned: u32,
    /// Records of policies that were taken out, each with the scheduler of the core, that are to be reported.
    unreported: Vec<(u32, Record)>,
    taken_out: TakenOutPolicies,
    /// Where the user hears of them.
    console: Arc<dyn Console>,
}

impl<'t> RunRegistry<'t> {
    /// Of a run that begins with the file's schedulers, each of which is this in the core.
    pub fn new(
        listeners: Listeners<'t>,
        schedulers: &[u32],
        places: Places,
        console: Arc<dyn Console>,
    ) -> RunRegistry<'t> {
        let cpus = u64::MAX >> (64 - listeners.observer.topology().cpus.clamp(1, 64));
        RunRegistry {
            listeners,
            places,
            cpus,
            schedulers: schedulers.iter().copied().zip(0..).collect(),
            planned: schedulers.len() as u32,
            unreported: Vec::new(),
            taken_out: TakenOutPolicies::default(),
            console,
        }
    }

    /// Who makes the result.
    pub fn observer(&mut self) -> &mut Observer {
        &mut self.listeners.observer
    }

    /// The policies that were taken out, for the manager.
    pub fn taken_out(&self) -> TakenOutPolicies {
        self.taken_out.clone()
    }

    /// Takes the next record of the engine.
    pub fn hear(&mut self, record: &Record) {
        if let What::TakenOut { scheduler: in_core, offence } = record.what {
            let Some(scheduler) = self.scheduler(in_core) else { return };
            let record = Record { what: What::TakenOut { scheduler, offence }, ..*record };
            self.unreported.push((in_core, record));
            return self.listeners.hear(&record);
        }
        self.listeners.hear(record);
    }

    /// Tells user, result and manager which policies were taken out since the last time; whether one was.
    pub fn report_taken_out(&mut self, engine: &mut impl ChangeableEngine) -> bool {
        let unreported = std::mem::take(&mut self.unreported);
        for (in_core, Record { at, what, .. }) in &unreported {
            let What::TakenOut { scheduler, offence } = *what else { continue };
            let info = &self.listeners.observer.topology().schedulers[scheduler as usize];
            let fallback = policy_of(engine, *in_core).unwrap_or_default().to_owned();
            let (policy, offence) = (info.policy.clone(), offence.to_owned());
            let taken_out =
                result::TakenOut { at: *at, scheduler: info.name.clone(), policy, offence, fallback };
            self.console.say(&taken_out_in_words(&taken_out));
            let result::TakenOut { offence, fallback, .. } = taken_out.clone();
            self.listeners.observer.take_out(taken_out);
            self.tell_manager(TakenOut { scheduler: *in_core, offence, fallback });
        }
        !unreported.is_empty()
    }

    /// Has the manager hear of a policy that was taken out.
    pub fn tell_manager(&self, taken_out: TakenOut) {
        self.taken_out.push(taken_out);
    }

    /// The observer's number of a scheduler of the core.
    pub fn scheduler(&self, scheduler: u32) -> Option<u32> {
        self.schedulers.get(&scheduler).copied()
    }

    /// A scheduler of the core is new.
    pub fn add_scheduler(&mut self, scheduler: u32, info: SchedulerInfo) {
        self.schedulers.insert(scheduler, self.listeners.observer.create_scheduler(info));
    }

    /// A scheduler of the core is no more. The result speaks of the file's all the same.
    pub fn remove_scheduler(&mut self, scheduler: u32) {
        let number = self.schedulers.remove(&scheduler);
        if let Some(number) = number.filter(|number| *number >= self.planned) {
            self.listeners.observer.destroy_scheduler(number);
        }
    }

    /// Gives a VP of the core, of the thread `tid` or, where that is 0, of a scheduler, a number in the observer.
    pub fn join(
        &mut self,
        engine: &mut impl ChangeableEngine,
        core_vp: u32,
        tid: u32,
        info: VpInfo,
        parent: u32,
    ) -> Option<VpId> {
        let parent = self.scheduler(parent);
        let vp = self.listeners.observer.join(VpInfo { parent, ..info });
        let watched = engine.watch(core_vp, tid, vp);
        if watched.is_err() {
            self.listeners.observer.leave(vp, Nanos::ZERO);
        }
        watched.ok().map(|()| vp)
    }

    /// A VP is below another scheduler of the core from now on.
    pub fn move_below(&mut self, vp: VpId, scheduler: u32, now: Nanos) {
        if let Some(scheduler) = self.scheduler(scheduler) {
            self.listeners.observer.move_below(vp, scheduler, now);
        }
    }

    /// Holds what happens from now on against this promise, or, where it is none, against no promise any more.
    pub fn promise(&mut self, vp: VpId, promise: Promise, now: Nanos) {
        match promise.windows.is_empty() {
            true => self.listeners.observer.withdraw(vp, now),
            false => self.listeners.observer.promise(Promise { vp, ..promise }, now),
        }
    }

    /// What became of the promise to a VP of the core.
    pub fn observed(&self, engine: &mut impl ChangeableEngine, core_vp: u32, now: Nanos) -> Observed {
        match engine.built().number(core_vp) {
            0 => Observed { ran: engine.ran(core_vp), ..Observed::default() },
            vp => {
                let standing = self.listeners.observer.standing(vp, now);
                Observed {
                    ran: standing.ran,
                    promised: standing.promised,
                    stolen: standing.stolen,
                    broken: standing.counts.broken(),
                }
            }
        }
    }
}

/// The name of the policy that a scheduler of the core has now; `None`: there is no such scheduler.
pub fn policy_of(engine: &mut impl ChangeableEngine, scheduler: u32) -> Option<&'static str> {
    engine.view().scheduler(scheduler).map(|entry| entry.policy)
}

/// What the manager is to know of a hierarchy that was built; nobody owns anything of it.
pub fn layout<C: Calls>(
    plan: &Plan,
    policies: &LoadedPolicies,
    derived: &Derived,
    built: &Built<C>,
) -> Layout {
    Layout {
        graph: derived.input.graph.clone(),
        schedulers: built.schedulers.clone(),
        vps: derived.input.origins.iter().map(|origin| built.vps_of(plan, origin.edge)).collect(),
        owners: vec![None; built.schedulers.len()],
        default: plan.hierarchy.default_scheduler().unwrap_or_default(),
        loaded: policies.loaded.clone(),
    }
}
