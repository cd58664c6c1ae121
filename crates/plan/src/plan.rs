//! The plan of a run: the threads and virtual processors (VPs) of a hierarchy under a workload, numbered for good.
//!
//! Relies on the hierarchy being valid. Both engines and every report use the numbers given here.

use hls_hierarchy::analysis::Instances;
use hls_hierarchy::model::{self, Hierarchy, ModelEdge};
use hls_hierarchy::{Diagnostic, listed};
use hls_monitor::event::{ObservedScheduler, ObservedVp};
use hls_monitor::result::{Child, SchedulerInfo, Topology, VpInfo};
use hls_units::Nanos;
use hls_workload::program::{Program, Resource, Step, Task, Workload};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The instances of one thread of the hierarchy, which are alike in all but their numbers.
#[derive(Clone, Debug)]
pub struct PlannedThreads {
    /// Its edge of the file.
    pub edge: ModelEdge,
    /// The VP of the first instance; the others follow it.
    pub first_vp: ObservedVp,
    /// How many instances there are.
    pub count: u32,
    /// What each instance does.
    pub program: Program,
    /// When the instances come into being, from the start of the run.
    pub arrive: Nanos,
    /// When the instances are ended from outside, from the start of the run.
    pub leave: Option<Nanos>,
    /// The CPUs that the instances may use, a bit each.
    pub affinity: u64,
}

impl PlannedThreads {
    /// The VPs of the instances, in order.
    pub fn vps(&self) -> impl Iterator<Item = ObservedVp> {
        let first = self.first_vp;
        (0..self.count).map(move |instance| first.plus(instance))
    }

    /// The CPUs that the instances may use from some time on, a bit each: at first, then as their program says.
    pub fn affinities(&self) -> impl Iterator<Item = u64> {
        let set_by = |step: &Step| match step {
            Step::SetAffinity(cpus) => Some(mask(cpus.as_deref())),
            _ => None,
        };
        std::iter::once(self.affinity).chain(self.program.steps.iter().filter_map(set_by))
    }
}

/// One thread of the plan.
#[derive(Clone, Copy, Debug)]
pub struct PlannedThread<'p> {
    /// Its name, with `-N` behind it where there are several instances.
    pub name: &'p str,
    /// Its VP.
    pub vp: ObservedVp,
    /// Its edge of the file.
    pub edge: ModelEdge,
    /// Which instance of the edge's thread.
    pub instance: u32,
}

/// The VPs of an edge to a scheduler.
#[derive(Clone, Debug)]
pub struct PlannedEdge {
    /// Its edge of the file.
    pub edge: ModelEdge,
    /// The VPs, one for each CPU that the child may hold.
    pub vps: Vec<ObservedVp>,
}

/// A hierarchy under a workload.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The hierarchy.
    pub hierarchy: Hierarchy,
    /// VPs and schedulers by number. Their guarantees are empty until the code that derives them writes them here.
    pub topology: Arc<Topology>,
    /// The edges to schedulers, parents before children.
    pub edges: Vec<PlannedEdge>,
    /// The threads in file order, instances of one thread of the hierarchy together.
    pub groups: Vec<PlannedThreads>,
    /// The mutexes, conditions and barriers that the threads share.
    pub resources: Vec<Resource>,
    /// How many instances each thread of the hierarchy has.
    pub instances: Vec<u32>,
}

/// Why a workload does not fit a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// A task for a thread that does not exist.
    NoSuchThread {
        /// The task.
        task: String,
        /// The existing threads.
        threads: Vec<String>,
    },
    /// The hierarchy and the workload disagree about how many instances a thread has.
    Instances {
        /// The thread.
        thread: String,
        /// According to the hierarchy.
        in_hierarchy: u32,
        /// According to the workload.
        in_workload: u32,
    },
    /// The hierarchy and the workload both say what a thread does.
    TwoPrograms {
        /// The thread.
        thread: String,
    },
    /// A task is bound to a CPU that the machine does not have.
    NoSuchCpu {
        /// The task.
        task: String,
        /// The CPU.
        cpu: u32,
        /// How many there are.
        cpus: u16,
    },
    /// More threads than the core can hold.
    TooMany {
        /// How many VPs there would be.
        vps: u64,
    },
}

impl PlanError {
    /// What the error is about, what was found, and what was expected instead.
    fn words(&self) -> (String, String, String) {
        let about = self.task().map_or("the workload".into(), |task| format!("task `{task}`"));
        let (found, expected) = match self {
            PlanError::NoSuchThread { threads, .. } => {
                let threads = listed(threads.iter().map(String::as_str));
                ("no thread of that name".into(), format!("the name of one in the hierarchy: {threads}"))
            }
            PlanError::Instances { in_hierarchy, in_workload, .. } => {
                (format!("{in_workload} instances"), format!("as many as in the hierarchy, {in_hierarchy}"))
            }
            PlanError::TwoPrograms { .. } => {
                let found = "a program for a thread to which the hierarchy gives one".into();
                (found, "only one of the two".into())
            }
            PlanError::NoSuchCpu { cpu, cpus, .. } => {
                (format!("CPU {cpu}"), format!("a CPU of the machine, 0 to {}", cpus.saturating_sub(1)))
            }
            PlanError::TooMany { vps } => {
                let most = hls_core::limits::MAX_VPS - 1;
                (format!("{vps} virtual processors in all"), format!("at most {most}"))
            }
        };
        (about, found, expected)
    }

    /// The task of the workload that the error is about.
    fn task(&self) -> Option<&str> {
        match self {
            PlanError::NoSuchThread { task: name, .. }
            | PlanError::Instances { thread: name, .. }
            | PlanError::TwoPrograms { thread: name }
            | PlanError::NoSuchCpu { task: name, .. } => Some(name),
            PlanError::TooMany { .. } => None,
        }
    }

    /// The error with its place in the file of the workload.
    pub fn in_file(&self, workload: &Workload) -> Diagnostic {
        let name = self.task().unwrap_or_default();
        let at = workload.tasks.iter().find(|task| task.name == name).map_or(0, |task| task.at);
        let (about, found, expected) = self.words();
        Diagnostic::error(at..at + name.len() + 1, about, found, expected)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (about, found, expected) = self.words();
        write!(f, "{about}: found {found}, expected {expected}")
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Numbers all threads and VPs.
    ///
    /// # Errors
    /// Every way in which the workload does not fit the hierarchy.
    pub fn new(hierarchy: Hierarchy, workload: &Workload) -> Result<Plan, Vec<PlanError>> {
        let errors = misfits(&hierarchy, workload);
        if !errors.is_empty() {
            return Err(errors);
        }
        let tasks: Tasks = workload.tasks.iter().map(|task| (task.name.as_str(), task)).collect();
        let instances: Vec<u32> =
            hierarchy.threads.iter().map(|thread| instances_of(thread, &tasks)).collect();
        let vps = count_vps(&hierarchy, &instances);
        if vps >= hls_core::limits::MAX_VPS as u64 {
            return Err(vec![PlanError::TooMany { vps }]);
        }
        let mut plan = Plan {
            topology: Arc::default(),
            edges: Vec::new(),
            groups: Vec::new(),
            resources: workload.resources.clone(),
            instances,
            hierarchy,
        };
        let mut topology = Topology {
            cpus: plan.hierarchy.machine.cpus,
            schedulers: plan.hierarchy.schedulers.iter().map(scheduler_info).collect(),
            vps: vec![VpInfo::default()],
        };
        for edge in (0..plan.hierarchy.edges.len()).map(ModelEdge) {
            plan.number(&mut topology, edge, &tasks);
        }
        plan.topology = Arc::new(topology);
        plan.sort_edges();
        Ok(plan)
    }

    /// Every thread of the plan, in file order.
    pub fn threads(&self) -> impl Iterator<Item = PlannedThread<'_>> {
        let one = |group: &PlannedThreads, instance| {
            let vp = group.first_vp.plus(instance);
            PlannedThread { name: &self.topology.vps[vp.index()].name, vp, edge: group.edge, instance }
        };
        self.groups.iter().flat_map(move |group| (0..group.count).map(move |instance| one(group, instance)))
    }

    /// The calculus' input about the planned threads, in the order of [`Hierarchy::threads`].
    pub fn threads_for_calculus(&self) -> Vec<Instances> {
        let all = mask(None) >> (64 - self.hierarchy.machine.cpus);
        let mut threads: Vec<Instances> =
            self.instances.iter().map(|&count| Instances { count, pinned: false }).collect();
        for group in &self.groups {
            if let model::Child::Thread(thread) = self.hierarchy.edge(group.edge).child {
                threads[thread].pinned = group.affinities().any(|cpus| cpus & all != all);
            }
        }
        threads
    }

    /// Gives numbers to the VPs of one edge of the hierarchy.
    fn number(&mut self, topology: &mut Topology, edge: ModelEdge, tasks: &Tasks) {
        let &model::Edge { parent, child, width, .. } = self.hierarchy.edge(edge);
        let parent = parent.map(ObservedScheduler::at);
        let first_vp = ObservedVp::at(topology.vps.len());
        let steals =
            matches!(child, model::Child::Scheduler(child) if self.hierarchy.stealing == Some(child));
        let is_owned = |child: usize| self.hierarchy.schedulers[child].owner.is_some();
        let pays = matches!(child, model::Child::Scheduler(child) if is_owned(child));
        let mut add = |name: String, child| {
            let info = VpInfo { name: name.into(), parent, child, steals, pays, ..VpInfo::default() };
            topology.vps.push(info);
        };
        match child {
            model::Child::Scheduler(index) => {
                let vps = (0..width).map(|cpu| first_vp.plus(cpu.into())).collect::<Vec<_>>();
                let name = &self.hierarchy.schedulers[index].name;
                let child = Child::Scheduler(ObservedScheduler::at(index));
                vps.iter().for_each(|_| add(name.clone(), child));
                self.edges.push(PlannedEdge { edge, vps });
            }
            model::Child::Thread(index) => {
                let (thread, count) = (&self.hierarchy.threads[index], self.instances[index]);
                (0..count).for_each(|instance| add(thread.instance_name(instance, count), Child::Thread));
                self.groups.push(threads_alike(thread, edge, first_vp, count, tasks));
            }
        }
    }

    /// Sorts the edges so that every scheduler is attached to all its parents before its children are attached to it.
    fn sort_edges(&mut self) {
        let mut sorted = Vec::with_capacity(self.edges.len());
        let mut missing: Vec<usize> = vec![0; self.hierarchy.schedulers.len()];
        let child_of = |edge: &PlannedEdge, hierarchy: &Hierarchy| match hierarchy.edge(edge.edge).child {
            model::Child::Scheduler(index) => index,
            model::Child::Thread(_) => unreachable!("edges of threads are kept elsewhere"),
        };
        for edge in &self.edges {
            missing[child_of(edge, &self.hierarchy)] += 1;
        }
        let mut rest = std::mem::take(&mut self.edges);
        while !rest.is_empty() {
            let (ready, wait): (Vec<_>, Vec<_>) = rest.into_iter().partition(|edge| {
                self.hierarchy.edge(edge.edge).parent.is_none_or(|parent| missing[parent] == 0)
            });
            assert!(!ready.is_empty(), "a valid hierarchy has no cycle");
            for edge in ready {
                missing[child_of(&edge, &self.hierarchy)] -= 1;
                sorted.push(edge);
            }
            rest = wait;
        }
        self.edges = sorted;
    }
}

fn scheduler_info(scheduler: &model::Scheduler) -> SchedulerInfo {
    SchedulerInfo { name: scheduler.name.clone(), policy: scheduler.policy.name.to_owned() }
}

/// The tasks of a workload by name.
type Tasks<'w> = HashMap<&'w str, &'w Task>;

fn instances_of(thread: &model::Thread, tasks: &Tasks) -> u32 {
    let task = tasks.get(thread.name.as_str());
    thread.instances.or(task.map(|task| task.instances)).unwrap_or(1)
}

fn count_vps(hierarchy: &Hierarchy, instances: &[u32]) -> u64 {
    let of_edge = |edge: &model::Edge| match edge.child {
        model::Child::Scheduler(_) => u64::from(edge.width),
        model::Child::Thread(thread) => u64::from(instances[thread]),
    };
    hierarchy.edges.iter().map(of_edge).sum()
}

fn threads_alike(
    thread: &model::Thread,
    edge: ModelEdge,
    first_vp: ObservedVp,
    count: u32,
    tasks: &Tasks,
) -> PlannedThreads {
    let task = tasks.get(thread.name.as_str());
    let of_file = thread.affinity.as_ref().map(|cpus| cpus.iter().map(|&cpu| u32::from(cpu)).collect());
    let cpus: Option<Vec<u32>> = task.and_then(|task| task.cpus.clone()).or(of_file);
    PlannedThreads {
        edge,
        first_vp,
        count,
        program: program_of(thread, task.map(|task| &task.program)),
        arrive: thread.arrive + task.map_or(Nanos::ZERO, |task| task.start_at),
        leave: thread.leave,
        affinity: mask(cpus.as_deref()),
    }
}

/// A bit for each of these CPUs; `None`: all.
fn mask(cpus: Option<&[u32]>) -> u64 {
    cpus.map_or(u64::MAX, |cpus| cpus.iter().fold(0, |mask, cpu| mask | 1 << cpu))
}

fn program_of(thread: &model::Thread, task: Option<&Program>) -> Program {
    task.or(thread.program.as_ref()).cloned().unwrap_or_else(Program::cpu_bound)
}

/// Every way in which a workload does not fit a hierarchy.
fn misfits(hierarchy: &Hierarchy, workload: &Workload) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let cpus = hierarchy.machine.cpus;
    let threads: HashMap<&str, &model::Thread> =
        hierarchy.threads.iter().map(|thread| (thread.name.as_str(), thread)).collect();
    for task in &workload.tasks {
        let bound = task.program.steps.iter().filter_map(|step| match step {
            Step::SetAffinity(cpus) => cpus.as_ref(),
            _ => None,
        });
        for &cpu in task.cpus.iter().chain(bound).flatten() {
            if cpu >= u32::from(cpus) {
                errors.push(PlanError::NoSuchCpu { task: task.name.clone(), cpu, cpus });
            }
        }
        // rt-app keeps a task without threads, for `fork`: the hierarchy need not know it.
        if task.instances == 0 && !threads.contains_key(task.name.as_str()) {
            continue;
        }
        let Some(thread) = threads.get(task.name.as_str()) else {
            let threads = hierarchy.threads.iter().map(|thread| thread.name.clone()).collect();
            errors.push(PlanError::NoSuchThread { task: task.name.clone(), threads });
            continue;
        };
        if thread.program.is_some() {
            errors.push(PlanError::TwoPrograms { thread: thread.name.clone() });
        }
        if let Some(in_hierarchy) = thread.instances.filter(|&n| n != task.instances) {
            let (thread, in_workload) = (thread.name.clone(), task.instances);
            errors.push(PlanError::Instances { thread, in_hierarchy, in_workload });
        }
    }
    errors
}
