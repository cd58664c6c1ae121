//! How many VPs a scheduler can use at once, by what is below it: a promise of more CPUs than that would be empty.
//!
//! The width of an edge is what the scheduler above grants at most. Below it a join has one VP, and other schedulers
//! have the VPs of their children. Threads may come and go while a hierarchy runs, so a scheduler with a thread, or
//! with nothing yet, can use all that it has.

use crate::graph::{Child, Edge, Graph, Links, Scheduler};

/// The most VPs below a scheduler by its policy alone.
pub(crate) fn most_vps_below(scheduler: &Scheduler) -> u16 {
    if scheduler.joins { 1 } else { u16::MAX }
}

/// How many VPs each scheduler can use at once; [`u16::MAX`] where nothing bounds that. Schedulers on a cycle keep what
/// their policies allow.
pub(crate) fn usable_vps(graph: &Graph, links: &Links) -> Vec<u16> {
    let mut usable: Vec<u16> = graph.schedulers.iter().map(most_vps_below).collect();
    let child_of = |edge: &Edge| match edge.child {
        Child::Scheduler(child) => Some(child).filter(|child| *child < graph.schedulers.len()),
        Child::Thread(_) => None,
    };
    let children = |at: usize| links.below[at].iter().map(|edge| &graph.edges[*edge]).collect::<Vec<&Edge>>();
    let mut waiting: Vec<usize> =
        (0..usable.len()).map(|at| children(at).into_iter().filter_map(child_of).count()).collect();
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|at| waiting[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        let below = children(at).into_iter().map(|edge| Some(edge.width.max(1).min(usable[child_of(edge)?])));
        let below: Option<Vec<u16>> = below.collect();
        if let Some(below) = below.filter(|below| !below.is_empty() && !graph.open.contains(&at)) {
            usable[at] = usable[at].min(below.into_iter().fold(0, u16::saturating_add));
        }
        for parent in links.above[at].iter().filter_map(|edge| graph.edges[*edge].parent) {
            if let Some(waiting) = waiting.get_mut(parent) {
                *waiting -= 1;
                if *waiting == 0 {
                    ready.push(parent);
                }
            }
        }
    }
    usable
}
