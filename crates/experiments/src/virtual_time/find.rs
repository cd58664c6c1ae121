//! Finds in a plan what is drawn: the children of the first scheduler of `bvt`.

use super::Borrower;
use hls_hierarchy::model::{Child, Edge};
use hls_monitor::event::ObservedVp;
use hls_plan::Plan;
use hls_units::Nanos;

/// The policy with virtual times that can be drawn.
const POLICY: &str = "bvt";

/// The parameters of a scheduler that make virtual times depend on what records do not tell.
const UNSEEN: [&str; 2] = ["stall-credit", "unit"];

/// The VPs of the first scheduler of `bvt`, with their parameters.
pub(super) fn borrowers(plan: &Plan) -> Result<Vec<Borrower>, String> {
    let hierarchy = &plan.hierarchy;
    let found = hierarchy.schedulers.iter().position(|scheduler| scheduler.policy.name == POLICY);
    let number = found.ok_or_else(|| format!("found no scheduler of `{POLICY}`, expected one"))?;
    let scheduler = &hierarchy.schedulers[number];
    let mut settings = scheduler.policy.scheduler_params.iter().zip(&scheduler.params);
    if let Some((param, _)) = settings.find(|(param, value)| UNSEEN.contains(&param.name) && **value > 0) {
        let found = format!("found `{}` of scheduler `{}`", param.name, scheduler.name);
        return Err(format!("{found}, expected it to be 0: no picture can show what it does"));
    }
    let param = |edge: &Edge, name: &str| {
        let place = scheduler.policy.vp_params.iter().position(|param| param.name == name);
        place.and_then(|place| edge.params.get(place)).copied().unwrap_or(0)
    };
    for edge in hierarchy.edges.iter().filter(|edge| edge.parent == Some(number) && param(edge, "warp") > 0) {
        let Child::Scheduler(below) = edge.child else { continue };
        let child = &hierarchy.schedulers[below];
        let mut children = hierarchy.edges.iter().filter(|edge| edge.parent == Some(below));
        if child.policy.name == POLICY && children.any(|edge| param(edge, "warp") > 0) {
            let found = format!("found scheduler `{}` below `{}`", child.name, scheduler.name);
            return Err(format!("{found}, which is warped as its children are: no picture can show that"));
        }
    }
    let borrower = |edge: &Edge, vp: ObservedVp| Borrower {
        vp,
        share: param(edge, "share").max(1),
        warp: Nanos(param(edge, "warp")),
        limit: Nanos(param(edge, "warp-limit")),
        unwarp: Nanos(param(edge, "unwarp")),
    };
    let schedulers = plan.edges.iter().map(|planned| (planned.edge, planned.vps.clone()));
    let threads = plan.groups.iter().map(|group| (group.edge, group.vps().collect()));
    let mut found: Vec<Borrower> = Vec::new();
    for (edge, vps) in schedulers.chain(threads) {
        let edge = hierarchy.edge(edge);
        if edge.parent == Some(number) {
            found.extend(vps.into_iter().map(|vp| borrower(edge, vp)));
        }
    }
    found.sort_by_key(|borrower| borrower.vp);
    Ok(found)
}
