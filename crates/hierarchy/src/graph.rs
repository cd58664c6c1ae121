//! The graph that the declarations make: one root, no cycle, not too deep, every edge of a width that its parent has.
//!
//! Relies on nothing but the edges. Every pass is a loop, so that no graph exhausts the stack.

use crate::attributes::Edge;
use crate::declare::{Declarations, Parent, Scheduler};
use crate::diagnostic::{Diagnostic, Sink};
use crate::model::{Child, Machine};
use hls_core::PolicyInfo;
use hls_core::limits::MAX_DEPTH;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order and the widths of a graph.
pub(crate) struct Graph {
    /// The schedulers, each after all its parents, otherwise in file order. Without schedulers on or below a cycle.
    pub(crate) order: Vec<usize>,
    /// The edge above the root, if there is one.
    pub(crate) root: Option<usize>,
    /// How many VPs each edge stands for, in the order of the edges.
    pub(crate) widths: Vec<u16>,
}

/// Finds cycles, branches that are too deep, roots that are missing or too many, and the width of every edge.
pub(crate) fn check(declared: &Declarations, edges: &[Edge], machine: &Machine, sink: &mut Sink) -> Graph {
    let links = Links::new(declared, edges);
    let order = links.order();
    report_cycles(declared, &links, &order, sink);
    report_depth(declared, &links, &order, sink);
    let root = find_root(declared, edges, sink);
    let widths = widths(declared, edges, &links, &order, machine, sink);
    Graph { order, root, widths }
}

/// For each scheduler, the edges above and below it.
struct Links<'e> {
    edges: &'e [Edge],
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl<'e> Links<'e> {
    fn new(declared: &Declarations, edges: &'e [Edge]) -> Links<'e> {
        let mut above = vec![Vec::new(); declared.schedulers.len()];
        let mut below = above.clone();
        for (at, edge) in edges.iter().enumerate() {
            if let Child::Scheduler(child) = edge.child {
                above[child].push(at);
            }
            if let Parent::Scheduler(parent) = edge.parent {
                below[parent].push(at);
            }
        }
        Links { edges, above, below }
    }

    /// The schedulers above one.
    fn parents(&self, scheduler: usize) -> impl Iterator<Item = usize> {
        self.above[scheduler].iter().filter_map(|edge| match self.edges[*edge].parent {
            Parent::Scheduler(parent) => Some(parent),
            Parent::None | Parent::Unknown => None,
        })
    }

    /// Kahn's topological order; the earliest in the file goes first where there is a choice.
    fn order(&self) -> Vec<usize> {
        let mut waits_for: Vec<usize> = (0..self.above.len()).map(|at| self.parents(at).count()).collect();
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..self.above.len()).filter(|at| waits_for[*at] == 0).map(Reverse).collect();
        let mut order = Vec::new();
        while let Some(Reverse(next)) = ready.pop() {
            order.push(next);
            for edge in &self.below[next] {
                if let Child::Scheduler(child) = self.edges[*edge].child {
                    waits_for[child] -= 1;
                    if waits_for[child] == 0 {
                        ready.push(Reverse(child));
                    }
                }
            }
        }
        order
    }
}

/// Reports each cycle once, by the names on it. What the order leaves out is on a cycle or below one.
fn report_cycles(declared: &Declarations, links: &Links, order: &[usize], sink: &mut Sink) {
    let mut is_placed = vec![false; declared.schedulers.len()];
    for placed in order {
        is_placed[*placed] = true;
    }
    let mut is_done = is_placed.clone();
    for start in 0..is_done.len() {
        let (mut path, mut at) = (Vec::new(), start);
        while !is_done[at] {
            is_done[at] = true;
            path.push(at);
            // Whatever the order left out has a parent that it left out. A parent on this path already closes a cycle.
            at = links.parents(at).find(|parent| !is_placed[*parent]).unwrap_or(at);
        }
        if let Some(first) = path.iter().position(|on_path| *on_path == at) {
            report_cycle(&declared.schedulers, &path[first..], sink);
        }
    }
}

fn report_cycle(schedulers: &[Scheduler], cycle: &[usize], sink: &mut Sink) {
    let names: Vec<String> =
        cycle.iter().chain(&cycle[..1]).map(|at| format!("`{}`", schedulers[*at].name)).collect();
    let Some(first) = cycle.iter().min() else {
        return;
    };
    let found = format!("a cycle: {}", names.join(" below "));
    let span = schedulers[*first].span.clone();
    sink.add(Diagnostic::error(span, "the hierarchy", found, "no scheduler below itself"));
}

/// Reports each scheduler that is too deep while its parent is not.
fn report_depth(declared: &Declarations, links: &Links, order: &[usize], sink: &mut Sink) {
    let mut level = vec![0; declared.schedulers.len()];
    for &at in order {
        level[at] = 1 + links.parents(at).map(|parent| level[parent]).max().unwrap_or(0);
        if level[at] == MAX_DEPTH + 1 {
            let scheduler = &declared.schedulers[at];
            let message = format!("scheduler `{}`", scheduler.name);
            let found = format!("level {} of the hierarchy", level[at]);
            let expected = format!("at most {MAX_DEPTH} levels of schedulers");
            sink.add(Diagnostic::error(scheduler.span.clone(), message, found, expected));
        }
    }
}

/// Finds the one scheduler without a parent; reports others, and threads without one.
fn find_root(declared: &Declarations, edges: &[Edge], sink: &mut Sink) -> Option<usize> {
    let mut root: Option<(usize, &str)> = None;
    let help = "parent=\"NAME\" puts a node at the top of the file below a scheduler".to_owned();
    for (at, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.parent == Parent::None) {
        let error = match (edge.child, root) {
            (Child::Thread(thread), _) => {
                let message = format!("thread `{}`", declared.threads[thread].name);
                Diagnostic::error(edge.span.clone(), message, "no scheduler above it", "one")
            }
            (Child::Scheduler(scheduler), None) => {
                root = Some((at, &declared.schedulers[scheduler].name));
                continue;
            }
            (Child::Scheduler(scheduler), Some((first, name))) => {
                let message = format!("scheduler `{}`", declared.schedulers[scheduler].name);
                let found = format!("a second root beside `{name}`");
                Diagnostic::error(edge.span.clone(), message, found, "a parent")
                    .first(edges[first].span.clone())
            }
        };
        sink.add(error.help(help.clone()));
    }
    let is_explained = edges.iter().any(|edge| edge.parent == Parent::Unknown) || sink.has_errors();
    if root.is_none() && !is_explained {
        let expected = "one scheduler that is not below another, such as fixed-priority \"FP\" { }";
        sink.add(Diagnostic::error(0..0, "the hierarchy", "no scheduler", expected));
    }
    root.map(|(at, _)| at)
}

/// How many VPs a scheduler has of a parent that holds `held` CPUs, where the file does not say `width`.
pub fn default_width(parent: &PolicyInfo, child: &PolicyInfo, held: u16) -> u16 {
    if parent.properties.serial || child.max_children == 1 { 1 } else { held }
}

/// Gives every edge its width, parents first. No scheduler may hold more CPUs than its parents together.
fn widths(
    declared: &Declarations,
    edges: &[Edge],
    links: &Links,
    order: &[usize],
    machine: &Machine,
    sink: &mut Sink,
) -> Vec<u16> {
    let policy_of = |scheduler: usize| declared.schedulers[scheduler].policy;
    let mut widths = vec![1_u16; edges.len()];
    for &scheduler in order {
        for &at in &links.above[scheduler] {
            let (most, default) = match edges[at].parent {
                Parent::Scheduler(parent) => {
                    let held = links.above[parent].iter().map(|above| widths[*above]);
                    let held = held.fold(0, u16::saturating_add).clamp(1, machine.cpus);
                    let policies = policy_of(parent).zip(policy_of(scheduler));
                    (held, policies.map_or(held, |(parent, child)| default_width(parent, child, held)))
                }
                Parent::None => (machine.cpus, machine.cpus),
                Parent::Unknown => continue,
            };
            widths[at] = match &edges[at].width {
                None => default,
                Some((stated, _)) if *stated <= most => *stated,
                Some((stated, span)) => {
                    let expected = format!("at most {most}: what is above it holds no more CPUs at once");
                    let found = stated.to_string();
                    sink.add(Diagnostic::error(span.clone(), "property `width`", found, expected));
                    most
                }
            };
        }
    }
    widths
}
