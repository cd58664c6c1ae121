//! Where tasks want more in the long run than a limit above them lets through: what is not done waits, ever longer.
//!
//! A backlog is certain, so a task counts with the least that each of its jobs takes, and a thread without known tasks
//! counts with nothing. Below a join what is wanted may be had of another parent, so nothing of it counts either.
//! Relies on the limits that policies enforce, whatever was promised ([`Limits`]).

use crate::derived::Derived;
use hls_calculus::schedulers::{Limits, find};
use hls_calculus::{Child, Edge, Rational, ceil_nanos, floor_nanos};
use hls_hierarchy::model::{self, ModelEdge};
use hls_hierarchy::{Diagnostic, Severity};
use hls_plan::Plan;
use std::collections::{HashMap, HashSet};

impl Derived {
    /// A warning for each limit below which more is wanted for certain, in the order of the file. If limits lie above
    /// one another, the upper one counts what the lower ones let through.
    pub fn backlogs(&self, plan: &Plan) -> Vec<Diagnostic> {
        let graph = &self.input.graph;
        let of_threads = wanted_by_threads(plan);
        let mut wanted_below = vec![Rational::default(); graph.schedulers.len()];
        let mut over: Vec<(usize, Rational, Rational)> = Vec::new();
        for edge in self.children_first() {
            let wanted = match &graph.edges[edge].child {
                Child::Thread(_) => {
                    of_threads.get(&self.input.origins[edge].edge).cloned().unwrap_or_default()
                }
                Child::Scheduler(child) => wanted_below[*child].clone(),
            };
            let limit = self.enforced(&graph.edges[edge]).filter(|limit| *limit < wanted);
            let let_through = limit.clone().unwrap_or_else(|| wanted.clone());
            over.extend(limit.map(|limit| (edge, wanted, limit)));
            let parent = graph.edges[edge].parent;
            if let Some(parent) = parent.filter(|parent| !graph.schedulers[*parent].joins) {
                wanted_below[parent] += let_through;
            }
        }
        over.sort_by_key(|(edge, ..)| *edge);
        let mut seen = HashSet::new();
        over.retain(|(edge, ..)| seen.insert(self.input.origins[*edge].edge));
        over.iter().filter_map(|(edge, wanted, limit)| self.backlog(plan, *edge, wanted, limit)).collect()
    }

    /// The warning; `None` if the tasks of the thread are compared with what it is promised, which reports it already.
    fn backlog(&self, plan: &Plan, edge: usize, wanted: &Rational, limit: &Rational) -> Option<Diagnostic> {
        let at = plan.hierarchy.edge(self.input.origins[edge].edge);
        let (message, span) = match at.child {
            model::Child::Scheduler(child) => {
                (format!("scheduler `{}`", plan.hierarchy.schedulers[child].name), &at.span)
            }
            model::Child::Thread(thread) => {
                let thread = &plan.hierarchy.threads[thread];
                let is_told = self.tasks(plan).iter().any(|told| told.edge == self.input.origins[edge].edge);
                if is_told {
                    return None;
                }
                (format!("thread `{}`", thread.name), &thread.span)
            }
        };
        let tenths = |share: &Rational| share * Rational::from_integer(1_000.into());
        let percent = |tenths: u64| format!("{}.{}%", tenths / 10, tenths % 10);
        let wanted = percent(floor_nanos(&tenths(wanted)).0);
        let limit = percent(ceil_nanos(&tenths(limit)).0);
        Some(Diagnostic {
            severity: Severity::Warning,
            span: span.clone(),
            message,
            found: format!("tasks that take {wanted} of a CPU in the long run"),
            expected: format!(
                "at most {limit}, all that its `budget` and `period` let it have: the rest waits, ever longer"
            ),
            help: None,
            first: None,
        })
    }

    /// What the policy above an edge lets all VPs of the edge have in the long run; `None` where it limits nothing.
    fn enforced(&self, edge: &Edge) -> Option<Rational> {
        let policy = &self.input.graph.schedulers[edge.parent?].policy;
        let limits = find(policy.name()).filter(|entry| entry.limits != Limits::Nothing);
        let param = |name: &str| edge.params.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let (budget, period) = limits.and_then(|_| param("budget").zip(param("period")))?;
        let all = u128::from(budget) * u128::from(edge.width.max(1));
        (period > 0).then(|| Rational::new(all.into(), period.into()))
    }

    /// The edges of the graph, each after the edges below its child.
    fn children_first(&self) -> Vec<usize> {
        let graph = &self.input.graph;
        let mut missing = vec![0_usize; graph.schedulers.len()];
        let mut above = vec![Vec::new(); graph.schedulers.len()];
        let (mut order, mut done) = (Vec::new(), 0);
        for (at, edge) in graph.edges.iter().enumerate() {
            match edge.child {
                Child::Scheduler(child) => above[child].push(at),
                Child::Thread(_) => order.push(at),
            }
            edge.parent.into_iter().for_each(|parent| missing[parent] += 1);
        }
        let is_empty = |(scheduler, missing): (usize, &usize)| (*missing == 0).then_some(scheduler);
        let empty: Vec<usize> = missing.iter().enumerate().filter_map(is_empty).collect();
        empty.into_iter().for_each(|scheduler| order.append(&mut above[scheduler]));
        while let Some(&edge) = order.get(done) {
            done += 1;
            let Some(parent) = graph.edges[edge].parent else { continue };
            missing[parent] -= 1;
            if missing[parent] == 0 {
                order.append(&mut above[parent]);
            }
        }
        order
    }
}

/// The share of a CPU that each instance of a thread wants at least, by its edge in the file.
fn wanted_by_threads(plan: &Plan) -> HashMap<ModelEdge, Rational> {
    let wanted = |served: &hls_workload::program::ServedTask| {
        Rational::new(served.run.min.0.into(), served.every.0.max(1).into())
    };
    let of_group = |group: &hls_plan::PlannedThreads| {
        Some((group.edge, group.program.tasks()?.tasks.iter().map(wanted).sum()))
    };
    // A thread that leaves has no long run.
    plan.groups.iter().filter(|group| group.leave.is_none()).filter_map(of_group).collect()
}
