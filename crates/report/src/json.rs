//! The result of a run as JSON, for programs.
//!
//! The format is stable: fields are added, never renamed or removed, and `format` counts the exceptions. Times are
//! integers of nanoseconds and their names end in `_ns`. Threads and schedulers are in the order of the file.

use crate::ascii::write_indented;
use hls_monitor::demand::{Exceeded, Excess};
use hls_monitor::result::{
    AttachTimes, Cause, Decided, GuaranteeResult, Percentiles, PolicyDisabled, QueueResult, RequestsResult,
    ResponseBound, RunResult, SchedulerResult, TaskResult, ThreadResult, Topology, Verdict, WindowResult,
};
use serde::Serialize;
use std::io::{self, Write};

/// Counts the changes that break a reader.
const FORMAT: u32 = 1;

/// Writes the result, indented, with a line break at the end.
///
/// # Errors
/// The errors of `out`.
pub fn write_json(out: &mut impl Write, result: &RunResult) -> io::Result<()> {
    write_indented(out, &JsonRun::from(result))
}

/// A run, as it is written.
#[derive(Serialize)]
pub struct JsonRun<'a> {
    /// Always [`FORMAT`].
    format: u32,
    /// `sim` or `kernel`; `linux` if the system's own scheduler did it: then there are no times and counts of
    /// schedulers.
    engine: &'a str,
    seed: u64,
    cpus: u16,
    length_ns: u64,
    /// How long it took to load and to attach the hierarchy, and to detach it; in the kernel alone.
    #[serde(flatten)]
    attach_times: Option<JsonAttachTimes>,
    /// Whether no guarantee was broken, and no job took longer than its bound.
    kept: bool,
    /// Over all CPUs, as are the next two.
    idle_ns: u64,
    stolen_ns: u64,
    overhead_ns: u64,
    events: u64,
    switches: u64,
    schedulers: Vec<JsonScheduler<'a>>,
    threads: Vec<JsonThread<'a>>,
    guarantees: Vec<JsonGuarantee<'a>>,
    /// Promises that ended before the run and are not among them, since there were too many.
    guarantees_unlisted: u64,
    /// Threads that wanted more than their file says, so that bounds of their siblings are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exceeded: Vec<JsonExceeded<'a>>,
    /// What threads serve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queues: Vec<JsonQueue<'a>>,
    /// Policies that were disabled for what they did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disabled_policies: Vec<JsonPolicyDisabled<'a>>,
}

/// What a run in the kernel took to begin and to end.
#[derive(Serialize)]
struct JsonAttachTimes {
    load_ns: u64,
    attach_ns: u64,
    detach_ns: u64,
}

/// A thread that wanted more than its file says: when that was first seen, and how.
#[derive(Serialize)]
struct JsonExceeded<'a> {
    thread: &'a str,
    at_ns: u64,
    /// The CPU time that it had for a job, if that is more than expected; else it woke up too soon.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_ns: Option<u64>,
    /// How long after the last wake-up it woke up.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ns: Option<u64>,
    /// The CPU time that is expected for a job at most.
    expected_run_ns: u64,
    /// The distance of wake-ups that is expected at least.
    expected_after_ns: u64,
}

/// A queue: what was put into it, how much of that it had no room for, and what waited at the end.
#[derive(Serialize)]
struct JsonQueue<'a> {
    name: &'a str,
    put: u64,
    dropped: u64,
    waiting: u64,
}

/// A policy that was disabled.
#[derive(Serialize)]
struct JsonPolicyDisabled<'a> {
    at_ns: u64,
    scheduler: &'a str,
    policy: &'a str,
    /// What it did.
    violation: &'a str,
    /// The policy in its place.
    fallback: &'a str,
}

/// A scheduler, over all its VPs.
#[derive(Serialize)]
struct JsonScheduler<'a> {
    name: &'a str,
    policy: &'a str,
    ran_ns: u64,
    grants: u64,
    revokes: u64,
    /// From here on: what the threads below it lived through, together.
    work_ns: u64,
    activations: u64,
    wake_latency: JsonPercentiles,
    response: JsonPercentiles,
    misses: u64,
    preemptions: u64,
    migrations: u64,
    /// How a scheduler with a process as its policy came to its choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<JsonDecided>,
}

/// Choices of a scheduler, counted when a child was given a CPU.
#[derive(Serialize)]
struct JsonDecided {
    /// By a decision of the process that knew the last event.
    followed: u64,
    /// Decisions that did not know it, and were not followed.
    stale: u64,
    by_urgency: u64,
    /// For the agent.
    by_agent: u64,
    /// CPU time that its agents had.
    agent_ns: u64,
}

/// A thread.
#[derive(Serialize)]
struct JsonThread<'a> {
    name: &'a str,
    /// The name of the scheduler above.
    scheduler: &'a str,
    /// The derived guarantee; empty for none.
    guarantee: &'a str,
    /// CPU time, switches included, stolen time not.
    ran_ns: u64,
    /// CPU time of the thread's own program.
    work_ns: u64,
    activations: u64,
    /// From wanting the CPU to having it.
    wake_latency: JsonPercentiles,
    /// From the release of a job to its completion.
    response: JsonPercentiles,
    /// By when every job was to be done, where that is known; null for a thread that serves tasks, which have their
    /// own.
    bound_ns: Option<u64>,
    misses: u64,
    frames: u64,
    preemptions: u64,
    migrations: u64,
    /// The tasks that it serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<JsonTask<'a>>,
}

/// A task that a thread serves.
#[derive(Serialize)]
struct JsonTask<'a> {
    name: &'a str,
    jobs: u64,
    misses: u64,
    /// From the release of a job to its completion.
    worst_ns: u64,
    /// Whether that job was not done at the end: it took at least that long.
    #[serde(skip_serializing_if = "is_false")]
    worst_is_open: bool,
    /// By when every job was to be done, where that is known.
    bound_ns: Option<u64>,
}

/// A distribution; `worst_ns` is exact, the rest rounded up by less than 1 in 32.
#[derive(Serialize)]
struct JsonPercentiles {
    count: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    worst_ns: u64,
    /// Whether `worst_ns` belongs to something that was not over at the end: it took at least that long.
    #[serde(skip_serializing_if = "is_false")]
    worst_is_open: bool,
}

/// A promise to one VP.
#[derive(Serialize)]
struct JsonGuarantee<'a> {
    /// The name of the child of the VP.
    to: &'a str,
    /// The name of the scheduler that promised; null for the machine.
    by: Option<&'a str>,
    guarantee: &'a str,
    kept: bool,
    /// How often the supply began to fall short, of a window of some length or of a request.
    shortfalls: u64,
    /// How often it began to be too much.
    overruns: u64,
    /// How often either was within the slack.
    within_slack: u64,
    /// How often it began to fall short by no more than was stolen.
    stolen: u64,
    /// When the promise began, and when it ended.
    from_ns: u64,
    to_ns: u64,
    /// Why it was broken the first time: null (not known, or not broken), or `above` (the scheduler that promised got
    /// too little at that time).
    cause: Option<&'static str>,
    /// Whether a request or a window put the promise to the test.
    tested: bool,
    /// Null where the promise says nothing of a single request.
    requests: Option<JsonRequests>,
    windows: Vec<JsonWindow>,
}

/// The requests of a VP: each from a wake-up to the next sleep.
#[derive(Serialize)]
struct JsonRequests {
    /// How many there were.
    count: u64,
    /// How many of them got CPU time, or were owed some.
    tested: u64,
    /// The least time by which a piece of CPU time came before it was due; null when none was tested.
    margin_ns: Option<u64>,
    /// The most that a request lacked of what was due, beyond what was stolen in it.
    missing_ns: u64,
    /// When that request began.
    worst_at_ns: u64,
    /// The most that a request lacked and that was stolen in it.
    stolen_ns: u64,
    /// `kept`, `stolen`, `late` (within the slack), `short` or `untested`.
    verdict: &'static str,
}

/// The windows of one length.
#[derive(Serialize)]
struct JsonWindow {
    window_ns: u64,
    promised_ns: u64,
    /// Null when the VP never wanted the CPU for a whole window.
    least_ns: Option<u64>,
    /// What was stolen in that window.
    stolen_ns: u64,
    /// The most that was missing in any window beyond what was stolen in it.
    missing_ns: u64,
    /// Null for a soft guarantee.
    allowed_ns: Option<u64>,
    most_ns: u64,
    /// `kept`, `stolen`, `late` (within the slack), `short`, `over` or `untested`.
    verdict: &'static str,
}

impl<'a> From<&'a RunResult> for JsonRun<'a> {
    fn from(run: &'a RunResult) -> Self {
        let topology = &run.topology;
        JsonRun {
            format: FORMAT,
            engine: &run.engine,
            seed: run.seed,
            cpus: topology.cpus,
            length_ns: run.length.0,
            attach_times: run.attach_times.map(attach_times),
            kept: run.is_kept(),
            idle_ns: run.idle.0,
            stolen_ns: run.stolen.0,
            overhead_ns: run.overhead.0,
            events: run.events,
            switches: run.switches,
            schedulers: run.schedulers.iter().map(|result| scheduler(topology, result)).collect(),
            threads: run.threads.iter().map(|result| thread(topology, result)).collect(),
            guarantees: run.guarantees.iter().map(|result| guarantee(topology, result)).collect(),
            guarantees_unlisted: run.unlisted,
            exceeded: run.exceeded.iter().map(|result| exceeded(topology, result)).collect(),
            queues: run.queues.iter().map(queue).collect(),
            disabled_policies: run.disabled_policies.iter().map(policy_disabled).collect(),
        }
    }
}

fn attach_times(AttachTimes { load, attach, detach }: AttachTimes) -> JsonAttachTimes {
    JsonAttachTimes { load_ns: load.0, attach_ns: attach.0, detach_ns: detach.0 }
}

fn exceeded<'a>(topology: &'a Topology, result: &Exceeded) -> JsonExceeded<'a> {
    let Exceeded { expected, at, by } = result;
    let (run_ns, after_ns) = match by {
        Excess::Long(had) => (Some(had.0), None),
        Excess::Soon(after) => (None, Some(after.0)),
    };
    JsonExceeded {
        thread: topology.child_name(expected.vp),
        at_ns: at.0,
        run_ns,
        after_ns,
        expected_run_ns: expected.run.0,
        expected_after_ns: expected.every.0,
    }
}

fn queue(QueueResult { name, put, dropped, waiting }: &QueueResult) -> JsonQueue<'_> {
    JsonQueue { name, put: *put, dropped: *dropped, waiting: *waiting }
}

fn policy_disabled(result: &PolicyDisabled) -> JsonPolicyDisabled<'_> {
    let PolicyDisabled { at, scheduler, policy, violation, fallback } = result;
    JsonPolicyDisabled { at_ns: at.0, scheduler, policy, violation, fallback }
}

fn scheduler<'a>(topology: &'a Topology, result: &SchedulerResult) -> JsonScheduler<'a> {
    let info = topology.schedulers.get(result.scheduler.index());
    JsonScheduler {
        name: info.map_or("", |info| &info.name),
        policy: info.map_or("", |info| &info.policy),
        ran_ns: result.ran.0,
        grants: result.grants,
        revokes: result.revokes,
        work_ns: result.below.work.0,
        activations: result.below.activations,
        wake_latency: percentiles(&result.below.wake_latency),
        response: percentiles(&result.below.response),
        misses: result.below.misses,
        preemptions: result.below.preemptions,
        migrations: result.below.migrations,
        decided: result.decided.map(|Decided { followed, stale, by_urgency, by_agent, agent_ran }| {
            JsonDecided { followed, stale, by_urgency, by_agent, agent_ns: agent_ran.0 }
        }),
    }
}

fn thread<'a>(topology: &'a Topology, result: &'a ThreadResult) -> JsonThread<'a> {
    let nanos = |bound: Option<ResponseBound>| bound.map(|bound| bound.bound.0);
    let task = |task: &'a TaskResult| {
        let TaskResult { ref name, jobs, misses, worst, worst_is_open, bound } = *task;
        JsonTask { name, jobs, misses, worst_ns: worst.0, worst_is_open, bound_ns: nanos(bound) }
    };
    JsonThread {
        name: topology.child_name(result.vp),
        scheduler: topology.parent_name(result.vp).unwrap_or(""),
        guarantee: topology.vps.get(result.vp.index()).map_or("", |vp| &vp.guarantee),
        ran_ns: result.ran.0,
        work_ns: result.work.0,
        activations: result.activations,
        wake_latency: percentiles(&result.wake_latency),
        response: percentiles(&result.response),
        bound_ns: nanos(result.bound),
        misses: result.misses,
        frames: result.frames,
        preemptions: result.preemptions,
        migrations: result.migrations,
        tasks: result.tasks.iter().map(task).collect(),
    }
}

fn percentiles(found: &Percentiles) -> JsonPercentiles {
    JsonPercentiles {
        count: found.count,
        p50_ns: found.p50.0,
        p90_ns: found.p90.0,
        p99_ns: found.p99.0,
        p999_ns: found.p999.0,
        worst_ns: found.worst.0,
        worst_is_open: found.worst_is_open,
    }
}

/// For serde, which asks by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(is_so: &bool) -> bool {
    !is_so
}

fn guarantee<'a>(topology: &'a Topology, result: &'a GuaranteeResult) -> JsonGuarantee<'a> {
    JsonGuarantee {
        to: topology.child_name(result.vp),
        by: result.by.map(|by| topology.scheduler_name(by)),
        guarantee: &result.guarantee,
        kept: result.is_kept(),
        shortfalls: result.counts.short,
        overruns: result.counts.over,
        within_slack: result.counts.late,
        stolen: result.counts.stolen,
        from_ns: result.from.0,
        to_ns: result.to.0,
        cause: result.cause.map(|cause| match cause {
            Cause::Above(_) => "above",
        }),
        tested: result.is_tested(),
        requests: result.requests.as_ref().map(requests),
        windows: result.windows.iter().map(window).collect(),
    }
}

fn requests(result: &RequestsResult) -> JsonRequests {
    JsonRequests {
        count: result.requests,
        tested: result.tested,
        margin_ns: result.margin.map(|margin| margin.0),
        missing_ns: result.missing.0,
        worst_at_ns: result.worst_at.0,
        stolen_ns: result.stolen.0,
        verdict: verdict(result.verdict()),
    }
}

fn window(result: &WindowResult) -> JsonWindow {
    JsonWindow {
        window_ns: result.window.0,
        promised_ns: result.promised.0,
        least_ns: result.least.map(|least| least.0),
        stolen_ns: result.stolen.0,
        missing_ns: result.missing.0,
        allowed_ns: result.allowed.map(|allowed| allowed.0),
        most_ns: result.most.0,
        verdict: verdict(result.verdict()),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Kept => "kept",
        Verdict::Stolen => "stolen",
        Verdict::Late => "late",
        Verdict::Short => "short",
        Verdict::Over => "over",
        Verdict::Untested => "untested",
    }
}
