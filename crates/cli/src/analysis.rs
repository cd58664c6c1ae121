//! The calculus at work on a plan: labels for every VP, promises to watch, problems with their place.

use crate::args::ModeArg;
use hls_calculus::{Analysis, Guarantee, Mode, Place, analyse};
use hls_hierarchy::analysis::Input;
use hls_hierarchy::{Diagnostic, Severity};
use hls_record::observe::Promise;
use hls_record::windows::Window;
use hls_sim::Plan;

/// What was derived.
pub struct Derived {
    /// Labels and problems.
    pub analysis: Analysis,
    /// The way from an edge of the hierarchy to that of the graph.
    pub input: Input,
}

impl Derived {
    /// Analyses the hierarchy of a plan.
    pub fn new(plan: &Plan, mode: ModeArg) -> Derived {
        let input = Input::with_instances(&plan.hierarchy, &plan.instances);
        let mode = match mode {
            ModeArg::Tight => Mode::Tight,
            ModeArg::Paper => Mode::Paper,
        };
        Derived { analysis: analyse(&input.graph, mode), input }
    }

    /// The guarantee on each VP of the plan, with how the VP is numbered; `Null` where nothing is promised.
    fn labels<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (u32, &'a Guarantee)> {
        let of = move |edge, instance| {
            let label = self.input.graph_edge_of(edge, instance).map(|index| &self.analysis.labels[index]);
            label.map(|label| (&label.guarantee, usize::from(label.count)))
        };
        let of_schedulers = plan.edges.iter().flat_map(move |edge| {
            let (guarantee, count) = of(edge.edge, 0).unwrap_or((&Guarantee::Null, 0));
            let label = move |(n, &vp)| (vp, if n < count { guarantee } else { &Guarantee::Null });
            edge.vps.iter().enumerate().map(label)
        });
        let of_threads = plan.threads.iter().map(move |thread| {
            (thread.vp, of(thread.edge, thread.instance).map_or(&Guarantee::Null, |(guarantee, _)| guarantee))
        });
        of_schedulers.chain(of_threads)
    }

    /// The plan with its guarantees written on its VPs.
    pub fn write_on(&self, plan: &mut Plan) {
        let labels: Vec<(u32, String)> =
            self.labels(plan).map(|(vp, label)| (vp, label.rounded_for_people())).collect();
        for (vp, text) in labels {
            plan.topology.vps[vp as usize].guarantee = text;
        }
    }

    /// What the monitor is to hold against the run.
    pub fn promises(&self, plan: &Plan) -> Vec<Promise> {
        let promise = |(vp, guarantee): (u32, &Guarantee)| {
            let window = |length| Window {
                length,
                promised: guarantee.sbf_floor_nanos(length),
                allowed: guarantee.is_hard().then(|| guarantee.ubf_ceil_nanos(length)),
            };
            let windows: Vec<Window> = guarantee.windows().into_iter().map(window).collect();
            (!windows.is_empty()).then(|| Promise { vp, text: guarantee.rounded_for_people(), windows })
        };
        self.labels(plan).filter_map(promise).collect()
    }

    /// What the calculus finds wrong, at its place in the file.
    pub fn problems(&self, plan: &Plan) -> Vec<Diagnostic> {
        let diagnostic = |problem: &hls_calculus::Problem| {
            let span = match problem.place {
                Place::Scheduler(index) => plan.hierarchy.schedulers[index].span.clone(),
                Place::Edge(index) => plan.hierarchy.edges[self.input.origins[index].edge].span.clone(),
            };
            Diagnostic {
                severity: Severity::Error,
                span,
                message: problem.message.clone(),
                found: problem.found.clone(),
                expected: problem.needed.clone(),
                help: None,
                first: None,
            }
        };
        let mut problems: Vec<Diagnostic> = Vec::new();
        // Instances of one thread have one place and, mostly, one problem.
        for problem in self.analysis.problems.iter().map(diagnostic) {
            if problems.last().is_none_or(|last| last.span != problem.span || last.found != problem.found) {
                problems.push(problem);
            }
        }
        problems
    }
}
