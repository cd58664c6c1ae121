//! The lane of a scheduler or thread, and the order in which lanes are drawn.

use super::lane::{Kind, Lane};
use crate::hierarchy::Node;
use hls_monitor::event::ObservedVp;
use hls_monitor::result::Topology;
use hls_units::Nanos;

/// The lane of a scheduler, or of a thread at one place.
#[derive(Clone, Debug)]
pub(super) struct NodeLane {
    pub name: String,
    pub guarantee: String,
    /// The VPs to it, from all its parents.
    pub vps: Vec<ObservedVp>,
    /// The lane of its first parent.
    above: Option<usize>,
    /// How many schedulers are above.
    pub depth: usize,
    /// For a thread: which one.
    pub thread: Option<usize>,
    /// Whether it is at this place from the beginning: then it is drawn whatever it does.
    pub is_of_file: bool,
    pub lane: Lane,
    /// What it does, if it does not wait, and since when.
    state: Option<Kind>,
    since: Nanos,
    pub releases: Vec<Nanos>,
    pub deadlines: Vec<Nanos>,
    pub misses: Vec<Nanos>,
}

impl NodeLane {
    /// The lane of a node that has no VPs yet, at this depth.
    pub fn new(
        name: &str,
        (above, depth): (Option<usize>, usize),
        thread: Option<usize>,
        lane: Lane,
    ) -> NodeLane {
        NodeLane {
            name: name.to_owned(),
            guarantee: String::new(),
            vps: Vec::new(),
            above,
            depth,
            thread,
            is_of_file: false,
            lane,
            state: None,
            since: Nanos::ZERO,
            releases: Vec::new(),
            deadlines: Vec::new(),
            misses: Vec::new(),
        }
    }

    /// The lane of a node of the file.
    pub fn of_file(topology: &Topology, node: Node, thread: Option<usize>, lane: Lane) -> NodeLane {
        let Node { edge, parent } = node;
        let lane = NodeLane::new(edge.name(topology), (parent, edge.depth), thread, lane);
        NodeLane { guarantee: edge.guarantee(topology), vps: edge.vps, is_of_file: true, ..lane }
    }

    /// From `at` on, the node does something else.
    pub fn change(&mut self, state: Option<Kind>, at: Nanos) {
        if state != self.state {
            if let Some(before) = self.state {
                self.lane.push(self.since, at, before);
            }
            (self.state, self.since) = (state, at);
        }
    }

    fn is_empty(&self) -> bool {
        let marks = [&self.releases, &self.deadlines, &self.misses];
        self.lane.bars.is_empty() && marks.iter().all(|marks| marks.is_empty())
    }
}

/// The lanes in the order in which they are drawn: each followed by the lanes below it. Lanes that came later, and show
/// nothing, are left out.
pub(super) fn in_order(nodes: Vec<NodeLane>) -> Vec<NodeLane> {
    let mut below = vec![Vec::new(); nodes.len()];
    let mut pending = Vec::new();
    for (number, node) in nodes.iter().enumerate().rev() {
        node.above.map_or(&mut pending, |above| &mut below[above]).push(number);
    }
    let mut nodes: Vec<Option<NodeLane>> = nodes.into_iter().map(Some).collect();
    let mut ordered = Vec::new();
    while let Some(number) = pending.pop() {
        pending.append(&mut below[number]);
        ordered.extend(nodes[number].take().filter(|node| node.is_of_file || !node.is_empty()));
    }
    ordered
}
