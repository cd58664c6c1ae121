//! The result of a run: who there was, what was promised, what was delivered.

use crate::event::VpId;
use compact_str::CompactString;
use hls_units::Nanos;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who there was: the hierarchy as the engine had it, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Number of CPUs.
    pub cpus: u16,
    /// The schedulers; the first is the root.
    pub schedulers: Vec<SchedulerInfo>,
    /// The edges. Entry 0 is unused, so that `VpId` 0 means none.
    pub vps: Vec<VpInfo>,
}

impl Topology {
    /// For each scheduler, itself and all that are above it, each once, in rising order.
    pub fn lineages(&self) -> Vec<Vec<u32>> {
        let mut lineages: Vec<Vec<u32>> =
            (0..self.schedulers.len() as u32).map(|index| vec![index]).collect();
        // Each round carries every scheduler's lineage one level further down; a tree of depth n is done after n.
        loop {
            let mut grown = false;
            for info in &self.vps {
                let (Some(parent), Child::Scheduler(child)) = (info.parent, info.child) else { continue };
                let Some(above) = lineages.get(parent as usize).cloned() else { continue };
                let Some(below) = lineages.get_mut(child as usize) else { continue };
                let before = below.len();
                below.extend(above);
                below.sort_unstable();
                below.dedup();
                grown |= below.len() > before;
            }
            if !grown {
                return lineages;
            }
        }
    }

    /// The name of the thread or scheduler below a VP; empty where there is none.
    pub fn child_name(&self, vp: VpId) -> &str {
        let Some(info) = self.vps.get(vp as usize) else {
            return "";
        };
        match info.child {
            Child::Scheduler(index) => {
                self.schedulers.get(index as usize).map_or("", |scheduler| &scheduler.name)
            }
            Child::Thread | Child::None => &info.name,
        }
    }

    /// The name of the scheduler above a VP; `None` where the machine is.
    pub fn parent_name(&self, vp: VpId) -> Option<&str> {
        let parent = self.vps.get(vp as usize)?.parent?;
        self.schedulers.get(parent as usize).map(|scheduler| &scheduler.name[..])
    }
}

/// A scheduler instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerInfo {
    /// Its name in the file.
    pub name: String,
    /// Name of its policy, such as `fixed-priority`.
    pub policy: String,
}

/// What a VP gives CPU time to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Child {
    /// Nothing (entry 0).
    #[default]
    None,
    /// Index into [`Topology::schedulers`].
    Scheduler(u32),
    /// A thread.
    Thread,
}

/// An edge of the hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VpInfo {
    /// Name of the child (for a thread: its name, with `-N` behind it where there are several instances).
    pub name: CompactString,
    /// The scheduler above: index into [`Topology::schedulers`]; `None` for a VP of the root, given by the machine.
    pub parent: Option<u32>,
    /// What is below.
    pub child: Child,
    /// The derived guarantee as text, such as `RESBH 10ms 20ms`; empty where there is none.
    pub guarantee: CompactString,
}

/// Distribution of a latency: exact count and worst, percentiles rounded up by less than 1 in 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many samples.
    pub count: u64,
    /// Half of the samples are at most this.
    pub p50: Nanos,
    /// 90 in 100.
    pub p90: Nanos,
    /// 99 in 100.
    pub p99: Nanos,
    /// 999 in 1000.
    pub p999: Nanos,
    /// The greatest sample, exact.
    pub worst: Nanos,
}

/// What one thread got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadResult {
    /// Its VP.
    pub vp: VpId,
    /// CPU time, overheads of its switches included, stolen time not.
    pub ran: Nanos,
    /// CPU time that went into its own program.
    pub work: Nanos,
    /// How often it woke up.
    pub activations: u64,
    /// From wanting the CPU to having it, one sample for each wake-up.
    pub wake_latency: Percentiles,
    /// From release to completion, one sample for each job.
    pub response: Percentiles,
    /// Deadlines missed.
    pub misses: u64,
    /// Frames finished by a renderer; 0 for all else.
    pub frames: u64,
    /// How often the CPU was taken from it while it wanted to go on.
    pub preemptions: u64,
    /// How often it went on another CPU than before.
    pub migrations: u64,
    /// The tasks that it serves, in the order of the file; empty where it serves none.
    pub tasks: Vec<TaskResult>,
}

/// What became of one task of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// Its name.
    pub name: String,
    /// Jobs that are done.
    pub jobs: u64,
    /// Deadlines missed, those of jobs that are not done included.
    pub misses: u64,
    /// The longest from the release of a job to its completion.
    pub worst: Nanos,
}

/// What one scheduler got, over all its VPs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerResult {
    /// Index into [`Topology::schedulers`].
    pub scheduler: u32,
    /// CPU time of all that is below it.
    pub ran: Nanos,
    /// How often it was given a CPU.
    pub grants: u64,
    /// How often a CPU was taken from it while it wanted to go on.
    pub revokes: u64,
    /// What the threads below it lived through, together.
    pub below: Below,
}

/// What all threads below a scheduler lived through, as [`ThreadResult`] has it for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// CPU time that went into their own programs.
    pub work: Nanos,
    /// How often they woke up.
    pub activations: u64,
    /// One sample for each wake-up of each.
    pub wake_latency: Percentiles,
    /// One sample for each job of each.
    pub response: Percentiles,
    /// Deadlines missed.
    pub misses: u64,
    /// How often the CPU was taken from one that wanted to go on.
    pub preemptions: u64,
    /// How often one went on on another CPU than before.
    pub migrations: u64,
}

impl From<&ThreadResult> for Below {
    /// One thread as if it were all that there is.
    fn from(thread: &ThreadResult) -> Below {
        Below {
            work: thread.work,
            activations: thread.activations,
            wake_latency: thread.wake_latency,
            response: thread.response,
            misses: thread.misses,
            preemptions: thread.preemptions,
            migrations: thread.migrations,
        }
    }
}

/// One promise held against the run: the least supply in all windows of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowResult {
    /// Length of the windows.
    pub window: Nanos,
    /// The least CPU time that the guarantee promises in such a window: sbf(window), rounded down to a nanosecond.
    pub promised: Nanos,
    /// The least CPU time seen in such a window; `None` when the VP never wanted the CPU for a whole window.
    pub least: Option<Nanos>,
    /// The most CPU time that a hard guarantee allows in such a window: ubf(window); `None` for a soft one.
    pub allowed: Option<Nanos>,
    /// The most CPU time seen in a window of at most this length in which the VP wanted the CPU all the time.
    pub most: Nanos,
}

/// What the windows of one length say about a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every window got what it was promised, and no more than allowed.
    Kept,
    /// Some window got less than promised.
    Short,
    /// No window got less, but some got more than a hard guarantee allows.
    Over,
    /// The VP never wanted the CPU for a whole window, so that the promise was not put to the test.
    Untested,
}

impl WindowResult {
    /// Holds what was seen against what was promised.
    pub fn verdict(&self) -> Verdict {
        match self.least {
            Some(least) if least < self.promised => Verdict::Short,
            _ if self.allowed.is_some_and(|allowed| self.most > allowed) => Verdict::Over,
            Some(_) => Verdict::Kept,
            None => Verdict::Untested,
        }
    }
}

/// A guarantee and how it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuaranteeResult {
    /// The VP that was promised something.
    pub vp: VpId,
    /// The promise as text.
    pub guarantee: String,
    /// The windows that were watched.
    pub windows: Vec<WindowResult>,
    /// In how many windows the supply fell short (counted once for each watched length and shortfall).
    pub broken: u64,
}

impl GuaranteeResult {
    /// Whether nothing seen speaks against the promise.
    pub fn is_kept(&self) -> bool {
        self.windows.iter().all(|window| matches!(window.verdict(), Verdict::Kept | Verdict::Untested))
    }
}

/// All of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// Who there was.
    pub topology: Arc<Topology>,
    /// What carried it out: the engine `sim` or `kernel`, or `linux`, the system's own scheduler.
    pub engine: String,
    /// The seed of the run.
    pub seed: u64,
    /// How long it lasted.
    pub length: Nanos,
    /// CPU time that nobody wanted, over all CPUs.
    pub idle: Nanos,
    /// CPU time taken by interrupts or the host, over all CPUs.
    pub stolen: Nanos,
    /// CPU time spent on switching and deciding, over all CPUs.
    pub overhead: Nanos,
    /// How many scheduling events there were.
    pub events: u64,
    /// How many switches from one thread to another.
    pub switches: u64,
    /// The threads in file order.
    pub threads: Vec<ThreadResult>,
    /// The schedulers in file order.
    pub schedulers: Vec<SchedulerResult>,
    /// The promises.
    pub guarantees: Vec<GuaranteeResult>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_a_whole_window() {
        let verdict = |least: Option<u64>, allowed: Option<u64>| {
            let (least, allowed) = (least.map(Nanos), allowed.map(Nanos));
            WindowResult { window: Nanos(9), promised: Nanos(3), least, allowed, most: Nanos(5) }.verdict()
        };
        assert_eq!(verdict(Some(3), None), Verdict::Kept);
        assert_eq!(verdict(Some(3), Some(5)), Verdict::Kept);
        assert_eq!(verdict(Some(2), Some(4)), Verdict::Short);
        assert_eq!(verdict(Some(3), Some(4)), Verdict::Over);
        assert_eq!(verdict(None, Some(4)), Verdict::Over);
        assert_eq!(verdict(None, None), Verdict::Untested);
    }
}
