//! The calculus at work on a plan: labels for every VP, promises to watch, problems with their place.

use crate::plan::{Plan, PlannedEdge};
use crate::requests::request_test;
use hls_calculus::{Analysis, Guarantee, Place, Problem, Rational, Rules, analyse, ceil_nanos, floor_nanos};
use hls_hierarchy::analysis::Input;
use hls_hierarchy::model::{Child, Hierarchy, Span};
use hls_hierarchy::{Diagnostic, Severity};
use hls_monitor::event::VpId;
use hls_monitor::observe::{Pace, Promise};
use hls_monitor::result::Topology;
use hls_monitor::windows::Window;
use hls_units::Nanos;
use std::collections::HashSet;
use std::sync::Arc;

/// What was derived.
pub struct Derived {
    /// Labels and problems.
    pub analysis: Analysis,
    /// The way from an edge of the hierarchy to that of the graph.
    pub input: Input,
    /// By which rules.
    pub(crate) rules: Rules,
    /// The labels in real time; those below RESU count in that of a slower processor.
    guarantees: Vec<Guarantee>,
}

impl Derived {
    /// Analyses the hierarchy of a plan.
    pub fn new(plan: &Plan, rules: impl Into<Rules>) -> Derived {
        Derived::of(Input::with_instances(&plan.hierarchy, &plan.instances), rules.into())
    }

    /// Analyses a graph.
    pub(crate) fn of(input: Input, rules: Rules) -> Derived {
        let analysis = analyse(&input.graph, rules);
        let guarantees = analysis.labels.iter().map(|label| label.absolute()).collect();
        Derived { analysis, input, rules, guarantees }
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

    /// The guarantee on an edge, in real time, and on how many of its VPs it holds.
    fn label(&self, edge: usize, instance: u32) -> (&Guarantee, usize) {
        let index = self.input.graph_edge_of(edge, instance);
        index.map_or((&Guarantee::Null, 0), |index| {
            (&self.guarantees[index], usize::from(self.analysis.labels[index].count))
        })
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
        let machine = self.machine(plan);
        let reservations = self.reservations(plan);
        // Instances of one thread mostly have one guarantee, and its windows take a while to compute.
        let mut last: Option<(&Guarantee, Promise)> = None;
        for (vp, guarantee) in self.watchable(plan) {
            let promise = match last {
                Some((same, ref promise)) if same == guarantee => Promise { vp, ..promise.clone() },
                _ => promise(vp, guarantee, machine),
            };
            last = Some((guarantee, promise.clone()));
            let promise = promise.waking(reservations.get(&vp).copied());
            if !promise.windows.is_empty() {
                promises.push(promise);
            }
        }
        promises
    }

    /// What the machine gives: all, less what the interrupts take that the file declares.
    pub fn machine(&self, plan: &Plan) -> &Guarantee {
        let root = plan.edges.iter().find(|edge| plan.hierarchy.edges[edge.edge].parent.is_none());
        root.map_or(&Guarantee::Null, |root| self.label(root.edge, 0).0)
    }

    /// What the calculus finds wrong, at its place in the file, causes before what comes of them. The first one comes
    /// with the smallest change that mends it.
    pub fn problems(&self, plan: &Plan) -> Vec<Diagnostic> {
        let (hierarchy, all) = (&plan.hierarchy, &self.analysis.problems);
        let reached = reached(hierarchy);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_cached_key(|problem| {
            let place = all[*problem].place;
            let start = self.span(hierarchy, place).start;
            let (scheduler, is_edge) = match place {
                Place::Scheduler(scheduler) => (Some(scheduler), false),
                Place::Edge(index) => (self.input.graph.edges[index].parent, true),
            };
            (scheduler.map_or(start, |scheduler| reached[scheduler].max(start)), scheduler, is_edge, start)
        });
        let diagnostics = order.iter().map(|problem| self.diagnostic(hierarchy, &all[*problem]));
        let mut problems: Vec<Diagnostic> = diagnostics.collect();
        // Instances of one thread have one place and, mostly, one problem.
        problems.dedup();
        let alone = problems.len() == 1;
        if let (Some(first), Some(problem)) = (problems.first_mut(), order.first()) {
            first.help = Some(self.advice(hierarchy, *problem, alone));
        }
        problems
    }

    /// Where the file speaks of a place.
    fn span(&self, hierarchy: &Hierarchy, place: Place) -> Span {
        match place {
            Place::Scheduler(index) => hierarchy.schedulers[index].span.clone(),
            Place::Edge(index) => hierarchy.edges[self.input.origins[index].edge].span.clone(),
        }
    }

    fn diagnostic(&self, hierarchy: &Hierarchy, problem: &Problem) -> Diagnostic {
        let child = match problem.place {
            Place::Scheduler(index) => Child::Scheduler(index),
            Place::Edge(index) => hierarchy.edges[self.input.origins[index].edge].child,
        };
        let message = match child {
            Child::Scheduler(index) => format!("scheduler `{}`", hierarchy.schedulers[index].name),
            Child::Thread(index) => format!("thread `{}`", hierarchy.threads[index].name),
        };
        let span = self.span(hierarchy, problem.place);
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

/// For each scheduler, where a reader of the file knows all that leads to it: at itself, or at the last of what is
/// above it, which a file may also mention later.
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

/// What the monitor is to hold against a run when a VP has this guarantee: what it promises, and allows, in each of the
/// windows that are watched. What a `machine` does not give has been taken into account.
pub fn promise(vp: VpId, guarantee: &Guarantee, machine: &Guarantee) -> Promise {
    let window = |length| Window {
        length,
        promised: guarantee.sbf_floor_nanos(length),
        allowed: guarantee.is_hard().then(|| guarantee.ubf_ceil_nanos(length)),
        accounted: length.saturating_sub(machine.sbf_floor_nanos(length)),
    };
    let windows = guarantee.windows().into_iter().map(window).collect();
    let vps = if let Guarantee::Mpr { cpus, .. } = guarantee { *cpus } else { 1 };
    let per_second = Rational::new(Nanos::from_secs(1).0.into(), vps.max(1).into()) * guarantee.rate();
    let pace = guarantee.blackout().map_or_else(Pace::default, |blackout| Pace {
        per_second: floor_nanos(&per_second),
        blackout: ceil_nanos(&blackout),
    });
    let requests = request_test(guarantee, machine);
    Promise { vp, text: guarantee.rounded_for_people(), windows, requests, pace }
}
