//! A hierarchy as the calculus takes it: schedulers, and the VPs between them. Relies on nothing but [`Guarantee`].
//! Checks nothing: a malformed graph is for [`crate::analyse`] to complain of.

use crate::guarantee::Guarantee;

/// A hierarchy of schedulers and threads.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// How many CPUs the machine has.
    pub cpus: u16,
    /// The schedulers.
    pub schedulers: Vec<Scheduler>,
    /// The VPs; among them one with no parent, the root's own.
    pub edges: Vec<Edge>,
}

/// A scheduler instance.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Its name.
    pub name: String,
    /// The name of its policy, as in [`schedulers::REGISTRY`].
    pub policy: String,
    /// Its parameters by name; times in nanoseconds.
    pub params: Vec<(String, u64)>,
}

/// What an edge gives CPU time to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// Index into [`Graph::schedulers`].
    Scheduler(usize),
    /// A thread, by name.
    Thread(String),
}

/// A VP, or `width` of them, between a scheduler and what it schedules.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Index into [`Graph::schedulers`]; `None` for the edge above the root.
    pub parent: Option<usize>,
    /// What is scheduled.
    pub child: Child,
    /// What the parent's policy asks of a VP, by name; times in nanoseconds.
    pub params: Vec<(String, u64)>,
    /// The guarantee that the label must imply.
    pub requested: Option<Guarantee>,
    /// How many VPs the edge stands for; 0 counts as 1.
    pub width: u16,
    /// Whether the child may use only some of the machine's CPUs.
    pub pinned: bool,
}

/// The edges above and below each scheduler, as positions in [`Graph::edges`], in their order.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    pub(crate) above: Vec<Vec<usize>>,
    pub(crate) below: Vec<Vec<usize>>,
}

impl Links {
    /// Those of a graph; an index out of range links nothing.
    pub(crate) fn new(graph: &Graph) -> Links {
        let none = vec![Vec::new(); graph.schedulers.len()];
        let mut links = Links { above: none.clone(), below: none };
        for (index, edge) in graph.edges.iter().enumerate() {
            links.link(index, edge);
        }
        links
    }

    /// Enters an edge in its place.
    pub(crate) fn link(&mut self, index: usize, edge: &Edge) {
        for list in self.lists(edge) {
            let place = list.partition_point(|other| *other < index);
            list.insert(place, index);
        }
    }

    /// Takes an edge out.
    pub(crate) fn unlink(&mut self, index: usize, edge: &Edge) {
        for list in self.lists(edge) {
            list.retain(|other| *other != index);
        }
    }

    /// The lists that an edge belongs to.
    fn lists(&mut self, edge: &Edge) -> impl Iterator<Item = &mut Vec<usize>> {
        let below = edge.parent.and_then(|parent| self.below.get_mut(parent));
        let above = match edge.child {
            Child::Scheduler(child) => self.above.get_mut(child),
            Child::Thread(_) => None,
        };
        below.into_iter().chain(above)
    }
}

impl Graph {
    /// The name of what an edge schedules; `?` where there is no such scheduler.
    pub(crate) fn child_name(&self, edge: usize) -> &str {
        match self.edges.get(edge).map(|edge| &edge.child) {
            Some(Child::Thread(name)) => name,
            Some(Child::Scheduler(index)) => {
                self.schedulers.get(*index).map_or("?", |scheduler| &scheduler.name)
            }
            None => "?",
        }
    }
}
