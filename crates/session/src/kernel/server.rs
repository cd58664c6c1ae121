//! The socket of a run in the kernel: what `hls ctl` and other clients ask, answered by the engine of the run.
//!
//! The run belongs to one thread. What the socket's threads want of it they send there as a question, and wait for the
//! answer; so no request sees the engine, or the observer, in the middle of something.

use super::Run;
use super::next_engine::{NewerEngine, make};
use crate::registry::{self, Untold, places, take_untold};
use crate::{Error, Subject};
use hls_calculus::{Guarantee, Rules};
use hls_control::{
    EngineError, Hsi, Identity, Layout, Manager, Observed, PolicySource, Preparation, Promisee, Socket,
    TakenOut, Thread, ThreadKey, serve,
};
use hls_core::{Call, CoreError, Op, Params};
use hls_hierarchy::model::User;
use hls_kernel_engine::{Engine, EngineThread};
use hls_monitor::event::VpId;
use hls_units::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Something that is wanted of the run.
type Question = Box<dyn FnOnce(&mut Run) + Send>;

/// Rung when a question has been sent.
type Bell = Arc<OwnedFd>;

/// Who answers at the socket.
pub struct Server {
    questions: Receiver<Question>,
    bell: Bell,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Serves the socket; none for a hierarchy that fails its check, whose requests could be held against nothing, or
    /// where promises were made that a request could take back unseen (`--global`).
    pub fn start(path: &Path, run: &Run, subject: &Subject, rules: Rules) -> Result<Option<Server>, Error> {
        let (Subject { plan, derived, .. }, console) = (subject, run.console.clone());
        if rules.global {
            console.say(&"note: hls ctl is not answered: it could give away what --global promises");
            return Ok(None);
        }
        let (to, questions) = mpsc::channel();
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(io::Error::from)?;
        let bell = Arc::new(bell);
        let layout = layout(&run.engine, subject)?;
        let remote = Remote {
            to,
            bell: bell.clone(),
            slots: places(plan, derived).collect(),
            cpus: u64::MAX >> (64 - plan.topology.cpus.clamp(1, 64)),
            machine: derived.machine(plan).clone(),
            untold: run.books.untold().clone(),
        };
        let manager = match Manager::new(remote, layout, rules.mode) {
            Ok(manager) => Mutex::new(manager),
            Err(error) => {
                console.say(&format_args!("note: hls ctl has nothing to talk to: {error}"));
                return Ok(None);
            }
        };
        let socket = Socket::bind(path)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("hls-socket".into()).spawn(move || {
            if let Err(error) = serve(&socket, &manager, &stopped) {
                console.say(&format_args!("note: hls ctl is not answered any more: {error}"));
            }
        })?;
        Ok(Some(Server { questions, bell, stop, thread }))
    }

    /// Answers what has been asked.
    pub fn answer(&self, run: &mut Run) {
        // The bell is silenced first: what is asked from here on rings it again. If it was silent, that is as well.
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        self.questions.try_iter().for_each(|question| question(run));
    }

    /// Serves nobody any more.
    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever still waits for an answer hears that there is none.
        drop(self.questions);
        // A server that panicked has said so.
        let _ = self.thread.join();
    }
}

impl AsFd for Server {
    /// Can be read when there is something to answer.
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self.bell).as_fd()
    }
}

/// What the manager is to know of the hierarchy.
fn layout(engine: &Engine, Subject { plan, derived, policies }: &Subject) -> Result<Layout, Error> {
    let owner = |scheduler: &hls_hierarchy::model::Scheduler| {
        let Some(owner) = &scheduler.owner else { return Ok(None) };
        match &owner.value {
            User::Uid(uid) => Ok(Some(*uid)),
            User::Name(name) => match uzers::get_user_by_name(name) {
                Some(user) => Ok(Some(user.uid())),
                None => Err(Error::Input(format!(
                    "scheduler `{}`: there is no user `{name}` on this machine",
                    scheduler.name
                ))),
            },
        }
    };
    let owners = plan.hierarchy.schedulers.iter().map(owner).collect::<Result<_, _>>()?;
    let layout = registry::layout(plan, policies, derived, engine.schedulers(), |edge| engine.vps_of(edge));
    Ok(Layout { owners, ..layout })
}

/// The run, for the threads of the socket.
struct Remote {
    to: Sender<Question>,
    bell: Bell,
    /// The edge of the calculus' graph for each VP of a thread of the plan.
    slots: HashMap<VpId, usize>,
    /// All CPUs, a bit each.
    cpus: u64,
    /// What the machine gives.
    machine: Guarantee,
    untold: Untold,
}

impl Remote {
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Run) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let ended = || EngineError::Failed("the run has ended".into());
        let (to, answer) = mpsc::sync_channel(1);
        let question = move |run: &mut Run| {
            // Whoever asked may have gone.
            let _ = to.send(question(run));
        };
        self.send(Box::new(question)).map_err(|_| ended())?;
        answer.recv().map_err(|_| ended())
    }

    fn send(&self, question: Question) -> Result<(), SendError<Question>> {
        self.to.send(question)?;
        // Fails only where it has been rung more often than anybody can ask.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        Ok(())
    }

    /// Makes a call about a thread that must still be the one that is meant.
    fn ask_about(&self, thread: ThreadKey, op: Op, call: Call) -> Result<(), EngineError> {
        let answer = self.ask(move |run| match run.engine.thread(thread.tid) {
            Some(found) if found.since == thread.since => Some(run.engine.request(thread.tid, op, call)),
            _ => None,
        })?;
        match answer {
            None | Some(Err(CoreError::NotFound)) => Err(EngineError::Gone),
            Some(answer) => Ok(answer?),
        }
    }

    /// The thread that the engine knows, with what the system says of it.
    fn described(&self, tid: u32, found: EngineThread) -> Option<Thread> {
        let identity = Identity::of(tid)?;
        Some(Thread {
            key: ThreadKey { tid, vp: found.core_vp, since: found.since },
            pid: identity.pid,
            comm: identity.comm,
            uid: identity.uid,
            pinned: found.cpus & self.cpus != self.cpus,
            scheduler: found.scheduler,
            slot: self.slots.get(&found.vp).copied(),
        })
    }
}

impl Hsi for Remote {
    type Newer = NewerEngine;

    fn prepare(&mut self, policies: Vec<PolicySource>) -> Result<Preparation<NewerEngine>, EngineError> {
        self.ask(move |run| {
            if let Some(ready) = run.engines.at_once(&policies) {
                return Ok(Box::new(|| Ok(ready)) as Preparation<NewerEngine>);
            }
            let maps = run.engine.shared_maps().map_err(|error| EngineError::Failed(error.to_string()))?;
            Ok(Box::new(move || make(policies, &maps)))
        })?
    }

    fn publish(&mut self, newer: NewerEngine) -> Result<(), EngineError> {
        self.ask(move |run| run.take_over(newer))?
    }

    fn replace(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), EngineError> {
        Ok(self.ask(move |run| run.books.replace_policy(&mut run.engine, scheduler, policy, params))??)
    }

    fn taken_out(&mut self) -> Vec<TakenOut> {
        take_untold(&self.untold)
    }

    fn create_scheduler(&mut self, name: &str, policy: u8, params: Params) -> Result<u32, EngineError> {
        let name = name.to_owned();
        Ok(self.ask(move |run| run.create_scheduler(name, policy, params))??)
    }

    fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), EngineError> {
        Ok(self.ask(move |run| run.destroy_scheduler(scheduler))??)
    }

    fn attach(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, EngineError> {
        Ok(self.ask(move |run| run.attach_scheduler(parent, child, params))??)
    }

    fn detach(&mut self, vp: u32) -> Result<(), EngineError> {
        Ok(self.ask(move |run| run.engine.detach_scheduler(vp))??)
    }

    fn move_thread(&mut self, thread: ThreadKey, to: u32, params: Params) -> Result<(), EngineError> {
        self.ask_about(thread, Op::Move, Call { b: to, params: params.0, ..Call::default() })
    }

    fn close(&mut self, place: usize) -> Result<(), EngineError> {
        self.ask(move |run| run.close(place))
    }

    fn message(&mut self, thread: ThreadKey, param: u32, value: u64) -> Result<(), EngineError> {
        self.ask_about(thread, Op::Message, Call { b: param, value, ..Call::default() })
    }

    fn messenger(&mut self) -> Result<OwnedFd, EngineError> {
        let messenger = self.ask(|run| run.engine.messenger())?;
        messenger.map_err(|error| EngineError::Failed(error.to_string()))
    }

    fn thread(&mut self, tid: u32) -> Option<Thread> {
        let look = move |run: &mut Run| {
            // One that has just come may not have been heard of.
            run.engine.thread(tid).or_else(|| {
                run.hear_now();
                run.engine.thread(tid)
            })
        };
        let found = self.ask(look).ok()??;
        self.described(tid, found)
    }

    fn lives(&self, thread: ThreadKey) -> bool {
        let found = self.ask(move |run| run.engine.thread(thread.tid)).ok().flatten();
        found.is_some_and(|found| found.since == thread.since)
    }

    fn threads(&mut self) -> Vec<Thread> {
        let known = self.ask(|run| {
            let tids = run.engine.tids().into_iter();
            tids.filter_map(|tid| Some((tid, run.engine.thread(tid)?))).collect::<Vec<_>>()
        });
        let known = known.unwrap_or_default().into_iter();
        known.filter_map(|(tid, found)| self.described(tid, found)).collect()
    }

    /// Nobody waits for it: whatever is asked later is answered later.
    fn promise(&mut self, to: Promisee, guarantee: &Guarantee) {
        let promise = hls_check::promise(0, guarantee, &self.machine);
        // A run that has ended promises nothing.
        let _ = self.send(Box::new(move |run| run.promise(to, promise)));
    }

    fn observed(&mut self, vps: &[u32]) -> Vec<Observed> {
        let vps = vps.to_vec();
        self.ask(move |run| run.observed(&vps)).unwrap_or_default()
    }

    fn stolen(&mut self) -> Nanos {
        self.ask(|run| run.engine.stolen()).unwrap_or_default()
    }
}
