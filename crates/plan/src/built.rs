//! The hierarchy of a plan, built in a core, and whose number each VP there is. Both engines begin with it.

use crate::{Plan, ShareScale};
use hls_core::{Calls, CoreError, Params, RawRecord, RecordKind};
use hls_hierarchy::model::{Child, Edge, Hierarchy};
use hls_record::event::{Record, VpId, What};

/// The hierarchy in the core.
pub struct Built<C> {
    /// The core.
    pub core: C,
    /// The core's scheduler for each of the hierarchy.
    pub schedulers: Vec<u32>,
    /// For each VP of the core the planned one; 0: none.
    pub planned: Vec<VpId>,
    /// The planned VPs of schedulers, each with that of the core.
    pub of_schedulers: Vec<(VpId, u32)>,
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
        let mut built = Built { core, schedulers, planned: Vec::new(), of_schedulers: Vec::new() };
        for planned in &plan.edges {
            let edge = &hierarchy.edges[planned.edge];
            let Child::Scheduler(child) = edge.child else { continue };
            for (cpu, &vp) in (0..).zip(&planned.vps) {
                let core_vp = match edge.parent {
                    None => built.core.attach_root(built.schedulers[child], cpu)?,
                    Some(_) => built.attach(hierarchy, edge, Some(child))?,
                };
                built.of_schedulers.push((vp, core_vp));
                built.name(core_vp, vp, watch(vp));
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

    /// Gives a VP of the core its planned number; has the changes of its state recorded, if asked to.
    pub fn name(&mut self, core_vp: u32, vp: VpId, watch: bool) {
        let index = core_vp as usize;
        if self.planned.len() <= index {
            self.planned.resize(index + 1, 0);
        }
        self.planned[index] = vp;
        self.core.watch(core_vp, watch).expect("a VP that was just attached can be watched");
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
