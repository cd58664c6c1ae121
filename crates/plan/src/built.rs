//! The hierarchy of a plan, built in a core, whose number each VP there is, and what the VPs of its schedulers have
//! had. Both engines begin and end with it.

use crate::{Plan, ShareScale};
use hls_core::{Calls, CoreError, Params, RawRecord, RecordKind, View};
use hls_hierarchy::model::{Child, Edge, Hierarchy};
use hls_monitor::event::{Record, VpId, What};
use hls_monitor::result::RunResult;
use hls_units::Nanos;

/// The hierarchy in the core.
pub struct Built<C> {
    /// The core.
    pub core: C,
    /// The core's scheduler for each of the hierarchy.
    pub schedulers: Vec<u32>,
    /// For each VP of the core the planned one; 0: none.
    pub planned: Vec<VpId>,
    /// The planned VPs of schedulers.
    pub of_schedulers: OfSchedulers,
}

impl<C: Calls> Built<C> {
    /// Builds all schedulers and the VPs between them in an empty core, and has those recorded that `watch` says.
    /// Threads come later.
    pub fn new(mut core: C, plan: &Plan, watch: impl Fn(VpId) -> bool) -> Result<Built<C>, CoreError> {
        let hierarchy = &plan.hierarchy;
        for cpu in 0..hierarchy.machine.cpus {
            core.add_cpu(cpu)?;
        }
        let mut create = |s: &hls_hierarchy::model::Scheduler| {
            core.create_scheduler(s.policy.id, Params::from_slice(&s.params))
        };
        let schedulers: Vec<u32> = hierarchy.schedulers.iter().map(&mut create).collect::<Result<_, _>>()?;
        let mut built =
            Built { core, schedulers, planned: Vec::new(), of_schedulers: OfSchedulers::default() };
        for planned in &plan.edges {
            let edge = &hierarchy.edges[planned.edge];
            let Child::Scheduler(child) = edge.child else { continue };
            for (cpu, &vp) in (0..).zip(&planned.vps) {
                let core_vp = match edge.parent {
                    None => built.core.attach_root(built.schedulers[child], cpu)?,
                    Some(_) => built.attach(hierarchy, edge, Some(child))?,
                };
                built.of_schedulers.add(vp, child, core_vp);
                built.name(core_vp, vp);
                built.core.watch(core_vp, watch(vp))?;
            }
        }
        Ok(built)
    }

    /// Hangs a scheduler or a thread below the parent of an edge; returns the VP of the core.
    pub fn attach(
        &mut self,
        hierarchy: &Hierarchy,
        edge: &Edge,
        child: Option<usize>,
    ) -> Result<u32, CoreError> {
        let parent = edge.parent.ok_or(CoreError::NotFound)?;
        let child = child.map(|child| self.schedulers[child]);
        self.core.attach(self.schedulers[parent], child, vp_params(hierarchy, edge))
    }

    /// The core's VPs of an edge of the hierarchy to a scheduler; none of those that were taken out.
    pub fn vps_of(&self, plan: &Plan, edge: usize) -> Vec<u32> {
        let planned = plan.edges.iter().find(|planned| planned.edge == edge);
        let vps = planned.iter().flat_map(|planned| &planned.vps);
        vps.filter_map(|vp| self.of_schedulers.core_vp(*vp)).collect()
    }

    /// Gives a VP of the core its planned number.
    pub fn name(&mut self, core_vp: u32, vp: VpId) {
        let index = core_vp as usize;
        if self.planned.len() <= index {
            self.planned.resize(index + 1, 0);
        }
        self.planned[index] = vp;
    }
}

/// What a VP has had.
#[derive(Clone, Copy, Debug, Default)]
pub struct Had {
    ran: Nanos,
    grants: u32,
    revokes: u32,
}

impl Had {
    /// A VP of the core, until now.
    pub fn of(view: &View, core_vp: u32, now: Nanos) -> Had {
        let (grants, revokes) = view.grants_and_revokes(core_vp);
        Had { ran: view.ran(core_vp, now), grants, revokes }
    }
}

/// A planned VP of a scheduler.
struct OfScheduler {
    vp: VpId,
    /// The scheduler, by its number in the plan.
    scheduler: usize,
    /// That of the core, or what it had when it was taken out of the hierarchy.
    is: Result<u32, Had>,
    /// What it had before the run began.
    before: Had,
}

/// The planned VPs of schedulers, and what they have had of a run.
#[derive(Default)]
pub struct OfSchedulers(Vec<OfScheduler>);

impl OfSchedulers {
    fn add(&mut self, vp: VpId, scheduler: usize, core_vp: u32) {
        self.0.push(OfScheduler { vp, scheduler, is: Ok(core_vp), before: Had::default() });
    }

    /// The VP of the core, while there is one.
    pub fn core_vp(&self, vp: VpId) -> Option<u32> {
        self.0.iter().find(|of| of.vp == vp)?.is.ok()
    }

    /// What they have had so far does not count.
    pub fn begin(&mut self, view: &View, now: Nanos) {
        for of in &mut self.0 {
            if let Ok(core_vp) = of.is {
                of.before = Had::of(view, core_vp, now);
            }
        }
    }

    /// A VP of the core has been taken out of the hierarchy. No effect where it was nobody's of the plan.
    pub fn retire(&mut self, core_vp: u32, had: Had) {
        self.0.iter_mut().filter(|of| of.is.ok() == Some(core_vp)).for_each(|of| of.is = Err(had));
    }

    /// Writes what the schedulers of the plan have had since the beginning: counted by the core, and so even of those
    /// that nobody watched.
    pub fn complete(&self, view: &View, now: Nanos, result: &mut RunResult) {
        for of in &self.0 {
            let total = &mut result.schedulers[of.scheduler];
            (total.ran, total.grants, total.revokes) = (Nanos::ZERO, 0, 0);
        }
        for of in &self.0 {
            let had = of.is.map_or_else(|had| had, |core_vp| Had::of(view, core_vp, now));
            let total = &mut result.schedulers[of.scheduler];
            total.ran += had.ran.saturating_sub(of.before.ran);
            total.grants += u64::from(had.grants.wrapping_sub(of.before.grants));
            total.revokes += u64::from(had.revokes.wrapping_sub(of.before.revokes));
        }
    }
}

/// A record of the core in the numbers of the plan; `planned` is [`Built::planned`].
pub fn planned_record(planned: &[VpId], raw: RawRecord) -> Record {
    let vp = planned.get(raw.vp as usize).copied().unwrap_or(0);
    Record { at: raw.at, vp, cpu: raw.cpu, what: what(raw.kind) }
}

fn what(kind: RecordKind) -> What {
    match kind {
        RecordKind::Request => What::Request,
        RecordKind::Grant => What::Grant,
        RecordKind::Revoke => What::Revoke,
        RecordKind::Release => What::Release,
        RecordKind::Throttle => What::Throttle,
        RecordKind::Replenish { budget, deadline } => What::Replenish { budget, deadline },
        RecordKind::Stolen { length } => What::Stolen { length },
        RecordKind::Offline => What::Offline,
        RecordKind::Online => What::Online,
        RecordKind::Fallback { scheduler, violation, .. } => What::TakenOut { scheduler, offence: violation },
    }
}

/// The parameters of each VP of an edge: of a share, which is meant for the child whole, its part. None above the root.
pub fn vp_params(hierarchy: &Hierarchy, edge: &Edge) -> Params {
    let Some(parent) = edge.parent else { return Params::default() };
    let policy = hierarchy.schedulers[parent].policy;
    let mut params = Params::from_slice(&edge.params);
    if let Some(share) = policy.vp_params.iter().position(|param| param.name == "share") {
        let children = hierarchy.edges.iter().filter(|edge| edge.parent == Some(parent));
        let above = hierarchy.edges.iter().filter(|edge| edge.child == Child::Scheduler(parent));
        let held = above.map(|edge| edge.width).fold(0, u16::saturating_add).clamp(1, hierarchy.machine.cpus);
        let shares = children.map(|edge| (edge.params[share], edge.width));
        let scale = ShareScale::new(shares, held, policy.vp_params[share].max);
        params.0[share] = scale.of_a_vp(params.0[share], edge.width);
    }
    params
}
