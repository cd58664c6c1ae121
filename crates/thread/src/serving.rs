//! A thread that serves periodic tasks: which job it is at, and until when.
//!
//! Of each task only the first job that is not done is kept, as the jobs of one task run in the order of their
//! releases and each is ready no sooner than the one before. Relies on being asked whenever the job at hand is done
//! or another task's becomes ready. Carries nothing out.

use crate::job::{Job, draw};
use hls_monitor::result::TaskResult;
use hls_units::Nanos;
use hls_workload::program::{ServedBy, ServedTask, ServedTasks};
use oorandom::Rand32;

/// What a thread that serves tasks does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This job is done.
    Done(Job),
    /// So much CPU time, but only until that time.
    Work(Nanos, Nanos),
    /// Nothing before that time.
    Wait(Nanos),
}

/// The state of all tasks.
#[derive(Clone, Debug)]
pub struct Serving {
    tasks: Vec<Served>,
    /// The task whose job the thread is at, and the thread's CPU time when it was last taken up.
    at: Option<(usize, Nanos)>,
}

/// The first job of a task that is not done, and what became of those before.
#[derive(Clone, Debug)]
struct Served {
    job: Job,
    ready: Nanos,
    left: Nanos,
    result: TaskResult,
}

impl Serving {
    /// The thread comes.
    pub fn new(tasks: &ServedTasks, now: Nanos, random: &mut Rand32) -> Serving {
        let begin = |task: &ServedTask| {
            let result = TaskResult { name: task.name.clone(), ..TaskResult::default() };
            let mut served = Served { job: Job::NONE, ready: now, left: Nanos::ZERO, result };
            served.release(task, now.saturating_add(task.offset), random);
            served
        };
        Serving { tasks: tasks.tasks.iter().map(begin).collect(), at: None }
    }

    /// Whether no job is ready.
    pub fn is_idle(&self, now: Nanos) -> bool {
        self.tasks.iter().all(|served| served.ready > now)
    }

    /// What comes next, for a thread that has had `work` of CPU time in all.
    pub fn next(&mut self, set: &ServedTasks, now: Nanos, work: Nanos, random: &mut Rand32) -> Next {
        if let Some((at, since)) = self.at.take() {
            let served = &mut self.tasks[at];
            served.left = served.left.saturating_sub(work.saturating_sub(since));
            if served.left == Nanos::ZERO {
                let job = served.finish(now);
                served.release(&set.tasks[at], job.release.saturating_add(set.tasks[at].every), random);
                return Next::Done(job);
            }
        }
        let is_ready = |served: &Served| served.ready <= now;
        let ready = self.tasks.iter().enumerate().filter(|(_, served)| is_ready(served));
        let first = ready.min_by_key(|(at, served)| match set.by {
            ServedBy::Edf => (served.job.deadline, *at),
            ServedBy::Priority => (Nanos::ZERO, *at),
        });
        let others = self.tasks.iter().filter(|served| !is_ready(served));
        let until = others.map(|served| served.ready).min().unwrap_or(Nanos::MAX);
        let Some((at, served)) = first else { return Next::Wait(until) };
        let left = served.left;
        self.at = Some((at, work));
        Next::Work(left, until)
    }

    /// What became of each task up to now.
    pub fn results(&self) -> Vec<TaskResult> {
        self.tasks.iter().map(|served| served.result.clone()).collect()
    }

    /// Counts the deadlines that passed before the end and were not counted with a job; how many there are.
    pub fn end(&mut self, set: &ServedTasks, now: Nanos) -> u64 {
        let late = |(served, task): (&mut Served, &ServedTask)| {
            let late = now.saturating_sub(served.job.deadline).0;
            let misses = late.div_ceil(task.every.0.max(1));
            served.result.misses += misses;
            (served.job, served.ready) = (Job::NONE, Nanos::MAX);
            misses
        };
        self.tasks.iter_mut().zip(&set.tasks).map(late).sum()
    }
}

impl Served {
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
