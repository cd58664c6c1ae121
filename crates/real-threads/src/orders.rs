//! What the two processes of a load tell each other: orders once, then messages, a line of JSON each.

use hls_monitor::event::VpId;
use hls_monitor::result::{Percentiles, TaskResult};
use hls_plan::Plan;
use hls_units::Nanos;
use hls_workload::program::{Program, Resource};
use serde::{Deserialize, Serialize};

/// What is to be run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The process that gives them, and with which the other ends.
    pub parent: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// The threads use that many of the machine's CPUs, the first ones.
    pub cpus: u16,
    /// What the threads share.
    pub resources: Vec<Resource>,
    /// The threads in the plan's order, those alike together.
    pub groups: Vec<Group>,
}

/// Threads alike.
#[derive(Debug, Serialize, Deserialize)]
pub struct Group {
    /// The name of each.
    pub names: Vec<String>,
    /// The VP of the first; the others follow it.
    pub first_vp: VpId,
    /// The number of the first among all threads.
    pub first: u32,
    /// What each does.
    pub program: Program,
    /// When they come, from the begin of the run.
    pub arrive: Nanos,
    /// When they are ended.
    pub leave: Option<Nanos>,
    /// The CPUs that they may use, a bit each.
    pub affinity: u64,
}

impl Orders {
    /// The orders for a plan.
    pub fn new(plan: &Plan, seed: u64) -> Orders {
        let mut first = 0;
        let group = |planned: &hls_plan::PlannedThreads| {
            let vps = planned.first_vp..planned.first_vp + planned.count;
            let group = Group {
                names: vps.map(|vp| plan.topology.child_name(vp).to_owned()).collect(),
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
            groups: plan.groups.iter().map(group).collect(),
        }
    }

    /// How many threads there will be.
    pub fn threads(&self) -> u32 {
        self.groups.iter().map(|group| group.names.len() as u32).sum()
    }
}

/// What the process of the threads tells.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// All threads that come with the run are there, and wait for it to begin.
    Ready,
    /// Thread number `.0` has come later, and waits to be admitted.
    Arrived(u32),
    /// It cannot be done.
    Failed(String),
    /// All threads have ended.
    Done(Vec<ThreadEnd>),
}

/// What became of one thread, as far as it can know that itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadEnd {
    /// Its VP.
    pub vp: VpId,
    /// All CPU time from its begin to its end.
    pub ran: Nanos,
    /// CPU time that went into computing.
    pub work: Nanos,
    /// Frames finished by a renderer.
    pub frames: u64,
    /// The tasks that it serves.
    pub tasks: Vec<TaskResult>,
    /// How often it woke up.
    pub activations: u64,
    /// From the end of its wait to its next instruction, one sample for each wake-up.
    pub wake_latency: Percentiles,
    /// How often it lost the CPU against its will, yields included; 0 where the kernel does not tell.
    pub preemptions: u64,
    /// How often it lost the CPU at all; 0 where the kernel does not tell.
    pub switches: u64,
    /// How often it went on on another CPU; 0 where the kernel does not tell.
    pub migrations: u64,
}
