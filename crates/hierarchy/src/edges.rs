//! The properties of schedulers, threads and the edges above them.
//!
//! Relies on the names and parents being known: which properties a node may have depends on its parent's policy.

use crate::attributes::{Attributes, Edge, SchedulerAttributes};
use crate::declare::{self, COMMAND, Declarations, Mention, Parent};
use crate::diagnostic::{Diagnostic, Sink};
use crate::model::{Child, Machine, Span, Thread};
use crate::params::{self, Request};
use crate::policies::Policies;
use crate::properties::Properties;
use crate::queues::Queues;
use crate::syntax::Node;
use crate::value::{self, LONGEST};
use crate::{who, workload_shapes};
use hls_core::limits::{MAX_CPUS, MAX_VPS};
use hls_core::pages::{AGENTS_SLOT, SLOT};
use hls_core::{ParamInfo, PolicyInfo};
use hls_units::Nanos;

/// Reads the properties of every mentioned scheduler and thread.
pub(crate) fn read(
    policies: &Policies,
    declared: &Declarations,
    nodes: &[Node],
    machine: &Machine,
    queues: &mut Queues,
    sink: &mut Sink,
) -> Attributes {
    let mut attributes = Attributes {
        schedulers: vec![SchedulerAttributes::default(); declared.schedulers.len()],
        threads: Vec::new(),
        edges: Vec::new(),
    };
    for mention in &declared.mentions {
        let node = &nodes[mention.node];
        let parent_policy = match mention.parent {
            Parent::Scheduler(parent) => declared.schedulers[parent].policy,
            Parent::None | Parent::Unknown => None,
        };
        match mention.child {
            Child::Scheduler(scheduler) => {
                let (what, policy) = describe_scheduler(declared, scheduler);
                let mut properties = Properties::new(node, what, sink);
                if let (Some(policy), true) = (policy, mention.is_first) {
                    let params = &policy.scheduler_params;
                    attributes.schedulers[scheduler] = SchedulerAttributes {
                        params: params::read(params, Request::Nothing, &mut properties, sink),
                        owner: who::owner(&mut properties, sink),
                        default: who::flag(&who::DEFAULT, (policy, policies), &mut properties, sink),
                        service: who::flag(&who::SERVICE, (policy, policies), &mut properties, sink),
                    };
                    if policy.properties.has_pages {
                        // Its agent has the command.
                        properties.get(COMMAND);
                    }
                }
                let width = properties.read("width", sink, |p| {
                    value::whole(p, 1..=MAX_CPUS as u64).map(|width| (width as u16, p.value.span.clone()))
                });
                let all_known = policy.is_some();
                attributes.edges.push(edge(mention, parent_policy, width, properties, all_known, sink));
            }
            Child::Thread(thread) if mention.is_agent => {
                let (read, edge) = agent(mention, &declared.threads[thread].name, parent_policy, node, sink);
                attributes.threads.push(read);
                attributes.edges.push(edge);
            }
            Child::Thread(thread) => {
                let name = &declared.threads[thread].name;
                let what = if name.is_empty() { "`thread`".to_owned() } else { format!("thread `{name}`") };
                let mut properties = Properties::new(node, what, sink);
                let mut read = thread_properties(&mut properties, name, machine, sink);
                let declare::Thread { workload, tasks, .. } = &declared.threads[thread];
                read.program = workload
                    .and_then(|workload| workload_shapes::read(&nodes[workload], tasks, nodes, queues, sink));
                let edge = edge(mention, parent_policy, None, properties, true, sink);
                read.need = edge.requested.clone();
                attributes.threads.push(read);
                attributes.edges.push(edge);
            }
        }
    }
    attributes
}

fn describe_scheduler(declared: &Declarations, at: usize) -> (String, Option<&'static PolicyInfo>) {
    let scheduler = &declared.schedulers[at];
    (format!("scheduler `{}`", scheduler.name), scheduler.policy)
}

/// Reads the properties of the edge above a node, and reports those that the node cannot have, unless its own policy or
/// its parent's policy is not known.
fn edge(
    mention: &Mention,
    parent_policy: Option<&'static PolicyInfo>,
    width: Option<(u16, Span)>,
    mut properties: Properties,
    own_policy_known: bool,
    sink: &mut Sink,
) -> Edge {
    let node = properties.node();
    properties.get("parent");
    let requested = properties.read("guarantee", sink, value::guarantee);
    let request = match (&requested, properties.get("guarantee")) {
        (Some(guarantee), _) => Request::Guarantee(guarantee),
        (None, Some(_)) => Request::Refused,
        (None, None) => Request::Nothing,
    };
    let params = match parent_policy {
        Some(policy) => params::read(&policy.vp_params, request, &mut properties, sink),
        None => Vec::new(),
    };
    let is_root = mention.parent == Parent::None;
    if own_policy_known && (is_root || parent_policy.is_some()) {
        properties.finish(sink);
    }
    Edge { parent: mention.parent, child: mention.child, params, requested, width, span: node.span() }
}

/// The agent of a scheduler that has a `command`: a thread in slot 0.
fn agent(
    mention: &Mention,
    name: &str,
    policy: Option<&'static PolicyInfo>,
    node: &Node,
    sink: &mut Sink,
) -> (Thread, Edge) {
    let command = node.property(COMMAND);
    let span = command.map_or(node.span(), |command| command.name.span.start..command.value.span.end);
    let preset =
        |param: &ParamInfo| if param.name == SLOT { AGENTS_SLOT } else { param.default.unwrap_or(param.min) };
    let thread = Thread {
        name: name.to_owned(),
        instances: None,
        program: None,
        arrive: Nanos::ZERO,
        leave: None,
        affinity: None,
        need: None,
        who: command.and_then(|command| who::agent(command, sink)),
        span: span.clone(),
    };
    let params = policy.map_or_else(Vec::new, |policy| policy.vp_params.iter().map(preset).collect());
    let Mention { parent, child, .. } = *mention;
    (thread, Edge { parent, child, params, requested: None, width: None, span })
}

/// Reads what a thread's node says about the thread alone.
fn thread_properties(properties: &mut Properties, name: &str, machine: &Machine, sink: &mut Sink) -> Thread {
    let instances = properties.read("instances", sink, |p| value::whole(p, 1..=MAX_VPS as u64));
    let arrive = properties.read("arrive", sink, |p| value::time(p, Nanos::ZERO..=LONGEST));
    let arrive = arrive.unwrap_or(Nanos::ZERO);
    let leave = properties.read("leave", sink, |p| {
        let leave = value::time(p, Nanos::ZERO..=LONGEST)?;
        if leave > arrive {
            return Ok(leave);
        }
        let expected = format!("a time after it arrives, at {arrive}");
        let place = p.value.span.clone();
        Err(Diagnostic::error(place, "property `leave`", format!("`{leave}`"), expected).into())
    });
    let affinity = properties.read("affinity", sink, |p| value::cpu_list(p, machine.cpus));
    Thread {
        name: name.to_owned(),
        instances: instances.map(|instances| instances as u32),
        program: None,
        arrive,
        leave,
        affinity,
        need: None,
        who: who::read(properties, sink),
        span: properties.node().span(),
    }
}
