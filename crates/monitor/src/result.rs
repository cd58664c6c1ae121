//! The result of a run: the hierarchy that ran, what was promised, what was delivered.

use crate::demand::Exceeded;
use crate::event::{ObservedScheduler, ObservedVp};
use compact_str::CompactString;
use hls_units::Nanos;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The hierarchy as the engine had it, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Number of CPUs.
    pub cpus: u16,
    /// The schedulers; the first is the root.
    pub schedulers: Vec<SchedulerInfo>,
    /// The edges. Entry 0 is unused, so that `ObservedVp` 0 means none.
    pub vps: Vec<VpInfo>,
}

impl Topology {
    /// For each scheduler, itself and all schedulers above it, each once, in rising order.
    pub fn lineages(&self) -> Vec<Vec<ObservedScheduler>> {
        let mut lineages: Vec<Vec<ObservedScheduler>> =
            (0..self.schedulers.len()).map(|index| vec![ObservedScheduler::at(index)]).collect();
        // Each round carries every scheduler's lineage one level further down; a tree of depth n is done after n.
        loop {
            let mut grown = false;
            for info in &self.vps {
                let (Some(parent), Child::Scheduler(child)) = (info.parent, info.child) else { continue };
                let Some(above) = lineages.get(parent.index()).cloned() else { continue };
                let Some(below) = lineages.get_mut(child.index()) else { continue };
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

    /// All schedulers above a VP, each once, in rising order.
    pub fn above(&self, vp: ObservedVp) -> Vec<ObservedScheduler> {
        let parent = self.vps.get(vp.index()).and_then(|info| info.parent);
        parent.and_then(|parent| self.lineages().into_iter().nth(parent.index())).unwrap_or_default()
    }

    /// The name of a scheduler; empty where there is none.
    pub fn scheduler_name(&self, scheduler: ObservedScheduler) -> &str {
        self.schedulers.get(scheduler.index()).map_or("", |info| &info.name)
    }

    /// The name of the thread or scheduler below a VP; empty where there is none.
    pub fn child_name(&self, vp: ObservedVp) -> &str {
        let Some(info) = self.vps.get(vp.index()) else {
            return "";
        };
        match info.child {
            Child::Scheduler(index) => {
                self.schedulers.get(index.index()).map_or("", |scheduler| &scheduler.name)
            }
            Child::Thread | Child::None => &info.name,
        }
    }

    /// The name of the scheduler above a VP; `None` where the machine is above.
    pub fn parent_name(&self, vp: ObservedVp) -> Option<&str> {
        let parent = self.vps.get(vp.index())?.parent?;
        self.schedulers.get(parent.index()).map(|scheduler| &scheduler.name[..])
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
    Scheduler(ObservedScheduler),
    /// A thread.
    Thread,
}

/// An edge of the hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VpInfo {
    /// Name of the child (for a thread: its name, with `-N` behind it where there are several instances).
    pub name: CompactString,
    /// The scheduler above: index into [`Topology::schedulers`]; `None` for a VP of the root, given by the machine.
    pub parent: Option<ObservedScheduler>,
    /// What is below.
    pub child: Child,
    /// The derived guarantee as text, such as `RESBH 10ms 20ms`; empty where there is none.
    pub guarantee: CompactString,
    /// Whether what the VP takes of a CPU counts as stolen from all others, as interrupt time does.
    pub steals: bool,
    /// Whether the scheduler below may be charged for what its threads have without a grant ([`What::Pay`]).
    ///
    /// [`What::Pay`]: crate::event::What::Pay
    pub pays: bool,
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
    /// The greatest sample, exact; or `worst_is_open`.
    pub worst: Nanos,
    /// Whether `worst` belongs to a wait or a job that was not over at the end, and so took at least that long. Such
    /// waits and jobs count nowhere else: they are no samples.
    pub worst_is_open: bool,
}

impl Percentiles {
    /// With what was not over at the end: the longest had lasted for `open` by then; zero: all was over.
    #[must_use]
    pub fn with_open(self, open: Nanos) -> Percentiles {
        if open > self.worst { Percentiles { worst: open, worst_is_open: true, ..self } } else { self }
    }
}

/// What one thread got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadResult {
    /// Its VP.
    pub vp: ObservedVp,
    /// CPU time, with what switching to the thread cost, without stolen time.
    pub ran: Nanos,
    /// CPU time that went into the thread's own program.
    pub work: Nanos,
    /// How often the thread woke up.
    pub activations: u64,
    /// The time from wanting the CPU to having it, one sample for each wake-up.
    pub wake_latency: Percentiles,
    /// From release to completion, one sample for each job.
    pub response: Percentiles,
    /// By when every job was to be done, where that is known and the thread has only one task, without a name.
    pub bound: Option<ResponseBound>,
    /// Deadlines missed.
    pub misses: u64,
    /// Frames finished by a renderer; 0 for all else.
    pub frames: u64,
    /// How often the CPU was taken from the thread while it wanted to go on.
    pub preemptions: u64,
    /// How often the thread went on on another CPU than before.
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
    /// Deadlines missed, including the deadlines of unfinished jobs.
    pub misses: u64,
    /// The longest from the release of a job to its completion; or `worst_is_open`.
    pub worst: Nanos,
    /// Whether `worst` is of a job that was not done at the end, and so took at least that long.
    pub worst_is_open: bool,
    /// By when every job was to be done, where that is known.
    pub bound: Option<ResponseBound>,
}

/// What became of the entries of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueResult {
    /// Its name.
    pub name: String,
    /// Entries that came.
    pub put: u64,
    /// Entries for which there was no room.
    pub dropped: u64,
    /// Entries that waited at the end.
    pub waiting: u64,
}

/// A bound on the time from the release of a job to its completion that was derived from a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseBound {
    /// The bound.
    pub bound: Nanos,
    /// A response that is later than `bound` by at most this is not held against the hierarchy.
    pub excused: Nanos,
}

impl ResponseBound {
    /// By how much the longest response is beyond the bound; `None` where the bound holds, or the rest is excused.
    pub fn exceeded_by(self, worst: Nanos) -> Option<Nanos> {
        let late = worst.saturating_sub(self.bound);
        (late > self.excused).then_some(late)
    }
}

impl ThreadResult {
    /// How many of its tasks took longer than their bounds.
    pub fn bounds_exceeded(&self) -> usize {
        let is_exceeded = |bound: Option<ResponseBound>, worst| {
            bound.is_some_and(|bound: ResponseBound| bound.exceeded_by(worst).is_some())
        };
        let of_tasks = self.tasks.iter().filter(|task| is_exceeded(task.bound, task.worst)).count();
        of_tasks + usize::from(is_exceeded(self.bound, self.response.worst))
    }
}

/// What one scheduler got, over all its VPs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerResult {
    /// Index into [`Topology::schedulers`].
    pub scheduler: ObservedScheduler,
    /// CPU time of all that is below it.
    pub ran: Nanos,
    /// How often it was given a CPU.
    pub grants: u64,
    /// How often a CPU was taken from it while it wanted to go on.
    pub revokes: u64,
    /// What the threads below it lived through, together.
    pub below: Below,
    /// How it came to its choices, where a process has a say in them.
    pub decided: Option<Decided>,
}

/// How a scheduler with a process as its policy came to its choices, each counted when a child was given a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// By a decision of the process that knew the last event.
    pub followed: u64,
    /// Decisions that did not know it, and were not followed; each counts once.
    pub stale: u64,
    /// By urgencies.
    pub by_urgency: u64,
    /// For the agent.
    pub by_agent: u64,
    /// CPU time that its agents had: the cost of deciding in a process, and whatever else the process does.
    pub agent_ran: Nanos,
}

/// What all threads below a scheduler lived through, as [`ThreadResult`] has it for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// CPU time that went into their own programs.
    pub work: Nanos,
    /// How often they woke up.
    pub activations: u64,
    /// One sample for each wake-up of each thread.
    pub wake_latency: Percentiles,
    /// One sample for each job of each thread.
    pub response: Percentiles,
    /// Deadlines missed.
    pub misses: u64,
    /// How often the CPU was taken from a thread that wanted to go on.
    pub preemptions: u64,
    /// How often a thread went on on another CPU than before.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowResult {
    /// Length of the windows.
    pub window: Nanos,
    /// The least CPU time that the guarantee promises in such a window: sbf(window), rounded down to a nanosecond.
    pub promised: Nanos,
    /// The least CPU time seen in such a window; `None` when the VP never wanted the CPU for a whole window.
    pub least: Option<Nanos>,
    /// What was stolen in the window with the least CPU time (see [`crate::windows`]).
    pub stolen: Nanos,
    /// The most that was missing in any window and is not explained by what was stolen in it.
    pub missing: Nanos,
    /// The most CPU time that a hard guarantee allows in such a window: ubf(window); `None` for a soft one.
    pub allowed: Option<Nanos>,
    /// The most CPU time seen in a window of at most this length in which the VP wanted the CPU all the time.
    pub most: Nanos,
    /// Up to this much missing, or too much, breaks no promise.
    pub slack: Nanos,
}

/// One promise held against each request of a VP: from its wake-up to its next sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestsResult {
    /// How many requests there were.
    pub requests: u64,
    /// How many of them put the promise to the test: they got CPU time, or were owed some.
    pub tested: u64,
    /// The least time by which a piece of CPU time came before it was due; 0 where one came too late.
    pub margin: Option<Nanos>,
    /// The most that a request lacked of what was due, where stolen time does not explain it.
    pub missing: Nanos,
    /// When the request that lacked the most began.
    pub worst_at: Nanos,
    /// The most that a request lacked, where stolen time explains it.
    pub stolen: Nanos,
    /// Up to this much missing breaks no promise.
    pub slack: Nanos,
}

impl RequestsResult {
    /// Holds what was seen against what was promised.
    pub fn verdict(&self) -> Verdict {
        match *self {
            RequestsResult { missing, slack, .. } if missing > slack => Verdict::Short,
            RequestsResult { missing, .. } if missing > Nanos::ZERO => Verdict::Late,
            RequestsResult { stolen, .. } if stolen > Nanos::ZERO => Verdict::Stolen,
            RequestsResult { tested: 0, .. } => Verdict::Untested,
            _ => Verdict::Kept,
        }
    }
}

/// What the windows of one length, or the requests, say about a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Each got what it was promised, and no more than allowed.
    Kept,
    /// Some got less than promised, but enough together with what was stolen in it: not the hierarchy's fault.
    Stolen,
    /// Some got less than promised, or more than allowed, but by no more than the slack.
    Late,
    /// Some got less than promised, and what was stolen does not explain it.
    Short,
    /// None got less, but some got more than a hard guarantee allows.
    Over,
    /// The VP never wanted the CPU for a whole window, or at all, so that the promise was not put to the test.
    Untested,
}

impl Verdict {
    /// Whether it speaks against the hierarchy.
    pub fn is_broken(self) -> bool {
        matches!(self, Verdict::Short | Verdict::Over)
    }
}

impl WindowResult {
    /// Holds what was seen against what was promised.
    pub fn verdict(&self) -> Verdict {
        let excess = self.excess();
        match self.least {
            _ if self.missing > self.slack => Verdict::Short,
            _ if excess > self.slack => Verdict::Over,
            _ if self.missing.max(excess) > Nanos::ZERO => Verdict::Late,
            Some(least) if least < self.promised => Verdict::Stolen,
            Some(_) => Verdict::Kept,
            None => Verdict::Untested,
        }
    }

    /// By how much the most that was seen is more than allowed.
    pub fn excess(&self) -> Nanos {
        self.allowed.map_or(Nanos::ZERO, |allowed| self.most.saturating_sub(allowed))
    }
}

/// How often a promise was missed: each episode counts once, as its worst comparison, for each watched length of
/// windows, and once for the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Windows or requests got too little.
    pub short: u64,
    /// Windows got too much.
    pub over: u64,
    /// Windows or requests got too little or too much by no more than the slack.
    pub late: u64,
    /// Windows or requests got too little, and what was stolen explains it.
    pub stolen: u64,
}

impl Counts {
    /// How often the promise was broken.
    pub fn broken(self) -> u64 {
        self.short.saturating_add(self.over)
    }
}

/// Why a promise was broken, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The scheduler that promised got too little itself at that time, by this VP.
    Above(ObservedVp),
}

/// A guarantee and how it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuaranteeResult {
    /// The VP that was promised something.
    pub vp: ObservedVp,
    /// The scheduler that promised it: index into [`Topology::schedulers`]; `None`: the machine.
    pub by: Option<ObservedScheduler>,
    /// The promise as text.
    pub guarantee: String,
    /// When the promise began.
    pub from: Nanos,
    /// When it ended: with the run, if not before.
    pub to: Nanos,
    /// The windows that were watched.
    pub windows: Vec<WindowResult>,
    /// The requests, where the promise says something of each.
    pub requests: Option<RequestsResult>,
    /// How often it was missed.
    pub counts: Counts,
    /// Why the promise was broken the first time, where that is known.
    pub cause: Option<Cause>,
}

impl GuaranteeResult {
    /// Whether nothing seen speaks against the scheduler or machine that promised.
    pub fn is_kept(&self) -> bool {
        !self.verdicts().any(Verdict::is_broken)
    }

    /// Whether it was put to the test, by a request or a window.
    pub fn is_tested(&self) -> bool {
        self.verdicts().any(|verdict| verdict != Verdict::Untested)
    }

    /// What the requests say, and the windows of each length.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let requests = self.requests.iter().map(RequestsResult::verdict);
        requests.chain(self.windows.iter().map(WindowResult::verdict))
    }
}

/// A policy that the engine has disabled for what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyDisabled {
    /// When.
    pub at: Nanos,
    /// The name of the scheduler.
    pub scheduler: String,
    /// The name of the policy that was disabled.
    pub policy: String,
    /// What that policy did.
    pub violation: String,
    /// The policy that is in its place.
    pub fallback: String,
}

/// How long it took to have a hierarchy schedule a machine, and to give the machine back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachTimes {
    /// Until the kernel had verified and loaded the engine, with all policies.
    pub load: Nanos,
    /// From then on until the hierarchy had all threads, each in its place.
    pub attach: Nanos,
    /// At the end, until the kernel had its threads back.
    pub detach: Nanos,
}

/// All of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// The hierarchy that ran.
    pub topology: Arc<Topology>,
    /// What carried it out: the engine `sim` or `kernel`, or `linux`, the system's own scheduler.
    pub engine: String,
    /// The seed of the run.
    pub seed: u64,
    /// How long it lasted.
    pub length: Nanos,
    /// CPU time that no thread wanted, over all CPUs.
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
    /// The promises; the ones that ended before the run did come first.
    pub guarantees: Vec<GuaranteeResult>,
    /// Promises that ended before the run and are not among them, since there were too many.
    pub unlisted: u64,
    /// The threads that wanted more than their file says, if response times of other threads depend on their work; in
    /// the order of their VPs.
    pub exceeded: Vec<Exceeded>,
    /// The policies that were disabled, in order of time.
    pub disabled_policies: Vec<PolicyDisabled>,
    /// The queues of the threads, in the order in which the file names them.
    pub queues: Vec<QueueResult>,
    /// For a run in the kernel: what it took to begin and to end.
    pub attach_times: Option<AttachTimes>,
}

impl RunResult {
    /// Whether nothing seen speaks against the hierarchy: no promise is broken, and no job took longer than its bound.
    pub fn is_kept(&self) -> bool {
        self.guarantees.iter().all(GuaranteeResult::is_kept)
            && self.threads.iter().all(|thread| thread.bounds_exceeded() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_a_whole_window() {
        let result = |least: Option<u64>, allowed: Option<u64>| {
            let (least, allowed, promised) = (least.map(Nanos), allowed.map(Nanos), Nanos(3));
            let missing = least.map_or(Nanos::ZERO, |least| promised.saturating_sub(least));
            let window = Nanos(9);
            WindowResult {
                window,
                promised,
                least,
                allowed,
                most: Nanos(5),
                missing,
                ..WindowResult::default()
            }
        };
        let verdict = |least, allowed| result(least, allowed).verdict();
        assert_eq!(verdict(Some(3), None), Verdict::Kept);
        assert_eq!(verdict(Some(3), Some(5)), Verdict::Kept);
        assert_eq!(verdict(Some(2), Some(4)), Verdict::Short);
        assert_eq!(verdict(Some(3), Some(4)), Verdict::Over);
        assert_eq!(verdict(None, Some(4)), Verdict::Over);
        assert_eq!(verdict(None, None), Verdict::Untested);
        let stolen = WindowResult { missing: Nanos(0), stolen: Nanos(1), ..result(Some(2), None) };
        assert_eq!(stolen.verdict(), Verdict::Stolen);
        for late in [result(Some(2), None), result(None, Some(4))] {
            assert_eq!(WindowResult { slack: Nanos(1), ..late }.verdict(), Verdict::Late);
        }
    }
}
