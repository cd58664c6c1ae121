//! A hierarchy as a value that is drawn and made smaller: schedulers with their parameters, and threads, of which the
//! value says nothing. The hierarchy grows where threads are: a scheduler takes the place of a thread, or a join that
//! of two. Relies on `params` for all that is drawn of a policy. Checks nothing: the reader of the file, or the core,
//! refuses a hierarchy that makes no sense.

use crate::params::{Given, Place, Value};
use crate::random::Random;
use hls_core::pages::{AGENTS_SLOT, SLOT};
use hls_core::{ParamInfo, PolicyInfo};
use hls_units::Nanos;
use std::fmt::Write;

/// A hierarchy. `T` is what is known of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree<'p, T> {
    /// The first is the root. Each is behind those above it.
    pub nodes: Vec<Node<'p, T>>,
}

/// A scheduler or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<'p, T> {
    /// An edge for each parent; none above the root.
    pub above: Vec<Edge>,
    /// What it is.
    pub what: What<'p, T>,
}

/// An edge to a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index into [`Tree::nodes`].
    pub parent: usize,
    /// The parameters that the parent's policy has for it.
    pub params: Given,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What<'p, T> {
    /// A scheduler.
    Scheduler(Scheduler<'p>),
    /// A thread.
    Thread(T),
}

/// A scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler<'p> {
    /// Its policy.
    pub policy: &'p PolicyInfo,
    /// Its parameters.
    pub params: Given,
    /// How many VPs it has of each parent, where that is said.
    pub width: Option<u64>,
}

impl<'p, T: Clone> Tree<'p, T> {
    /// A single thread, as the root.
    pub fn new(thread: T) -> Tree<'p, T> {
        Tree { nodes: vec![Node { above: Vec::new(), what: What::Thread(thread) }] }
    }

    /// The nodes below a node, in order.
    pub fn children(&self, node: usize) -> Vec<usize> {
        let is_below = |child: &usize| self.nodes[*child].above.iter().any(|edge| edge.parent == node);
        (0..self.nodes.len()).filter(is_below).collect()
    }

    /// The number of nodes on the longest way up to the root, this node included.
    pub fn depth(&self, node: usize) -> usize {
        1 + self.nodes[node].above.iter().map(|edge| self.depth(edge.parent)).max().unwrap_or(0)
    }

    /// A node that is a scheduler.
    pub fn scheduler(&self, node: usize) -> Option<&Scheduler<'p>> {
        match &self.nodes[node].what {
            What::Scheduler(scheduler) => Some(scheduler),
            What::Thread(_) => None,
        }
    }

    /// All threads.
    pub fn threads(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| self.scheduler(node).is_none()).collect()
    }

    /// The threads that a scheduler may replace: all except agents.
    pub fn places(&self) -> Vec<usize> {
        self.threads().into_iter().filter(|&thread| !self.is_agent(thread)).collect()
    }

    /// Whether a node is in the agent's slot of a scheduler.
    pub fn is_agent(&self, node: usize) -> bool {
        let mut params = self.nodes[node].above.iter().flat_map(|edge| &edge.params);
        params.any(|param| *param == (SLOT, Value::Count(AGENTS_SLOT)))
    }

    /// Draws a scheduler with this policy in the place of a thread, with threads like this one below it.
    pub fn grow(
        &mut self,
        random: &mut Random,
        at: usize,
        policy: &'p PolicyInfo,
        place: &Place<'_>,
        thread: &T,
    ) {
        let mut params = random.scheduler_params(policy, place.held);
        let parents: Vec<_> =
            self.nodes[at].above.iter().filter_map(|edge| self.scheduler(edge.parent)).collect();
        // A line of the file has one value of each name, which is the parent's.
        params.retain(|(name, _)| {
            !parents.iter().any(|parent| parent.policy.vp_params.iter().any(|info| info.name == *name))
        });
        for edge in &mut self.nodes[at].above {
            edge.params.retain(|param| is_allowed(&policy.scheduler_params, param));
        }
        let below = random.children(policy, &params, place);
        self.put(at, Scheduler { policy, params, width: None }, below, thread);
    }

    /// Puts a scheduler in the place of a thread, with threads like this one below it, which have these parameters.
    pub fn put(&mut self, at: usize, scheduler: Scheduler<'p>, below: Vec<Given>, thread: &T) {
        self.nodes[at].what = What::Scheduler(scheduler);
        let node =
            |params| Node { above: vec![Edge { parent: at, params }], what: What::Thread(thread.clone()) };
        self.nodes.extend(below.into_iter().map(node));
    }

    /// Puts one scheduler with a policy that joins in the place of two threads, with a thread like this one below it.
    /// Does nothing if both threads have the same parent: no file has two edges from one parent.
    pub fn join(&mut self, threads: [usize; 2], policy: &'p PolicyInfo, thread: &T) {
        let [first, second] = [threads[0].min(threads[1]), threads[0].max(threads[1])];
        let more = self.nodes[first].above.clone();
        let own = &mut self.nodes[second].above;
        if more.iter().any(|edge| own.iter().any(|own| own.parent == edge.parent)) {
            return;
        }
        own.extend(more);
        self.put(second, Scheduler { policy, params: Given::new(), width: None }, vec![Given::new()], thread);
        *self = self.without(&[first]);
    }

    /// The hierarchy without these nodes, and without the edges to them.
    pub fn without(&self, removed: &[usize]) -> Tree<'p, T> {
        let is_kept = |node: &usize| !removed.contains(node);
        let kept: Vec<usize> = (0..self.nodes.len()).filter(is_kept).collect();
        let place = |node: usize| kept.iter().position(|&other| other == node);
        let moved = |edge: &Edge| place(edge.parent).map(|parent| Edge { parent, ..edge.clone() });
        let node = |&node: &usize| {
            let Node { above, what } = &self.nodes[node];
            Node { above: above.iter().filter_map(moved).collect(), what: what.clone() }
        };
        Tree { nodes: kept.iter().map(node).collect() }
    }

    /// The nodes as lines of a hierarchy file, in which each node names its parents. `thread` is what stands behind the
    /// parameters of a thread's line.
    pub fn kdl(&self, thread: impl Fn(&T) -> String) -> String {
        let mut text = String::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let (head, own) = match &node.what {
                What::Scheduler(Scheduler { policy, params, width }) => {
                    let width = width.map_or(String::new(), |width| format!(" width={width}"));
                    (format!("{} \"S{number}\"", policy.name), (shown(params), width))
                }
                What::Thread(known) => (format!("thread \"t{number}\""), (thread(known), String::new())),
            };
            if node.above.is_empty() {
                writeln!(text, "{head}{}", own.0).expect("a string");
            }
            for (nth, edge) in node.above.iter().enumerate() {
                let last = if nth == 0 { own.0.as_str() } else { "" };
                let params = shown(&edge.params);
                writeln!(text, "{head} parent=\"S{}\"{params}{}{last}", edge.parent, own.1)
                    .expect("a string");
            }
        }
        text
    }
}

/// Whether a scheduler with these parameters may stand in a line with a value that its parent has for it: the line says
/// both.
fn is_allowed(infos: &[ParamInfo], (name, value): &(&'static str, Value)) -> bool {
    let (Value::Time(value) | Value::Count(value)) = value else { return true };
    infos.iter().all(|info| info.name != *name || (info.min..=info.max).contains(value))
}

/// The times among parameters, without those of no length.
pub fn times(params: &Given) -> impl Iterator<Item = u64> {
    params.iter().filter_map(|(_, value)| match value {
        Value::Time(time) if *time > 0 => Some(*time),
        _ => None,
    })
}

fn shown(params: &Given) -> String {
    let text = |(name, value): &(&str, Value)| match value {
        Value::Time(ns) => format!(" {name}=\"{}\"", Nanos(*ns)),
        Value::Count(count) => format!(" {name}={count}"),
        Value::Job([amount, period, response]) => {
            format!(" {name}=\"JOB {} {} {}\"", Nanos(*amount), Nanos(*period), Nanos(*response))
        }
    };
    params.iter().map(text).collect()
}
