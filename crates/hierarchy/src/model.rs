//! A hierarchy that has been read and validated: what every other part works on.
//!
//! Invariants (the reader, [`crate::read()`], establishes them; nothing changes a model afterwards): there is exactly
//! one root scheduler; the graph has no cycle and at most `hls_core::limits::MAX_DEPTH` levels of schedulers; every
//! child but a join has one parent; every parameter lies in the range that its policy states; names are unique over
//! schedulers and over threads, and no scheduler has the name of a thread.

use crate::glob::Glob;
use hls_calculus::Guarantee;
use hls_calculus::schedulers::Declared;
use hls_core::{PolicyInfo, pages};
use hls_units::Nanos;
use hls_workload::program::{Program, Queue, QueueId};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the file that something was read from.
pub type Span = Range<usize>;

/// A value from the file, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands in the file.
    pub span: Span,
}

/// An edge of the file, by its number in [`Hierarchy::edges`]. The analysed graph has an edge of its own for each
/// instance of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelEdge(pub usize);

/// A validated hierarchy.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The machine that the hierarchy runs on.
    pub machine: Machine,
    /// The policies that come from files of their own, in file order.
    pub loads: Vec<LoadStatement>,
    /// The schedulers: the root first, each after all of its parents, otherwise in file order.
    pub schedulers: Vec<Scheduler>,
    /// The threads in file order.
    pub threads: Vec<Thread>,
    /// The queues that threads serve, by the numbers that the programs have for them.
    pub queues: Vec<Queue>,
    /// The edges in file order. The first is the root's own: parent `None`.
    pub edges: Vec<Edge>,
    /// Index into `schedulers` of the one that steals: its CPU time counts as stolen, as interrupt time does, from all
    /// that is not below it. No file states one: [`Hierarchy::for_a_machine`] adds it.
    pub stealing: Option<usize>,
}

impl Hierarchy {
    /// The edge of this number.
    ///
    /// # Panics
    /// If the number is another hierarchy's, and this one has fewer edges.
    pub fn edge(&self, edge: ModelEdge) -> &Edge {
        &self.edges[edge.0]
    }

    /// Index into `schedulers` of the one for all threads that no node of the file matches, if the file has one.
    pub fn default_scheduler(&self) -> Option<usize> {
        self.schedulers.iter().position(|scheduler| scheduler.is_default)
    }

    /// Index into `schedulers` of the one that this thread of the file is the agent of: through the scheduler's pages,
    /// the agent decides which child runs.
    pub fn scheduler_of_agent(&self, thread: usize) -> Option<usize> {
        let edge = self.edges.iter().find(|edge| edge.child == Child::Thread(thread))?;
        let policy = self.schedulers[edge.parent?].policy;
        let slot = policy.vp_params.iter().position(|param| param.name == pages::SLOT)?;
        edge.parent.filter(|_| policy.properties.has_pages && edge.params[slot] == pages::AGENTS_SLOT)
    }

    /// Index into `schedulers` of the one for the threads of `hls` itself, if the file has one.
    pub fn service_scheduler(&self) -> Option<usize> {
        self.schedulers.iter().position(|scheduler| scheduler.is_service)
    }
}

/// The share of a thread that nobody placed, in the weights of Linux's fair class. In the kernel engine it is the share
/// at nice 0: each step down multiplies a thread's share by 1.25, from 15 at nice 19 to 88,818 at nice -20.
pub const SHARE_OF_NICE_0: u64 = 1024;

/// The parameters, in the policy's order, that the VP of a thread that nobody placed has below a scheduler of this
/// policy: the presets, and [`SHARE_OF_NICE_0`].
pub fn params_of_the_unplaced(policy: &PolicyInfo) -> Vec<u64> {
    let value = |param: &hls_core::ParamInfo| match param.name {
        "share" => SHARE_OF_NICE_0.clamp(param.min, param.max),
        _ => param.default.unwrap_or(param.min),
    };
    policy.vp_params.iter().map(value).collect()
}

/// The machine that the file describes (and that the simulator imitates).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Number of CPUs, 1 to `hls_core::limits::MAX_CPUS`.
    pub cpus: u16,
    /// The number of CPUs that the file states, if it does; the caller of the reader may have overruled it.
    pub stated_cpus: Option<u16>,
    /// Timer interrupts a second, when time is enforced by ticks; `None`: timers are precise.
    pub tick_hz: Option<u32>,
    /// CPU time that a switch to another thread takes.
    pub switch_cost: Nanos,
    /// CPU time that each level of a scheduling decision takes.
    pub decision_cost: Nanos,
    /// Sources of stolen time.
    pub interrupts: Vec<Interrupt>,
}

/// A source of stolen time on one CPU: interrupts, the host, tasks of higher classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The CPU that it takes.
    pub cpu: u16,
    /// From one occurrence to the next. Each distance is drawn uniformly from `min..=max`.
    pub every: hls_workload::program::Span,
    /// How long each takes, drawn likewise.
    pub takes: hls_workload::program::Span,
    /// The queue into which each puts an entry when it is over.
    pub to: Option<QueueId>,
    /// The queue that the entry goes on to when it has been dealt with there.
    pub next: Option<QueueId>,
}

/// A `load` statement: a policy that comes from a C file of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStatement {
    /// The policy's C file; a relative path begins at the folder of the hierarchy file.
    pub path: String,
    /// The name that the policy is to have; `None`: the name of its C file.
    pub name: Option<String>,
    /// Where it stands in the file.
    pub span: Span,
}

impl LoadStatement {
    /// What the policy is called: as the statement says, or as its file is, `asked-times` for `asked_times.c`.
    pub fn policy(&self) -> String {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        let of_file = || file.strip_suffix(".c").unwrap_or(file).replace('_', "-");
        self.name.clone().unwrap_or_else(of_file)
    }
}

/// A scheduler instance.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Its name; the policy's name when the file gives none and that is unique.
    pub name: String,
    /// Its policy.
    pub policy: &'static PolicyInfo,
    /// What the policy declares that it promises, where it was loaded.
    pub declared: Option<Arc<Declared>>,
    /// Values of `policy.scheduler_params`, in that order, defaults filled in.
    pub params: Vec<u64>,
    /// The user that may change what is below it while it runs, within its guarantee; `None`: root alone.
    pub owner: Option<Placed<User>>,
    /// Whether the threads of a real machine that no node of the file matches go here. One scheduler at most has it.
    pub is_default: bool,
    /// Whether the threads of `hls` itself go here. One scheduler at most has it.
    pub is_service: bool,
    /// Whether `hls` has added it for its own threads ([`Hierarchy::for_a_machine`]): nothing else is placed below it.
    pub is_added: bool,
    /// Where it stands in the file (its first mention, for a join).
    pub span: Span,
}

/// A user of the machine. Whether the machine has such a user is not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// By name.
    Name(String),
    /// By number.
    Uid(u32),
}

/// The threads of a real machine that a thread of the file matches. They become its instances, up to their number.
/// The simulator ignores them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// The threads of the process that the engine starts with these words (the program, its arguments; no shell sees
    /// them), and of all processes that descend from it.
    Command(Vec<String>),
    /// The thread of this number, or all threads of the process of this number.
    Pid(u32),
    /// Threads with a matching name. A thread starts with the name of its program; it may give itself another.
    Comm(Glob),
    /// Threads in this cgroup (its path within cgroup v2: absolute, without `.`, `..` or empty parts) or below it.
    Cgroup(String),
    /// Threads in this unit of the system's systemd: a service, a scope, or a slice with all that is in it.
    Unit(String),
    /// The kernel's threads that do the work of this source of interrupts.
    Source(Source),
}

/// A source of interrupts that is handled by threads of the kernel, if the kernel is asked to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A network device: a thread for each of its queues (threaded NAPI).
    Napi(String),
    /// Packets that other CPUs put into the queue of this one (receive packet steering). The kernel has a thread for
    /// that if it was booted with `thread_backlog_napi`.
    Backlog(u16),
}

impl Source {
    /// How the names of its threads begin; the kernel cuts names to 15 bytes.
    pub fn prefix(&self) -> String {
        match self {
            Source::Napi(device) => format!("napi/{device}-"),
            Source::Backlog(cpu) => format!("backlog_napi/{cpu}"),
        }
    }

    /// Whether a thread of this name is one of its threads.
    pub fn matches(&self, comm: &[u8]) -> bool {
        match self {
            Source::Napi(_) => comm.starts_with(self.prefix().as_bytes()),
            Source::Backlog(_) => comm == self.prefix().as_bytes(),
        }
    }
}

/// A thread, or several alike.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// How many threads there are; `None`: as many as the workload says, else one. Several are called `name-0`,
    /// `name-1`, ...
    pub instances: Option<u32>,
    /// What it does, from the shapes in the file; `None` when the file says nothing (then the workload file must, or it
    /// is `cpu-bound`).
    pub program: Option<Program>,
    /// When it comes into being, from the start of the run.
    pub arrive: Nanos,
    /// When it is ended, from the start of the run.
    pub leave: Option<Nanos>,
    /// The CPUs that it may use; `None`: all.
    pub affinity: Option<Vec<u16>>,
    /// What it needs: a guarantee that the derived one must imply.
    pub need: Option<Guarantee>,
    /// Which threads of a real machine it matches; `None`: none, until one is moved here.
    pub who: Option<Placed<Who>>,
    /// Where it stands in the file.
    pub span: Span,
}

impl Thread {
    /// The source of interrupts that the thread handles, if it is a thread of the kernel.
    pub fn source(&self) -> Option<&Source> {
        match &self.who.as_ref()?.value {
            Who::Source(source) => Some(source),
            _ => None,
        }
    }
}

impl Thread {
    /// How many threads there are, when no workload says otherwise.
    pub fn count(&self) -> u32 {
        self.instances.unwrap_or(1)
    }

    /// The name of one of `count` such threads, counted from 0.
    pub fn instance_name(&self, instance: u32, count: u32) -> String {
        if count == 1 { self.name.clone() } else { format!("{}-{instance}", self.name) }
    }
}

/// What an edge gives CPU time to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// Index into [`Hierarchy::schedulers`].
    Scheduler(usize),
    /// Index into [`Hierarchy::threads`].
    Thread(usize),
}

/// A VP (or `width` of them) between a scheduler and what it schedules.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Index into [`Hierarchy::schedulers`]; `None` for the edge above the root.
    pub parent: Option<usize>,
    /// What is scheduled.
    pub child: Child,
    /// Values of the parent policy's `vp_params`, in that order, defaults filled in; empty above the root.
    pub params: Vec<u64>,
    /// How many VPs this edge stands for: the CPUs that a child scheduler may hold at once; 1 for a thread.
    pub width: u16,
    /// The guarantee that the file asks for on this edge, when it does.
    pub requested: Option<Guarantee>,
    /// Where it stands in the file.
    pub span: Span,
}
