//! A thread and its program: which step comes next, and what that asks of the machine.
//!
//! Interprets; does nothing. The engine carries out the [`Action`]s.

use crate::plan::PlannedThread;
use hls_units::Nanos;
use hls_workload::program::{ResourceId, Span, Step};
use oorandom::Rand32;
use std::sync::Arc;

/// What a step asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the thread's [`Thread::compute`] says how long it computes now.
    Compute,
    /// Block until that time; a new job begins then.
    SleepUntil(Nanos),
    /// A new job begins now, without blocking.
    NextJob,
    Lock(ResourceId),
    Unlock(ResourceId),
    Wait {
        condition: ResourceId,
        mutex: ResourceId,
    },
    Signal(ResourceId),
    Broadcast(ResourceId),
    Barrier(ResourceId),
    Yield,
    SetAffinity(Option<Vec<u32>>),
    /// A frame is done, and so many were due before it.
    Frame {
        missed: u32,
    },
    Exit,
}

/// What a thread computes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Nothing: its next step is due when it has a CPU.
    Nothing,
    /// So much CPU time.
    Work(Nanos),
    /// Until that time, running or not.
    Until(Nanos),
    /// For ever.
    Forever,
}

/// A job: what a thread does between two waits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it was released.
    pub release: Nanos,
    /// Absolute; `Nanos::MAX`: none.
    pub deadline: Nanos,
}

/// A thread of the run.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its VP in the core; 0: it has not come yet, or is no more.
    pub core_vp: u32,
    /// What it computes now.
    pub compute: Compute,
    /// CPU time that its program has had.
    pub work: Nanos,
    /// Frames done.
    pub frames: u64,
    /// The job that it is at.
    pub job: Option<Job>,
    /// The job that begins when it wakes up.
    pub next_job: Option<Job>,
    /// Since when a frame is due, and after how long one is missed; zero: it renders none.
    frame_since: Nanos,
    frame_gap: Nanos,
    /// Distance of jobs, for counting those that never came; zero: there is none.
    period: Nanos,
    steps: Arc<[Step]>,
    next_step: usize,
    counters: Box<[u32]>,
    /// Next expiry of each timer that was used, by its number.
    timers: Vec<(u32, Nanos)>,
    random: Rand32,
}

impl Thread {
    /// The thread before its first step. Its random numbers depend on the run's seed and on its number only.
    pub fn new(planned: &PlannedThread, seed: u64, number: u32) -> Thread {
        Thread {
            core_vp: 0,
            compute: Compute::Nothing,
            work: Nanos::ZERO,
            frames: 0,
            job: None,
            next_job: None,
            frame_since: planned.arrive,
            frame_gap: Nanos::ZERO,
            period: Nanos::ZERO,
            steps: planned.program.steps.clone(),
            next_step: 0,
            counters: vec![0; planned.program.counters as usize].into(),
            timers: Vec::new(),
            random: Rand32::new_inc(seed, u64::from(number)),
        }
    }

    /// Goes on to the next step at time `now`.
    pub fn next(&mut self, now: Nanos) -> Action {
        loop {
            let Some(step) = self.steps.get(self.next_step) else { return Action::Exit };
            self.next_step += 1;
            return match *step {
                Step::Run(span) => {
                    let work = draw(&mut self.random, span);
                    self.begin(Compute::Work(work))
                }
                Step::RunUntilElapsed(length) => self.begin(Compute::Until(now + length)),
                Step::RunForever => self.begin(Compute::Forever),
                Step::Sleep(span) => {
                    let until = now + draw(&mut self.random, span);
                    self.next_job = Some(Job { release: until, deadline: Nanos::MAX });
                    Action::SleepUntil(until)
                }
                Step::AwaitTimer { timer, period, absolute, deadline, jitter } => {
                    self.await_timer(now, timer, period, absolute, deadline, jitter)
                }
                Step::Lock(mutex) => Action::Lock(mutex),
                Step::Unlock(mutex) => Action::Unlock(mutex),
                Step::Wait { condition, mutex } => Action::Wait { condition, mutex },
                Step::Signal(condition) => Action::Signal(condition),
                Step::Broadcast(condition) => Action::Broadcast(condition),
                Step::Barrier(barrier) => Action::Barrier(barrier),
                Step::Yield => Action::Yield,
                Step::SetAffinity(ref cpus) => Action::SetAffinity(cpus.clone()),
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
        self.frame_gap = gap;
        self.frames += 1;
        let missed = self.missed_frames(now);
        self.frame_since = now;
        Action::Frame { missed }
    }

    fn begin(&mut self, compute: Compute) -> Action {
        self.compute = compute;
        Action::Compute
    }

    fn repeat(&mut self, target: usize, times: Option<u32>, counter: usize) {
        if times.is_none_or(|times| self.counters[counter] < times) {
            self.counters[counter] = self.counters[counter].saturating_add(1);
            self.next_step = target;
        } else {
            self.counters[counter] = 0;
        }
    }

    fn await_timer(
        &mut self,
        now: Nanos,
        timer: u32,
        period: Nanos,
        absolute: bool,
        deadline: Option<Nanos>,
        jitter: Span,
    ) -> Action {
        let place = self.timers.iter().position(|(number, _)| *number == timer).unwrap_or_else(|| {
            self.timers.push((timer, now));
            self.timers.len() - 1
        });
        let due = self.timers[place].1;
        let expiry = if absolute || due >= now { due } else { now };
        self.timers[place].1 = expiry + period;
        self.period = period;
        self.next_job = Some(Job {
            release: expiry,
            deadline: deadline.map_or(Nanos::MAX, |deadline| expiry + deadline),
        });
        let until = expiry + draw(&mut self.random, jitter);
        if until <= now { Action::NextJob } else { Action::SleepUntil(until) }
    }

    /// Full gaps since the last frame, or since the thread came: the deadlines missed.
    fn missed_frames(&self, now: Nanos) -> u32 {
        let waited = now.saturating_sub(self.frame_since);
        if self.frame_gap == Nanos::ZERO || waited == Nanos::ZERO {
            return 0;
        }
        u32::try_from((waited.0 - 1) / self.frame_gap.0).unwrap_or(u32::MAX)
    }

    /// Deadlines that passed before the thread was done, or ended, at `now`, and were not counted with a job.
    pub fn misses_at_end(&self, now: Nanos) -> u32 {
        let late = self.job.map_or(0, |job| {
            if job.deadline >= now {
                return 0;
            }
            let after = now.0 - job.deadline.0 - 1;
            1 + after.checked_div(self.period.0).unwrap_or(0)
        });
        u32::try_from(late).unwrap_or(u32::MAX).saturating_add(self.missed_frames(now))
    }
}

/// A value of the span, each as likely as any other.
pub fn draw(random: &mut Rand32, span: Span) -> Nanos {
    let width = span.max.0.saturating_sub(span.min.0);
    if width == 0 {
        return span.min;
    }
    let bits = u64::from(random.rand_u32()) << 32 | u64::from(random.rand_u32());
    // The high half of the product of two 64-bit numbers: uniform but for 2^-64 of the width.
    let offset = (u128::from(bits) * (u128::from(width) + 1)) >> 64;
    Nanos(span.min.0 + offset as u64)
}
