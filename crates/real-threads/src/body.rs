//! The body of a real thread, from its arrival to its end: carries out the steps that [`hls_thread`] interprets, and
//! records what happens to the thread.
//!
//! ```text
//!   arrive ─► [first wait] ─► step ─► compute | sleep | block | ... ─► step ─► ... ─► end: leave, end of the run, Exit
//! ```
//!
//! A thread ends in the middle of any step: it computes and sleeps no longer than until its end, and looks for it after
//! every step. A thread that has no CPU at that instant ends as soon as it has one, and records its end for the
//! instant. All times are counted from the start of the run.

use crate::area::Slot;
use crate::clock;
use crate::context::ProcessContext;
use crate::orders::{Group, ThreadEnd};
use hls_monitor::event::What;
use hls_monitor::histogram::Histogram;
use hls_thread::{Action, Compute, Job, Thread};
use hls_units::Nanos;
use hls_workload::program::{Entry, Step};
use rustix::thread::sched_setaffinity;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::atomic::Ordering::Acquire;

/// The longest time that a thread computes before it looks whether the starter has ended the run early.
const MAX_SPIN: Nanos = Nanos::from_millis(1);

/// Why a thread takes no further step.
pub enum End {
    /// Its program has ended.
    Exit,
    /// The thread leaves now, or the run ends.
    Over,
}

/// A thread with its program, its place in the area and its counts.
pub struct ThreadBody<'a> {
    context: &'a ProcessContext<'a>,
    slot: Slot<'a>,
    group: &'a Group,
    number: u32,
    go_at: Nanos,
    thread: Thread,
    activations: u64,
    wake_latency: Histogram,
}

impl<'a> ThreadBody<'a> {
    /// Thread `number` of a run that began at `go_at`.
    pub fn new(
        context: &'a ProcessContext<'a>,
        group: &'a Group,
        number: u32,
        go_at: Nanos,
    ) -> ThreadBody<'a> {
        let vp = group.first_vp.plus(number - group.first);
        ThreadBody {
            context,
            slot: context.area.slot(number),
            group,
            number,
            go_at,
            thread: Thread::new(vp, 0, context.orders.seed, number),
            activations: 0,
            wake_latency: Histogram::default(),
        }
    }

    /// Runs the thread from its arrival to its end, and returns its figures.
    pub fn run(mut self, arrival: Nanos) -> ThreadEnd {
        let begun = clock::cpu_time();
        let end = match self.arrive(arrival) {
            Break(end) => end,
            Continue(()) => loop {
                if let Break(end) = self.step() {
                    break end;
                }
            },
        };
        self.end(end);
        ThreadEnd {
            vp: self.thread.vp,
            ran: clock::cpu_time().saturating_sub(begun),
            work: self.thread.work,
            frames: self.thread.frames(),
            tasks: self.thread.tasks(),
            activations: self.activations,
            wake_latency: self.wake_latency.percentiles(),
            ..ThreadEnd::default()
        }
    }

    fn now(&self) -> Nanos {
        clock::now().saturating_sub(self.go_at)
    }

    fn steps(&self) -> &'a [Step] {
        &self.group.program.steps
    }

    /// When the thread leaves or the run ends, whichever is first; the starter may move the end of the run forward.
    fn end_at(&self) -> Nanos {
        self.group.leave.unwrap_or(Nanos::MAX).min(self.context.area.end_at())
    }

    /// Continues unless the end has come.
    fn go_on(&self) -> ControlFlow<End> {
        if self.now() < self.end_at() { Continue(()) } else { Break(End::Over) }
    }

    fn arrive(&mut self, arrival: Nanos) -> ControlFlow<End> {
        self.slot.write(arrival, What::Arrive);
        let steps = self.steps();
        self.thread.arrive(steps, arrival);
        match self.thread.first_wait(steps, arrival) {
            Some(until) => self.sleep(until),
            None => {
                self.wake(arrival);
                self.go_on()
            }
        }
    }

    /// Takes the next step of the program.
    fn step(&mut self) -> ControlFlow<End> {
        let now = self.now();
        match self.thread.next(self.steps(), now) {
            Action::Compute => return self.compute(),
            Action::SleepUntil(until) => {
                self.end_job();
                return self.sleep(until);
            }
            // No thread can cause a page fault of a chosen length, so it sleeps.
            Action::StallUntil(until) => return self.sleep(until),
            Action::NextJob => self.begin_next_job(),
            Action::Served(job) => {
                self.thread.job = job;
                self.end_job();
            }
            Action::Lock(mutex) => {
                if !self.context.sharing.lock(mutex, self.number) {
                    return self.block();
                }
            }
            Action::Unlock(mutex) => self.context.sharing.unlock(mutex, self.number, now),
            Action::Wait { condition, mutex } => {
                self.end_job();
                self.context.sharing.wait(condition, mutex, self.number, now);
                return self.block();
            }
            Action::Signal(condition) => self.context.sharing.signal(condition, false, now),
            Action::Broadcast(condition) => self.context.sharing.signal(condition, true, now),
            Action::Post(semaphore) => self.context.sharing.post(semaphore, now),
            Action::AwaitPost(semaphore) => {
                self.end_job();
                let Some(release) = self.context.sharing.await_post(semaphore, self.number) else {
                    return self.block();
                };
                self.thread.next_job = Job { release, deadline: Nanos::MAX };
                self.begin_next_job();
            }
            Action::Barrier(barrier) => {
                if !self.context.sharing.arrive(barrier, self.number, now) {
                    self.end_job();
                    return self.block();
                }
            }
            Action::Take(queue) => {
                self.end_job();
                let Some(entry) = self.context.sharing.take(queue, self.number) else { return self.block() };
                self.thread.take(entry);
                self.begin_next_job();
            }
            Action::Put(queue) => {
                let release = self.thread.job.release.min(now);
                self.context.sharing.put(queue, Entry { release, next: self.thread.next_queue }, now);
            }
            Action::Yield => std::thread::yield_now(),
            Action::SetAffinity(cpus) => {
                let mask = cpus.map_or(u64::MAX, |cpus| cpus.iter().fold(0, |mask, cpu| mask | 1 << cpu));
                // Refused only where a CPU has gone offline since the run was prepared; the thread then stays where it
                // is.
                let _ = sched_setaffinity(None, &self.context.cpus.of(mask));
            }
            Action::Frame { missed } => self.miss(now, missed),
            // The starter has refused agents.
            Action::Exit | Action::Look | Action::Act => return Break(End::Exit),
        }
        self.go_on()
    }

    /// Computes for as long as the step asks for. CPU time passes no faster than time: so the thread spins for as long
    /// as CPU time is left to compute, and spins again for what is still left if it lost the CPU meanwhile.
    fn compute(&mut self) -> ControlFlow<End> {
        let (work, until) = match self.thread.compute {
            Compute::Nothing => (Nanos::ZERO, Nanos::MAX),
            Compute::Work(work) => (work, Nanos::MAX),
            Compute::WorkUntil(work, until) => (work, until),
            Compute::Until(until) => (Nanos::MAX, until),
            Compute::Forever => (Nanos::MAX, Nanos::MAX),
        };
        let begun = clock::cpu_time();
        loop {
            let (done, now) = (clock::cpu_time().saturating_sub(begun), self.now());
            let left = work.saturating_sub(done).min(until.saturating_sub(now));
            let to_end = self.end_at().saturating_sub(now);
            if left == Nanos::ZERO || to_end == Nanos::ZERO {
                self.thread.work += done;
                return if to_end == Nanos::ZERO { Break(End::Over) } else { Continue(()) };
            }
            clock::spin(left.min(to_end).min(MAX_SPIN));
        }
    }

    /// Blocks until the instant `until`, when a new job begins.
    fn sleep(&mut self, until: Nanos) -> ControlFlow<End> {
        loop {
            let seen = self.slot.bell().load(Acquire);
            let end_at = self.end_at();
            if self.now() >= until.min(end_at) {
                // The job that was released by then counts, even if the thread had no CPU to begin it.
                if until <= end_at {
                    self.wake(until);
                }
                return self.go_on();
            }
            clock::wait(self.slot.bell(), seen, self.go_at.saturating_add(until.min(end_at)));
        }
    }

    /// Blocks until another thread wakes this one.
    fn block(&mut self) -> ControlFlow<End> {
        loop {
            let seen = self.slot.bell().load(Acquire);
            if let Some(woken) = self.context.sharing.take_woken(self.number) {
                if let Some(release) = woken.release {
                    self.thread.next_job = Job { release, deadline: Nanos::MAX };
                }
                if let Some(entry) = woken.entry {
                    self.thread.take(entry);
                }
                self.wake(woken.at);
                return self.go_on();
            }
            self.go_on()?;
            clock::wait(self.slot.bell(), seen, self.go_at.saturating_add(self.end_at()));
        }
    }

    /// Counts a wake-up: the thread has a CPU now, and has wanted one since `since`.
    fn wake(&mut self, since: Nanos) {
        self.activations += 1;
        self.wake_latency.add(self.now().saturating_sub(since));
        self.begin_next_job();
    }

    fn begin_next_job(&mut self) {
        let Some(job) = self.thread.next_job.take() else { return };
        self.end_job();
        self.thread.job = job;
        self.slot.write(self.now(), What::JobRelease { deadline: job.deadline });
    }

    fn end_job(&mut self) {
        let Some(job) = self.thread.job.take() else { return };
        let now = self.now();
        self.slot.write(now, What::JobDone { response: now.saturating_sub(job.release) });
        self.miss(now, u32::from(now > job.deadline));
    }

    fn miss(&self, at: Nanos, count: u32) {
        if count > 0 {
            self.slot.write(at, What::Miss { count });
        }
    }

    /// Ends the thread: records the job that it is not done with, the deadlines that it missed last and, unless the run
    /// itself is over, its leaving, and hands its mutexes to their next waiters.
    fn end(&mut self, end: End) {
        if let End::Exit = end {
            self.end_job();
        }
        let (now, run_ends_at) = (self.now(), self.context.area.end_at());
        let at = now.min(self.end_at());
        if let Some(age) = self.thread.open_job(self.steps(), at) {
            self.slot.write(at, What::JobOpen { age });
        }
        let misses = self.thread.misses_at_end(self.steps(), at);
        self.miss(at, misses);
        let has_left = matches!(end, End::Exit) || self.group.leave.is_some_and(|leave| leave <= run_ends_at);
        if has_left {
            self.slot.write(at, What::Leave);
            self.context.sharing.forget(self.number, now);
        }
    }
}
