//! Which thread of the hierarchy each thread of a real machine belongs to, and as which of its instances.
//!
//! Relies on the engine to tell of every thread that comes, changes or ends, each in its turn. Looks at no machine, and
//! the same story gives the same answers.
//!
//! A thread belongs to the node whose rule it fits ([`Who`]). Where it fits two it belongs to none: that is a mistake
//! in the file that only the machine brings to light. A node takes as many as it has instances, the earliest first. The
//! others wait, in the default, and the one that has waited longest takes the first instance that becomes free.

use crate::Plan;
use hls_hierarchy::model::{Hierarchy, Who};
use hls_hierarchy::{Glob, cgroup};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A thread of the machine as it is now.
#[derive(Clone, Copy, Debug)]
pub struct RealThread<'t> {
    /// Its number: what Linux calls its TID.
    pub tid: u32,
    /// The number of its process: the TID of the process's first thread.
    pub tgid: u32,
    /// The number of its process's parent.
    pub parent: u32,
    /// Its name, without the zero behind it.
    pub comm: &'t [u8],
    /// The path of its cgroup within cgroup v2.
    pub cgroup: &'t str,
}

/// An instance of a thread of the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// Index into [`Hierarchy::threads`].
    pub node: usize,
    /// Which of them, from 0.
    pub instance: u32,
}

/// Where a thread of the machine belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// It is this instance, which it keeps until it ends or fits the node no longer.
    Instance(Instance),
    /// It fits no node: in the default.
    Default,
    /// It fits this node, all of whose instances are taken: in the default, until one is free.
    Full(usize),
    /// It fits these two nodes, and maybe more: in the default. The places of both are in [`Hierarchy::threads`].
    Conflict(usize, usize),
}

/// A thread that had waited for an instance, and has one now that another thread left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// Its TID.
    pub tid: u32,
    /// What it is from now on.
    pub instance: Instance,
}

/// How many threads of the machine fit a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that are an instance.
    pub held: u32,
    /// Those that wait for one.
    pub waiting: u32,
}

/// Who is what.
#[derive(Debug)]
pub struct Assignments {
    rules: Rules,
    nodes: Vec<Node>,
    /// By TID.
    threads: HashMap<u32, Known>,
    /// By number. Every process of a known thread, and those that were started for a node.
    processes: HashMap<u32, Process>,
    /// How often a thread has begun to wait.
    tickets: u64,
}

/// The rules of a hierarchy, by what they ask for.
#[derive(Debug, Default)]
struct Rules {
    pids: HashMap<u32, usize>,
    cgroups: HashMap<String, usize>,
    units: HashMap<String, usize>,
    comms: Vec<(Glob, usize)>,
}

/// A thread of the hierarchy.
#[derive(Debug)]
struct Node {
    count: u32,
    free: BTreeSet<u32>,
    /// TIDs, the one that has waited longest first.
    waiting: BTreeMap<u64, u32>,
}

/// A thread of the machine.
#[derive(Debug)]
struct Known {
    tgid: u32,
    assignment: Assignment,
    /// Its key where it waits.
    ticket: u64,
}

/// A process of the machine.
#[derive(Debug, Default)]
struct Process {
    threads: usize,
    /// The node for whose command it, or an ancestor of it, was started.
    started_for: Option<usize>,
}

impl Assignments {
    /// Nobody has come yet.
    pub fn new(plan: &Plan) -> Assignments {
        let node =
            |count: &u32| Node { count: *count, free: (0..*count).collect(), waiting: BTreeMap::new() };
        Assignments {
            rules: Rules::new(&plan.hierarchy),
            nodes: plan.instances.iter().map(node).collect(),
            threads: HashMap::new(),
            processes: HashMap::new(),
            tickets: 0,
        }
    }

    /// The engine has started this process for the command of that node. To be told before the process's first thread:
    /// what came earlier stays where it is.
    ///
    /// # Panics
    /// When the hierarchy has no such node.
    pub fn start(&mut self, node: usize, tgid: u32) {
        assert!(node < self.nodes.len(), "there is no thread {node} in the hierarchy");
        self.processes.entry(tgid).or_default().started_for = Some(node);
    }

    /// A thread has come, or something about it has changed: its name, as by exec, or its cgroup. An exec in another
    /// thread than a process's first gives that one the first's number: then its old number has ended.
    pub fn update(&mut self, thread: &RealThread) -> (Assignment, Option<Successor>) {
        // A thread keeps its process: with another one it is another thread, and nobody told of the end of the first.
        let is_reused = self.threads.get(&thread.tid).is_some_and(|known| known.tgid != thread.tgid);
        let of_reused = if is_reused { self.exit(thread.tid) } else { None };
        let (before, started_for) = self.come(thread);
        let fit = self.rules.fit(thread, started_for);
        if fit.is_met_by(before) {
            return (before, of_reused);
        }
        let successor = self.leave(thread.tid);
        (self.enter(thread.tid, fit), successor.or(of_reused))
    }

    /// A thread has ended. What was never told of is nothing.
    pub fn exit(&mut self, tid: u32) -> Option<Successor> {
        let successor = self.leave(tid);
        let known = self.threads.remove(&tid)?;
        if let Some(process) = self.processes.get_mut(&known.tgid) {
            process.threads -= 1;
            if process.threads == 0 {
                self.processes.remove(&known.tgid);
            }
        }
        successor
    }

    /// Where a thread belongs; `None`: nobody told of it.
    pub fn assignment(&self, tid: u32) -> Option<Assignment> {
        self.threads.get(&tid).map(|known| known.assignment)
    }

    /// How many threads fit a node; none, if there is no such node.
    pub fn counts(&self, node: usize) -> Counts {
        self.nodes.get(node).map_or(Counts::default(), |node| Counts {
            held: node.count - node.free.len() as u32,
            waiting: node.waiting.len() as u32,
        })
    }

    /// Makes a thread known, and its process, which is of its parent's kin. Where the thread was so far, and for which
    /// node its process was started.
    fn come(&mut self, thread: &RealThread) -> (Assignment, Option<usize>) {
        let of_parent = self.processes.get(&thread.parent).and_then(|parent| parent.started_for);
        let of_parent = || Process { threads: 0, started_for: of_parent };
        let process = self.processes.entry(thread.tgid).or_insert_with(of_parent);
        let known = self.threads.entry(thread.tid).or_insert_with(|| {
            process.threads += 1;
            Known { tgid: thread.tgid, assignment: Assignment::Default, ticket: 0 }
        });
        (known.assignment, process.started_for)
    }

    /// Gives a known thread, which is nowhere, its place.
    fn enter(&mut self, tid: u32, fit: Fit) -> Assignment {
        let assignment = match fit {
            Fit::None => Assignment::Default,
            Fit::Two(one, other) => Assignment::Conflict(one, other),
            Fit::One(node) => match self.nodes[node].free.pop_first() {
                Some(instance) => Assignment::Instance(Instance { node, instance }),
                None => Assignment::Full(node),
            },
        };
        if let Assignment::Full(node) = assignment {
            self.tickets += 1;
            self.nodes[node].waiting.insert(self.tickets, tid);
        }
        self.place(tid, assignment);
        assignment
    }

    /// Takes a thread from its place, which the one that has waited longest for it gets.
    fn leave(&mut self, tid: u32) -> Option<Successor> {
        let known = self.threads.get_mut(&tid)?;
        match std::mem::replace(&mut known.assignment, Assignment::Default) {
            Assignment::Default | Assignment::Conflict(..) => None,
            Assignment::Full(node) => {
                self.nodes[node].waiting.remove(&known.ticket);
                None
            }
            Assignment::Instance(instance) => {
                let node = &mut self.nodes[instance.node];
                let Some((_, tid)) = node.waiting.pop_first() else {
                    node.free.insert(instance.instance);
                    return None;
                };
                self.place(tid, Assignment::Instance(instance));
                Some(Successor { tid, instance })
            }
        }
    }

    fn place(&mut self, tid: u32, assignment: Assignment) {
        if let Some(known) = self.threads.get_mut(&tid) {
            known.assignment = assignment;
            known.ticket = self.tickets;
        }
    }
}

/// The nodes that a thread fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    None,
    One(usize),
    /// The first two in the order of the file.
    Two(usize, usize),
}

impl Fit {
    /// Whether a thread that is there may stay.
    fn is_met_by(self, assignment: Assignment) -> bool {
        match assignment {
            Assignment::Default => self == Fit::None,
            Assignment::Instance(Instance { node, .. }) | Assignment::Full(node) => self == Fit::One(node),
            Assignment::Conflict(one, other) => self == Fit::Two(one, other),
        }
    }
}

impl Rules {
    fn new(hierarchy: &Hierarchy) -> Rules {
        let mut rules = Rules::default();
        for (node, thread) in hierarchy.threads.iter().enumerate() {
            match thread.who.as_ref().map(|who| &who.value) {
                // Its processes are known by their start.
                None | Some(Who::Command(_)) => {}
                Some(Who::Pid(pid)) => drop(rules.pids.insert(*pid, node)),
                Some(Who::Comm(glob)) => rules.comms.push((glob.clone(), node)),
                Some(Who::Cgroup(path)) => drop(rules.cgroups.insert(path.clone(), node)),
                Some(Who::Unit(name)) => drop(rules.units.insert(name.clone(), node)),
            }
        }
        rules
    }

    fn fit(&self, thread: &RealThread, started_for: Option<usize>) -> Fit {
        let pids = [thread.tid, thread.tgid].into_iter().filter_map(|pid| self.pids.get(&pid));
        let cgroups = cgroup::upwards(thread.cgroup).filter_map(|path| self.cgroups.get(path));
        let units = cgroup::units(thread.cgroup).filter_map(|name| self.units.get(name));
        let comms = self.comms.iter().filter(|(glob, _)| glob.matches(thread.comm)).map(|(_, node)| node);
        let nodes: BTreeSet<usize> =
            pids.chain(cgroups).chain(units).chain(comms).copied().chain(started_for).collect();
        let mut nodes = nodes.into_iter();
        match (nodes.next(), nodes.next()) {
            (Some(one), Some(other)) => Fit::Two(one, other),
            (Some(one), None) => Fit::One(one),
            (None, _) => Fit::None,
        }
    }
}
