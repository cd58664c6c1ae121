//! Labels a whole hierarchy with guarantees, from the root down (HLS section 3.3), on a directed acyclic graph.
//!
//! Relies on one analysis a policy (`schedulers/`), and within a scheduler on local knowledge only: what it holds and
//! what it provides. Every edge gets a label. Never fails and never loops: a malformed graph (an unknown policy, a
//! cycle, an index out of range) gives NULL labels and problems.

use crate::derivation::{Derivation, Rule};
use crate::guarantee::Guarantee;
use crate::rational::Rational;
use crate::rewrite::{Refusal, implies};
use crate::schedulers::{self, Complaint, Instance, Provided, Slot};
use num_traits::One;
use std::borrow::Cow;
use std::sync::Arc;

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
    /// Whether the child may use only some of the machine's CPUs. [`analyse`] treats a scheduler with such a thread
    /// below it alike.
    pub pinned: bool,
}

/// Which bound of start-time fair queuing is used (see `schedulers/proportional_share.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The paper's formula, inflated by one over the parent's share.
    Paper,
    /// The tight bound.
    #[default]
    Tight,
}

/// What an edge carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The strongest guarantee that could be shown.
    pub guarantee: Guarantee,
    /// Others that hold at the same time (below a join).
    pub beside: Vec<Guarantee>,
    /// How many of the edge's VPs have the guarantee at once; the others have NULL. Zero for NULL.
    pub count: u16,
    /// The speed of the processor in whose time the amounts are counted: 1, but below RESU (HLS section 5.1).
    pub scale: Rational,
    /// Why it holds.
    pub derivation: Arc<Derivation>,
}

impl Label {
    /// A label for `count` VPs by one rule; amounts in real time.
    pub(crate) fn new(
        guarantee: Guarantee,
        count: u16,
        rule: Rule,
        premises: Vec<Arc<Derivation>>,
        formula: String,
    ) -> Label {
        let derivation =
            Derivation { subject: String::new(), rule, premises, formula, conclusion: guarantee.clone() };
        let count = if guarantee == Guarantee::Null { 0 } else { count };
        Label {
            guarantee,
            beside: Vec::new(),
            count,
            scale: Rational::one(),
            derivation: Arc::new(derivation),
        }
    }

    /// The guarantee with its amounts in real time.
    pub fn absolute(&self) -> Guarantee {
        self.guarantee.scaled(&self.scale)
    }

    /// Whether this label implies a need, by the guarantee itself or by one that holds beside it.
    pub fn satisfies(&self, need: &Guarantee) -> Result<Derivation, Refusal> {
        let first = implies(&self.absolute(), need);
        if first.is_ok() {
            return first;
        }
        self.beside.iter().find_map(|other| implies(&other.scaled(&self.scale), need).ok()).map_or(first, Ok)
    }

    /// Why this label does not imply a need, for people; `None` where it does. Below NULL that is why there is nothing.
    pub fn shortcoming(&self, need: &Guarantee) -> Option<String> {
        let refusal = self.satisfies(need).err()?;
        let Derivation { rule, formula, .. } = &*self.derivation;
        match &self.guarantee {
            Guarantee::Null if !formula.is_empty() => Some(format!("{}: {formula}", rule.name)),
            _ => Some(refusal.reason),
        }
    }

    /// Says on which edge the label is.
    fn named(mut self, subject: &str) -> Label {
        Arc::make_mut(&mut self.derivation).subject = subject.to_owned();
        self
    }
}

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Index into [`Graph::schedulers`].
    Scheduler(usize),
    /// Index into [`Graph::edges`].
    Edge(usize),
}

/// A place where the hierarchy cannot keep what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What was needed.
    pub needed: String,
    /// What there is.
    pub found: String,
    /// Both in a sentence, with the numbers.
    pub message: String,
}

/// The labels of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// One label an edge, in the order of [`Graph::edges`].
    pub labels: Vec<Label>,
    /// Everything that is wrong, in the order in which it was met. Empty: the hierarchy composes correctly.
    pub problems: Vec<Problem>,
}

const ROOT: Rule = Rule { name: "root", source: "HLS, section 4.2: the machine gives ALL" };
const UNREACHED: Rule =
    Rule { name: "not reached", source: "HLS, section 3.3: each parent must be labelled first" };
const PINNED: Rule = Rule { name: "pinned", source: "a VP may be granted a CPU that its child may not use" };

/// Labels every edge of `graph`.
pub fn analyse(graph: &Graph, mode: Mode) -> Analysis {
    let graph = &*with_pins_spread(graph);
    let mut work = Work::new(graph, mode);
    work.label_roots();
    while let Some(scheduler) = work.ready.pop() {
        work.label_children(scheduler);
    }
    work.finish()
}

/// Pins every edge to a scheduler with a pinned thread below it: its VP may be granted a CPU that it must refuse,
/// whoever else is below. Only the machine's own VPs, one a CPU, are requested where they can be used.
fn with_pins_spread(graph: &Graph) -> Cow<'_, Graph> {
    if graph.cpus <= 1 || graph.edges.iter().all(|edge| !edge.pinned) {
        return Cow::Borrowed(graph);
    }
    let mut above = vec![Vec::new(); graph.schedulers.len()];
    for (index, edge) in graph.edges.iter().enumerate() {
        if let Child::Scheduler(child) = edge.child
            && let Some(above) = above.get_mut(child)
        {
            above.push(index);
        }
    }
    let mut pinned: Vec<usize> = (0..graph.edges.len()).filter(|edge| graph.edges[*edge].pinned).collect();
    let mut graph = graph.clone();
    while let Some(edge) = pinned.pop() {
        let parent = graph.edges[edge].parent.and_then(|parent| above.get_mut(parent));
        for edge in parent.map(std::mem::take).unwrap_or_default() {
            let Edge { parent, width, pinned: is_pinned, .. } = &mut graph.edges[edge];
            *is_pinned |= parent.is_some() || *width < graph.cpus;
            pinned.push(edge);
        }
    }
    Cow::Owned(graph)
}

/// A scheduler's edges.
#[derive(Clone, Default)]
struct Around {
    above: Vec<usize>,
    below: Vec<usize>,
    /// Edges above that have no label yet.
    waiting: usize,
}

struct Work<'a> {
    graph: &'a Graph,
    mode: Mode,
    around: Vec<Around>,
    labels: Vec<Option<Label>>,
    problems: Vec<Problem>,
    /// Schedulers all of whose edges above are labelled.
    ready: Vec<usize>,
}

impl<'a> Work<'a> {
    fn new(graph: &'a Graph, mode: Mode) -> Work<'a> {
        let mut around = vec![Around::default(); graph.schedulers.len()];
        for (index, edge) in graph.edges.iter().enumerate() {
            if let Some(parent) = edge.parent.and_then(|parent| around.get_mut(parent)) {
                parent.below.push(index);
            }
            if let Child::Scheduler(child) = edge.child
                && let Some(child) = around.get_mut(child)
            {
                child.above.push(index);
                child.waiting += 1;
            }
        }
        Work {
            graph,
            mode,
            around,
            labels: vec![None; graph.edges.len()],
            problems: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// The first edge without a parent receives the machine; any other is an error.
    fn label_roots(&mut self) {
        let roots: Vec<usize> =
            (0..self.graph.edges.len()).filter(|e| self.graph.edges[*e].parent.is_none()).collect();
        for (position, &edge) in roots.iter().enumerate() {
            let width = self.graph.edges[edge].width.max(1);
            if position == 0 {
                let count = width.min(self.graph.cpus);
                let formula = format!("{count} of {} CPUs", self.graph.cpus);
                let guarantee = if count == 0 { Guarantee::Null } else { Guarantee::All };
                self.set(edge, Label::new(guarantee, count, ROOT, Vec::new(), formula));
            } else {
                let found = "a second root, which has no CPU left".to_owned();
                self.problem(Place::Edge(edge), "one root".into(), found);
                self.set(edge, Label::new(Guarantee::Null, 0, ROOT, Vec::new(), "a second root".into()));
            }
        }
    }

    fn label_children(&mut self, scheduler: usize) {
        let provided = self.provide(scheduler);
        let below = std::mem::take(&mut self.around[scheduler].below);
        for complaint in provided.complaints {
            let Complaint { child, needed, found } = complaint;
            let edge = child.and_then(|child| below.get(child).copied());
            self.problem(edge.map_or(Place::Scheduler(scheduler), Place::Edge), needed, found);
        }
        for (edge, label) in below.into_iter().zip(provided.labels) {
            self.set(edge, label);
        }
    }

    /// What the scheduler's policy provides to the edges below it.
    fn provide(&mut self, scheduler: usize) -> Provided {
        let (graph, around) = (self.graph, &self.around[scheduler]);
        let Scheduler { policy, params, .. } = &graph.schedulers[scheduler];
        let held: Vec<Slot> = (around.above.iter())
            .filter_map(|&edge| {
                self.labels[edge].as_ref().map(|label| Slot { label, width: graph.edges[edge].width.max(1) })
            })
            .collect();
        let children: Vec<&Edge> = around.below.iter().map(|&edge| &graph.edges[edge]).collect();
        let names = children.iter().map(|edge| self.child_name(edge)).collect();
        let instance = Instance { params, held, children, names, cpus: graph.cpus, mode: self.mode };
        match schedulers::find(policy) {
            None => instance.nothing_because(
                schedulers::UNKNOWN,
                format!("a policy with an analysis ({})", schedulers::names()),
                format!("policy `{policy}`"),
            ),
            Some(entry) if instance.held.len() > 1 && !entry.joins => instance.nothing_because(
                schedulers::UNKNOWN,
                "one parent (only a join takes several)",
                format!("{} parents", instance.held.len()),
            ),
            Some(entry) => (entry.provide)(&instance),
        }
    }

    /// Stores a label, checks it against what the edge asks for, and makes the child ready when it was the last.
    fn set(&mut self, edge: usize, label: Label) {
        let Edge { child, requested, pinned, .. } = &self.graph.edges[edge];
        let who = if matches!(child, Child::Thread(_)) { "it" } else { "a thread below it" };
        let name = self.child_name(&self.graph.edges[edge]).to_owned();
        let label = if *pinned && self.graph.cpus > 1 && label.guarantee != Guarantee::Null {
            let premises = vec![label.derivation.clone()];
            Label::new(
                Guarantee::Null,
                0,
                PINNED,
                premises,
                format!("{who} may use only some of the machine's {} CPUs", self.graph.cpus),
            )
        } else {
            label
        };
        if let Some(need) = requested
            && let Some(reason) = label.shortcoming(need)
        {
            let found = format!("{} ({reason})", label.absolute().rounded_for_people());
            self.problem(Place::Edge(edge), need.rounded_for_people(), found);
        }
        self.labels[edge] = Some(label.named(&name));
        if let Child::Scheduler(child) = *child
            && let Some(around) = self.around.get_mut(child)
        {
            around.waiting -= 1;
            if around.waiting == 0 {
                self.ready.push(child);
            }
        }
    }

    fn child_name(&self, edge: &'a Edge) -> &'a str {
        match &edge.child {
            Child::Thread(name) => name,
            Child::Scheduler(index) => {
                self.graph.schedulers.get(*index).map_or("?", |scheduler| &scheduler.name)
            }
        }
    }

    fn problem(&mut self, place: Place, needed: String, found: String) {
        let name = match place {
            Place::Scheduler(index) => {
                self.graph.schedulers.get(index).map_or("?", |scheduler| &scheduler.name)
            }
            Place::Edge(index) => self.child_name(&self.graph.edges[index]),
        };
        let message = format!("{name}: needs {needed}, but there is {found}");
        self.problems.push(Problem { place, needed, found, message });
    }

    /// Gives NULL to whatever was not reached: edges of a cycle, or of schedulers without a parent.
    fn finish(mut self) -> Analysis {
        for edge in 0..self.labels.len() {
            if self.labels[edge].is_none() {
                let found = "a cycle, or a scheduler that no edge from the root leads to".to_owned();
                self.problem(Place::Edge(edge), "a path from the root".into(), found);
                let label =
                    Label::new(Guarantee::Null, 0, UNREACHED, Vec::new(), "no path from the root".into());
                let name = self.child_name(&self.graph.edges[edge]).to_owned();
                self.labels[edge] = Some(label.named(&name));
            }
        }
        Analysis { labels: self.labels.into_iter().flatten().collect(), problems: self.problems }
    }
}
