//! A thread and its program: which step comes next, and what that asks of the machine.
//!
//! Only interprets the program: the engine carries out the [`Action`]s.

use crate::job::{Job, draw};
use crate::serving::{NextWork, TaskServer};
use hls_monitor::event::ObservedVp;
use hls_monitor::result::TaskResult;
use hls_units::Nanos;
use hls_workload::program::{Entry, QueueId, ResourceId, ServedTasks, Span, Step, WhenLate};
use oorandom::Rand32;

/// What a step of the program asks of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// To let the thread compute: [`Thread::compute`] says for how long.
    Compute,
    /// Block until this instant, when a new job begins.
    SleepUntil(Nanos),
    /// Block until this instant against the thread's will, and go on with the job.
    StallUntil(Nanos),
    /// A new job begins now, without blocking.
    NextJob,
    /// A job of a task that the thread serves is done.
    Served(Job),
    /// Take the mutex, or block until it is handed over.
    Lock(ResourceId),
    /// Release the mutex.
    Unlock(ResourceId),
    /// Release the mutex and block until the condition is signalled and the mutex handed over again.
    Wait {
        /// The condition.
        condition: ResourceId,
        /// The mutex.
        mutex: ResourceId,
    },
    /// Wake one waiter of the condition.
    Signal(ResourceId),
    /// Wake all waiters of the condition.
    Broadcast(ResourceId),
    /// Count a post of the semaphore, or wake the first thread that awaits one.
    Post(ResourceId),
    /// Take a post of the semaphore, or block until there is one; a new job begins.
    AwaitPost(ResourceId),
    /// Block until enough threads have come to the barrier.
    Barrier(ResourceId),
    /// Take the first entry of the queue, or block until there is one.
    Take(QueueId),
    /// Put an entry into the queue, with the release of the present job.
    Put(QueueId),
    /// Let others run first.
    Yield,
    /// Use these CPUs only; `None`: all.
    SetAffinity(Option<Vec<u32>>),
    /// Begin a turn of the agent of a scheduler: read the pages.
    Look,
    /// End it: write, and park.
    Act,
    /// A frame is done.
    Frame {
        /// How many frames were due before this one and did not come.
        missed: u32,
    },
    /// The thread ends.
    Exit,
}

/// What a thread computes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Nothing: the thread takes its next step as soon as it has a CPU.
    Nothing,
    /// This much CPU time.
    Work(Nanos),
    /// This much CPU time, but only until this instant if the thread has a CPU then, else until it has one again.
    WorkUntil(Nanos, Nanos),
    /// Until this instant, whether the thread runs or not.
    Until(Nanos),
    /// For ever.
    Forever,
}

/// A thread of the run. A run may have 65,536 of them, so `RareState` keeps apart what only few threads need.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The VP above it, by the plan's number.
    pub vp: ObservedVp,
    /// The index of its group in the plan.
    pub group: u32,
    next_step: u32,
    /// What the thread computes now.
    pub compute: Compute,
    /// The CPU time that the program has had so far, overheads of switches not included.
    pub work: Nanos,
    /// The job that the thread is doing.
    pub job: Job,
    /// The job that begins when the thread wakes up.
    pub next_job: Job,
    /// Where the entry goes on to that the thread has taken last.
    pub next_queue: Option<QueueId>,
    random: Rand32,
    rare: Option<Box<RareState>>,
}

/// What only threads with finite loops, timers, tasks or frames need.
#[derive(Clone, Debug, Default)]
struct RareState {
    counters: Vec<u32>,
    /// Next expiry of each timer that was used, by its number.
    timers: Vec<(u32, Nanos)>,
    /// Distance of the jobs of a timer, for counting those that never came; zero: there is none.
    period: Nanos,
    /// The tasks that the thread serves.
    serving: Option<TaskServer>,
    /// When the last frame was finished, or the thread came; and the gap after which a frame is missed, zero where the
    /// thread renders no frames.
    frame_since: Nanos,
    frame_gap: Nanos,
    frames: u64,
}

impl Thread {
    /// The thread before its first step. Its random numbers depend on the run's seed and on its number only.
    pub fn new(vp: ObservedVp, group: u32, seed: u64, number: u32) -> Thread {
        Thread {
            vp,
            group,
            next_step: 0,
            compute: Compute::Nothing,
            work: Nanos::ZERO,
            job: Job::NONE,
            next_job: Job::NONE,
            next_queue: None,
            random: Rand32::new_inc(seed, u64::from(number)),
            rare: None,
        }
    }

    /// How many frames are finished.
    pub fn frames(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.frames)
    }

    fn rare(&mut self) -> &mut RareState {
        self.rare.get_or_insert_default()
    }

    /// Comes into being: a renderer's first frame is due from now on. What the thread does first is a job, unless it
    /// serves a queue: then the entries of the queue are its jobs.
    pub fn arrive(&mut self, steps: &[Step], now: Nanos) {
        if !matches!(steps, [Step::Take(_), ..]) {
            self.next_job = Job { release: now, deadline: Nanos::MAX };
        }
        let gap = |step: &Step| if let Step::FrameDone { gap } = step { Some(*gap) } else { None };
        if let Some(gap) = steps.iter().find_map(gap) {
            (self.rare().frame_gap, self.rare().frame_since) = (gap, now);
        }
        if let [Step::Serve(tasks), ..] = steps {
            let serving = TaskServer::new(tasks, now, &mut self.random);
            self.rare().serving = Some(serving);
        }
    }

    /// The end of the wait with which the program begins, if it begins with one. That wait begins when the thread
    /// comes, at `now`, not when the thread first has a CPU.
    pub fn first_wait(&mut self, steps: &[Step], now: Nanos) -> Option<Nanos> {
        while self.waits_next(steps, now) {
            if let Action::SleepUntil(until) = self.next(steps, now) {
                return Some(until);
            }
        }
        None
    }

    /// Whether the next step is a wait for time.
    fn waits_next(&self, steps: &[Step], now: Nanos) -> bool {
        match steps.get(self.next_step as usize) {
            Some(Step::Sleep(_) | Step::AwaitTimer { .. }) => true,
            Some(Step::Serve(_)) => self.serving().is_some_and(|serving| serving.is_idle(now)),
            _ => false,
        }
    }

    fn serving(&self) -> Option<&TaskServer> {
        self.rare.as_ref()?.serving.as_ref()
    }

    /// The figures of the tasks that the thread serves.
    pub fn tasks(&self) -> Vec<TaskResult> {
        self.serving().map_or_else(Vec::new, TaskServer::results)
    }

    /// Goes on to the next of its steps at time `now`.
    pub fn next(&mut self, steps: &[Step], now: Nanos) -> Action {
        loop {
            let Some(step) = steps.get(self.next_step as usize) else { return Action::Exit };
            self.next_step += 1;
            return match *step {
                Step::Run(span) => {
                    let work = draw(&mut self.random, span);
                    self.begin(Compute::Work(work))
                }
                Step::RunUntilElapsed(length) => self.begin(Compute::Until(now + length)),
                Step::RunForever => self.begin(Compute::Forever),
                Step::Serve(ref tasks) => self.serve(tasks, now),
                Step::Sleep(span) => {
                    let until = now + draw(&mut self.random, span);
                    self.next_job = Job { release: until, deadline: Nanos::MAX };
                    Action::SleepUntil(until)
                }
                Step::Stall(span) => Action::StallUntil(now + draw(&mut self.random, span)),
                Step::AwaitTimer { timer, period, when_late, deadline, jitter } => {
                    self.await_timer(now, timer, period, when_late, deadline, jitter)
                }
                Step::Lock(mutex) => Action::Lock(mutex),
                Step::Unlock(mutex) => Action::Unlock(mutex),
                Step::Wait { condition, mutex } => Action::Wait { condition, mutex },
                Step::Signal(condition) => Action::Signal(condition),
                Step::Broadcast(condition) => Action::Broadcast(condition),
                Step::Post(semaphore) => Action::Post(semaphore),
                Step::AwaitPost(semaphore) => Action::AwaitPost(semaphore),
                Step::Barrier(barrier) => Action::Barrier(barrier),
                Step::Take(queue) => Action::Take(queue),
                Step::Put(queue) => Action::Put(queue),
                Step::PassOn => match self.next_queue.take() {
                    Some(queue) => Action::Put(queue),
                    None => continue,
                },
                Step::Yield => Action::Yield,
                Step::SetAffinity(ref cpus) => Action::SetAffinity(cpus.clone()),
                Step::Look(_) => Action::Look,
                Step::Act => Action::Act,
                Step::FrameDone { gap } => self.frame_done(now, gap),
                Step::Repeat { target, times, counter } => {
                    self.repeat(target, times, counter as usize);
                    continue;
                }
                Step::Exit => Action::Exit,
            };
        }
    }

    fn frame_done(&mut self, now: Nanos, gap: Nanos) -> Action {
        let rare = self.rare();
        rare.frame_gap = gap;
        rare.frames += 1;
        let missed = rare.missed_frames(now);
        rare.frame_since = now;
        Action::Frame { missed }
    }

    /// Has the thread deal with an entry of a queue from its next step on.
    pub fn take(&mut self, entry: Entry) {
        self.next_job = Job { release: entry.release, deadline: Nanos::MAX };
        self.next_queue = entry.next;
    }

    fn begin(&mut self, compute: Compute) -> Action {
        self.compute = compute;
        Action::Compute
    }

    /// Goes on with the step that serves tasks, which never ends. The tasks' jobs are the thread's jobs.
    fn serve(&mut self, tasks: &ServedTasks, now: Nanos) -> Action {
        self.next_step -= 1;
        (self.job, self.next_job) = (Job::NONE, Job::NONE);
        let rare = self.rare.get_or_insert_default();
        let serving = rare.serving.get_or_insert_with(|| TaskServer::new(tasks, now, &mut self.random));
        match serving.next(tasks, now, self.work, &mut self.random) {
            NextWork::Done(job) => Action::Served(job),
            NextWork::Work(work, until) => self.begin(Compute::WorkUntil(work, until)),
            NextWork::Wait(until) => Action::SleepUntil(until),
        }
    }

    fn repeat(&mut self, target: usize, times: Option<u32>, counter: usize) {
        let Some(times) = times else {
            self.next_step = target as u32;
            return;
        };
        let counters = &mut self.rare().counters;
        if counters.len() <= counter {
            counters.resize(counter + 1, 0);
        }
        if counters[counter] < times {
            counters[counter] += 1;
            self.next_step = target as u32;
        } else {
            counters[counter] = 0;
        }
    }

    fn await_timer(
        &mut self,
        now: Nanos,
        timer: u32,
        period: Nanos,
        when_late: WhenLate,
        deadline: Option<Nanos>,
        jitter: Span,
    ) -> Action {
        let rare = self.rare();
        let place = rare.timers.iter().position(|(number, _)| *number == timer).unwrap_or_else(|| {
            rare.timers.push((timer, now));
            rare.timers.len() - 1
        });
        let due = rare.timers[place].1;
        let late = now.saturating_sub(due);
        let expiry = match when_late {
            WhenLate::Restart => due.max(now),
            WhenLate::CatchUp => due,
            WhenLate::Skip => due + Nanos(late.0.div_ceil(period.0.max(1)) * period.0),
        };
        rare.timers[place].1 = expiry + period;
        rare.period = period;
        self.next_job =
            Job { release: expiry, deadline: deadline.map_or(Nanos::MAX, |deadline| expiry + deadline) };
        let until = expiry + draw(&mut self.random, jitter);
        if until <= now { Action::NextJob } else { Action::SleepUntil(until) }
    }

    /// How long the thread's job has lasted at `now`, when the thread or the run ends; if it serves tasks, the oldest
    /// job. `None`: it is doing none, or one that its program never ends.
    pub fn open_job(&self, steps: &[Step], now: Nanos) -> Option<Nanos> {
        if let Some(serving) = self.serving() {
            return serving.open_job(now);
        }
        let is_open = self.job != Job::NONE && self.compute != Compute::Forever && ends_jobs(steps);
        is_open.then(|| now.saturating_sub(self.job.release))
    }

    /// How many deadlines have passed at `now`, when the thread or the run ends, without a finished job that was
    /// counted for them.
    pub fn misses_at_end(&mut self, steps: &[Step], now: Nanos) -> u32 {
        let job = self.job;
        let Some(rare) = &mut self.rare else { return u32::from(job.deadline < now) };
        let late = match job {
            Job { deadline, .. } if deadline < now => {
                1 + (now.0 - deadline.0 - 1).checked_div(rare.period.0).unwrap_or(0)
            }
            _ => 0,
        };
        let of_tasks = match (&mut rare.serving, steps) {
            (Some(serving), [Step::Serve(tasks), ..]) => serving.end(tasks, now),
            _ => 0,
        };
        u32::try_from(late.saturating_add(of_tasks))
            .unwrap_or(u32::MAX)
            .saturating_add(rare.missed_frames(now))
    }
}

/// Whether the steps end a job anywhere, be it by the end of the thread.
fn ends_jobs(steps: &[Step]) -> bool {
    let is_endless = |step: &Step| matches!(step, Step::Repeat { times: None, .. } | Step::RunForever);
    let ends_job = |step: &Step| {
        matches!(
            step,
            Step::Sleep(_)
                | Step::AwaitTimer { .. }
                | Step::Wait { .. }
                | Step::AwaitPost(_)
                | Step::Barrier(_)
                | Step::Take(_)
        )
    };
    steps.iter().any(ends_job) || !steps.iter().any(is_endless)
}

impl RareState {
    /// How many full gaps passed since the last frame, or since the thread came: each is a missed deadline.
    fn missed_frames(&self, now: Nanos) -> u32 {
        let waited = now.saturating_sub(self.frame_since);
        if self.frame_gap == Nanos::ZERO || waited == Nanos::ZERO {
            return 0;
        }
        u32::try_from((waited.0 - 1) / self.frame_gap.0).unwrap_or(u32::MAX)
    }
}
