//! Builds the hierarchy of a plan in a core, maps the core's VPs to the plan's numbers, and keeps what the VPs of
//! schedulers have used. Both engines begin and end with it.

use crate::{Plan, ShareScale};
use hls_core::pages::{self, number_child, number_of_scheduler};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params, RawRecord, RecordKind, View};
use hls_hierarchy::model::{Child, Edge, Hierarchy, ModelEdge, params_of_the_unplaced};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::{Decided, RunResult};
use hls_units::Nanos;
use std::collections::HashMap;

/// The hierarchy in the core.
pub struct Built<C> {
    /// The core.
    pub core: C,
    /// The core's scheduler for each of the hierarchy.
    pub schedulers: Vec<CoreScheduler>,
    /// For each VP of the core the planned one; 0: none.
    pub planned: Vec<ObservedVp>,
    /// The planned VPs of schedulers.
    pub of_schedulers: OfSchedulers,
    /// The number that each scheduler of the core has in the result.
    pub observed: ObservedSchedulers,
}

impl<C: Calls> Built<C> {
    /// Builds all schedulers and the VPs between them in an empty core, and has the VPs recorded for which `watch` is
    /// true. Threads come later.
    pub fn new(mut core: C, plan: &Plan, watch: impl Fn(ObservedVp) -> bool) -> Result<Built<C>, CoreError> {
        let hierarchy = &plan.hierarchy;
        for cpu in 0..hierarchy.machine.cpus {
            core.add_cpu(cpu)?;
        }
        let mut create = |s: &hls_hierarchy::model::Scheduler| {
            core.create_scheduler(s.policy.id, Params::from_slice(&s.params))
        };
        let schedulers: Vec<CoreScheduler> =
            hierarchy.schedulers.iter().map(&mut create).collect::<Result<_, _>>()?;
        let observed = ObservedSchedulers::of(&schedulers);
        let of_schedulers = OfSchedulers::default();
        let mut built = Built { core, schedulers, planned: Vec::new(), of_schedulers, observed };
        for planned in &plan.edges {
            let edge = hierarchy.edge(planned.edge);
            let Child::Scheduler(child) = edge.child else { continue };
            for (cpu, &vp) in (0..).zip(&planned.vps) {
                let core_vp = match edge.parent {
                    None => built.core.attach_root(built.schedulers[child], cpu)?,
                    Some(parent) => {
                        let (parent, child) = (built.schedulers[parent], Some(built.schedulers[child]));
                        built.core.attach_at(parent, child, vp_params(hierarchy, edge), Nanos::ZERO)?
                    }
                };
                built.of_schedulers.add(vp, child, core_vp);
                built.name(core_vp, vp);
                built.core.watch(core_vp, watch(vp))?;
            }
        }
        Ok(built)
    }

    /// The core's VPs of an edge of the hierarchy to a scheduler, without VPs that were removed.
    pub fn vps_of(&self, plan: &Plan, edge: ModelEdge) -> Vec<CoreVp> {
        let planned = plan.edges.iter().find(|planned| planned.edge == edge);
        let vps = planned.iter().flat_map(|planned| &planned.vps);
        vps.filter_map(|vp| self.of_schedulers.core_vp(*vp)).collect()
    }

    /// The planned number of a VP of the core; 0: it has none.
    pub fn number(&self, core_vp: CoreVp) -> ObservedVp {
        self.planned.get(core_vp.index()).copied().unwrap_or(ObservedVp::NONE)
    }

    /// Gives a VP of the core its planned number.
    pub fn name(&mut self, core_vp: CoreVp, vp: ObservedVp) {
        let index = core_vp.index();
        if self.planned.len() <= index {
            self.planned.resize(index + 1, ObservedVp::NONE);
        }
        self.planned[index] = vp;
    }
}

/// The number that each scheduler of the core has in the result.
#[derive(Clone, Debug, Default)]
pub struct ObservedSchedulers(HashMap<CoreScheduler, ObservedScheduler>);

impl ObservedSchedulers {
    /// The file's schedulers, numbered in its order.
    fn of(schedulers: &[CoreScheduler]) -> ObservedSchedulers {
        ObservedSchedulers(schedulers.iter().copied().zip((0..).map(ObservedScheduler)).collect())
    }

    /// The number of a scheduler of the core.
    pub fn get(&self, scheduler: CoreScheduler) -> Option<ObservedScheduler> {
        self.0.get(&scheduler).copied()
    }

    /// All schedulers of the core that have a number, in no order.
    pub fn all(&self) -> impl Iterator<Item = (CoreScheduler, ObservedScheduler)> {
        self.0.iter().map(|(in_core, observed)| (*in_core, *observed))
    }

    /// The scheduler of the core that has this number.
    pub fn in_core(&self, scheduler: ObservedScheduler) -> Option<CoreScheduler> {
        self.0.iter().find(|(_, observed)| **observed == scheduler).map(|(in_core, _)| *in_core)
    }

    /// How the choices of user-level schedulers were made so far, in the order of their numbers.
    pub fn decided(&self, view: &View) -> Vec<(ObservedScheduler, Decided)> {
        let of = |(&in_core, &observed): (&CoreScheduler, &ObservedScheduler)| {
            let pages::Decided { followed, stale, by_urgency, by_agent, agent_ran } =
                view.decided(in_core)?;
            Some((observed, Decided { followed, stale, by_urgency, by_agent, agent_ran }))
        };
        let mut all: Vec<_> = self.0.iter().filter_map(of).collect();
        all.sort_by_key(|(observed, _)| *observed);
        all
    }

    /// Writes [`ObservedSchedulers::decided`] into the result.
    pub fn complete(&self, view: &View, result: &mut RunResult) {
        for (observed, decided) in self.decided(view) {
            if let Some(of) = result.schedulers.get_mut(observed.index()) {
                of.decided = Some(decided);
            }
        }
    }

    /// Adds a new scheduler of the core.
    pub fn add(&mut self, scheduler: CoreScheduler, observed: ObservedScheduler) {
        self.0.insert(scheduler, observed);
    }

    /// Removes a scheduler of the core. Returns its number.
    pub fn remove(&mut self, scheduler: CoreScheduler) -> Option<ObservedScheduler> {
        self.0.remove(&scheduler)
    }
}

/// What a VP has used: CPU time, and how often it got a CPU and lost it.
#[derive(Clone, Copy, Debug, Default)]
pub struct VpUsage {
    ran: Nanos,
    grants: u32,
    revokes: u32,
}

impl VpUsage {
    /// What a VP of the core has used until now.
    pub fn of(view: &View, core_vp: CoreVp, now: Nanos) -> VpUsage {
        let (grants, revokes) = view.grants_and_revokes(core_vp);
        VpUsage { ran: view.ran(core_vp, now), grants, revokes }
    }
}

/// A planned VP of a scheduler.
struct OfScheduler {
    vp: ObservedVp,
    /// The scheduler, by its number in the plan.
    scheduler: usize,
    /// The core's VP, or what the VP had used when it was removed from the hierarchy.
    is: Result<CoreVp, VpUsage>,
    /// What it had used before the run began.
    before: VpUsage,
}

/// The planned VPs of schedulers, and what they have used in a run.
#[derive(Default)]
pub struct OfSchedulers(Vec<OfScheduler>);

impl OfSchedulers {
    fn add(&mut self, vp: ObservedVp, scheduler: usize, core_vp: CoreVp) {
        self.0.push(OfScheduler { vp, scheduler, is: Ok(core_vp), before: VpUsage::default() });
    }

    /// The VP of the core, while there is one.
    pub fn core_vp(&self, vp: ObservedVp) -> Option<CoreVp> {
        self.0.iter().find(|of| of.vp == vp)?.is.ok()
    }

    /// The run begins: earlier use does not count.
    pub fn begin(&mut self, view: &View, now: Nanos) {
        for of in &mut self.0 {
            if let Ok(core_vp) = of.is {
                of.before = VpUsage::of(view, core_vp, now);
            }
        }
    }

    /// A VP of the core was removed from the hierarchy. No effect if the VP is not in the plan.
    pub fn retire(&mut self, core_vp: CoreVp, had: VpUsage) {
        self.0.iter_mut().filter(|of| of.is.ok() == Some(core_vp)).for_each(|of| of.is = Err(had));
    }

    /// Writes what the plan's schedulers have used since the beginning. The core counts it, even for VPs that are not
    /// watched.
    pub fn complete(&self, view: &View, now: Nanos, result: &mut RunResult) {
        for of in &self.0 {
            let total = &mut result.schedulers[of.scheduler];
            (total.ran, total.grants, total.revokes) = (Nanos::ZERO, 0, 0);
        }
        for of in &self.0 {
            let had = of.is.map_or_else(|had| had, |core_vp| VpUsage::of(view, core_vp, now));
            let total = &mut result.schedulers[of.scheduler];
            total.ran += had.ran.saturating_sub(of.before.ran);
            total.grants += u64::from(had.grants.wrapping_sub(of.before.grants));
            total.revokes += u64::from(had.revokes.wrapping_sub(of.before.revokes));
        }
    }
}

/// A record of the core in the numbers of the result; `None`: its scheduler no longer exists. The other arguments are
/// as in [`Built`].
pub fn planned_record(
    planned: &[ObservedVp],
    observed: &ObservedSchedulers,
    raw: RawRecord,
) -> Option<Record> {
    let vp = planned.get(raw.vp.index()).copied().unwrap_or(ObservedVp::NONE);
    Some(Record { at: raw.at, vp, cpu: raw.cpu, what: what(observed, raw.kind)? })
}

fn what(observed: &ObservedSchedulers, kind: RecordKind) -> Option<What> {
    Some(match kind {
        RecordKind::Request => What::Request,
        RecordKind::Grant => What::Grant,
        RecordKind::Revoke => What::Revoke,
        RecordKind::Release => What::Release,
        RecordKind::Throttle => What::Throttle,
        RecordKind::Hold { is_agent } => What::Hold { is_agent },
        RecordKind::Replenish { budget, deadline } => What::Replenish { budget, deadline },
        RecordKind::Stolen { length } => What::Stolen { length },
        RecordKind::Offline => What::Offline,
        RecordKind::Online => What::Online,
        RecordKind::Fallback { scheduler, violation, .. } => {
            What::PolicyDisabled { scheduler: observed.get(scheduler)?, violation }
        }
    })
}

/// The parameters of each VP of an edge: of the share, which is for the child as a whole, a VP gets a part. Default
/// above the root.
pub fn vp_params(hierarchy: &Hierarchy, edge: &Edge) -> Params {
    let Some(parent) = edge.parent else { return Params::default() };
    let mut params = scaled(hierarchy, parent, &edge.params, edge.width);
    if let Child::Scheduler(child) = edge.child {
        number_child(hierarchy.schedulers[parent].policy, &mut params, number_of_scheduler(child));
    }
    params
}

/// The parameters of the VP of a thread that neither file nor request placed, below this scheduler of the hierarchy.
pub fn unplaced_params(hierarchy: &Hierarchy, scheduler: usize) -> Params {
    scaled(hierarchy, scheduler, &params_of_the_unplaced(hierarchy.schedulers[scheduler].policy), 1)
}

/// The core's parameters of each of the `width` VPs of a child of `parent`: the child's own values, except the share.
fn scaled(hierarchy: &Hierarchy, parent: usize, values: &[u64], width: u16) -> Params {
    let policy = hierarchy.schedulers[parent].policy;
    let mut params = Params::from_slice(values);
    if let Some(share) = policy.vp_params.iter().position(|param| param.name == "share") {
        let children = hierarchy.edges.iter().filter(|edge| edge.parent == Some(parent));
        let above = hierarchy.edges.iter().filter(|edge| edge.child == Child::Scheduler(parent));
        let held = above.map(|edge| edge.width).fold(0, u16::saturating_add).clamp(1, hierarchy.machine.cpus);
        let shares = children.map(|edge| (edge.params[share], edge.width));
        let scale = ShareScale::new(shares, held, policy.vp_params[share].max);
        params.0[share] = scale.of_a_vp(params.0[share], width);
    }
    params
}
