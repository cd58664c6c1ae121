//! The registry of a run, for either engine: the result's numbers of the core's VPs and schedulers, the VPs that have
//! the file's places, and the listeners to the records.
//!
//! Schedulers and threads that a request adds get numbers in the observer, like the file's. Relies on the engine to
//! record the state of a VP when the VP gets its number, and on the caller to move VPs, promise something and remove
//! schedulers in order of time: after all earlier records, and before all later ones.

use crate::console::Console;
use crate::listeners::Listeners;
use crate::policies::LoadedPolicies;
use hls_calculus::GraphEdge;
use hls_check::Derived;
use hls_control::{DisabledPolicies, Layout, Observed, PolicyDisabled};
use hls_core::{Calls, CoreScheduler, CoreVp};
use hls_engine::{Built, ChangeableEngine};
use hls_hierarchy::model::Hierarchy;
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::observe::{Observer, Promise};
use hls_monitor::result::{self, SchedulerInfo, VpInfo};
use hls_plan::{Plan, PlannedThread};
use hls_report::broken::disabled_in_words;
use hls_units::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

/// The places for threads to which the file promises something: each is an edge of the calculus' graph, and has a VP
/// of the plan.
#[derive(Default)]
pub struct Places {
    vps: HashMap<GraphEdge, ObservedVp>,
    edges: HashMap<ObservedVp, GraphEdge>,
}

impl Places {
    /// The places of a plan.
    pub fn new(plan: &Plan, derived: &Derived) -> Places {
        let edge =
            |thread: PlannedThread| derived.input.graph_edge_of(thread.edge, thread.instance).map(GraphEdge);
        let edges: HashMap<ObservedVp, GraphEdge> =
            plan.threads().filter_map(|thread| Some((thread.vp, edge(thread)?))).collect();
        Places { vps: edges.iter().map(|(vp, edge)| (*edge, *vp)).collect(), edges }
    }

    /// The VP that has a place.
    pub fn vp(&self, place: GraphEdge) -> Option<ObservedVp> {
        self.vps.get(&place).copied()
    }

    /// The place that a VP has.
    pub fn of(&self, vp: ObservedVp) -> Option<GraphEdge> {
        self.edges.get(&vp).copied()
    }

    /// Closes a place. Returns the VP that had it.
    pub fn close(&mut self, place: GraphEdge) -> Option<ObservedVp> {
        let vp = self.vps.remove(&place)?;
        self.edges.remove(&vp);
        Some(vp)
    }

    /// A VP leaves its place, which then stays empty.
    pub fn leave(&mut self, vp: ObservedVp) {
        if let Some(place) = self.edges.remove(&vp) {
            self.vps.remove(&place);
        }
    }
}

/// A change of the registry that has its place among the records: see [`DueChange`].
pub enum RegistryChange {
    /// Forgets a scheduler that was destroyed.
    RemoveScheduler(ObservedScheduler),
    /// A VP is below another scheduler from now on.
    MoveBelow(ObservedVp, ObservedScheduler),
    /// Checks what a VP gets against this promise, from this much later on; an empty promise ends the checks.
    Promise(Promise, Nanos),
}

/// A change of the registry, and the time at which it takes effect: after all earlier records, and before all later
/// ones.
pub type DueChange = (Nanos, RegistryChange);

/// The numbers of VPs and schedulers in a run, and the listeners to its records.
pub struct RunRegistry {
    pub listeners: Listeners,
    pub places: Places,
    /// The CPUs of the hierarchy, a bit each.
    pub cpus: u64,
    /// The number of the first scheduler that is not the file's.
    first_added: ObservedScheduler,
    /// Records of policies that were disabled, for [`RunRegistry::report_disabled_policies`].
    unreported: Vec<Record>,
    /// For the manager.
    disabled_policies: DisabledPolicies,
    /// Where lines about disabled policies go.
    console: Arc<dyn Console>,
}

impl RunRegistry {
    /// The registry of a run that begins with the file's schedulers and these places.
    pub fn new(listeners: Listeners, places: Places, console: Arc<dyn Console>) -> RunRegistry {
        let topology = listeners.observer.topology();
        let cpus = u64::MAX >> (64 - topology.cpus.clamp(1, 64));
        let first_added = ObservedScheduler(topology.schedulers.len() as u32);
        RunRegistry {
            listeners,
            places,
            cpus,
            first_added,
            unreported: Vec::new(),
            disabled_policies: DisabledPolicies::default(),
            console,
        }
    }

    /// The layout that the manager starts from, once the engine has built the hierarchy. Root owns every scheduler.
    pub fn layout<C: Calls>(
        &self,
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
            service: plan.hierarchy.service_scheduler(),
            added: added(&plan.hierarchy),
            overrun: Nanos::ZERO,
            loaded: policies.loaded.clone(),
            disabled_policies: self.disabled_policies.clone(),
        }
    }

    /// The observer, which makes the result.
    pub fn observer(&mut self) -> &mut Observer {
        &mut self.listeners.observer
    }

    /// Passes the next record of the engine on to all listeners.
    pub fn record(&mut self, record: &Record) {
        if let What::PolicyDisabled { .. } = record.what {
            self.unreported.push(*record);
        }
        self.listeners.record(record);
    }

    /// Notifies user, result and manager of the policies that were disabled since the last time. Returns whether one
    /// was.
    pub fn report_disabled_policies(&mut self, engine: &mut impl ChangeableEngine) -> bool {
        let unreported = std::mem::take(&mut self.unreported);
        for Record { at, what, .. } in &unreported {
            let What::PolicyDisabled { scheduler, violation } = *what else { continue };
            let Some(in_core) = engine.built().observed.in_core(scheduler) else { continue };
            let info = &self.listeners.observer.topology().schedulers[scheduler.0 as usize];
            let fallback = policy_of(engine, in_core).unwrap_or_default().to_owned();
            let (policy, violation) = (info.policy.clone(), violation.to_owned());
            let disabled =
                result::PolicyDisabled { at: *at, scheduler: info.name.clone(), policy, violation, fallback };
            self.console.say(&disabled_in_words(&disabled));
            let result::PolicyDisabled { violation, fallback, .. } = disabled.clone();
            self.listeners.observer.policy_disabled(disabled);
            self.notify_manager(PolicyDisabled { scheduler: in_core, violation, fallback });
        }
        !unreported.is_empty()
    }

    /// Notes for the manager that a policy was disabled.
    pub fn notify_manager(&self, disabled: PolicyDisabled) {
        self.disabled_policies.push(disabled);
    }

    /// Gives a new scheduler of the core its number in the observer.
    pub fn add_scheduler(
        &mut self,
        engine: &mut impl ChangeableEngine,
        scheduler: CoreScheduler,
        info: SchedulerInfo,
    ) {
        let number = self.listeners.observer.create_scheduler(info);
        engine.built().observed.add(scheduler, number);
    }

    /// Makes a change, when it is due. A scheduler of the file that was destroyed keeps its place in the result.
    pub fn change(&mut self, (at, change): DueChange) {
        match change {
            RegistryChange::RemoveScheduler(number) => {
                self.listeners.remove_scheduler(number, number < self.first_added);
            }
            RegistryChange::MoveBelow(vp, scheduler) => self.listeners.move_below(vp, scheduler, at),
            RegistryChange::Promise(promise, after) => self.listeners.promise(promise, at, after),
        }
    }

    /// Gives a VP of the core a number in the observer. The VP is of the thread `tid`, or of a scheduler if `tid` is 0.
    pub fn add_vp(
        &mut self,
        engine: &mut impl ChangeableEngine,
        core_vp: CoreVp,
        tid: u32,
        info: VpInfo,
        parent: CoreScheduler,
    ) -> Option<ObservedVp> {
        let parent = engine.built().observed.get(parent);
        let vp = self.listeners.observer.add_vp(VpInfo { parent, ..info });
        let watched = engine.watch(core_vp, tid, vp);
        match watched {
            Ok(()) => self.listeners.join(vp),
            Err(_) => self.listeners.observer.remove_vp(vp, Nanos::ZERO),
        }
        watched.ok().map(|()| vp)
    }

    /// What a VP of the core was promised and received. A VP that is not recorded was promised nothing.
    pub fn observed(&self, engine: &mut impl ChangeableEngine, core_vp: CoreVp, now: Nanos) -> Observed {
        let vp = engine.built().number(core_vp);
        if vp == ObservedVp::NONE || !self.listeners.needs_records_of(vp) {
            return Observed { ran: engine.ran(core_vp), ..Observed::default() };
        }
        let standing = self.listeners.observer.standing(vp, now);
        Observed {
            ran: standing.ran,
            promised: standing.promised,
            stolen: standing.stolen,
            broken: standing.counts.broken(),
        }
    }
}

/// The name of the policy that a scheduler of the core has now; `None`: there is no such scheduler.
pub fn policy_of(engine: &mut impl ChangeableEngine, scheduler: CoreScheduler) -> Option<&'static str> {
    engine.built().core.view().scheduler(scheduler).map(|entry| entry.policy)
}

/// The schedulers that were added for the threads of `hls`.
fn added(hierarchy: &Hierarchy) -> Vec<usize> {
    (0..).zip(&hierarchy.schedulers).filter(|(_, scheduler)| scheduler.is_added).map(|(at, _)| at).collect()
}
