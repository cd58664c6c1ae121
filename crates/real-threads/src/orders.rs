//! What the starter and the process of the threads send each other: the starter its orders, once; the process messages,
//! a line of JSON each.

use hls_monitor::event::ObservedVp;
use hls_monitor::result::{Percentiles, QueueResult, TaskResult};
use hls_plan::Plan;
use hls_units::Nanos;
use hls_workload::program::{Program, Queue, Resource};
use serde::{Deserialize, Serialize};

/// The threads to run, with their programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The pid of the starter, with which the process of the threads ends.
    pub parent: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// The number of CPUs that the threads use: the first ones of the machine.
    pub cpus: u16,
    /// What the threads share.
    pub resources: Vec<Resource>,
    /// The queues that they serve.
    pub queues: Vec<Queue>,
    /// The threads in the order of the plan, in groups of instances of one thread.
    pub groups: Vec<Group>,
}

/// The instances of a thread of the plan.
#[derive(Debug, Serialize, Deserialize)]
pub struct Group {
    /// The name of each instance.
    pub names: Vec<String>,
    /// The VP of the first instance; the VPs of the others follow it.
    pub first_vp: ObservedVp,
    /// The number of the first instance among all threads.
    pub first: u32,
    /// The program of each instance.
    pub program: Program,
    /// When the instances arrive, counted from the start of the run.
    pub arrive: Nanos,
    /// When the instances leave, counted from the start of the run, if the file says so.
    pub leave: Option<Nanos>,
    /// The CPUs that the instances may use, a bit each.
    pub affinity: u64,
}

impl Orders {
    /// The orders for a plan.
    pub fn new(plan: &Plan, seed: u64) -> Orders {
        let mut first = 0;
        let group = |planned: &hls_plan::PlannedThreads| {
            let group = Group {
                names: planned.vps().map(|vp| plan.topology.child_name(vp).to_owned()).collect(),
                first_vp: planned.first_vp,
                first,
                program: planned.program.clone(),
                arrive: planned.arrive,
                leave: planned.leave,
                affinity: planned.affinity,
            };
            first += planned.count;
            group
        };
        Orders {
            parent: std::process::id(),
            seed,
            cpus: plan.hierarchy.machine.cpus,
            resources: plan.resources.clone(),
            queues: plan.hierarchy.queues.clone(),
            groups: plan.groups.iter().map(group).collect(),
        }
    }

    /// The number of threads.
    pub fn threads(&self) -> u32 {
        self.groups.iter().map(|group| group.names.len() as u32).sum()
    }
}

/// A message of the process of the threads to its starter.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// All threads that arrive at the start of the run have started, and wait for the start.
    Ready,
    /// The thread of this number has arrived after the start of the run, and waits to be admitted.
    Arrived(u32),
    /// The orders cannot be carried out, for this reason.
    Failed(String),
    /// All threads have ended, with these figures of the threads and of their queues.
    Done(Vec<ThreadEnd>, Vec<QueueResult>),
}

/// The figures of one thread, as far as the thread itself can count them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadEnd {
    /// The VP of the thread.
    pub vp: ObservedVp,
    /// The CPU time that the thread had from its start to its end.
    pub ran: Nanos,
    /// The part of that CPU time that went into computing.
    pub work: Nanos,
    /// The number of frames that a renderer finished.
    pub frames: u64,
    /// The figures of the tasks that the thread serves.
    pub tasks: Vec<TaskResult>,
    /// How often the thread woke up.
    pub activations: u64,
    /// The time from the end of a wait to the thread's next instruction, one sample for each wake-up.
    pub wake_latency: Percentiles,
    /// How often the thread lost the CPU without blocking, yields included; 0 where the kernel does not count that.
    pub preemptions: u64,
    /// How often the thread lost the CPU at all; 0 where the kernel does not count that.
    pub switches: u64,
    /// How often the thread went on on another CPU; 0 where the kernel does not count that.
    pub migrations: u64,
}
