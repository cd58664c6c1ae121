//! A thread that serves periodic tasks: which job the thread computes next, and until when.
//!
//! Of each task only the first job that is not done is kept, as the jobs of one task run in the order of their
//! releases and each is ready no sooner than the one before. Relies on the engine to ask whenever the present job
//! is done or a job of another task becomes ready. Carries nothing out.

use crate::job::{Job, draw};
use hls_monitor::result::TaskResult;
use hls_units::Nanos;
use hls_workload::program::{ServedBy, ServedTask, ServedTasks};
use oorandom::Rand32;

/// What a thread that serves tasks does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextWork {
    /// The thread has just finished this job.
    Done(Job),
    /// The thread computes for this much CPU time, but only until this instant, when a job may come that goes first.
    Work(Nanos, Nanos),
    /// No job is ready before this instant: the thread blocks until then.
    Wait(Nanos),
}

/// The state of all tasks that one thread serves.
#[derive(Clone, Debug)]
pub struct TaskServer {
    tasks: Vec<TaskState>,
    /// The index of the task with the job that the thread computes, and the CPU time that the thread had had in all
    /// when it began or resumed that job.
    at: Option<(usize, Nanos)>,
}

/// The first unfinished job of a task, and the figures of the finished ones.
#[derive(Clone, Debug)]
struct TaskState {
    job: Job,
    ready: Nanos,
    left: Nanos,
    result: TaskResult,
}

impl TaskServer {
    /// The state when the thread comes into being, at `now`.
    pub fn new(tasks: &ServedTasks, now: Nanos, random: &mut Rand32) -> TaskServer {
        let begin = |task: &ServedTask| {
            let result = TaskResult { name: task.name.clone(), ..TaskResult::default() };
            let mut served = TaskState { job: Job::NONE, ready: now, left: Nanos::ZERO, result };
            served.release(task, now.saturating_add(task.offset), random);
            served
        };
        TaskServer { tasks: tasks.tasks.iter().map(begin).collect(), at: None }
    }

    /// Whether no job is ready.
    pub fn is_idle(&self, now: Nanos) -> bool {
        self.tasks.iter().all(|served| served.ready > now)
    }

    /// What the thread does next, when it has had `work` of CPU time in all.
    pub fn next(&mut self, set: &ServedTasks, now: Nanos, work: Nanos, random: &mut Rand32) -> NextWork {
        if let Some((at, since)) = self.at.take() {
            let served = &mut self.tasks[at];
            served.left = served.left.saturating_sub(work.saturating_sub(since));
            if served.left == Nanos::ZERO {
                let job = served.finish(now);
                served.release(&set.tasks[at], job.release.saturating_add(set.tasks[at].every), random);
                return NextWork::Done(job);
            }
        }
        let is_ready = |served: &TaskState| served.ready <= now;
        let ready = self.tasks.iter().enumerate().filter(|(_, served)| is_ready(served));
        let first = ready.min_by_key(|(at, served)| match set.by {
            ServedBy::Edf => (served.job.deadline, *at),
            ServedBy::Priority => (Nanos::ZERO, *at),
        });
        let others = self.tasks.iter().filter(|served| !is_ready(served));
        let until = others.map(|served| served.ready).min().unwrap_or(Nanos::MAX);
        let Some((at, served)) = first else { return NextWork::Wait(until) };
        let left = served.left;
        self.at = Some((at, work));
        NextWork::Work(left, until)
    }

    /// The figures of each task up to now.
    pub fn results(&self) -> Vec<TaskResult> {
        self.tasks.iter().map(|served| served.result.clone()).collect()
    }

    /// How long the oldest job that is released and not done has lasted, if there is one.
    pub fn open_job(&self, now: Nanos) -> Option<Nanos> {
        let first = self.tasks.iter().map(|served| served.job.release).min();
        first.and_then(|release| now.0.checked_sub(release.0)).map(Nanos)
    }

    /// Adds, at the end of the thread, the jobs that are not done, and the deadlines that they have missed; returns the
    /// number of these deadlines.
    pub fn end(&mut self, set: &ServedTasks, now: Nanos) -> u64 {
        let late = |(served, task): (&mut TaskState, &ServedTask)| {
            let late = now.saturating_sub(served.job.deadline).0;
            let misses = late.div_ceil(task.every.0.max(1));
            served.result.misses += misses;
            let open = now.saturating_sub(served.job.release);
            if open > served.result.worst {
                (served.result.worst, served.result.worst_is_open) = (open, true);
            }
            (served.job, served.ready) = (Job::NONE, Nanos::MAX);
            misses
        };
        self.tasks.iter_mut().zip(&set.tasks).map(late).sum()
    }
}

impl TaskState {
    fn release(&mut self, task: &ServedTask, release: Nanos, random: &mut Rand32) {
        self.job = Job { release, deadline: release.saturating_add(task.deadline) };
        self.ready = release.saturating_add(draw(random, task.jitter)).max(self.ready);
        self.left = draw(random, task.run);
    }

    fn finish(&mut self, now: Nanos) -> Job {
        let result = &mut self.result;
        result.jobs += 1;
        result.misses += u64::from(now > self.job.deadline);
        result.worst = result.worst.max(now.saturating_sub(self.job.release));
        self.job
    }
}
