//! Warps for the threads below BVT schedulers that ask for JOB, and the hierarchy with these warps in place of its own.
//!
//! Relies on the calculus to plan them. They are a proposal: the changed hierarchy is analysed anew.

use crate::derived::Derived;
use hls_calculus::warps::{
    Planned, Request, Warper, Warpers, Windows, longest_unwarp, plan as plan_warps, windows,
};
use hls_calculus::{Child, Edge, Guarantee, Label, Rational, ceil_nanos};
use hls_hierarchy::model::{self, ModelEdge};
use hls_plan::Plan;
use hls_units::Nanos;

/// A BVT scheduler with threads that ask for JOB.
#[derive(Clone, Debug)]
pub struct PlannedScheduler {
    /// Its name.
    pub name: String,
    /// Its context switch allowance.
    pub allowance: Nanos,
    /// Its children, in the order of the file, each instance apart.
    pub children: Vec<PlannedChild>,
    /// The windows in which each child has exactly its part.
    pub windows: Windows,
    /// The child for which no warps do, and why; `None` where there is a plan.
    pub refused: Option<(usize, String)>,
}

/// A child of a scheduler that is planned.
#[derive(Clone, Debug)]
pub struct PlannedChild {
    /// Its name.
    pub name: String,
    /// The edge of the graph that is analysed.
    edge: usize,
    /// Its part of the CPU.
    pub part: Rational,
    /// What it asks for; `None` where that is not JOB.
    pub asked: Option<Request>,
    /// What is planned for it, and the change that this is; `None` where it asks for no JOB, or there is no plan.
    pub planned: Option<(Planned, WarpChange)>,
}

/// Another warp, limit and unwarp time for a thread below a BVT scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpChange {
    /// The name of the thread in the file.
    pub name: String,
    /// Index into the hierarchy's edges.
    pub edge: ModelEdge,
    /// Rounded up.
    pub warp: Nanos,
    /// Rounded up.
    pub limit: Nanos,
    /// Rounded up.
    pub unwarp: Nanos,
}

impl Derived {
    /// Plans the warps below each BVT scheduler with threads that ask for JOB. A thread without a limit gets its
    /// request's amount as limit; one without an unwarp time gets all the time until the next request.
    pub fn warp_plans(&self, plan: &Plan) -> Vec<PlannedScheduler> {
        let schedulers = &self.input.graph.schedulers;
        let of_bvt = (0..schedulers.len()).filter(|scheduler| schedulers[*scheduler].policy.name() == "bvt");
        of_bvt.filter_map(|scheduler| self.warp_plan(scheduler, plan)).collect()
    }

    fn warp_plan(&self, scheduler: usize, of: &Plan) -> Option<PlannedScheduler> {
        let graph = &self.input.graph;
        let edges: Vec<usize> =
            (0..graph.edges.len()).filter(|edge| graph.edges[*edge].parent == Some(scheduler)).collect();
        let asked: Vec<Option<Request>> = edges.iter().map(|edge| request(&graph.edges[*edge])).collect();
        if asked.iter().all(Option::is_none) {
            return None;
        }
        let allowance = Nanos(number(&graph.schedulers[scheduler].params, "allowance"));
        let each = edges.iter().zip(&asked);
        let each = each.map(|(edge, asked)| warper(&graph.edges[*edge], asked.as_ref()));
        let warpers = Warpers { allowance: whole(allowance.0), each: each.collect() };
        let shares: Vec<u64> =
            edges.iter().map(|edge| number(&graph.edges[*edge].params, "share").max(1)).collect();
        let windows = windows(&shares, &warpers.allowance);
        let child = |(n, (edge, asked)): (usize, (&usize, Option<Request>))| PlannedChild {
            name: warpers.each[n].name.clone(),
            edge: *edge,
            part: warpers.weight(n),
            asked,
            planned: None,
        };
        let plan = plan_warps(&warpers, &asked);
        let mut children: Vec<PlannedChild> = edges.iter().zip(asked).enumerate().map(child).collect();
        let refused = match plan {
            Err(refused) => Some(refused),
            Ok(plan) => {
                for planned in plan.planned {
                    let Warper { warp, limit, unwarp, .. } = &plan.warpers.each[planned.child];
                    let [warp, limit, unwarp] = [warp, limit, unwarp].map(ceil_nanos);
                    let edge = self.input.origins[edges[planned.child]].edge;
                    let change = WarpChange { name: name_in_file(of, edge), edge, warp, limit, unwarp };
                    let child = planned.child;
                    children[child].planned = Some((planned, change));
                }
                None
            }
        };
        let name = graph.schedulers[scheduler].name.clone();
        Some(PlannedScheduler { name, allowance, children, windows, refused })
    }

    /// The hierarchy with other warps for some of its threads, analysed anew by the same rules.
    #[must_use]
    pub fn with_warps(&self, changes: &[WarpChange]) -> Derived {
        let mut input = self.input.clone();
        for (edge, origin) in input.graph.edges.iter_mut().zip(&input.origins) {
            let Some(change) = changes.iter().find(|change| change.edge == origin.edge) else { continue };
            for (name, value) in &mut edge.params {
                match name.as_str() {
                    "warp" => *value = change.warp.0,
                    "warp-limit" => *value = change.limit.0,
                    "unwarp" => *value = change.unwarp.0,
                    _ => {}
                }
            }
        }
        Derived::of(input, self.rules)
    }

    /// What a planned child is promised here.
    pub fn label_of(&self, child: &PlannedChild) -> &Label {
        &self.analysis.labels[child.edge]
    }
}

fn name_in_file(plan: &Plan, edge: ModelEdge) -> String {
    match plan.hierarchy.edge(edge).child {
        model::Child::Thread(thread) => plan.hierarchy.threads[thread].name.clone(),
        model::Child::Scheduler(scheduler) => plan.hierarchy.schedulers[scheduler].name.clone(),
    }
}

/// The JOB that a thread asks for.
fn request(edge: &Edge) -> Option<Request> {
    match (&edge.requested, &edge.child) {
        (Some(Guarantee::Job { amount, period, response }), Child::Thread(_)) => {
            Some(Request { amount: amount.clone(), period: period.clone(), response: response.clone() })
        }
        _ => None,
    }
}

fn warper(edge: &Edge, asked: Option<&Request>) -> Warper {
    let of = |param| whole(number(&edge.params, param));
    let [warp, limit, unwarp] = ["warp", "warp-limit", "unwarp"].map(of);
    let zero = whole(0);
    let (limit, unwarp) = match asked {
        None => (limit, unwarp),
        Some(request) => (
            if limit == zero { request.amount.clone() } else { limit },
            if unwarp == zero { longest_unwarp(request) } else { unwarp },
        ),
    };
    let name = match &edge.child {
        Child::Thread(name) => name.clone(),
        Child::Scheduler(_) => "a scheduler".to_owned(),
    };
    Warper { name, share: of("share").max(whole(1)), warp, limit, unwarp }
}

fn number(params: &[(String, u64)], name: &str) -> u64 {
    params.iter().find(|(key, _)| key == name).map_or(0, |(_, value)| *value)
}

fn whole(number: u64) -> Rational {
    Rational::from_integer(number.into())
}
