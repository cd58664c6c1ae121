//! A hierarchy as the graph that the calculus takes: parameters by name, not by position, and one edge for each
//! instance of a thread.
//!
//! Relies on [`hls_calculus::Graph`]. Analyses nothing itself.

use crate::model::{Child, Edge, Hierarchy, Interrupt, ModelEdge, Scheduler, Thread};
use hls_calculus as calculus;
use hls_calculus::schedulers::Declared;
use hls_core::{ParamInfo, PolicyInfo};
use std::sync::Arc;

/// The graph that the calculus analyses, and what its edges are in the hierarchy.
#[derive(Clone, Debug)]
pub struct Input {
    /// The graph; its schedulers are the hierarchy's, in the same order.
    pub graph: calculus::Graph,
    /// For each edge of the graph, what it is in the hierarchy. In rising order.
    pub origins: Vec<Origin>,
}

/// What an edge of the graph is in the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The edge of the file.
    pub edge: ModelEdge,
    /// Which instance of the edge's thread, counted from 0; 0 for schedulers.
    pub instance: u32,
}

/// What the graph must know of a thread, and a workload may decide instead of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instances {
    /// How many threads there are.
    pub count: u32,
    /// Whether they may, at some time, use only some of the machine's CPUs.
    pub pinned: bool,
}

impl Input {
    /// The graph of a hierarchy, with the threads as its file has them.
    pub fn new(hierarchy: &Hierarchy) -> Input {
        let all = usize::from(hierarchy.machine.cpus);
        let of_file = |thread: &Thread| Instances {
            count: thread.count(),
            pinned: thread.affinity.as_ref().is_some_and(|cpus| cpus.len() < all),
        };
        Input::with_threads(hierarchy, hierarchy.threads.iter().map(of_file).collect())
    }

    /// The graph of a hierarchy, with its threads as they are run, in the order of [`Hierarchy::threads`].
    pub fn with_threads(hierarchy: &Hierarchy, threads: Vec<Instances>) -> Input {
        let schedulers = hierarchy.schedulers.iter().map(|scheduler| {
            let params = named(&scheduler.policy.scheduler_params, &scheduler.params);
            graph_scheduler(&scheduler.name, scheduler.policy, scheduler.declared.as_ref(), params)
        });
        // The threads of hls itself come below a scheduler that the file has for them.
        let open =
            |scheduler: &Scheduler| scheduler.is_default || scheduler.is_service && !scheduler.is_added;
        let graph = calculus::Graph {
            cpus: hierarchy.machine.cpus,
            stolen: hierarchy.machine.interrupts.iter().map(stolen).collect(),
            schedulers: schedulers.collect(),
            edges: Vec::new(),
            open: (0..).zip(&hierarchy.schedulers).filter(|(_, it)| open(it)).map(|(at, _)| at).collect(),
            stealing: hierarchy.stealing,
        };
        let mut input = Input { graph, origins: Vec::new() };
        for (at, edge) in hierarchy.edges.iter().enumerate() {
            let instances = match edge.child {
                Child::Scheduler(_) => Instances { count: 1, pinned: false },
                Child::Thread(thread) => threads[thread],
            };
            for instance in 0..instances.count {
                input.graph.edges.push(graph_edge(hierarchy, edge, instance, instances));
                input.origins.push(Origin { edge: ModelEdge(at), instance });
            }
        }
        input
    }

    /// The index, among the graph's edges, of an edge of the hierarchy and an instance of its thread.
    pub fn graph_edge_of(&self, edge: ModelEdge, instance: u32) -> Option<usize> {
        self.origins.binary_search_by_key(&(edge, instance), |origin| (origin.edge, origin.instance)).ok()
    }
}

/// What a source of interrupts takes at worst.
fn stolen(interrupt: &Interrupt) -> calculus::Stolen {
    calculus::Stolen { every: interrupt.every.min.0, takes: interrupt.takes.max.0 }
}

/// A scheduler as the calculus has it: of a policy, with what the policy declares if it was loaded, and with these
/// parameters by name.
pub fn graph_scheduler(
    name: &str,
    policy: &PolicyInfo,
    declared: Option<&Arc<Declared>>,
    params: Vec<(String, u64)>,
) -> calculus::Scheduler {
    let by_name = || calculus::Policy::Named(policy.name.into());
    calculus::Scheduler {
        name: name.into(),
        policy: declared.map_or_else(by_name, |declared| calculus::Policy::Declared(declared.clone())),
        joins: policy.properties.joins,
        tells_deadlines: policy.properties.tells_deadlines,
        params,
    }
}

/// An edge of the graph, for one instance.
fn graph_edge(hierarchy: &Hierarchy, edge: &Edge, instance: u32, of: Instances) -> calculus::Edge {
    let params = edge
        .parent
        .map_or_else(Vec::new, |parent| named(&hierarchy.schedulers[parent].policy.vp_params, &edge.params));
    let child = match edge.child {
        Child::Scheduler(scheduler) => calculus::Child::Scheduler(scheduler),
        Child::Thread(thread) => {
            calculus::Child::Thread(hierarchy.threads[thread].instance_name(instance, of.count))
        }
    };
    let requested = edge.requested.clone();
    calculus::Edge { parent: edge.parent, child, params, requested, width: edge.width, pinned: of.pinned }
}

/// The values of parameters with their names.
fn named(params: &[ParamInfo], values: &[u64]) -> Vec<(String, u64)> {
    params.iter().zip(values).map(|(param, value)| (param.name.to_owned(), *value)).collect()
}
