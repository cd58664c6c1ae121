//! A run in the kernel: attaches the hierarchy, sets its threads going, listens, and detaches it whatever happens.
//!
//! A thread of the file has threads of this machine by its rule, or else does its workload, as in the simulator: with
//! real threads (`hls_load`).

mod alarm;
mod commands;
mod next_engine;
mod requests;
mod server;

pub use commands::start;
pub use next_engine::serve as serve_policies;

use crate::listeners::Listeners;
use crate::registry::{Books, places};
use crate::{Console, Error, Options, Subject, worker};
use alarm::Alarm;
use commands::Commands;
use hls_control::{EngineError, PolicySource};
use hls_core::limits::MAX_RECORDS;
use hls_hierarchy::model::Child;
use hls_kernel_engine::{Domain, Engine, Notice};
use hls_monitor::event::{Record, VpId, What};
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_real_threads::ThreadProcess;
use hls_units::Nanos;
use next_engine::{Engines, prepare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use server::Server;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The engine is listened to at least that often, never in step with what people's threads do,
const LONGEST: Duration = Duration::from_millis(97);
/// and when something happened, not before this: every time takes the CPU from whoever has it.
const SHORTEST: Duration = Duration::from_millis(10);
/// What was told takes its time to be understood. This process never waits for others, so that they wait for it: for so
/// long at a time, between which it rests as long,
const PIECE: Duration = Duration::from_micros(100);
/// unless there is so much that some might be lost.
const IN_PIECES: usize = MAX_RECORDS / 4;
/// A run that nobody limits.
const ENDLESS: Nanos = Nanos(u64::MAX / 4);
/// A thread that waits is said to be starved this much later. Time that is being stolen from it is told when its CPU
/// decides again or a slice is over, and the kernel lets nobody hold a CPU for longer without a pause.
const PATIENCE: Nanos = Nanos::from_secs(1);

/// Has the plan schedule this machine for `length`, or until Ctrl-C, and writes the files that are asked for.
pub fn schedule(
    subject: Subject,
    length: Option<Nanos>,
    socket: &Path,
    options: &Options,
    console: &Arc<dyn Console>,
) -> Result<RunResult, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let topology = subject.plan.topology.clone();
    let listeners = Listeners::new(options, &topology, subject.derived.promises(&subject.plan))?;
    let mut run = Run::attach(&subject, options, listeners, console)?;
    let server = Server::start(socket, &run, &subject, options.rules)?;
    run.begin(length)?;
    let end = loop {
        let now = run.listen()?;
        if stop.load(Ordering::Relaxed) || length.is_some_and(|length| now >= length) {
            break now;
        }
        let left = length.map_or(LONGEST, |length| Duration::from_nanos((length - now).0)).min(LONGEST);
        run.rest(server.as_ref(), left)?;
    };
    server.into_iter().for_each(Server::end);
    run.finish(end)
}

/// A hierarchy that schedules this machine, and who lives in it.
pub struct Run<'t> {
    pub engine: Engine,
    pub engines: Engines,
    pub books: Books<'t>,
    commands: Commands,
    load: Option<ThreadProcess>,
    /// Of the file's threads.
    names: Vec<String>,
    /// What was told and not yet handed on.
    batch: Vec<Record>,
    alarm: Alarm,
    /// Why it cannot go on, where that was noticed in the midst of a request.
    failed: Option<Error>,
    paranoid: bool,
    seed: u64,
    console: Arc<dyn Console>,
}

impl<'t> Run<'t> {
    /// Loads and attaches the hierarchy and gives everybody a place; workloads and commands wait.
    fn attach(
        subject: &Subject,
        options: &Options,
        listeners: Listeners<'t>,
        console: &Arc<dyn Console>,
    ) -> Result<Run<'t>, Error> {
        let Subject { plan, derived, policies } = subject;
        let places = places(plan, derived).map(|(vp, edge)| (edge, vp)).collect();
        let names = plan.hierarchy.threads.iter().map(|thread| thread.name.clone()).collect();
        let commands = Commands::prepare(&plan.hierarchy)?;
        let of_load = workload_only(plan);
        let policies: Vec<_> = policies.loaded.iter().map(|loaded| loaded.source.clone()).collect();
        let mut engine = Engine::new(plan.clone(), domain(policies.clone())?).map_err(failed)?;
        let load = match of_load.groups.is_empty() {
            true => None,
            false => Some(ThreadProcess::start(worker::process(worker::THREADS), &of_load, options.seed)?),
        };
        commands.each(|node, tgid| engine.started(node, tgid));
        engine.attach().map_err(failed)?;
        engine.poll(&mut |_| ()).map_err(failed)?;
        for &(vp, tid) in load.iter().flat_map(ThreadProcess::threads) {
            place(&mut engine, tid, vp)?;
        }
        Ok(Run {
            books: Books::new(listeners, engine.schedulers(), places, console.clone()),
            engine,
            engines: Engines::of(policies),
            commands,
            load,
            names,
            batch: Vec::new(),
            alarm: Alarm::default(),
            failed: None,
            paranoid: options.paranoid,
            seed: options.seed,
            console: console.clone(),
        })
    }

    /// Sets everybody going; times count from now.
    fn begin(&mut self, length: Option<Nanos>) -> Result<(), Error> {
        self.engine.begin().map_err(failed)?;
        if let Some(load) = &mut self.load {
            load.go(length.unwrap_or(ENDLESS));
        }
        Ok(self.commands.go()?)
    }

    /// Hears what happened since the last time, and looks at what came of it. Says up to when that is.
    fn listen(&mut self) -> Result<Nanos, Error> {
        let now = self.hear()?;
        self.books.listeners.observer.advance(now.saturating_sub(PATIENCE));
        self.alarm.raise(&mut self.books.listeners.observer, now, &*self.console);
        if self.paranoid {
            check(&mut self.engine, &*self.console)?;
        }
        self.books.listeners.check()?;
        Ok(now)
    }

    /// Hears what happened up to now, for a request. An error ends the run after it.
    pub fn hear_now(&mut self) -> Nanos {
        self.hear().unwrap_or_else(|error| {
            self.fail(error);
            self.engine.now().unwrap_or_default()
        })
    }

    /// Has the run end after the request at hand.
    pub fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    /// Hears what happened since the last time, and hands it on in order. Says up to when that is.
    fn hear(&mut self) -> Result<Nanos, Error> {
        let mut begun = Instant::now();
        // All records up to now are there when the engine is asked after it.
        let now = self.engine.now().map_err(failed)?;
        // A thread that came is known to the engine only when that has heard of it.
        let come = self.load.as_mut().map_or(Ok(Vec::new()), |load| load.arrivals(Nanos::ZERO))?;
        let batch = &mut self.batch;
        let notices = self.engine.poll(&mut |record| batch.push(*record)).map_err(failed)?;
        notices.iter().for_each(|notice| tell(notice, &self.names, &*self.console));
        if notices.contains(&Notice::Lost) {
            self.books.listeners.observer.lose(now);
        }
        if let Some(load) = &mut self.load {
            for (vp, tid) in come {
                place(&mut self.engine, tid, vp)?;
                load.admit(vp);
            }
            load.events(&mut |record| batch.extend(of_job(record)));
        }
        batch.sort_by_key(|record| record.at);
        batch.iter().for_each(|record| tell_of_cpu(record, &*self.console));
        let in_pieces = batch.len() < IN_PIECES;
        for record in batch.drain(..) {
            self.books.hear(&record);
            if in_pieces && begun.elapsed() > PIECE {
                sleep(PIECE);
                begun = Instant::now();
            }
        }
        self.books.say_who_was_taken_out(&mut self.engine);
        Ok(now)
    }

    /// Waits for something to listen to, or for so long, and answers what is asked meanwhile.
    fn rest(&mut self, server: Option<&Server>, mut time: Duration) -> Result<(), Error> {
        let begun = Instant::now();
        let mut is_news = false;
        loop {
            server.inspect(|server| server.answer(self));
            self.failed.take().map_or(Ok(()), Err)?;
            let left = time.saturating_sub(begun.elapsed());
            if left == Duration::ZERO {
                return Ok(());
            }
            let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
            let mut fds: Vec<PollFd> = server.iter().map(|server| readable(server.as_fd())).collect();
            let asked = fds.len();
            if !is_news {
                fds.push(readable(self.engine.as_fd()));
                fds.extend(self.load.iter().map(|load| readable(load.as_fd())));
            }
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut fds, Some(&left)) {
                // A signal: it may be the end.
                Err(Errno::INTR) => return Ok(()),
                answer => answer.map_err(io::Error::from)?,
            };
            if fds.iter().skip(asked).any(|fd| !fd.revents().is_empty()) {
                (is_news, time) = (true, time.min(SHORTEST));
            }
        }
    }

    /// Gives the machine back, and says what came of it all.
    fn finish(mut self, end: Nanos) -> Result<RunResult, Error> {
        self.alarm.end(&*self.console);
        let engine = &mut self.engine;
        let mut result =
            self.books.listeners.finish(end, |result| engine.complete(result).map_err(failed))?;
        // A thread without a CPU cannot end.
        drop(self.engine);
        self.commands.end();
        if let Some(load) = self.load {
            load.end();
            load.finish(&mut |_| ())?.complete(&mut result);
        }
        result.seed = self.seed;
        Ok(result)
    }
}

/// An empty domain in the kernel, whose engine has these policies.
fn domain(policies: Vec<PolicySource>) -> Result<Domain, Error> {
    let mut domain = Domain::new().map_err(failed)?;
    if !policies.is_empty() {
        let maps = domain.shared_maps().map_err(failed)?;
        let prepared = prepare(policies, &maps).map_err(|error| match error {
            EngineError::Policy(what) => Error::Input(what),
            other => Error::System(other.to_string()),
        })?;
        domain.take_over(Some(prepared.newer)).map_err(failed)?;
    }
    Ok(domain)
}

fn place(engine: &mut Engine, tid: u32, vp: VpId) -> Result<(), Error> {
    engine.place(tid, vp).map_err(|error| Error::System(format!("thread {tid} of the workload: {error}")))
}

/// The plan with the threads alone that are to do a workload: those that no rule gives threads of this machine.
fn workload_only(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let Plan { groups, hierarchy, .. } = &mut plan;
    groups.retain(|group| match hierarchy.edges[group.edge].child {
        Child::Thread(node) => hierarchy.threads[node].who.is_none(),
        Child::Scheduler(_) => false,
    });
    plan
}

/// What a workload's process tells and the kernel does not: of jobs. Who comes and goes, the engine knows.
fn of_job(record: &Record) -> Option<Record> {
    matches!(record.what, What::JobRelease { .. } | What::JobDone { .. } | What::Miss { .. })
        .then_some(*record)
}

/// Looks at all invariants. When one is broken the machine is given back, with a dump of what was found.
fn check(engine: &mut Engine, console: &dyn Console) -> Result<(), Error> {
    engine.check().map_err(|error| {
        if matches!(error, hls_kernel_engine::Error::Broken(_)) {
            console.say(&engine.dump().trim_end());
        }
        failed(error)
    })
}

/// Where the user or the machine could help, `hls doctor` says how.
fn failed(error: hls_kernel_engine::Error) -> Error {
    match error {
        hls_kernel_engine::Error::NotAllowed(_) => {
            Error::System(format!("{error}\nhls doctor says what this takes"))
        }
        _ => Error::System(error.to_string()),
    }
}

fn tell_of_cpu(record: &Record, console: &dyn Console) {
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

fn tell(notice: &Notice, names: &[String], console: &dyn Console) {
    match notice {
        Notice::Conflict { tid, nodes } => console.say(&format_args!(
            "note: thread {tid} fits both `{}` and `{}`; it stays in the default scheduler",
            names[nodes.0], names[nodes.1]
        )),
        Notice::Full { tid, node } => console.say(&format_args!(
            "note: all instances of `{}` are taken; thread {tid} waits for one in the default scheduler",
            names[*node]
        )),
        Notice::NoRoom { tgid } => {
            console.say(&format_args!(
                "note: process {tgid} was refused a further thread: the hierarchy is full"
            ));
        }
        Notice::Lost => console.say(&"note: records were lost; what is reported is not all of the run"),
    }
}
