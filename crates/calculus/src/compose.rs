//! Labels a whole hierarchy with guarantees, from the root down (HLS section 3.3), on a directed acyclic graph.
//!
//! Relies on one step for each scheduler (`local.rs`). Every edge gets a label. Never fails and never loops: a
//! malformed graph (an unknown policy, a cycle, an index out of range) gives NULL labels and problems.

use crate::caps::caps;
use crate::derivation::Rule;
use crate::graph::{Child, Graph, Links};
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::local::{Place, Problem, StepContext};
use crate::narrow::usable_vps;
use crate::rules::Rules;
use crate::stolen::{STOLEN, left_over};
use crate::work::Work;
use std::collections::VecDeque;

/// The labels of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// A label for each edge, in the order of [`Graph::edges`].
    pub labels: Vec<Label>,
    /// Everything that is wrong with the hierarchy, from the root down. Empty where the hierarchy composes correctly.
    pub problems: Vec<Problem>,
}

const ROOT: Rule = Rule { name: "root", source: "HLS, section 4.2: the machine gives ALL" };
const UNREACHED: Rule =
    Rule { name: "not reached", source: "HLS, section 3.3: each parent must be labelled first" };

/// Labels every edge of `graph`.
pub fn analyse(graph: &Graph, rules: impl Into<Rules>) -> Analysis {
    analyse_within(graph, rules.into(), &Work::unlimited())
}

/// Like [`analyse`], in the elementary steps of `work`. Where these are not enough, labels may be weaker than they
/// could be.
pub(crate) fn analyse_within(graph: &Graph, rules: Rules, work: &Work) -> Analysis {
    let graph = &*graph.with_pins_spread();
    let links = Links::new(graph);
    let caps = if rules.global { caps(graph, &links) } else { Vec::new() };
    let usable = usable_vps(graph, &links);
    let around = StepContext { graph, links: &links, mode: rules.mode, caps: &caps, usable: &usable, work };
    let mut labelling = Labelling {
        around,
        waiting: links.above.iter().map(Vec::len).collect(),
        labels: vec![None; graph.edges.len()],
        problems: Vec::new(),
        ready: VecDeque::new(),
        compared: None,
    };
    labelling.label_roots();
    while let Some(scheduler) = labelling.ready.pop_front() {
        labelling.label_children(scheduler);
    }
    labelling.finish()
}

/// A hierarchy with labels for some of its edges.
struct Labelling<'a> {
    around: StepContext<'a>,
    /// For each scheduler, the edges above it that have no label yet.
    waiting: Vec<usize>,
    labels: Vec<Option<Label>>,
    problems: Vec<Problem>,
    /// Schedulers with all edges above them labelled.
    ready: VecDeque<usize>,
    /// The edge that was compared last with what it asks for.
    compared: Option<Compared>,
}

/// An edge that was compared with what it asks for.
struct Compared {
    edge: usize,
    steps: usize,
    problem: Option<Problem>,
}

impl Labelling<'_> {
    /// Labels the edges without a parent: the first receives the machine, any other is an error.
    fn label_roots(&mut self) {
        let graph = self.around.graph;
        let roots = (0..graph.edges.len()).filter(|edge| graph.edges[*edge].parent.is_none());
        for (position, edge) in roots.enumerate() {
            let count = graph.edges[edge].width.max(1).min(graph.cpus);
            let formula = format!("{count} of {} CPUs", graph.cpus);
            let label = match (position, count, left_over(&graph.stolen)) {
                (0, 0, _) => Label::new(Guarantee::Null, 0, ROOT, Vec::new(), formula),
                (0, _, None) => Label::new(Guarantee::All, count, ROOT, Vec::new(), formula),
                (0, _, Some((rest, taken))) => {
                    Label::new(rest, count, STOLEN, Vec::new(), format!("{formula}; {taken}"))
                }
                _ => {
                    let found = "a second root, which has no CPU left".to_owned();
                    self.problems.push(self.around.problem(Place::Edge(edge), "one root".into(), found));
                    Label::new(Guarantee::Null, 0, ROOT, Vec::new(), "a second root".into())
                }
            };
            self.set(edge, self.around.finished(edge, label));
        }
    }

    fn label_children(&mut self, scheduler: usize) {
        let (labels, problems) = self.around.step(scheduler, |edge| self.labels[edge].as_ref());
        self.problems.extend(problems);
        let below = &self.around.links.below[scheduler];
        for (&edge, label) in below.iter().zip(labels) {
            self.set(edge, label);
        }
    }

    /// Compares a label with what the edge asks for. A thread may have thousands of instances, mostly alike: an edge
    /// that is like the edge before gets the same result, for the same number of steps.
    fn compare(&self, edge: usize, label: &Label) -> Compared {
        let requested = |edge: usize| &self.around.graph.edges[edge].requested;
        let is_alike = |last: &&Compared| {
            let same = |other: &Label| label.promises_as(other) && label.has_reason_of(other);
            requested(last.edge) == requested(edge) && self.labels[last.edge].as_ref().is_some_and(same)
        };
        let Some(last) = self.compared.as_ref().filter(is_alike) else {
            let (steps, problem) = self.around.unmet(edge, label);
            return Compared { edge, steps, problem };
        };
        self.around.work.take(last.steps);
        let here =
            |Problem { needed, found, .. }: Problem| self.around.problem(Place::Edge(edge), needed, found);
        Compared { edge, steps: last.steps, problem: last.problem.clone().map(here) }
    }

    /// Stores a label, checks it against what the edge asks for, and makes the child ready when it was the last.
    fn set(&mut self, edge: usize, label: Label) {
        let compared = self.compare(edge, &label);
        self.problems.extend(compared.problem.clone());
        self.compared = Some(compared);
        self.labels[edge] = Some(label);
        if let Child::Scheduler(child) = self.around.graph.edges[edge].child
            && let Some(waiting) = self.waiting.get_mut(child)
        {
            *waiting -= 1;
            if *waiting == 0 {
                self.ready.push_back(child);
            }
        }
    }

    /// Gives NULL to the edges that were not reached: edges on a cycle, and edges below schedulers without a parent.
    fn finish(mut self) -> Analysis {
        for edge in 0..self.labels.len() {
            if self.labels[edge].is_none() {
                let found = "a cycle, or a scheduler that no edge from the root leads to".to_owned();
                self.problems.push(self.around.problem(
                    Place::Edge(edge),
                    "a path from the root".into(),
                    found,
                ));
                let label =
                    Label::new(Guarantee::Null, 0, UNREACHED, Vec::new(), "no path from the root".into());
                self.labels[edge] = Some(label.named(self.around.graph.child_name(edge)));
            }
        }
        Analysis { labels: self.labels.into_iter().flatten().collect(), problems: self.problems }
    }
}
