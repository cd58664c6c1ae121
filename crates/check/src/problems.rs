//! What the calculus finds wrong with a hierarchy, for people: at its place in the file, causes before their effects,
//! and each cause once.
//!
//! Relies on the problems of the analysis and on the places that the file's parts have. Finds nothing itself.

use crate::advice::edge_name;
use crate::derived::Derived;
use hls_calculus::{Guarantee, Place};
use hls_hierarchy::model::{Child, Hierarchy, ModelEdge, Span};
use hls_hierarchy::{Diagnostic, Severity};
use hls_plan::Plan;
use std::collections::HashMap;

/// No message names more children.
const MOST_NAMES: usize = 12;

impl Derived {
    /// What the calculus finds wrong, at its place in the file, causes before their effects. A scheduler that refuses
    /// its children what they need is one problem, which names the children. The first problem comes with the smallest
    /// change that mends it.
    pub fn problems(&self, plan: &Plan) -> Vec<Diagnostic> {
        let (hierarchy, all) = (&plan.hierarchy, &self.analysis.problems);
        let causes = self.causes();
        let mut refused: HashMap<usize, Vec<ModelEdge>> = HashMap::new();
        for (cause, problem) in causes.iter().zip(all) {
            if let (Some(cause), Place::Edge(edge)) = (cause, problem.place) {
                refused.entry(*cause).or_default().push(self.input.origins[edge].edge);
            }
        }
        let reached = reached(hierarchy);
        let mut order: Vec<usize> = (0..all.len()).filter(|problem| causes[*problem].is_none()).collect();
        order.sort_by_cached_key(|problem| {
            let place = all[*problem].place;
            let start = self.span(hierarchy, place).start;
            let (scheduler, is_edge) = match place {
                Place::Scheduler(scheduler) => (Some(scheduler), false),
                Place::Edge(index) => (self.input.graph.edges[index].parent, true),
            };
            (scheduler.map_or(start, |scheduler| reached[scheduler].max(start)), scheduler, is_edge, start)
        });
        let children = |problem: &usize| refused.get(problem).map_or(&[][..], |edges| edges);
        let diagnostics = order.iter().map(|problem| self.diagnostic(hierarchy, *problem, children(problem)));
        let mut problems: Vec<Diagnostic> = diagnostics.collect();
        // Instances of one thread have one place and, mostly, one problem.
        problems.dedup();
        let alone = problems.len() == 1;
        if let (Some(first), Some(problem)) = (problems.first_mut(), order.first()) {
            first.help = self.advice(hierarchy, *problem, alone);
        }
        problems
    }

    /// For each problem, the problem of the scheduler above, if that is its only cause: the scheduler refuses all that
    /// it could give, and so an edge below it gets nothing.
    fn causes(&self) -> Vec<Option<usize>> {
        let all = &self.analysis.problems;
        let refusals: HashMap<usize, (usize, String)> = (0..)
            .zip(all)
            .filter_map(|(index, problem)| match problem.place {
                Place::Scheduler(scheduler) => Some((scheduler, (index, problem.refusal()))),
                Place::Edge(_) => None,
            })
            .collect();
        let cause = |place: Place| {
            let Place::Edge(edge) = place else { return None };
            let (index, refusal) = refusals.get(&self.input.graph.edges[edge].parent?)?;
            let label = &self.analysis.labels[edge];
            let is_it = label.guarantee == Guarantee::Null && label.derivation.formula == *refusal;
            is_it.then_some(*index)
        };
        all.iter().map(|problem| cause(problem.place)).collect()
    }

    /// Where the file speaks of a place.
    fn span(&self, hierarchy: &Hierarchy, place: Place) -> Span {
        match place {
            Place::Scheduler(index) => hierarchy.schedulers[index].span.clone(),
            Place::Edge(index) => hierarchy.edge(self.input.origins[index].edge).span.clone(),
        }
    }

    /// A problem at its place; `refused`: the edges of the hierarchy that get nothing because of it.
    fn diagnostic(&self, hierarchy: &Hierarchy, problem: usize, refused: &[ModelEdge]) -> Diagnostic {
        let problem = &self.analysis.problems[problem];
        let child = match problem.place {
            Place::Scheduler(index) => Child::Scheduler(index),
            Place::Edge(index) => hierarchy.edge(self.input.origins[index].edge).child,
        };
        let message = match child {
            Child::Scheduler(index) => format!("scheduler `{}`", hierarchy.schedulers[index].name),
            Child::Thread(index) => format!("thread `{}`", hierarchy.threads[index].name),
        };
        let span = self.span(hierarchy, problem.place);
        let (found, mut expected) = (problem.found.clone(), problem.needed.clone());
        if !refused.is_empty() {
            expected += &format!(", to give {} what is asked for", names(hierarchy, refused));
        }
        let severity = Severity::Error;
        Diagnostic { severity, span, message, found, expected, help: None, first: None }
    }
}

/// The children of these edges, each once, at most [`MOST_NAMES`].
fn names(hierarchy: &Hierarchy, edges: &[ModelEdge]) -> String {
    let mut edges = edges.to_vec();
    edges.dedup();
    let mut shown: Vec<String> =
        edges.iter().take(MOST_NAMES).map(|edge| edge_name(hierarchy, hierarchy.edge(*edge))).collect();
    if edges.len() > shown.len() {
        shown.push(format!("{} more", edges.len() - shown.len()));
    }
    match shown.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => shown.concat(),
    }
}

/// For each scheduler, the place in the file at which a reader knows all that leads to it: at itself, or at the last of
/// what is above it, which a file may also mention later.
fn reached(hierarchy: &Hierarchy) -> Vec<usize> {
    let mut reached: Vec<usize> = hierarchy.schedulers.iter().map(|scheduler| scheduler.span.start).collect();
    let mut above = vec![Vec::new(); reached.len()];
    for edge in &hierarchy.edges {
        if let Child::Scheduler(child) = edge.child {
            above[child].push(edge);
        }
    }
    for scheduler in 0..reached.len() {
        for edge in &above[scheduler] {
            let parent = edge.parent.map_or(0, |parent| reached[parent]);
            reached[scheduler] = reached[scheduler].max(edge.span.start).max(parent);
        }
    }
    reached
}
