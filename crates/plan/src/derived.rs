//! The calculus at work on a plan: labels for every VP, promises to watch, problems with their place.

use crate::plan::{Plan, PlannedEdge};
use hls_calculus::{Analysis, Guarantee, Place, Problem, Rules, analyse};
use hls_hierarchy::analysis::Input;
use hls_hierarchy::model::{Child, Hierarchy, Scheduler, Thread};
use hls_hierarchy::{Diagnostic, Severity};
use hls_record::event::VpId;
use hls_record::observe::Promise;
use hls_record::result::Topology;
use hls_record::windows::Window;
use std::collections::HashSet;
use std::sync::Arc;

/// What was derived.
pub struct Derived {
    /// Labels and problems.
    pub analysis: Analysis,
    /// The way from an edge of the hierarchy to that of the graph.
    pub input: Input,
}

impl Derived {
    /// Analyses the hierarchy of a plan.
    pub fn new(plan: &Plan, rules: impl Into<Rules>) -> Derived {
        let input = Input::with_instances(&plan.hierarchy, &plan.instances);
        Derived { analysis: analyse(&input.graph, rules), input }
    }

    /// The guarantee on each VP of the plan; `Null` where nothing is promised.
    pub fn labels<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (VpId, &'a Guarantee)> {
        let of_schedulers = plan.edges.iter().flat_map(move |edge| {
            let (guarantee, count) = self.label(edge.edge, 0);
            let label = move |(n, &vp)| (vp, if n < count { guarantee } else { &Guarantee::Null });
            edge.vps.iter().enumerate().map(label)
        });
        let of_threads = plan.threads().map(|thread| (thread.vp, self.label(thread.edge, thread.instance).0));
        of_schedulers.chain(of_threads)
    }

    /// The guarantee on an edge and on how many of its VPs it holds.
    fn label(&self, edge: usize, instance: u32) -> (&Guarantee, usize) {
        let label = self.input.graph_edge_of(edge, instance).map(|index| &self.analysis.labels[index]);
        label.map_or((&Guarantee::Null, 0), |label| (&label.guarantee, usize::from(label.count)))
    }

    /// The VPs whose guarantee can be held against a run. One that holds on some of an edge's VPs, at any time on
    /// others, cannot be told from the records of any one of them.
    pub fn watchable<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (VpId, &'a Guarantee)> {
        let partly = |edge: &&PlannedEdge| self.label(edge.edge, 0).1 < edge.vps.len();
        let left_out: HashSet<VpId> =
            plan.edges.iter().filter(partly).flat_map(|edge| edge.vps.iter().copied()).collect();
        self.labels(plan).filter(move |(vp, _)| !left_out.contains(vp))
    }

    /// Writes the guarantees on the VPs of the plan.
    pub fn write_on(&self, plan: &mut Plan) {
        let labels: Vec<(VpId, String)> =
            self.labels(plan).map(|(vp, label)| (vp, label.rounded_for_people())).collect();
        for (vp, text) in labels {
            Arc::make_mut(&mut plan.topology).vps[vp as usize].guarantee = text.into();
        }
    }

    /// The topology of the plan, with what was asked for in vain beside what there is: for people to look at.
    pub fn with_refusals(&self, plan: &Plan) -> Topology {
        let mut topology = Topology::clone(&plan.topology);
        let of_schedulers = plan.edges.iter().map(|edge| (edge.edge, 0, edge.vps.first().copied()));
        let of_threads = plan.threads().map(|thread| (thread.edge, thread.instance, Some(thread.vp)));
        for (edge, instance, vp) in of_schedulers.chain(of_threads) {
            if let (Some(vp), Some(need)) = (vp, &plan.hierarchy.edges[edge].requested)
                && let Some(index) = self.input.graph_edge_of(edge, instance)
                && self.analysis.labels[index].satisfies(need).is_err()
            {
                let text = &mut topology.vps[vp as usize].guarantee;
                *text = format!("{text}, but needs {}", need.rounded_for_people()).into();
            }
        }
        topology
    }

    /// What the monitor is to hold against the run.
    pub fn promises(&self, plan: &Plan) -> Vec<Promise> {
        let mut promises = Vec::new();
        // Instances of one thread mostly have one guarantee, and its windows take a while to compute.
        let mut last: Option<(&Guarantee, Promise)> = None;
        for (vp, guarantee) in self.watchable(plan) {
            let promise = match last {
                Some((same, ref promise)) if same == guarantee => Promise { vp, ..promise.clone() },
                _ => promise(vp, guarantee),
            };
            last = Some((guarantee, promise.clone()));
            if !promise.windows.is_empty() {
                promises.push(promise);
            }
        }
        promises
    }

    /// What the calculus finds wrong, at its place in the file.
    pub fn problems(&self, plan: &Plan) -> Vec<Diagnostic> {
        let mut problems: Vec<Diagnostic> = Vec::new();
        for problem in &self.analysis.problems {
            let problem = self.diagnostic(&plan.hierarchy, problem);
            // Instances of one thread have one place and, mostly, one problem.
            if problems.last() != Some(&problem) {
                problems.push(problem);
            }
        }
        problems.sort_by_key(|problem| problem.span.start);
        problems
    }

    fn diagnostic(&self, hierarchy: &Hierarchy, problem: &Problem) -> Diagnostic {
        let child = match problem.place {
            Place::Scheduler(index) => Child::Scheduler(index),
            Place::Edge(index) => hierarchy.edges[self.input.origins[index].edge].child,
        };
        let (message, of_node) = match child {
            Child::Scheduler(index) => {
                let Scheduler { name, span, .. } = &hierarchy.schedulers[index];
                (format!("scheduler `{name}`"), span)
            }
            Child::Thread(index) => {
                let Thread { name, span, .. } = &hierarchy.threads[index];
                (format!("thread `{name}`"), span)
            }
        };
        let span = match problem.place {
            Place::Scheduler(_) => of_node.clone(),
            Place::Edge(index) => hierarchy.edges[self.input.origins[index].edge].span.clone(),
        };
        let (found, expected) = (problem.found.clone(), problem.needed.clone());
        let severity = Severity::Error;
        Diagnostic { severity, span, message, found, expected, help: None, first: None }
    }

    /// How many guarantees the file asks for, instances counted apart, and how many of them cannot be given.
    pub fn asked_and_refused(&self) -> (usize, usize) {
        let needs = self.input.graph.edges.iter().zip(&self.analysis.labels);
        let asked = needs.filter_map(|(edge, label)| edge.requested.as_ref().map(|need| (need, label)));
        asked.fold((0, 0), |(asked, refused), (need, label)| {
            (asked + 1, refused + usize::from(label.satisfies(need).is_err()))
        })
    }
}

/// What a guarantee promises to a VP, and allows, in each of the windows that are watched.
fn promise(vp: VpId, guarantee: &Guarantee) -> Promise {
    let window = |length| Window {
        length,
        promised: guarantee.sbf_floor_nanos(length),
        allowed: guarantee.is_hard().then(|| guarantee.ubf_ceil_nanos(length)),
    };
    let windows = guarantee.windows().into_iter().map(window).collect();
    Promise { vp, text: guarantee.rounded_for_people(), windows }
}
