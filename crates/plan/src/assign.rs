//! Decides to which thread of the hierarchy (here: node) each thread of a real machine belongs, and which instance of
//! it it is.
//!
//! Relies on the engine to report, in order, every thread that comes, changes or ends. Does not look at the machine:
//! the same reports give the same answers.
//!
//! A thread belongs to the node with the rule that it fits ([`Who`]). If it fits two nodes it belongs to none: that is
//! a mistake in the file which shows only on the machine. A node takes one thread per instance, the earliest first.
//! Further threads wait in the default scheduler; the thread that has waited longest gets the next instance that
//! becomes free.
//!
//! An instance that its thread has left *rests* for a while before it is free. A scheduler forgets a thread that
//! leaves, so the next one, or the same one again, begins with a new budget: threads that come and go would have
//! several budgets in one period, at the cost of others.

use crate::Plan;
use hls_hierarchy::model::{Hierarchy, Source, Who};
use hls_hierarchy::{Glob, cgroup};
use hls_units::Nanos;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The parent of the kernel's own threads.
const KTHREADD: u32 = 2;

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
    /// Which instance of that thread, counted from 0.
    pub instance: u32,
}

/// Where a thread of the machine belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// The thread is this instance, until it ends or fits the node no longer.
    Instance(Instance),
    /// The thread fits no node: it stays in the default scheduler.
    Default,
    /// The thread fits this node, but all instances of the node are taken, or rest: it stays in the default scheduler
    /// until one is free.
    Full(usize),
    /// The thread fits these two nodes, and maybe more: it stays in the default scheduler. Both are indices into
    /// [`Hierarchy::threads`].
    Conflict(usize, usize),
}

/// A thread that waited for an instance and now has the one that another thread left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// Its TID.
    pub tid: u32,
    /// The instance that the thread has from now on.
    pub instance: Instance,
}

/// How many threads of the machine fit a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many have an instance of it.
    pub held: u32,
    /// How many wait for an instance to become free.
    pub waiting: u32,
    /// How many instances rest.
    pub resting: u32,
}

/// Which instance, if any, each thread of the machine has.
#[derive(Debug)]
pub struct Assignments {
    rules: Rules,
    nodes: Vec<Node>,
    /// By TID.
    threads: HashMap<u32, KnownThread>,
    /// By process number: the processes of all known threads, and processes that were started for a node's command.
    processes: HashMap<u32, Process>,
    /// The instances that threads have left since the last call of [`pass`](Assignments::pass).
    left: Vec<Instance>,
    /// The instances that rest, each with the time at which that is over.
    resting: BTreeSet<(Nanos, Instance)>,
    /// How often a thread has begun to wait for an instance; the next thread that does gets this number plus one.
    tickets: u64,
}

/// The rules by which nodes claim threads of the machine, sorted by the property that a rule looks at; each has its
/// node.
#[derive(Debug, Default)]
struct Rules {
    pids: HashMap<u32, usize>,
    cgroups: HashMap<String, usize>,
    units: HashMap<String, usize>,
    comms: Vec<(Glob, usize)>,
    sources: Vec<(Source, usize)>,
}

/// A thread of the hierarchy, and the threads that wait for an instance of it.
#[derive(Debug)]
struct Node {
    count: u32,
    free: BTreeSet<u32>,
    /// For how long an instance rests, where it does.
    rests: BTreeMap<u32, Nanos>,
    /// The TIDs of the waiting threads, by ticket: the thread that has waited longest first.
    waiting: BTreeMap<u64, u32>,
}

/// A thread of the machine that was reported.
#[derive(Debug)]
struct KnownThread {
    tgid: u32,
    assignment: Assignment,
    /// Its key in [`Node::waiting`], while it waits.
    ticket: u64,
}

/// A process of the machine.
#[derive(Debug, Default)]
struct Process {
    threads: usize,
    /// The node with the command for which this process, or an ancestor of it, was started.
    started_for: Option<usize>,
}

impl Assignments {
    /// The state before any thread was reported.
    pub fn new(plan: &Plan) -> Assignments {
        let node = |count: &u32| Node {
            count: *count,
            free: (0..*count).collect(),
            rests: BTreeMap::new(),
            waiting: BTreeMap::new(),
        };
        Assignments {
            rules: Rules::new(&plan.hierarchy),
            nodes: plan.instances.iter().map(node).collect(),
            threads: HashMap::new(),
            processes: HashMap::new(),
            left: Vec::new(),
            resting: BTreeSet::new(),
            tickets: 0,
        }
    }

    /// From now on an instance rests for so long whenever its thread has left it; at first, none does.
    ///
    /// # Panics
    /// When the hierarchy has no such node.
    pub fn set_rest(&mut self, Instance { node, instance }: Instance, length: Nanos) {
        let rests = &mut self.nodes[node].rests;
        if length == Nanos::ZERO {
            rests.remove(&instance);
        } else {
            rests.insert(instance, length);
        }
    }

    /// It is `now`, and every thread that has left an instance is below another scheduler. Returns which threads got an
    /// instance that has rested long enough.
    pub fn pass(&mut self, now: Nanos) -> Vec<Successor> {
        for instance in std::mem::take(&mut self.left) {
            let length = self.rest(instance).unwrap_or(Nanos::ZERO);
            self.resting.insert((now.saturating_add(length), instance));
        }
        let mut successors = Vec::new();
        while let Some(&(until, instance)) = self.resting.first()
            && until <= now
        {
            self.resting.pop_first();
            successors.extend(self.give(instance));
        }
        successors
    }

    fn rest(&self, Instance { node, instance }: Instance) -> Option<Nanos> {
        self.nodes[node].rests.get(&instance).copied()
    }

    /// The engine has started process `tgid` for the command of `node`. To be called before the process's first thread
    /// is reported: a thread that was reported earlier stays where it is.
    ///
    /// # Panics
    /// When the hierarchy has no such node.
    pub fn start(&mut self, node: usize, tgid: u32) {
        assert!(node < self.nodes.len(), "there is no thread {node} in the hierarchy");
        self.processes.entry(tgid).or_default().started_for = Some(node);
    }

    /// A thread has come, or its name or cgroup has changed; returns where the thread belongs, and which other thread
    /// got the instance that it left. When a thread that is not its process's first calls exec, it gets the number of
    /// the first: then its old number is to be reported as ended.
    pub fn update(&mut self, thread: &RealThread) -> (Assignment, Option<Successor>) {
        // A thread keeps its process: a number with another process is another thread, and the earlier one ended
        // unreported.
        let is_reused = self.threads.get(&thread.tid).is_some_and(|known| known.tgid != thread.tgid);
        let of_reused = if is_reused { self.exit(thread.tid) } else { None };
        let (before, started_for) = self.make_known(thread);
        let fit = self.rules.fit(thread, started_for);
        if fit.is_met_by(before) {
            return (before, of_reused);
        }
        let successor = self.unassign(thread.tid);
        (self.assign(thread.tid, fit), successor.or(of_reused))
    }

    /// A thread has ended; returns which thread got the instance that it left. No effect for a thread that was never
    /// reported.
    pub fn exit(&mut self, tid: u32) -> Option<Successor> {
        let successor = self.unassign(tid);
        let known = self.threads.remove(&tid)?;
        if let Some(process) = self.processes.get_mut(&known.tgid) {
            process.threads -= 1;
            if process.threads == 0 {
                self.processes.remove(&known.tgid);
            }
        }
        successor
    }

    /// Where a thread belongs; `None` where it was never reported.
    pub fn assignment(&self, tid: u32) -> Option<Assignment> {
        self.threads.get(&tid).map(|known| known.assignment)
    }

    /// How many threads fit a node; none, if there is no such node.
    pub fn counts(&self, node: usize) -> Counts {
        let Some(of) = self.nodes.get(node) else { return Counts::default() };
        let resting = self.resting.iter().map(|(_, instance)| instance).chain(&self.left);
        let resting = resting.filter(|instance| instance.node == node).count() as u32;
        Counts { held: of.count - of.free.len() as u32 - resting, waiting: of.waiting.len() as u32, resting }
    }

    /// Enters a thread and its process, which belongs to the command of the parent process. Returns where the thread
    /// belonged so far, and for which node its process was started.
    fn make_known(&mut self, thread: &RealThread) -> (Assignment, Option<usize>) {
        let of_parent = self.processes.get(&thread.parent).and_then(|parent| parent.started_for);
        let of_parent = || Process { threads: 0, started_for: of_parent };
        let process = self.processes.entry(thread.tgid).or_insert_with(of_parent);
        let known = self.threads.entry(thread.tid).or_insert_with(|| {
            process.threads += 1;
            KnownThread { tgid: thread.tgid, assignment: Assignment::Default, ticket: 0 }
        });
        (known.assignment, process.started_for)
    }

    /// Assigns a known thread that has no assignment.
    fn assign(&mut self, tid: u32, fit: Fit) -> Assignment {
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
        self.set_assignment(tid, assignment);
        assignment
    }

    /// Takes a thread's assignment from it. Returns which thread got its instance.
    fn unassign(&mut self, tid: u32) -> Option<Successor> {
        let known = self.threads.get_mut(&tid)?;
        match std::mem::replace(&mut known.assignment, Assignment::Default) {
            Assignment::Default | Assignment::Conflict(..) => None,
            Assignment::Full(node) => {
                self.nodes[node].waiting.remove(&known.ticket);
                None
            }
            Assignment::Instance(instance) if self.rest(instance).is_some() => {
                self.left.push(instance);
                None
            }
            Assignment::Instance(instance) => self.give(instance),
        }
    }

    /// Gives an instance to the thread that has waited longest for its node; without such a thread it is free.
    fn give(&mut self, instance: Instance) -> Option<Successor> {
        let node = &mut self.nodes[instance.node];
        let Some((_, tid)) = node.waiting.pop_first() else {
            node.free.insert(instance.instance);
            return None;
        };
        self.set_assignment(tid, Assignment::Instance(instance));
        Some(Successor { tid, instance })
    }

    fn set_assignment(&mut self, tid: u32, assignment: Assignment) {
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
    /// Whether a thread with this assignment may keep it.
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
                // The processes of a command are known from `start`.
                None | Some(Who::Command(_)) => {}
                Some(Who::Pid(pid)) => drop(rules.pids.insert(*pid, node)),
                Some(Who::Comm(glob)) => rules.comms.push((glob.clone(), node)),
                Some(Who::Cgroup(path)) => drop(rules.cgroups.insert(path.clone(), node)),
                Some(Who::Unit(name)) => drop(rules.units.insert(name.clone(), node)),
                Some(Who::Source(source)) => rules.sources.push((source.clone(), node)),
            }
        }
        rules
    }

    fn fit(&self, thread: &RealThread, started_for: Option<usize>) -> Fit {
        let pids = [thread.tid, thread.tgid].into_iter().filter_map(|pid| self.pids.get(&pid));
        let cgroups = cgroup::upwards(thread.cgroup).filter_map(|path| self.cgroups.get(path));
        let units = cgroup::units(thread.cgroup).filter_map(|name| self.units.get(name));
        let comms = self.comms.iter().filter(|(glob, _)| glob.matches(thread.comm)).map(|(_, node)| node);
        // Any thread may have such a name, but only kernel threads have this parent.
        let is_of = |source: &Source| thread.parent == KTHREADD && source.matches(thread.comm);
        let sources = self.sources.iter().filter(|(source, _)| is_of(source)).map(|(_, node)| node);
        let nodes: BTreeSet<usize> = pids
            .chain(cgroups)
            .chain(units)
            .chain(comms)
            .chain(sources)
            .copied()
            .chain(started_for)
            .collect();
        let mut nodes = nodes.into_iter();
        match (nodes.next(), nodes.next()) {
            (Some(one), Some(other)) => Fit::Two(one, other),
            (Some(one), None) => Fit::One(one),
            (None, _) => Fit::None,
        }
    }
}
