//! The parameters that VPs have in the core. Relies on the parameters of the hierarchy being in the order of the
//! policy's list.

use crate::ShareScale;
use hls_core::Params;
use hls_core::pages::{number_child, number_of_scheduler};
use hls_hierarchy::model::{Child, Edge, Hierarchy, params_of_the_unplaced};

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
