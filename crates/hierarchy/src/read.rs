//! The way in: a file's bytes to a validated hierarchy, or to all that is wrong with it.

use crate::attributes::{Attributes, SchedulerAttributes};
use crate::declare::{self, Declarations, Parent};
use crate::diagnostic::{Diagnostic, Sink};
use crate::edges;
use crate::graph::{self, Graph};
use crate::machine::Cpus;
use crate::model::{Child, Edge, Hierarchy, LoadStatement, Machine, Scheduler};
use crate::policies::Policies;
use crate::queues::Queues;
use crate::syntax::{self, Node};
use crate::text::text;
use crate::{agents, children, machine, who};
use hls_workload::program::Queue;

/// Reads a hierarchy file, with all [`policies`](crate::policies()) that need not be loaded. The warnings come with the
/// hierarchy. A file that does not say how many CPUs the machine has means one.
///
/// # Errors
/// All errors and warnings of the file in the order of their places, but at most [`crate::MAX_DIAGNOSTICS`]. A file
/// that loads policies is for [`read_with`], and refused here.
pub fn read(bytes: &[u8]) -> Result<(Hierarchy, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (hierarchy, warnings) = read_with(&Policies::default(), Cpus::UnlessStated(1), bytes)?;
    let error = |load: &LoadStatement| {
        let found = "a policy from a file of its own";
        Diagnostic::error(
            load.span.clone(),
            "`load`",
            found,
            "none: what reads this file cannot load policies",
        )
    };
    let errors: Vec<Diagnostic> = hierarchy.loads.iter().map(error).collect();
    if errors.is_empty() { Ok((hierarchy, warnings)) } else { Err(errors) }
}

/// Reads a hierarchy file for a machine with the CPUs that `cpus` states. `policies` must include those that the file
/// loads, which [`crate::loads()`] finds.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    policies: &Policies,
    cpus: Cpus,
    bytes: &[u8],
) -> Result<(Hierarchy, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut sink = Sink::default();
    let hierarchy = text(bytes, &mut sink).and_then(|text| hierarchy(policies, cpus, text, &mut sink));
    match hierarchy {
        Some(hierarchy) if !sink.has_errors() => Ok((hierarchy, sink.into_diagnostics())),
        _ => Err(sink.into_diagnostics()),
    }
}

/// The hierarchy of a text; not to be used when the sink has errors. Where some nodes could not be read, only single
/// nodes are judged: what would be said of the graph without those nodes would be wrong.
fn hierarchy(policies: &Policies, cpus: Cpus, text: &str, sink: &mut Sink) -> Option<Hierarchy> {
    let nodes = syntax::parse(text, sink);
    let is_whole = !sink.has_errors();
    let declared = declare::declare(policies, &nodes, is_whole, sink);
    let interrupts: Vec<&Node> = declared.interrupts.iter().map(|at| &nodes[*at]).collect();
    let mut queues = Queues::default();
    let machine = machine::read(declared.machine.map(|at| &nodes[at]), &interrupts, cpus, &mut queues, sink);
    let attributes = edges::read(policies, &declared, &nodes, &machine, &mut queues, sink);
    if !is_whole {
        return None;
    }
    let queues = queues.finish(sink);
    let graph = graph::check(&declared, &attributes.edges, &machine, sink);
    children::check(&declared, &attributes, &graph.widths, sink);
    who::check(&attributes, sink);
    agents::check(&declared, &attributes, sink);
    match graph.root {
        Some(root) if !sink.has_errors() => {
            Some(assemble(machine, queues, declared, attributes, graph, root))
        }
        _ => None,
    }
}

/// Puts the parts together in the order that [`Hierarchy`] promises. Relies on the parts being free of errors.
fn assemble(
    machine: Machine,
    queues: Vec<Queue>,
    declared: Declarations,
    attributes: Attributes,
    graph: Graph,
    root: usize,
) -> Hierarchy {
    let mut place_of = vec![0; declared.schedulers.len()];
    for (place, declared) in graph.order.iter().enumerate() {
        place_of[*declared] = place;
    }
    let mut schedulers: Vec<_> =
        declared.schedulers.into_iter().zip(attributes.schedulers).enumerate().collect();
    schedulers.sort_by_key(|(declared, _)| place_of[*declared]);
    let schedulers = schedulers.into_iter().filter_map(|(_, (scheduler, attributes))| {
        let declare::Scheduler { name, policy, declared, span } = scheduler;
        let SchedulerAttributes { params, owner, default, service } = attributes;
        let (policy, is_default, is_service) = (policy?, default.is_some(), service.is_some());
        Some(Scheduler {
            name,
            policy,
            declared,
            params,
            owner,
            is_default,
            is_service,
            is_added: false,
            span,
        })
    });

    let edges = attributes.edges.into_iter().zip(graph.widths).map(|(edge, width)| Edge {
        parent: match edge.parent {
            Parent::Scheduler(parent) => Some(place_of[parent]),
            Parent::None | Parent::Unknown => None,
        },
        child: match edge.child {
            Child::Scheduler(child) => Child::Scheduler(place_of[child]),
            thread => thread,
        },
        params: edge.params,
        width,
        requested: edge.requested,
        span: edge.span,
    });
    let mut edges: Vec<Edge> = edges.collect();
    edges[..=root].rotate_right(1);
    let (loads, schedulers) = (declared.loads, schedulers.collect());
    Hierarchy { machine, loads, schedulers, threads: attributes.threads, queues, edges, stealing: None }
}
