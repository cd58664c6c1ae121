//! A run in the kernel: attaches the hierarchy, starts its threads, polls the engine, and detaches the hierarchy in
//! every case.
//!
//! A thread of the file either gets threads of this machine by its rule, or does its workload as in the simulator,
//! but with real threads (`hls_real_threads`). Belongs to one thread of this process.

use super::alarm::Alarm;
use super::backlog::Backlog;
use super::checks::Checks;
use super::commands::Commands;
use super::devices::Devices;
use super::keeper::Keeper;
use super::next_engine::{EngineCache, FoundEngine, NextEngine, PreparedEngine, engine_with, prepare};
use crate::changes::ChangeableRun;
use crate::console::{Console, Error};
use crate::listeners::Listeners;
use crate::registry::{DueChange, Places, RunRegistry};
use crate::run::{Options, Step, Subject};
use crate::worker;
use hls_control::{Created, EngineError, HierarchyChange, Observed, PolicySource, Promisee, thread_time};
use hls_core::CoreVp;
use hls_engine::ChangeableEngine;
use hls_hierarchy::model::Child;
use hls_kernel_engine::{BuiltIn, Domain, Engine, Notice, refuse_beside_another};
use hls_monitor::event::{ObservedVp, Record, What};
use hls_monitor::observe::Promise;
use hls_monitor::result::{AttachTimes, RunResult};
use hls_plan::Plan;
use hls_real_threads::ThreadProcess;
use hls_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::iter;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long the run waits after an event before it polls the engine: polling takes the CPU from the thread that has
/// it.
const SHORTEST: Duration = Duration::from_millis(10);
/// The length of a run without a limit.
const ENDLESS: Nanos = Nanos(u64::MAX / 4);
/// The observer looks for threads that wait in vain only up to this long ago: time stolen from them is recorded when
/// their CPU decides again or a slice ends, and the kernel ensures that one of these happens within this time.
const PATIENCE: Nanos = Nanos::from_secs(1);

/// A hierarchy that schedules this machine, with the threads and commands that were started for it.
pub struct Run<'t> {
    pub engine: Engine,
    pub engines: EngineCache,
    pub registry: RunRegistry,
    /// By how much timers of this machine let a thread overrun its budget.
    pub overrun: Nanos,
    keeper: &'t Keeper,
    commands: Commands,
    load: Option<ThreadProcess>,
    /// Their settings are restored when this is dropped.
    _devices: Devices,
    /// The names of the file's threads.
    names: Vec<String>,
    /// What has not been passed on to the registry yet.
    backlog: Backlog<RunRegistry>,
    /// The CPU time used to process events.
    events_took: Duration,
    alarm: Alarm,
    /// Why the run cannot go on, if that was noticed in the middle of a request.
    failed: Option<Error>,
    /// With `--paranoid`: how often all invariants were checked.
    checks: Option<Checks>,
    seed: u64,
    /// How long the start took.
    times: AttachTimes,
    console: Arc<dyn Console>,
}

impl<'t> Run<'t> {
    /// Loads and attaches the hierarchy and gives all threads their places; workloads and commands wait. A budget
    /// that the timers of this machine cannot enforce is refused first.
    pub fn attach(
        subject: &Subject,
        options: &Options,
        listeners: Listeners,
        (keeper, steps): (&'t Keeper, &mut dyn FnMut(Step)),
        console: &Arc<dyn Console>,
    ) -> Result<Run<'t>, Error> {
        steps(Step::Loads);
        let begun = Instant::now();
        let Subject { plan, derived, policies } = subject;
        let places = Places::new(plan, derived);
        let names = plan.hierarchy.threads.iter().map(|thread| thread.name.clone()).collect();
        let of_load = workload_only(plan);
        refuse_beside_another().map_err(failed)?;
        let policies: Vec<_> = policies.loaded.iter().map(|loaded| loaded.source.clone()).collect();
        let built_in = BuiltIn::with(plan.hierarchy.schedulers.iter().map(|scheduler| scheduler.policy));
        let (mut domain, engines) = domain(policies, built_in, &**console)?;
        let loaded = Instant::now();
        let overrun = domain.overrun().map_err(failed)?;
        let refused = hls_check::unenforceable_budgets(&plan.hierarchy, overrun);
        if !refused.is_empty() {
            return Err(Error::Hierarchy(refused));
        }
        let devices = Devices::ask(&plan.hierarchy)?;
        let mut engine = Engine::new(plan.clone(), domain).map_err(failed)?;
        for (vp, guarantee) in derived.watchable(plan) {
            engine.set_rest(vp, guarantee.settles_in());
        }
        let commands = Commands::prepare(&plan.hierarchy, &mut engine)?;
        let load = match of_load.groups.is_empty() {
            true => None,
            false => Some(ThreadProcess::start(worker::process(worker::THREADS), &of_load, options.seed)?),
        };
        commands.each(|node, tgid| engine.started(node, tgid));
        keeper.hold(engine.attach(keeper.pid()).map_err(failed)?)?;
        engine.poll(&mut |_| ()).map_err(failed)?;
        while engine.is_behind() {
            engine.poll(&mut |_| ()).map_err(failed)?;
        }
        for &(vp, tid) in load.iter().flat_map(ThreadProcess::threads) {
            place(&mut engine, tid, vp)?;
        }
        let (to_load, to_attach) = (loaded - begun, loaded.elapsed());
        steps(Step::Attached { load: to_load, attach: to_attach });
        Ok(Run {
            times: AttachTimes { load: nanos(to_load), attach: nanos(to_attach), detach: Nanos::ZERO },
            registry: RunRegistry::new(listeners, places, console.clone()),
            overrun,
            keeper,
            engine,
            _devices: devices,
            engines,
            commands,
            load,
            names,
            backlog: Backlog::default(),
            events_took: Duration::ZERO,
            alarm: Alarm::default(),
            failed: None,
            checks: options.paranoid.then(Checks::default),
            seed: options.seed,
            console: console.clone(),
        })
    }

    /// Lets workloads and commands begin; times count from now.
    pub fn begin(&mut self, length: Option<Nanos>) -> Result<(), Error> {
        let listeners = &self.registry.listeners;
        self.engine.begin(|vp| listeners.needs_records_of(vp)).map_err(failed)?;
        if let Some(load) = &mut self.load {
            load.go(length.unwrap_or(ENDLESS));
        }
        Ok(self.commands.go()?)
    }

    /// Processes the events since the last call, and reports promises that broke. Calls `answer` now and then, for
    /// requests that come meanwhile; `answer` returns whether there were some. Returns the time up to which events
    /// were processed.
    pub fn poll(&mut self, answer: impl Fn(&mut Self) -> bool) -> Result<Nanos, Error> {
        self.for_events(Self::take_events)?;
        while self.for_events(Self::process_some_records) {
            // Requests come first, also further ones of the same client.
            while answer(self) {
                self.failed.take().map_or(Ok(()), Err)?;
                thread::yield_now();
            }
        }
        self.for_events(Self::note_choices);
        let now = self.backlog.taken_until();
        self.registry.listeners.observer.advance(now.saturating_sub(PATIENCE));
        self.alarm.raise(&mut self.registry.listeners.observer, now, &*self.console);
        if let Some(checks) = &mut self.checks {
            checks.count(check(&mut self.engine, &*self.console)?);
        }
        self.registry.listeners.check()?;
        Ok(now)
    }

    /// The run for a request.
    pub fn changeable(&mut self) -> ChangeableRun<'_, Engine> {
        ChangeableRun { engine: &mut self.engine, registry: &mut self.registry, goes_on }
    }

    /// Carries a change out, or refuses it whole.
    pub fn carry_out(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        let (created, later) = self.changeable().carry_out(change)?;
        self.change_registry(later);
        Ok(created)
    }

    /// Checks what a promisee gets against this promise, from `after` later on; an empty promise ends the checks. A
    /// place of the file rests for `settles_in` when a thread leaves it.
    pub fn promise(&mut self, to: Promisee, promise: Promise, settles_in: Nanos, after: Nanos) {
        if let Promisee::Place(place) = to
            && let Some(vp) = self.registry.places.vp(place)
        {
            self.engine.set_rest(vp, settles_in);
        }
        let later = self.changeable().promise(to, promise, after);
        self.change_registry(later);
    }

    /// Changes the registry when the records before the change have been passed on: to pass all of them on may take
    /// seconds.
    fn change_registry(&mut self, change: Option<DueChange>) {
        if let Some(change) = change {
            self.backlog.change(change.0, |registry| registry.change(change));
        }
    }

    /// What these VPs of the core were promised and received: up to a moment ago, unless records come faster than they
    /// can be passed on.
    pub fn observed(&mut self, vps: &[CoreVp]) -> Result<Vec<Observed>, EngineError> {
        let now = self.backlog.passed_on_until();
        self.changeable().observed(vps, now)
    }

    /// Has an engine with other policies take over. If that fails half-way, the run ends after the request at hand.
    pub fn take_over(&mut self, next: NextEngine) -> Result<(), EngineError> {
        self.engines.take_over(&mut self.engine, next).map_err(|error| {
            let error = error.to_string();
            self.failed.get_or_insert(Error::System(error.clone()));
            EngineError::Failed(error)
        })
    }

    /// Does a part of the work for events. No request is charged for the CPU time of this work.
    fn for_events<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let begun = thread_time();
        let result = work(self);
        self.events_took += thread_time().saturating_sub(begun);
        result
    }

    /// The CPU time of this thread without the processing of events: they come with or without requests.
    pub fn time_for_requests(&self) -> Duration {
        thread_time().saturating_sub(self.events_took)
    }

    /// Takes the records since the last time, and reports the notices.
    fn take_events(&mut self) -> Result<(), Error> {
        // The time is read first: when the engine is polled, all records up to that time are there.
        let now = self.engine.now().map_err(failed)?;
        // Arriving threads of the workload are placed after the poll, because the poll makes them known to the
        // engine.
        let come = self.load.as_mut().map_or(Ok(Vec::new()), |load| load.arrivals(Nanos::ZERO))?;
        let mut records = Vec::new();
        self.engine.poll(&mut |record| records.push(*record)).map_err(failed)?;
        let notices = self.engine.take_notices();
        let notes = notices.iter().map(|notice| notice_in_words(notice, &self.names));
        self.alarm.note(notes, now, &*self.console);
        if let Some(load) = &mut self.load {
            for (vp, tid) in come {
                place(&mut self.engine, tid, vp)?;
                load.admit(vp);
            }
            load.events(&mut |record| records.extend(of_job(record)));
        }
        self.backlog.add(records, now);
        Ok(())
    }

    /// Passes on the first records that were taken. Returns whether there are more.
    fn process_some_records(&mut self) -> bool {
        let are_left = self.backlog.pass_on(&mut self.registry, |registry, record| {
            report_cpu(record, &*self.console);
            registry.record(record);
        });
        self.registry.report_disabled_policies(&mut self.engine);
        are_left
    }

    /// Notes how schedulers' choices were made, when all records have been passed on.
    fn note_choices(&mut self) {
        self.registry.listeners.note_choices(self.backlog.taken_until(), || self.engine.built().decided());
    }

    /// Waits until the engine has events or the keeper sends something, or for `time`. Requests are answered
    /// meanwhile: `answer` is called at once and whenever `asked` can be read.
    pub fn rest(
        &mut self,
        asked: Option<BorrowedFd>,
        answer: impl Fn(&mut Self) -> bool,
        mut time: Duration,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let mut has_events = self.engine.is_behind();
        if has_events {
            time = time.min(SHORTEST);
        }
        loop {
            answer(self);
            self.failed.take().map_or(Ok(()), Err)?;
            let left = time.saturating_sub(begun.elapsed());
            if left == Duration::ZERO {
                return Ok(());
            }
            let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
            let mut fds: Vec<PollFd> = iter::once(self.keeper.as_fd()).chain(asked).map(readable).collect();
            let of_requests = fds.len();
            if !has_events {
                fds.push(readable(self.engine.as_fd()));
                fds.extend(self.load.iter().map(|load| readable(load.as_fd())));
            }
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut fds, Some(&left)) {
                Err(Errno::INTR) => return Ok(()),
                answer => answer.map_err(io::Error::from)?,
            };
            if !fds[0].revents().is_empty() {
                return Ok(());
            }
            if fds.iter().skip(of_requests).any(|fd| !fd.revents().is_empty()) {
                (has_events, time) = (true, time.min(SHORTEST));
            }
        }
    }

    /// Gives the machine back to the system's scheduler. Returns the result of the run.
    pub fn finish(mut self, end: Nanos, steps: &mut dyn FnMut(Step)) -> Result<RunResult, Error> {
        self.alarm.end(&*self.console);
        let engine = &mut self.engine;
        let mut result =
            self.registry.listeners.finish(end, |result| engine.complete(result).map_err(failed))?;
        // A thread without a CPU cannot end.
        let begun = Instant::now();
        self.keeper.release()?;
        let detach = begun.elapsed();
        steps(Step::Detached(detach));
        result.attach_times = Some(AttachTimes { detach: nanos(detach), ..self.times });
        drop(self.engine);
        self.commands.end();
        if let Some(load) = self.load {
            load.end();
            load.finish(&mut |_| ())?.complete(&mut result);
        }
        result.seed = self.seed;
        self.checks.map_or(Ok(()), |checks| checks.report(&*self.console))?;
        Ok(result)
    }
}

/// Whether the hierarchy still has the threads of the machine.
fn goes_on(engine: &Engine) -> Result<(), EngineError> {
    match engine.is_attached() {
        Ok(true) => Ok(()),
        Ok(false) => Err(EngineError::Ended),
        Err(error) => Err(EngineError::Failed(error.to_string())),
    }
}

/// An empty domain in the kernel with an engine that has these policies, and the cache of its engines. The console says
/// if the engine has more.
fn domain(
    policies: Vec<PolicySource>,
    needed: BuiltIn,
    console: &dyn Console,
) -> Result<(Domain, EngineCache), Error> {
    let FoundEngine { object, built_in, has_more_since } = engine_with(needed);
    if let Some(why) = has_more_since {
        console.say(&format_args!("note: loading takes longer, as the engine has all policies: {why}"));
    }
    let mut domain = Domain::new(&object).map_err(failed)?;
    let mut engines = EngineCache::of(built_in);
    if !policies.is_empty() {
        let maps = domain.shared_maps().map_err(failed)?;
        let prepared = prepare(policies, built_in, &maps).map_err(|error| match error {
            EngineError::Policy(what) => Error::Input(what),
            other => Error::System(other.to_string()),
        })?;
        let PreparedEngine { policies, built_in, engine } = prepared.next;
        domain.take_over(Some(engine)).map_err(failed)?;
        engines.begins_with(policies, built_in);
    }
    Ok((domain, engines))
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn place(engine: &mut Engine, tid: u32, vp: ObservedVp) -> Result<(), Error> {
    engine.place(tid, vp).map_err(|error| Error::System(format!("thread {tid} of the workload: {error}")))
}

/// The plan with only those threads that do a workload: no rule gives them threads of this machine.
fn workload_only(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let Plan { groups, hierarchy, .. } = &mut plan;
    groups.retain(|group| match hierarchy.edge(group.edge).child {
        Child::Thread(node) => hierarchy.threads[node].who.is_none(),
        Child::Scheduler(_) => false,
    });
    plan
}

/// A record about a job, from a workload's process: the kernel does not know jobs. The engine itself knows which
/// threads come and go.
fn of_job(record: &Record) -> Option<Record> {
    let is_of_job = matches!(
        record.what,
        What::JobRelease { .. } | What::JobDone { .. } | What::JobOpen { .. } | What::Miss { .. }
    );
    is_of_job.then_some(*record)
}

/// Checks all invariants of the core. Returns whether that was possible. If one is broken, the machine is given back,
/// with a dump of the hierarchy.
fn check(engine: &mut Engine, console: &dyn Console) -> Result<bool, Error> {
    engine.check().map_err(|error| {
        if matches!(error, hls_kernel_engine::Error::Broken(_)) {
            console.say(&engine.dump().trim_end());
        }
        failed(error)
    })
}

/// An error of the engine; if missing rights or the kernel are the cause, it points to `hls doctor`.
fn failed(error: hls_kernel_engine::Error) -> Error {
    match error {
        hls_kernel_engine::Error::NotAllowed(_) | hls_kernel_engine::Error::Refused(_) => {
            Error::System(format!("{error}\nhls doctor says what this takes"))
        }
        _ => Error::System(error.to_string()),
    }
}

fn report_cpu(record: &Record, console: &dyn Console) {
    let cpu = record.cpu;
    match record.what {
        What::Offline => {
            console
                .say(&format_args!("note: CPU {cpu} is offline; its time counts as stolen until it is back"));
        }
        What::Online => console.say(&format_args!("note: CPU {cpu} is back")),
        _ => {}
    }
}

/// A notice in words.
fn notice_in_words(notice: &Notice, names: &[String]) -> String {
    match notice {
        Notice::Conflict { tid, nodes } => format!(
            "thread {tid} fits both `{}` and `{}`; it stays in the default scheduler",
            names[nodes.0], names[nodes.1]
        ),
        Notice::Full { tid, node } => format!(
            "all instances of `{}` are taken; thread {tid} waits for one in the default scheduler",
            names[*node]
        ),
        Notice::NoRoom { tgid } => {
            format!("process {tgid} was refused a further thread: the hierarchy is full")
        }
        Notice::Lost => "records were lost; what is reported is not all of the run".into(),
    }
}
