//! The machine: its CPUs with what they run, its clock ticks, and the hierarchy as it is built in the core.

use hls_core::{Core, CoreError, Params};
use hls_hierarchy::model::{Child, Edge, Hierarchy};
use hls_plan::{Plan, ShareScale};
use hls_record::event::VpId;
use hls_units::Nanos;

/// A CPU and what it is doing.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// The thread that it runs.
    pub current: Option<u32>,
    /// From when on the thread's program gets the CPU's time: later than now while a switch is paid for.
    pub progress_from: Nanos,
    /// Since when an interrupt has the CPU, and until when.
    pub interrupted: Option<(Nanos, Nanos)>,
    /// When its first slice is over: the core's answer after the last decision.
    pub expires_at: Nanos,
}

impl Cpu {
    /// A CPU that has nothing to do.
    pub const IDLE: Cpu =
        Cpu { current: None, progress_from: Nanos::ZERO, interrupted: None, expires_at: Nanos::MAX };
}

/// The first tick at or after a time; the time itself when timers are precise.
pub fn on_tick(tick_hz: Option<u32>, at: Nanos) -> Nanos {
    const SECOND: u128 = 1_000_000_000;
    let Some(hz) = tick_hz else { return at };
    if at == Nanos::MAX {
        return at;
    }
    let hz = u128::from(hz);
    let tick = (u128::from(at.0) * hz).div_ceil(SECOND);
    Nanos(u64::try_from(tick * SECOND / hz).unwrap_or(u64::MAX))
}

/// The hierarchy in the core.
pub struct Built {
    /// The core.
    pub core: Core,
    /// The core's scheduler for each of the hierarchy.
    pub schedulers: Vec<u32>,
    /// For each VP of the core the planned one; 0: none.
    pub planned: Vec<VpId>,
    /// The planned VPs of schedulers, each with that of the core.
    pub of_schedulers: Vec<(VpId, u32)>,
}

impl Built {
    /// Builds all schedulers and the VPs between them, and has those recorded that `watch` says. Threads come later.
    pub fn new(plan: &Plan, watch: impl Fn(VpId) -> bool) -> Result<Built, CoreError> {
        let hierarchy = &plan.hierarchy;
        let mut core = Core::new();
        for cpu in 0..hierarchy.machine.cpus {
            core.add_cpu(cpu)?;
        }
        let create = |s: &hls_hierarchy::model::Scheduler| {
            core.create_scheduler(s.policy.id, Params::from_slice(&s.params))
        };
        let schedulers: Vec<u32> = hierarchy.schedulers.iter().map(create).collect::<Result<_, _>>()?;
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

/// The parameters of each VP of an edge: of a share, which is meant for the child whole, its part.
fn vp_params(hierarchy: &Hierarchy, edge: &Edge, parent: usize) -> Vec<u64> {
    let policy = hierarchy.schedulers[parent].policy;
    let Some(share) = policy.vp_params.iter().position(|param| param.name == "share") else {
        return edge.params.clone();
    };
    let children = hierarchy.edges.iter().filter(|edge| edge.parent == Some(parent));
    let above = hierarchy.edges.iter().filter(|edge| edge.child == Child::Scheduler(parent));
    let held = above.map(|edge| edge.width).fold(0, u16::saturating_add).clamp(1, hierarchy.machine.cpus);
    let shares = children.map(|edge| (edge.params[share], edge.width));
    let mut params = edge.params.clone();
    params[share] =
        ShareScale::new(shares, held, policy.vp_params[share].max).of_a_vp(params[share], edge.width);
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_up() {
        assert_eq!(on_tick(None, Nanos(5)), Nanos(5));
        assert_eq!(on_tick(Some(1000), Nanos(0)), Nanos(0));
        assert_eq!(on_tick(Some(1000), Nanos(1)), Nanos(1_000_000));
        assert_eq!(on_tick(Some(1000), Nanos(1_000_000)), Nanos(1_000_000));
        assert_eq!(on_tick(Some(1024), Nanos(10_000_000)), Nanos(10_742_187));
        assert_eq!(on_tick(Some(1024), Nanos(10_742_187)), Nanos(10_742_187));
        assert_eq!(on_tick(Some(1024), Nanos::MAX), Nanos::MAX);
    }
}
