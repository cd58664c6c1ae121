//! What the VPs of the plan's schedulers have used in a run, also those that were removed from the hierarchy. Relies on
//! the core to count it, even for VPs that are not watched.

use hls_core::{CoreVp, View};
use hls_monitor::event::ObservedVp;
use hls_monitor::result::RunResult;
use hls_units::Nanos;

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
    pub(crate) fn add(&mut self, vp: ObservedVp, scheduler: usize, core_vp: CoreVp) {
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
    pub(crate) fn complete(&self, view: &View, now: Nanos, result: &mut RunResult) {
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
