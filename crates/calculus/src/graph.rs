//! A hierarchy as the calculus takes it: schedulers, and the VPs between them. Relies on nothing but [`Guarantee`].
//! Checks nothing: a malformed graph is for [`crate::analyse`] to complain of.

use crate::declaration::Declared;
use crate::guarantee::Guarantee;
use std::borrow::Cow;
use std::sync::Arc;

/// A hierarchy of schedulers and threads.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// How many CPUs the machine has.
    pub cpus: u16,
    /// What takes time of these CPUs away from all schedulers: interrupts, a host.
    pub stolen: Vec<Stolen>,
    /// The schedulers.
    pub schedulers: Vec<Scheduler>,
    /// The VPs, among them the root scheduler's own, which has no parent.
    pub edges: Vec<Edge>,
    /// Indices of the schedulers below which threads may come that this graph does not have, without being asked; they
    /// promise nothing to any child.
    pub open: Vec<usize>,
    /// Index of a scheduler that steals: its CPU time counts as stolen without being declared in `stolen`, and its
    /// siblings are promised what they would be promised without it.
    pub stealing: Option<usize>,
}

/// A source of stolen time: an interrupt, the host. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stolen {
    /// The least distance from one occurrence to the next.
    pub every: u64,
    /// The most CPU time that one occurrence takes.
    pub takes: u64,
}

/// A policy: what its instances promise.
#[derive(Clone, Debug)]
pub enum Policy {
    /// One of [`crate::schedulers::REGISTRY`], by its name.
    Named(String),
    /// A loaded policy, which declares what it promises. The graph carries the declaration, so that several versions of
    /// one policy can be in a hierarchy at once, and no registry has to know them.
    Declared(Arc<Declared>),
}

impl Policy {
    /// The policy's name.
    pub fn name(&self) -> &str {
        match self {
            Policy::Named(name) => name,
            Policy::Declared(declared) => declared.policy(),
        }
    }
}

impl<S: Into<String>> From<S> for Policy {
    fn from(name: S) -> Policy {
        Policy::Named(name.into())
    }
}

/// A scheduler instance.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The scheduler's name.
    pub name: String,
    /// The policy by which the scheduler decides.
    pub policy: Policy,
    /// Whether its policy lets it have several parents.
    pub joins: bool,
    /// Whether its policy tells a slower processor above it of its deadlines, and counts budgets in that one's time.
    pub tells_deadlines: bool,
    /// The parameters of this instance by name; times in nanoseconds.
    pub params: Vec<(String, u64)>,
}

/// What is scheduled by way of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// Index into [`Graph::schedulers`].
    Scheduler(usize),
    /// A thread, by name.
    Thread(String),
}

/// An edge of a graph, by its place in [`Graph::edges`]. The hierarchy that the graph was made of counts its edges
/// otherwise: it has one for all instances of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphEdge(pub usize);

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
    /// Whether the child may use only some of the machine's CPUs. The analysis treats a scheduler with such a thread
    /// below it alike.
    pub pinned: bool,
}

/// The edges above and below each scheduler, as positions in [`Graph::edges`], in their order.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    pub(crate) above: Vec<Vec<usize>>,
    pub(crate) below: Vec<Vec<usize>>,
}

impl Links {
    /// The links of a graph; an index out of range links nothing.
    pub(crate) fn new(graph: &Graph) -> Links {
        let none = vec![Vec::new(); graph.schedulers.len()];
        let mut links = Links { above: none.clone(), below: none };
        for (index, edge) in graph.edges.iter().enumerate() {
            links.link(index, edge);
        }
        links
    }

    /// Adds an edge, in the order of the graph's edges.
    pub(crate) fn link(&mut self, index: usize, edge: &Edge) {
        for list in self.lists(edge) {
            let place = list.partition_point(|other| *other < index);
            list.insert(place, index);
        }
    }

    /// Removes an edge.
    pub(crate) fn unlink(&mut self, index: usize, edge: &Edge) {
        for list in self.lists(edge) {
            list.retain(|other| *other != index);
        }
    }

    /// The lists that an edge stands in: the edges below its parent, and the edges above its child.
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
    /// The graph with every edge pinned that leads to a scheduler with a pinned thread below it: the scheduler's VP may
    /// be granted a CPU that it must refuse, whatever else is below. Only the machine's own VPs, one for each CPU, are
    /// requested where they can be used.
    pub(crate) fn with_pins_spread(&self) -> Cow<'_, Graph> {
        if self.cpus <= 1 || self.edges.iter().all(|edge| !edge.pinned) {
            return Cow::Borrowed(self);
        }
        let mut above = Links::new(self).above;
        let mut pinned: Vec<usize> = (0..self.edges.len()).filter(|edge| self.edges[*edge].pinned).collect();
        let mut graph = self.clone();
        while let Some(edge) = pinned.pop() {
            let parent = graph.edges[edge].parent.and_then(|parent| above.get_mut(parent));
            for edge in parent.map(std::mem::take).unwrap_or_default() {
                graph.edges[edge].pinned |= !graph.has_every_cpu(edge);
                pinned.push(edge);
            }
        }
        Cow::Owned(graph)
    }

    /// Whether what an edge takes counts as stolen.
    pub(crate) fn steals(&self, edge: usize) -> bool {
        let Child::Scheduler(child) = self.edges[edge].child else { return false };
        self.stealing == Some(child)
    }

    /// Whether an edge is the machine's own, with a VP for each CPU.
    pub(crate) fn has_every_cpu(&self, edge: usize) -> bool {
        self.edges[edge].parent.is_none() && self.edges[edge].width >= self.cpus
    }

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
