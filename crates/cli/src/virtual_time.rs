//! Finds in a plan what `hls run --virtual-time` draws: the children of the first scheduler of `bvt`.

use crate::exit::Error;
use hls_hierarchy::model::{Child, Edge};
use hls_monitor::event::ObservedVp;
use hls_plan::Plan;
use hls_report::virtual_time::Borrower;
use hls_units::Nanos;

/// The policy with virtual times that can be drawn.
const POLICY: &str = "bvt";

/// The parameters of a scheduler that make virtual times depend on what records do not tell.
const UNSEEN: [&str; 2] = ["stall-credit", "unit"];

/// The VPs of the first scheduler of `bvt`, with their parameters.
pub fn borrowers(plan: &Plan) -> Result<Vec<Borrower>, Error> {
    let hierarchy = &plan.hierarchy;
    let Some(number) = hierarchy.schedulers.iter().position(|scheduler| scheduler.policy.name == POLICY)
    else {
        let found = format!("found no scheduler of `{POLICY}` in the file");
        return Err(Error::Input(format!("{found}, expected one, of which --virtual-time makes a picture")));
    };
    let scheduler = &hierarchy.schedulers[number];
    let settings = scheduler.policy.scheduler_params.iter().zip(&scheduler.params);
    let mut unseen = settings.filter(|(param, value)| UNSEEN.contains(&param.name) && **value > 0);
    if let Some((param, _)) = unseen.next() {
        let found = format!("found `{}` of scheduler `{}`", param.name, scheduler.name);
        let why = "expected it to be 0 for a picture of virtual time, which cannot show what it does";
        return Err(Error::Input(format!("{found}, {why}")));
    }
    let known = &hierarchy.schedulers[number].policy.vp_params;
    let param = |edge: &Edge, name: &str| {
        let place = known.iter().position(|param| param.name == name);
        place.and_then(|place| edge.params.get(place)).copied().unwrap_or(0)
    };
    let borrower = |edge: &Edge, vp: ObservedVp| Borrower {
        vp,
        share: param(edge, "share").max(1),
        warp: Nanos(param(edge, "warp")),
        limit: Nanos(param(edge, "warp-limit")),
        unwarp: Nanos(param(edge, "unwarp")),
    };
    for edge in hierarchy.edges.iter().filter(|edge| edge.parent == Some(number) && param(edge, "warp") > 0) {
        let Child::Scheduler(below) = edge.child else { continue };
        let child = &hierarchy.schedulers[below];
        let mut children = hierarchy.edges.iter().filter(|edge| edge.parent == Some(below));
        if child.policy.name == POLICY && children.any(|edge| param(edge, "warp") > 0) {
            let found = format!("found scheduler `{}` below `{}`", child.name, scheduler.name);
            let why = "which is warped as its children are: expected none for a picture of virtual time";
            return Err(Error::Input(format!("{found}, {why}")));
        }
    }
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
