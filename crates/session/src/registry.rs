//! What a run is told of its changes, whatever engine carries it out: who the VPs and schedulers of the core are in the
//! result, and what is held against what happens.
//!
//! Whoever comes into the hierarchy by a request gets a number in the observer, as the file's have. Relies on the
//! engine to record how a VP stands when it gets its number, and on its caller to hand on all records up to now first.

use crate::listeners::Listeners;
use crate::{Console, LoadedPolicies};
use hls_check::Derived;
use hls_control::{Layout, Observed, TakenOut};
use hls_core::{CoreError, Params};
use hls_monitor::event::{Record, VpId, What};
use hls_monitor::observe::Promise;
use hls_monitor::result::{self, Child, SchedulerInfo, VpInfo};
use hls_plan::{Plan, PlannedThread};
use hls_report::broken::taken_out_in_words;
use hls_units::Nanos;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// An engine whose hierarchy requests change, by the numbers of the core.
pub trait Changing {
    /// Creates an instance of a policy.
    fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<u32, CoreError>;

    /// Destroys a scheduler without VPs.
    fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError>;

    /// Hangs a scheduler below another; which VP that is.
    fn attach_scheduler(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, CoreError>;

    /// The name of a policy.
    fn policy_name(&mut self, policy: u8) -> String;

    /// Has what happens to a VP, of the thread `tid` or of a scheduler, recorded under this number.
    fn watch(&mut self, core_vp: u32, tid: u32, vp: VpId) -> Result<(), CoreError>;

    /// The number under which what happens to a VP is recorded; 0: it is not.
    fn number(&self, core_vp: u32) -> VpId;

    /// CPU time that a VP has had.
    fn ran(&mut self, core_vp: u32) -> Nanos;

    /// Gives a scheduler another policy in its place.
    fn replace_policy(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), CoreError>;

    /// The policy that a scheduler has now; `None`: there is no such scheduler.
    fn policy_of(&mut self, scheduler: u32) -> Option<&'static str>;
}

/// Policies that were taken out, of which the manager is to hear.
pub type Untold = Arc<Mutex<Vec<TakenOut>>>;

/// All of them; from now on it has heard of them.
pub fn take_untold(untold: &Untold) -> Vec<TakenOut> {
    std::mem::take(&mut *untold.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Who is who, and everyone who listens.
pub struct Books<'t> {
    pub listeners: Listeners<'t>,
    /// For each place of a thread in the calculus' graph its VP in the plan.
    pub places: HashMap<usize, VpId>,
    /// The observer's number of each scheduler of the core.
    schedulers: HashMap<u32, u32>,
    /// How many of them are the file's.
    planned: u32,
    /// Records of policies that were taken out, each with the scheduler of the core, that nobody has been told of.
    fresh: Vec<(u32, Record)>,
    taken_out: Untold,
    /// Where the user hears of them.
    console: Arc<dyn Console>,
}

impl<'t> Books<'t> {
    /// Of a run that begins with the file's schedulers, each of which is this in the core.
    pub fn new(
        listeners: Listeners<'t>,
        schedulers: &[u32],
        places: HashMap<usize, VpId>,
        console: Arc<dyn Console>,
    ) -> Books<'t> {
        let planned = schedulers.len() as u32;
        let schedulers = schedulers.iter().copied().zip(0..).collect();
        Books {
            listeners,
            places,
            schedulers,
            planned,
            fresh: Vec::new(),
            taken_out: Arc::default(),
            console,
        }
    }

    /// What the manager is to hear.
    pub fn untold(&self) -> &Untold {
        &self.taken_out
    }

    /// Takes the next record of the engine.
    pub fn hear(&mut self, record: &Record) {
        if let What::TakenOut { scheduler: in_core, offence } = record.what {
            let Some(scheduler) = self.scheduler(in_core) else { return };
            let record = Record { what: What::TakenOut { scheduler, offence }, ..*record };
            self.fresh.push((in_core, record));
            return self.listeners.hear(&record);
        }
        self.listeners.hear(record);
    }

    /// Says at once which policies were taken out since the last time; whether one was.
    pub fn say_who_was_taken_out(&mut self, engine: &mut impl Changing) -> bool {
        let fresh = std::mem::take(&mut self.fresh);
        for (in_core, Record { at, what, .. }) in &fresh {
            let What::TakenOut { scheduler, offence } = *what else { continue };
            let info = &self.listeners.observer.topology().schedulers[scheduler as usize];
            let fallback = engine.policy_of(*in_core).unwrap_or_default().to_owned();
            let (policy, offence) = (info.policy.clone(), offence.to_owned());
            let taken_out =
                result::TakenOut { at: *at, scheduler: info.name.clone(), policy, offence, fallback };
            self.console.say(&taken_out_in_words(&taken_out));
            let result::TakenOut { offence, fallback, .. } = taken_out.clone();
            self.listeners.observer.take_out(taken_out);
            self.tell_of_taken_out(TakenOut { scheduler: *in_core, offence, fallback });
        }
        !fresh.is_empty()
    }

    /// The observer's number of a scheduler of the core.
    pub fn scheduler(&self, scheduler: u32) -> Option<u32> {
        self.schedulers.get(&scheduler).copied()
    }

    /// Creates a scheduler; which it is in the core.
    pub fn create_scheduler(
        &mut self,
        engine: &mut impl Changing,
        name: String,
        policy: u8,
        params: Params,
    ) -> Result<u32, CoreError> {
        let scheduler = engine.create_scheduler(policy, params)?;
        let info = SchedulerInfo { name, policy: engine.policy_name(policy) };
        self.schedulers.insert(scheduler, self.listeners.observer.create_scheduler(info));
        Ok(scheduler)
    }

    /// Destroys a scheduler.
    pub fn destroy_scheduler(&mut self, engine: &mut impl Changing, scheduler: u32) -> Result<(), CoreError> {
        engine.destroy_scheduler(scheduler)?;
        let number = self.schedulers.remove(&scheduler);
        if let Some(number) = number.filter(|number| *number >= self.planned) {
            self.listeners.observer.destroy_scheduler(number);
        }
        Ok(())
    }

    /// Gives a scheduler another policy in its place. One that refuses a child leaves it to a fallback.
    pub fn replace_policy(
        &mut self,
        engine: &mut impl Changing,
        scheduler: u32,
        policy: u8,
        params: Params,
    ) -> Result<(), CoreError> {
        let before = engine.policy_of(scheduler);
        let replaced = engine.replace_policy(scheduler, policy, params);
        let now = engine.policy_of(scheduler);
        if let (Err(error), Some(fallback)) = (replaced, now.filter(|_| now != before)) {
            let offence = format!("another one that was to take its place refused a child: {error}");
            self.tell_of_taken_out(TakenOut { scheduler, offence, fallback: fallback.to_owned() });
        }
        replaced
    }

    fn tell_of_taken_out(&self, taken_out: TakenOut) {
        self.taken_out.lock().unwrap_or_else(PoisonError::into_inner).push(taken_out);
    }

    /// Hangs a scheduler below another; which VP of the core that is.
    pub fn attach_scheduler(
        &mut self,
        engine: &mut impl Changing,
        parent: u32,
        child: u32,
        params: Params,
    ) -> Result<u32, CoreError> {
        let core_vp = engine.attach_scheduler(parent, child, params)?;
        if let Some(number) = self.scheduler(child) {
            let name = self.listeners.observer.topology().scheduler_name(number).into();
            let child = Child::Scheduler(number);
            self.join(engine, core_vp, 0, VpInfo { name, child, ..VpInfo::default() }, parent);
        }
        Ok(core_vp)
    }

    /// Gives a VP of the core, of the thread `tid` or of a scheduler, a number in the observer.
    pub fn join(
        &mut self,
        engine: &mut impl Changing,
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

    /// Holds what happens from now on against this promise, or, where it is none, against no promise any more.
    pub fn promise(&mut self, vp: VpId, promise: Promise, now: Nanos) {
        match promise.windows.is_empty() {
            true => self.listeners.observer.withdraw(vp, now),
            false => self.listeners.observer.promise(Promise { vp, ..promise }, now),
        }
    }

    /// What became of these VPs of the core.
    pub fn observed(&self, engine: &mut impl Changing, core_vps: &[u32], now: Nanos) -> Vec<Observed> {
        let one = |core_vp: &u32| match engine.number(*core_vp) {
            0 => Observed { ran: engine.ran(*core_vp), ..Observed::default() },
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

/// The VPs of threads in the plan, each with its edge in the calculus' graph.
pub fn places(plan: &Plan, derived: &Derived) -> impl Iterator<Item = (VpId, usize)> {
    let edge = |thread: PlannedThread| derived.input.graph_edge_of(thread.edge, thread.instance);
    plan.threads().filter_map(move |thread| Some((thread.vp, edge(thread)?)))
}

/// What the manager is to know of a hierarchy whose schedulers, and VPs of edges, are these in the core.
pub fn layout(
    plan: &Plan,
    policies: &LoadedPolicies,
    derived: &Derived,
    schedulers: &[u32],
    vps_of: impl Fn(usize) -> Vec<u32>,
) -> Layout {
    Layout {
        graph: derived.input.graph.clone(),
        schedulers: schedulers.to_vec(),
        vps: derived.input.origins.iter().map(|origin| vps_of(origin.edge)).collect(),
        owners: vec![None; schedulers.len()],
        default: plan.hierarchy.default_scheduler().unwrap_or_default(),
        loaded: policies.loaded.clone(),
    }
}
