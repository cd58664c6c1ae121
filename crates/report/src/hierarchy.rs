//! The hierarchy in reading order: from the root down, children in file order, each node once.
//!
//! Relies on nothing but the topology; a cycle in it ends the walk there, and what no VP leads to is left out.

use hls_monitor::event::ObservedVp;
use hls_monitor::result::{Child, Topology};

/// An edge, or all edges from one scheduler to one child (a scheduler may hold a VP for each CPU).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The VPs that are this edge; never empty.
    pub vps: Vec<ObservedVp>,
    /// What is below.
    pub child: Child,
    /// How many schedulers are above.
    pub depth: usize,
    /// Whether it is the last edge of its parent.
    pub is_last: bool,
    /// Whether the child, a join, came before, with all that is below it.
    pub is_repeated: bool,
}

impl Edge {
    /// The name of the child.
    pub fn name<'t>(&self, topology: &'t Topology) -> &'t str {
        self.vps.first().map_or("", |&vp| topology.child_name(vp))
    }

    /// The policy of the child; nothing for a thread.
    pub fn policy<'t>(&self, topology: &'t Topology) -> &'t str {
        match self.child {
            Child::Scheduler(index) => {
                topology.schedulers.get(index.index()).map_or("", |s| s.policy.as_str())
            }
            _ => "",
        }
    }

    /// The guarantees on the VPs, equal ones counted together: `ALL`, `ALL (on 4 CPUs)`.
    pub fn guarantee(&self, topology: &Topology) -> String {
        let of = |vp: &ObservedVp| topology.vps.get(vp.index()).map_or("", |vp| vp.guarantee.as_str());
        let mut groups: Vec<(&str, usize)> = Vec::new();
        for text in self.vps.iter().map(of).filter(|text| !text.is_empty()) {
            match groups.last_mut() {
                Some((last, count)) if *last == text => *count += 1,
                _ => groups.push((text, 1)),
            }
        }
        let show = |(text, count): (&str, usize)| {
            if count == 1 { text.to_owned() } else { format!("{text} (on {count} CPUs)") }
        };
        groups.into_iter().map(show).collect::<Vec<_>>().join(", ")
    }
}

/// All edges, each followed by the edges below its child.
pub(crate) fn walk(topology: &Topology) -> Vec<Edge> {
    let mut below = vec![Vec::new(); topology.schedulers.len()];
    let mut roots = Vec::new();
    for (vp, info) in (0..).map(ObservedVp).zip(&topology.vps) {
        match info.parent {
            _ if info.child == Child::None => {}
            None => roots.push(vp),
            Some(parent) => below.get_mut(parent.index()).into_iter().for_each(|vps| vps.push(vp)),
        }
    }
    let mut seen = vec![false; topology.schedulers.len()];
    let mut edges = Vec::new();
    let mut pending = edges_to(topology, &roots, 0);
    while let Some(mut edge) = pending.pop() {
        if let Child::Scheduler(index) = edge.child
            && let Some(is_seen) = seen.get_mut(index.index())
        {
            edge.is_repeated = std::mem::replace(is_seen, true);
            if !edge.is_repeated {
                pending.append(&mut edges_to(topology, &below[index.index()], edge.depth + 1));
            }
        }
        edges.push(edge);
    }
    edges
}

/// A scheduler or thread.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The edge to it from its first parent, with the VPs from all its parents.
    pub edge: Edge,
    /// Index of its first parent; `None` for the root.
    pub parent: Option<usize>,
}

/// Each scheduler and thread once, parents before children.
pub(crate) fn nodes(topology: &Topology) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut path = Vec::new();
    let mut place = vec![0; topology.schedulers.len()];
    for edge in walk(topology) {
        let scheduler = match edge.child {
            Child::Scheduler(index) => place.get_mut(index.index()),
            _ => None,
        };
        match scheduler {
            Some(&mut known) if edge.is_repeated => nodes[known].edge.vps.extend(edge.vps),
            scheduler => {
                scheduler.into_iter().for_each(|place| *place = nodes.len());
                path.truncate(edge.depth);
                let parent = path.last().copied();
                path.push(nodes.len());
                nodes.push(Node { edge, parent });
            }
        }
    }
    nodes
}

/// The VPs of one scheduler; VPs with a common child are one edge. The last edge comes first, as a stack wants it.
fn edges_to(topology: &Topology, vps: &[ObservedVp], depth: usize) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    for &vp in vps {
        let Some(info) = topology.vps.get(vp.index()) else {
            continue;
        };
        // A thread has one VP; only schedulers have several VPs to look for.
        let same = match info.child {
            Child::Thread => None,
            child => edges.iter_mut().rev().find(|edge| edge.child == child),
        };
        match same {
            Some(edge) => edge.vps.push(vp),
            None => {
                edges.push(Edge {
                    vps: vec![vp],
                    child: info.child,
                    depth,
                    is_last: false,
                    is_repeated: false,
                });
            }
        }
    }
    edges.last_mut().into_iter().for_each(|edge| edge.is_last = true);
    edges.reverse();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_monitor::event::ObservedScheduler;
    use hls_monitor::result::{SchedulerInfo, VpInfo};

    #[test]
    fn a_cycle_ends_the_walk() {
        let scheduler = |name: &str| SchedulerInfo { name: name.into(), policy: "join".into() };
        let vp = |parent, child| VpInfo { parent, child, ..VpInfo::default() };
        let (a, b) = (Child::Scheduler(ObservedScheduler(0)), Child::Scheduler(ObservedScheduler(1)));
        let topology = Topology {
            cpus: 1,
            schedulers: vec![scheduler("a"), scheduler("b")],
            vps: vec![
                VpInfo::default(),
                vp(None, a),
                vp(Some(ObservedScheduler(0)), b),
                vp(Some(ObservedScheduler(1)), a),
                vp(Some(ObservedScheduler(9)), b),
            ],
        };
        let names: Vec<_> =
            walk(&topology).iter().map(|edge| (edge.name(&topology).to_owned(), edge.is_repeated)).collect();
        assert_eq!(names, [("a".into(), false), ("b".into(), false), ("a".into(), true)]);
    }
}
