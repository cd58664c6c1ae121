//! The hierarchy of a plan, built in a core, and whose number each VP there is. Both engines begin with it.

use crate::Plan;
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
    /// Builds all schedulers and the VPs between them in an empty core, and has those recorded that `watch` says. Threads come later.
    /// With `tape` every call of the core is written down.
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
        let params = Params::from_slice(&vp_params(hierarchy, edge, parent));
        self.core.attach(self.schedulers[parent], child, params)
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
    }
}

/// The parameters of each VP of an edge. A share is meant for the child whole, so below proportional share a child of
/// several VPs has a part of it in each: shares are scaled so that all parts are whole numbers, as far as the policy's
/// range allows.
fn vp_params(hierarchy: &Hierarchy, edge: &Edge, parent: usize) -> Vec<u64> {
    let policy = hierarchy.schedulers[parent].policy;
    let Some(share) = policy.vp_params.iter().position(|param| param.name == "share") else {
        return edge.params.clone();
    };
    let siblings = || hierarchy.edges.iter().filter(|edge| edge.parent == Some(parent));
    let width = |edge: &Edge| u64::from(edge.width.max(1));
    let common = siblings().map(width).fold(1, common_multiple);
    let scaled = |edge: &Edge| edge.params[share] * common / width(edge);
    let (greatest, most) = (siblings().map(scaled).max().unwrap_or(1), policy.vp_params[share].max);
    let mut params = edge.params.clone();
    params[share] = if greatest > most { (scaled(edge) * most / greatest).max(1) } else { scaled(edge) };
    params
}

/// The least common multiple, or what is beyond all ranges of shares.
fn common_multiple(a: u64, b: u64) -> u64 {
    const MOST: u64 = 1 << 24;
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x * b).min(MOST)
}
