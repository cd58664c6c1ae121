//! The calculus at work on a plan: labels for every VP, and the promises to watch.

use crate::requests::{request_test, reservations};
use hls_calculus::{Analysis, Edge, Guarantee, Label, Rational, Rules, analyse, ceil_nanos, floor_nanos};
use hls_hierarchy::analysis::Input;
use hls_hierarchy::model::{Child, ModelEdge};
use hls_monitor::event::ObservedVp;
use hls_monitor::observe::{Pace, Promise};
use hls_monitor::result::Topology;
use hls_monitor::windows::Window;
use hls_plan::{Plan, PlannedEdge};
use hls_units::Nanos;
use std::collections::HashSet;
use std::sync::Arc;

/// What the calculus derived for a plan: the guarantee on every edge, and what is wrong.
pub struct Derived {
    /// Labels and problems.
    pub analysis: Analysis,
    /// The graph that was analysed, and which edge of the hierarchy each of its edges is.
    pub input: Input,
    /// The rules by which it was analysed.
    pub(crate) rules: Rules,
    /// The guarantee on each edge of the graph, in real time: labels below RESU are in the time of a slower processor.
    guarantees: Vec<Guarantee>,
    /// For each edge of the graph, whether it asks for something that its label does not give.
    refused: Vec<bool>,
}

impl Derived {
    /// Analyses the hierarchy of a plan.
    pub fn new(plan: &Plan, rules: impl Into<Rules>) -> Derived {
        Derived::of(Input::with_threads(&plan.hierarchy, plan.threads_for_calculus()), rules.into())
    }

    /// Analyses a graph.
    pub(crate) fn of(input: Input, rules: Rules) -> Derived {
        let analysis = analyse(&input.graph, rules);
        let guarantees = analysis.labels.iter().map(|label| label.absolute()).collect();
        let refused = refused(&input.graph.edges, &analysis.labels);
        Derived { analysis, input, rules, guarantees, refused }
    }

    /// The guarantee on each VP of the plan; `Null` where nothing is promised.
    pub fn labels<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (ObservedVp, &'a Guarantee)> {
        let of_schedulers = plan.edges.iter().flat_map(move |edge| {
            let (guarantee, count) = self.label(edge.edge, 0);
            let label = move |(n, &vp)| (vp, if n < count { guarantee } else { &Guarantee::Null });
            edge.vps.iter().enumerate().map(label)
        });
        let of_threads = plan.threads().map(|thread| (thread.vp, self.label(thread.edge, thread.instance).0));
        of_schedulers.chain(of_threads)
    }

    /// The guarantee on an edge of the hierarchy, in real time, and on how many of the edge's VPs it holds.
    fn label(&self, edge: ModelEdge, instance: u32) -> (&Guarantee, usize) {
        let index = self.input.graph_edge_of(edge, instance);
        index.map_or((&Guarantee::Null, 0), |index| {
            (&self.guarantees[index], usize::from(self.analysis.labels[index].count))
        })
    }

    /// The VPs with a guarantee that can be held against a run. If a guarantee holds on only some of an edge's VPs, at
    /// any time on others, the records of a single VP cannot show whether it was kept.
    pub fn watchable<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (ObservedVp, &'a Guarantee)> {
        let left_out = vps_of(plan, |edge| self.label(edge.edge, 0).1 < edge.vps.len());
        self.labels(plan).filter(move |(vp, _)| !left_out.contains(vp))
    }

    /// Writes the guarantees into the plan's topology, for reports.
    pub fn write_on(&self, plan: &mut Plan) {
        let labels: Vec<(ObservedVp, String)> =
            self.labels(plan).map(|(vp, label)| (vp, label.rounded_for_people())).collect();
        for (vp, text) in labels {
            Arc::make_mut(&mut plan.topology).vps[vp.index()].guarantee = text.into();
        }
    }

    /// The topology of the plan for people: where an edge asks for more than it gets, its guarantee says so.
    pub fn with_refusals(&self, plan: &Plan) -> Topology {
        let mut topology = Topology::clone(&plan.topology);
        for (vp, need) in self.refusals(plan) {
            let text = &mut topology.vps[vp.index()].guarantee;
            *text = format!("{text}, but needs {}", need.rounded_for_people()).into();
        }
        topology
    }

    /// The VPs that are not promised what the file asks for, with the guarantee that it asks for.
    pub fn refusals<'p>(&self, plan: &'p Plan) -> impl Iterator<Item = (ObservedVp, &'p Guarantee)> {
        let of_schedulers = plan.edges.iter().flat_map(|edge| edge.vps.iter().map(|vp| (edge.edge, 0, *vp)));
        let of_threads = plan.threads().map(|thread| (thread.edge, thread.instance, thread.vp));
        of_schedulers.chain(of_threads).filter_map(|(edge, instance, vp)| {
            let need = plan.hierarchy.edge(edge).requested.as_ref()?;
            let index = self.input.graph_edge_of(edge, instance)?;
            self.refused[index].then_some((vp, need))
        })
    }

    /// What the monitor is to hold against the run. The schedulers that are added for `hls` itself are not judged: no
    /// other thread relies on what they are promised, and all of them change their state each time that `hls` works.
    pub fn promises(&self, plan: &Plan) -> Vec<Promise> {
        let mut promises = Vec::new();
        let added = vps_of(plan, |edge| match plan.hierarchy.edge(edge.edge).child {
            Child::Scheduler(child) => plan.hierarchy.schedulers[child].is_added,
            Child::Thread(_) => false,
        });
        let machine = self.machine(plan);
        let reservations = reservations(&self.analysis, &self.input, plan);
        // Instances of one thread mostly have one guarantee, and its windows take a while to compute.
        let mut last: Option<(&Guarantee, Promise)> = None;
        for (vp, guarantee) in self.watchable(plan).filter(|(vp, _)| !added.contains(vp)) {
            let promise = match last {
                Some((same, ref promise)) if same == guarantee => Promise { vp, ..promise.clone() },
                _ => promise(vp, guarantee, machine),
            };
            last = Some((guarantee, promise.clone()));
            let promise = promise.waking(reservations.get(&vp).copied());
            if !promise.is_empty() {
                promises.push(promise);
            }
        }
        promises
    }

    /// What the machine gives: all, less what the declared interrupts take.
    pub fn machine(&self, plan: &Plan) -> &Guarantee {
        let root = plan.edges.iter().find(|edge| plan.hierarchy.edge(edge.edge).parent.is_none());
        root.map_or(&Guarantee::Null, |root| self.label(root.edge, 0).0)
    }

    /// How many guarantees the file asks for, instances counted apart, and how many of them cannot be given.
    pub fn asked_and_refused(&self) -> (usize, usize) {
        let asked = self.input.graph.edges.iter().filter(|edge| edge.requested.is_some());
        (asked.count(), self.refused.iter().filter(|is_refused| **is_refused).count())
    }
}

/// The VPs of the edges to schedulers for which `is_such` is true.
fn vps_of(plan: &Plan, is_such: impl Fn(&PlannedEdge) -> bool) -> HashSet<ObservedVp> {
    plan.edges.iter().filter(|edge| is_such(edge)).flat_map(|edge| edge.vps.iter().copied()).collect()
}

/// For each edge, whether it asks for something that its label does not give. A thread may have thousands of instances,
/// mostly alike: an edge that is like the edge before gets the same answer.
fn refused(edges: &[Edge], labels: &[Label]) -> Vec<bool> {
    let mut refused = Vec::with_capacity(edges.len());
    for (at, (edge, label)) in edges.iter().zip(labels).enumerate() {
        let before = at.checked_sub(1);
        let same = |other: &Label| other.promises_as(label) && other.has_reason_of(label);
        let is_alike = |at: &usize| edges[*at].requested == edge.requested && same(&labels[*at]);
        refused.push(match (before.filter(is_alike), &edge.requested) {
            (Some(at), _) => refused[at],
            (None, need) => need.as_ref().is_some_and(|need| label.satisfies(need).is_err()),
        });
    }
    refused
}

/// What the monitor is to hold against a run when a VP has this guarantee: what it promises, and allows, in each of the
/// windows that are watched. What a `machine` does not give has been taken into account.
pub fn promise(vp: ObservedVp, guarantee: &Guarantee, machine: &Guarantee) -> Promise {
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

#[cfg(test)]
mod tests {
    use super::*;
    use hls_workload::program::Workload;

    #[test]
    fn what_is_added_for_hls_is_not_judged() {
        let text = r#"reservation "R" { thread "film" guarantee="RESBH 10ms 33ms" }"#;
        let hierarchy = hls_hierarchy::read(text.as_bytes()).expect("the file is right").0.for_a_machine();
        let plan = Plan::new(hierarchy, &Workload::default()).expect("the file can be planned");
        let derived = Derived::new(&plan, Rules::default());
        let name = |vp: ObservedVp| plan.topology.child_name(vp);
        let promised: Vec<_> = derived.promises(&plan).iter().map(|promise| name(promise.vp)).collect();
        assert_eq!(promised, ["R", "film"]);
        let watchable: Vec<_> = derived.watchable(&plan).map(|(vp, _)| name(vp)).collect();
        assert!(watchable.contains(&"for-hls"), "{watchable:?}");
    }
}
