//! Builds the hierarchy of a plan in a core, maps the core's VPs to the plan's numbers, and writes what the core has
//! counted into the result. Both engines begin and end with it.

use crate::{ObservedSchedulers, OfSchedulers, unplaced_params, vp_params};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_hierarchy::model::{Child, ModelEdge, Scheduler};
use hls_monitor::event::{ObservedScheduler, ObservedVp};
use hls_monitor::result::{Decided, RunResult};
use hls_plan::Plan;
use hls_units::Nanos;

/// The hierarchy in the core.
pub struct Built<C> {
    /// The core.
    pub core: C,
    /// The core's scheduler for each of the hierarchy.
    pub schedulers: Vec<CoreScheduler>,
    /// Where threads belong that neither the file nor a request places, and their parameters there: in the default
    /// scheduler, or, where the hierarchy has none, the root.
    pub default: (CoreScheduler, Params),
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
        let mut create = |s: &Scheduler| {
            let created = core.create_scheduler(s.policy.id, Params::from_slice(&s.params))?;
            if s.owner.is_some() {
                core.let_pay(created)?;
            }
            Ok(created)
        };
        let schedulers: Vec<CoreScheduler> =
            hierarchy.schedulers.iter().map(&mut create).collect::<Result<_, _>>()?;
        let default = hierarchy.default_scheduler().unwrap_or_default();
        let mut built = Built {
            core,
            default: (schedulers[default], unplaced_params(hierarchy, default)),
            observed: ObservedSchedulers::of(&schedulers),
            schedulers,
            planned: Vec::new(),
            of_schedulers: OfSchedulers::default(),
        };
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

    /// How the choices of user-level schedulers were made so far, in the order of their numbers.
    pub fn decided(&mut self) -> Vec<(ObservedScheduler, Decided)> {
        self.observed.decided(self.core.view())
    }

    /// Writes into the result what the plan's schedulers have used up to `now`, and how choices were made.
    pub fn complete(&mut self, now: Nanos, result: &mut RunResult) {
        self.of_schedulers.complete(self.core.view(), now, result);
        for (observed, decided) in self.decided() {
            if let Some(of) = result.schedulers.get_mut(observed.index()) {
                of.decided = Some(decided);
            }
        }
    }
}
