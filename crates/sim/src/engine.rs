//! The event loop: carries out each event at its instant, asks the core which thread every CPU runs, and records what
//! happened.
//!
//! At one instant things happen in this order, whatever the order in which they were planned: what the CPUs have
//! computed is counted and threads that are done with a step take the next; planned events; timers of schedulers; ends
//! of slices; then each CPU where a decision is due takes it, until none is due.

use crate::events::{Event, Events};
use crate::machine::{Cpu, on_tick};
use crate::seat::{Programs, Seat};
use hls_core::{Call, Calls, Core, CoreError, CoreScheduler, CoreVp, Fault, Library, Params};
use hls_engine::{Built, planned_record};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_thread::{Action, Compute, Job, Signalled, Sync, Thread, draw};
use hls_units::Nanos;
use hls_workload::program::{Entry, QueueId};
use oorandom::Rand32;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How a simulation is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed of everything random.
    pub seed: u64,
    /// Check every invariant of the core after every event.
    pub paranoid: bool,
    /// The VPs of schedulers to record, for statistics; `None`: all, and the releases of jobs, for a trace. The records
    /// of threads are always made.
    pub watched: Option<Vec<ObservedVp>>,
    /// Write down every call of the core; see [`Simulation::take_tape`].
    pub tape: bool,
    /// The build of the core that has the policies which the hierarchy loads; `None`: the one that is built in.
    pub library: Option<Arc<Library>>,
    /// The programs of agents that the hierarchy names, by their paths there.
    pub programs: Programs,
}

/// Why a run ended early: an error of the workload, or one of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The core refused to build the hierarchy or a thread.
    Refused {
        /// What the core was asked to build.
        what: String,
        /// The reason of the core.
        error: CoreError,
    },
    /// An invariant of the core is broken.
    Broken {
        /// The instant at which the invariant was found broken.
        at: Nanos,
        /// The invariant, and where it is broken.
        fault: Fault,
    },
    /// One event changed more virtual processors than the core has room to record.
    RecordsLost {
        /// The instant of that event.
        at: Nanos,
    },
    /// Threads take step after step while no time passes.
    NoProgress {
        /// The instant at which time stands still.
        at: Nanos,
        /// The name of the thread that took the last step.
        thread: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused { what, error } => write!(f, "{what}: {error}"),
            Failure::Broken { at, fault } => write!(f, "at {at}: {fault}; this is an error in the core"),
            Failure::RecordsLost { at } => write!(
                f,
                "at {at}: more than {} virtual processors changed their state in one event, which the core has no room \
                 to record; this is an error in the core",
                hls_core::limits::MAX_RECORDS
            ),
            Failure::NoProgress { at, thread } => write!(
                f,
                "at {at}: the threads take step after step and no time passes; thread `{thread}` was the last. \
                 Some loop of the workload has no step that takes time"
            ),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// Whether the failure is an error of this program: a broken invariant or lost records. Otherwise it is the
    /// workload's.
    pub fn is_ours(&self) -> bool {
        matches!(self, Failure::Broken { .. } | Failure::RecordsLost { .. })
    }
}

/// The receiver of the records of a run.
pub type Sink<'a> = dyn FnMut(&Record) + 'a;

/// A run in the simulator, and how far it has come.
pub struct Simulation {
    pub(crate) plan: Plan,
    pub(crate) built: Built<Core>,
    options: Options,
    pub(crate) now: Nanos,
    events: Events,
    pub(crate) cpus: Vec<Cpu>,
    /// The CPUs that are in an interrupt, a bit each: their decisions wait for its end.
    interrupted: u64,
    pub(crate) threads: Vec<Thread>,
    /// The core's VP of each thread; 0 while the thread has not arrived, and when it has left.
    pub(crate) core_vps: Vec<CoreVp>,
    /// The thread of each planned VP; [`NO_THREAD`] for the VP of a scheduler.
    pub(crate) thread_of: Vec<u32>,
    sync: Sync,
    /// The agents of schedulers with processes as their policies, by the numbers of their threads.
    pub(crate) agents: BTreeMap<u32, Seat>,
    /// A generator of random numbers for each source of interrupts.
    interrupts: Vec<Rand32>,
    pub(crate) records: Vec<Record>,
    /// Whether the core had room to record all that happened.
    records_are_complete: bool,
    /// The steps that threads have taken at this instant.
    pub(crate) steps_at_instant: u64,
    /// The core's count of decisions up to the last switch, from which the cost of the next one follows.
    decisions: u64,
    /// When the first timer of a scheduler is due: the core's answer after the last event.
    timers_at: Nanos,
    overhead: Nanos,
    pub(crate) scheduling_events: u64,
    switches: u64,
    /// The work that each moved thread had done up to its last move, by its VP.
    pub(crate) work_before: BTreeMap<ObservedVp, Nanos>,
    /// The work that moved threads did up to their last moves, by each scheduler of the result that was above them.
    pub(crate) work_below: BTreeMap<ObservedScheduler, Nanos>,
    /// The scheduler and the parameters of threads that are to arrive elsewhere than the plan says, by their VPs.
    pub(crate) redirected: BTreeMap<ObservedVp, (CoreScheduler, Params)>,
}

/// How many planned events of one instant are carried out before the CPUs decide and the records are delivered; the
/// rest follow at the same instant. All of 65,536 threads may arrive at once.
const EVENTS_AT_ONCE: u32 = 256;

/// Stands for no thread, in the place of a thread's number.
const NO_THREAD: u32 = u32::MAX;

impl Simulation {
    /// Builds the hierarchy and plans the first events.
    pub fn new(plan: Plan, options: Options) -> Result<Simulation, Failure> {
        let refused = |error| Failure::Refused { what: "the hierarchy cannot be built".into(), error };
        let not_opened = || Failure::Refused {
            what: "the program of an agent was not opened".into(),
            error: CoreError::NotFound,
        };
        let watch = |vp| options.watched.as_ref().is_none_or(|watched| watched.contains(&vp));
        let mut core = Core::new();
        core.set_library(options.library.clone());
        if options.tape {
            core.record();
        }
        let built = Built::new(core, &plan, watch).map_err(refused)?;
        let mut thread_of = vec![NO_THREAD; plan.topology.vps.len()];
        let mut events = Events::default();
        let mut threads = Vec::with_capacity(plan.threads().count());
        let mut agents = BTreeMap::new();
        for (group, alike) in (0..).zip(&plan.groups) {
            for vp in alike.vps() {
                let number = threads.len() as u32;
                thread_of[vp.index()] = number;
                threads.push(Thread::new(vp, group, options.seed, number));
                let seat = Seat::of(&plan, alike, number, (options.seed, &options.programs));
                agents.extend(seat.map_err(|_| not_opened())?.map(|seat| (number, seat)));
                events.add(alike.arrive, Event::Arrive(number));
                if let Some(leave) = alike.leave {
                    events.add(leave, Event::Leave(number));
                }
            }
        }
        let mut interrupts = Vec::new();
        for (number, source) in (0..).zip(&plan.hierarchy.machine.interrupts) {
            let mut random = Rand32::new_inc(options.seed, (1 << 40) + u64::from(number));
            events.add(draw(&mut random, source.every), Event::Interrupt(number));
            interrupts.push(random);
        }
        Ok(Simulation {
            cpus: vec![Cpu::IDLE; usize::from(plan.hierarchy.machine.cpus)],
            sync: Sync::new(&plan.resources, &plan.hierarchy.queues),
            agents,
            interrupted: 0,
            built,
            options,
            now: Nanos::ZERO,
            events,
            core_vps: vec![CoreVp::NONE; threads.len()],
            threads,
            thread_of,
            interrupts,
            records: Vec::new(),
            records_are_complete: true,
            steps_at_instant: 0,
            decisions: 0,
            timers_at: Nanos::MAX,
            overhead: Nanos::ZERO,
            scheduling_events: 0,
            switches: 0,
            work_before: BTreeMap::new(),
            work_below: BTreeMap::new(),
            redirected: BTreeMap::new(),
            plan,
        })
    }

    /// Runs until `end`, and may be called again with a later `end`. Records go to `sink` in order of time.
    pub fn run_until(&mut self, end: Nanos, sink: &mut Sink) -> Result<(), Failure> {
        while self.step(end, sink)? {}
        self.now = self.now.max(end);
        (0..self.cpus.len()).for_each(|cpu| self.count_progress(cpu));
        Ok(())
    }

    /// Carries out what is due at the next instant, if that is no later than `end`, and returns whether it was.
    /// [`Simulation::run_until`] repeats this; a caller that acts between two events calls it directly.
    pub fn step(&mut self, end: Nanos, sink: &mut Sink) -> Result<bool, Failure> {
        let next = self.next_at();
        if next > end {
            return Ok(false);
        }
        if next > self.now {
            self.now = next;
            self.steps_at_instant = 0;
        }
        self.carry_out()?;
        self.conclude(sink)?;
        Ok(true)
    }

    /// Checks the core after an event, and delivers the records to `sink`.
    pub(crate) fn conclude(&mut self, sink: &mut Sink) -> Result<(), Failure> {
        if !self.records_are_complete {
            return Err(Failure::RecordsLost { at: self.now });
        }
        if self.options.paranoid && self.built.core.kick() == 0 {
            let now = self.now;
            self.built.core.check().map_err(|fault| Failure::Broken { at: now, fault })?;
        }
        self.records.drain(..).for_each(|record| sink(&record));
        Ok(())
    }

    /// Ends the run: counts the interrupts and the missed deadlines up to now, and delivers the last records.
    pub fn end(&mut self, sink: &mut Sink) {
        (0..self.cpus.len()).for_each(|cpu| self.steal_so_far(cpu));
        for number in 0..self.threads.len() {
            if self.core_vps[number] != CoreVp::NONE {
                self.record_what_is_open(number);
            }
        }
        self.records.drain(..).for_each(|record| sink(&record));
    }

    /// Fills in the parts of the result that only the engine knows.
    pub fn complete(&mut self, result: &mut RunResult) {
        result.engine = "sim".into();
        result.seed = self.options.seed;
        let unpaid = |cpu: &Cpu| cpu.progress_from.saturating_sub(self.now);
        result.overhead = self.overhead.saturating_sub(self.cpus.iter().map(unpaid).sum());
        result.events = self.scheduling_events;
        result.switches = self.switches;
        result.queues = self.sync.queues();
        let lineages = result.topology.lineages();
        let mut work_below = self.work_below.clone();
        for thread in &mut result.threads {
            let simulated = &self.threads[self.thread_of[thread.vp.index()] as usize];
            thread.work = simulated.work;
            thread.frames = simulated.frames();
            thread.tasks = simulated.tasks();
            let since_move = simulated.work - self.work_before.get(&thread.vp).copied().unwrap_or_default();
            let parent = result.topology.vps[thread.vp.index()].parent;
            for above in parent.map_or(&[][..], |parent| &lineages[parent.index()]) {
                *work_below.entry(*above).or_default() += since_move;
            }
        }
        for scheduler in &mut result.schedulers {
            scheduler.below.work = work_below.get(&scheduler.scheduler).copied().unwrap_or_default();
        }
        self.built.complete(self.now, result);
    }

    /// Takes the calls of the core that were written down since the run began, or since they were last taken, if
    /// [`Options::tape`] asks for them. Until then they are kept in memory.
    pub fn take_tape(&mut self) -> Vec<Call> {
        self.built.core.take_tape()
    }

    /// The instant that the run has reached.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Scheduling events up to now: requests, releases, yields, timers and slices that came to an end.
    pub fn scheduling_events(&self) -> u64 {
        self.scheduling_events
    }

    /// The first tick at or after `at`, or `at` itself where timers are precise.
    fn tick(&self, at: Nanos) -> Nanos {
        on_tick(self.plan.hierarchy.machine.tick_hz, at)
    }

    /// The next instant at which something happens.
    fn next_at(&self) -> Nanos {
        let mut next = self.events.next_at().min(self.tick(self.timers_at).max(self.now));
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].interrupted.is_none() {
                next = next.min(self.computed_at(cpu)).min(self.expires_at(cpu));
            }
        }
        next
    }

    /// When the first slice of a CPU ends: at that instant or, where time is kept by ticks, at the first tick after it.
    fn expires_at(&self, cpu: usize) -> Nanos {
        self.tick(self.cpus[cpu].expires_at).max(self.now)
    }

    /// When the thread on a CPU will have computed what its step asks for, if it keeps the CPU.
    fn computed_at(&self, cpu: usize) -> Nanos {
        let Cpu { current: Some(thread), progress_from, .. } = self.cpus[cpu] else { return Nanos::MAX };
        match self.threads[thread as usize].compute {
            Compute::Nothing => progress_from,
            Compute::Work(rest) => progress_from.saturating_add(rest),
            Compute::WorkUntil(rest, until) => {
                progress_from.saturating_add(rest).min(until.max(progress_from))
            }
            Compute::Until(time) => time.max(progress_from),
            Compute::Forever => Nanos::MAX,
        }
    }

    /// Carries out what is due now, in the order that the head of this file gives.
    fn carry_out(&mut self) -> Result<(), Failure> {
        self.advance_all()?;
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.events.take_due(self.now) else { break };
            self.carry_out_event(event)?;
        }
        if self.tick(self.timers_at) <= self.now {
            self.scheduling_events += 1;
            self.built.core.timers(self.now);
        }
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].interrupted.is_none() && self.expires_at(cpu) <= self.now {
                self.scheduling_events += 1;
                self.built.core.expire(cpu as u16, self.now);
            }
        }
        self.decide()
    }

    /// Lets every thread that has a CPU and is done with its step take its next steps.
    fn advance_all(&mut self) -> Result<(), Failure> {
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].interrupted.is_none() && self.computed_at(cpu) <= self.now {
                self.count_progress(cpu);
                self.advance(cpu)?;
            }
        }
        Ok(())
    }

    /// Counts the CPU time that the thread on a CPU has had for its program.
    pub(crate) fn count_progress(&mut self, cpu: usize) {
        let Cpu { current: Some(thread), progress_from, interrupted, .. } = self.cpus[cpu] else { return };
        if progress_from >= self.now || interrupted.is_some() {
            return;
        }
        let done = self.now - progress_from;
        let thread = &mut self.threads[thread as usize];
        thread.work += done;
        if let Compute::Work(rest) | Compute::WorkUntil(rest, _) = &mut thread.compute {
            *rest = rest.saturating_sub(done);
        }
        self.cpus[cpu].progress_from = self.now;
    }

    /// Takes the decision of every CPU where one is due and lets the chosen threads take their steps, until none is
    /// due.
    pub(crate) fn decide(&mut self) -> Result<(), Failure> {
        loop {
            let due = self.built.core.kick() & !self.interrupted;
            if due == 0 {
                break;
            }
            let cpu = due.trailing_zeros() as usize;
            self.count_progress(cpu);
            self.switch(cpu);
            if self.computed_at(cpu) <= self.now {
                self.advance(cpu)?;
            }
        }
        self.timers_at = self.built.core.timer_at();
        self.take_records();
        Ok(())
    }

    /// Asks the core which thread a CPU runs from now on, and charges that thread for the decision and the switch.
    fn switch(&mut self, cpu: usize) {
        let vp = self.built.core.schedule(cpu as u16, self.now);
        self.cpus[cpu].expires_at = self.built.core.expires_at(cpu as u16);
        let next = vp.map(|vp| self.thread_of[self.built.planned[vp.index()].index()]);
        let machine = &self.plan.hierarchy.machine;
        let levels = self.built.core.decisions() - self.decisions;
        self.decisions += levels;
        let decision = Nanos(machine.decision_cost.0 * levels);
        let state = &mut self.cpus[cpu];
        let is_switch = next != state.current;
        // The present thread goes on paying the rest of its last cost if it keeps the CPU; otherwise the rest is
        // dropped.
        let unpaid = state.progress_from.saturating_sub(self.now);
        let cost = match next {
            None => Nanos::ZERO,
            Some(_) if is_switch => decision + machine.switch_cost,
            Some(_) => decision + unpaid,
        };
        self.switches += u64::from(is_switch);
        self.overhead = (self.overhead + cost).saturating_sub(unpaid);
        state.current = next;
        state.progress_from = self.now + cost;
    }

    /// Takes over what the core has recorded, in the numbers of the plan.
    pub(crate) fn take_records(&mut self) {
        let (Built { core, planned, observed, .. }, records) = (&mut self.built, &mut self.records);
        self.records_are_complete &=
            core.take_records(|raw| records.extend(planned_record(planned, observed, raw)));
    }

    /// Adds a record of the engine itself, behind those that the core has made so far.
    pub(crate) fn record(&mut self, vp: ObservedVp, cpu: usize, what: What) {
        self.take_records();
        self.records.push(Record { at: self.now, vp, cpu: cpu as u16, what });
    }

    fn vp(&self, thread: u32) -> ObservedVp {
        self.threads[thread as usize].vp
    }

    pub(crate) fn name(&self, thread: u32) -> &str {
        self.plan.topology.child_name(self.vp(thread))
    }

    fn wake(&mut self, thread: u32) {
        if self.core_vps[thread as usize] == CoreVp::NONE {
            return;
        }
        if let Some(job) = self.threads[thread as usize].next_job.take() {
            self.begin_job(thread, job);
        }
        let vp = self.core_vps[thread as usize];
        if vp != CoreVp::NONE {
            self.scheduling_events += 1;
            self.built.core.request(vp, self.now);
        }
    }

    pub(crate) fn block(&mut self, thread: u32) {
        self.scheduling_events += 1;
        self.built.core.release(self.core_vps[thread as usize], self.now);
    }

    fn stall(&mut self, thread: u32, until: Nanos) {
        self.scheduling_events += 1;
        self.built.core.stall(self.core_vps[thread as usize], self.now);
        let at = self.tick(until);
        self.events.add(at, Event::Wake(thread));
    }

    fn begin_job(&mut self, thread: u32, job: Job) {
        self.end_job(thread);
        self.threads[thread as usize].job = job;
        // Statistics need only the end of a job; its release is recorded where all records are wanted.
        if self.options.watched.is_none() {
            self.record(self.vp(thread), 0, What::JobRelease { deadline: job.deadline });
        }
    }

    fn end_job(&mut self, thread: u32) {
        let Some(job) = self.threads[thread as usize].job.take() else { return };
        let vp = self.vp(thread);
        self.record(vp, 0, What::JobDone { response: self.now.saturating_sub(job.release) });
        if self.now > job.deadline {
            self.record(vp, 0, What::Miss { count: 1 });
        }
    }

    /// Lets the thread on a CPU take its next steps, until it computes or gives the CPU up.
    fn advance(&mut self, cpu: usize) -> Result<(), Failure> {
        let Some(thread) = self.cpus[cpu].current else { return Ok(()) };
        loop {
            self.threads[thread as usize].compute = Compute::Nothing;
            self.steps_at_instant += 1;
            if self.steps_at_instant > 100_000 + 1_000 * self.threads.len() as u64 {
                let thread = self.name(thread).to_owned();
                return Err(Failure::NoProgress { at: self.now, thread });
            }
            let program = &self.plan.groups[self.threads[thread as usize].group as usize];
            let action = self.threads[thread as usize].next(&program.program.steps, self.now);
            if !self.act(cpu, thread, action) {
                return Ok(());
            }
        }
    }

    /// Carries out what a step of a thread asks for, and returns whether the thread's next step is due at once.
    fn act(&mut self, cpu: usize, thread: u32, action: Action) -> bool {
        match action {
            Action::Compute => return self.computed_at(cpu) <= self.now,
            Action::SleepUntil(time) => {
                self.end_job(thread);
                self.block(thread);
                let at = self.tick(time);
                self.events.add(at, Event::Wake(thread));
                return false;
            }
            Action::StallUntil(time) => {
                self.stall(thread, time);
                return false;
            }
            Action::NextJob => {
                if let Some(job) = self.threads[thread as usize].next_job.take() {
                    self.begin_job(thread, job);
                }
            }
            Action::Served(job) => {
                self.threads[thread as usize].job = job;
                self.end_job(thread);
            }
            Action::Lock(_)
            | Action::Unlock(_)
            | Action::Wait { .. }
            | Action::Signal(_)
            | Action::Broadcast(_)
            | Action::Post(_)
            | Action::AwaitPost(_)
            | Action::Barrier(_)
            | Action::Take(_)
            | Action::Put(_) => return self.share(thread, action),
            Action::Yield => {
                self.scheduling_events += 1;
                self.built.core.yield_now(self.core_vps[thread as usize], self.now);
                return false;
            }
            Action::SetAffinity(cpus) => return !self.set_affinity(thread, cpus),
            Action::Look => self.look(thread),
            Action::Act => return self.act_as_agent(thread),
            Action::Frame { missed } => {
                if missed > 0 {
                    self.record(self.vp(thread), cpu, What::Miss { count: missed });
                }
            }
            Action::Exit => {
                self.end_job(thread);
                self.leave(thread);
                return false;
            }
        }
        true
    }

    /// Carries out a step that is about what threads share, as `act` does.
    fn share(&mut self, thread: u32, action: Action) -> bool {
        match action {
            Action::Lock(mutex) => {
                let has_it = self.sync.lock(mutex, thread);
                if !has_it {
                    self.block(thread);
                }
                return has_it;
            }
            Action::Unlock(mutex) => {
                let woken = self.sync.unlock(mutex, thread);
                woken.into_iter().for_each(|other| self.wake(other));
            }
            Action::Wait { condition, mutex } => {
                self.end_job(thread);
                self.block(thread);
                let woken = self.sync.wait(condition, mutex, thread);
                woken.into_iter().for_each(|other| self.wake(other));
                return false;
            }
            Action::Signal(condition) => {
                let signalled = self.sync.signal(condition);
                signalled.into_iter().for_each(|waiter| self.signalled(waiter));
            }
            Action::Broadcast(condition) => {
                let signalled = self.sync.broadcast(condition);
                signalled.into_iter().for_each(|waiter| self.signalled(waiter));
            }
            Action::Post(semaphore) => {
                let woken = self.sync.post(semaphore, self.now);
                woken.into_iter().for_each(|other| self.wake_now(other));
            }
            Action::AwaitPost(semaphore) => {
                self.end_job(thread);
                let Some(release) = self.sync.await_post(semaphore, thread) else {
                    self.block(thread);
                    return false;
                };
                self.begin_job(thread, Job { release, deadline: Nanos::MAX });
            }
            Action::Barrier(barrier) => match self.sync.arrive(barrier, thread) {
                Some(woken) => woken.into_iter().for_each(|other| self.wake_now(other)),
                None => {
                    self.end_job(thread);
                    self.block(thread);
                    return false;
                }
            },
            Action::Take(queue) => {
                self.end_job(thread);
                let Some(entry) = self.sync.take(queue, thread) else {
                    self.block(thread);
                    return false;
                };
                self.threads[thread as usize].take(entry);
                if let Some(job) = self.threads[thread as usize].next_job.take() {
                    self.begin_job(thread, job);
                }
            }
            Action::Put(queue) => {
                let thread = &self.threads[thread as usize];
                self.put(queue, Entry { release: thread.job.release.min(self.now), next: thread.next_queue });
            }
            _ => {}
        }
        true
    }

    /// Ends the wait of a thread for a condition: its new job is released now, even if the thread must still wait for
    /// its mutex.
    fn signalled(&mut self, Signalled { thread, has_mutex }: Signalled) {
        self.threads[thread as usize].next_job = Job { release: self.now, deadline: Nanos::MAX };
        if has_mutex {
            self.wake(thread);
        }
    }

    /// Puts an entry into a queue, and wakes the thread that waited for it.
    fn put(&mut self, queue: QueueId, entry: Entry) {
        if let Some(thread) = self.sync.put(queue, entry) {
            self.threads[thread as usize].take(entry);
            self.wake(thread);
        }
    }

    /// Wakes a thread; its new job begins now.
    fn wake_now(&mut self, thread: u32) {
        self.threads[thread as usize].next_job = Job { release: self.now, deadline: Nanos::MAX };
        self.wake(thread);
    }

    /// Binds a thread to CPUs, and returns whether that is another set of CPUs than before.
    fn set_affinity(&mut self, thread: u32, cpus: Option<Vec<u32>>) -> bool {
        let mask = cpus.map_or(u64::MAX, |cpus| cpus.iter().fold(0, |mask, cpu| mask | 1 << cpu));
        let vp = self.core_vps[thread as usize];
        let there_are = u64::MAX >> (64 - self.cpus.len());
        if self.built.core.vp(vp).is_some_and(|vp| (vp.usable ^ mask) & there_are == 0) {
            return false;
        }
        self.scheduling_events += 1;
        self.built.core.set_affinity(vp, mask, self.now).expect("the plan has checked the CPUs");
        true
    }

    fn carry_out_event(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Wake(thread) => self.wake(thread),
            Event::Arrive(thread) => self.arrive(thread)?,
            Event::Leave(thread) => self.leave(thread),
            Event::Interrupt(source) => self.interrupt(source),
            Event::InterruptOver(source) => self.end_interrupt(source),
        }
        Ok(())
    }

    fn arrive(&mut self, thread: u32) -> Result<(), Failure> {
        let (planned, number) = (&self.plan.groups[self.threads[thread as usize].group as usize], thread);
        let edge = &self.plan.hierarchy.edge(planned.edge);
        let refused = |error| {
            let name = self.plan.topology.child_name(self.threads[number as usize].vp);
            Failure::Refused { what: format!("thread `{name}` cannot be created"), error }
        };
        let elsewhere = self.redirected.get(&self.vp(thread)).copied();
        let place = elsewhere.map_or_else(|| self.planned_place(edge, self.vp(thread)), Ok);
        let vp = place.and_then(|(to, params)| self.built.core.attach_at(to, None, params, self.now));
        let vp = vp.map_err(refused)?;
        self.built.name(vp, self.threads[thread as usize].vp);
        self.built.core.watch(vp, true).map_err(refused)?;
        if planned.affinity != u64::MAX {
            self.built.core.set_affinity(vp, planned.affinity, self.now).map_err(refused)?;
        }
        self.core_vps[thread as usize] = vp;
        self.threads[thread as usize].arrive(&planned.program.steps, self.now);
        self.record(self.vp(thread), 0, What::Arrive);
        let steps = &self.plan.groups[self.threads[thread as usize].group as usize].program.steps;
        match self.threads[thread as usize].first_wait(steps, self.now) {
            Some(until) => self.events.add(self.tick(until), Event::Wake(thread)),
            None => self.wake(thread),
        }
        Ok(())
    }

    /// Removes a thread, by a step of its own or from outside at any of its steps, and wakes the threads that get its
    /// mutexes.
    fn leave(&mut self, thread: u32) {
        let vp = std::mem::take(&mut self.core_vps[thread as usize]);
        if vp == CoreVp::NONE {
            return;
        }
        if let Some(cpu) = self.cpus.iter().position(|cpu| cpu.current == Some(thread)) {
            self.steal_so_far(cpu);
            self.count_progress(cpu);
        }
        self.scheduling_events += 1;
        self.record_what_is_open(thread as usize);
        self.built.core.detach(vp, self.now).expect("a thread that is there can be detached");
        self.record(self.vp(thread), 0, What::Leave);
        self.sync.forget(thread).into_iter().for_each(|other| self.wake(other));
    }

    /// When a thread leaves or the run ends: records its unfinished job, and the deadlines that it has missed of jobs
    /// that are not done.
    fn record_what_is_open(&mut self, number: usize) {
        let steps = &self.plan.groups[self.threads[number].group as usize].program.steps;
        let thread = &mut self.threads[number];
        let (open, vp) = (thread.open_job(steps, self.now), thread.vp);
        let misses = thread.misses_at_end(steps, self.now);
        thread.job = Job::NONE;
        if let Some(age) = open {
            self.record(vp, 0, What::JobOpen { age });
        }
        if misses > 0 {
            self.record(vp, 0, What::Miss { count: misses });
        }
    }

    /// Lets a source of interrupts take its CPU, or wait for the end of the interrupt that this CPU is in.
    fn interrupt(&mut self, source: u32) {
        let stated = &self.plan.hierarchy.machine.interrupts[source as usize];
        let cpu = usize::from(stated.cpu);
        if let Some((_, over)) = self.cpus[cpu].interrupted {
            return self.events.add(over, Event::Interrupt(source));
        }
        let random = &mut self.interrupts[source as usize];
        let (takes, every) = (draw(random, stated.takes), draw(random, stated.every));
        self.events.add(self.now + every, Event::Interrupt(source));
        self.count_progress(cpu);
        self.cpus[cpu].interrupted = Some((self.now, self.now + takes));
        self.interrupted |= 1 << cpu;
        self.events.add(self.now + takes, Event::InterruptOver(source));
    }

    /// Tells the core how much of a CPU's time an interrupt has taken up to now, and records it.
    pub(crate) fn steal_so_far(&mut self, cpu: usize) {
        let Some((since, over)) = self.cpus[cpu].interrupted else { return };
        let length = self.now - since;
        self.cpus[cpu].interrupted = Some((self.now, over));
        // The thread goes on paying for its switch behind the interrupt.
        self.cpus[cpu].progress_from = self.cpus[cpu].progress_from.max(since) + length;
        self.built.core.steal(cpu as u16, length, self.now);
        self.cpus[cpu].expires_at = self.built.core.expires_at(cpu as u16);
        self.record(ObservedVp::NONE, cpu, What::Stolen { length });
    }

    fn end_interrupt(&mut self, source: u32) {
        let stated = &self.plan.hierarchy.machine.interrupts[source as usize];
        let (cpu, to, next) = (usize::from(stated.cpu), stated.to, stated.next);
        self.steal_so_far(cpu);
        self.cpus[cpu].interrupted = None;
        self.interrupted &= !(1 << cpu);
        if let Some(queue) = to {
            self.put(queue, Entry { release: self.now, next });
        }
    }
}
