//! The socket of a run in the kernel, where `hls ctl` and other clients ask.
//!
//! The run belongs to one thread, and the manager to the threads of the socket. What the manager wants of the run it
//! sends to the run's thread as a question, and waits for the answer; so no request sees the engine, or the observer,
//! in the middle of something.

use super::identity::Identity;
use super::next_engine::{NextEngine, prepare};
use super::pages::make_pages;
use super::run::Run;
use crate::changes::ChangeableRun;
use crate::console::{Console, Error};
use crate::registry::{self, DisabledPolicies};
use crate::request::Subject;
use hls_calculus::{Guarantee, Rules};
use hls_control::{
    Created, EngineError, HierarchyChange, Layout, Manager, Observed, Pages, PolicyDisabled, PolicySource,
    Preparation, Prepared, Promisee, RunningEngine, Socket, Thread, serve,
};
use hls_core::pages::Decided;
use hls_core::{CoreScheduler, CoreVp};
use hls_kernel_engine::BuiltIn;
use hls_monitor::event::ObservedVp;
use hls_plan::{ChangeableEngine, ThreadKey};
use hls_units::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Something that the manager wants done by the run's thread.
type Question = Box<dyn FnOnce(&mut Run) + Send>;

/// Wakes the run's thread when a question has been sent.
type Bell = Arc<OwnedFd>;

/// The thread that serves the socket, and the run's end of its questions.
pub struct Server {
    questions: Receiver<Question>,
    bell: Bell,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Begins to serve the socket. `None` for a hierarchy that fails its check, as nothing says then which requests can
    /// be granted, and with `--global`, as requests could take back what that promises. `owners`: of each scheduler of
    /// the subject, the user who may change what is below it.
    pub fn start(
        path: &Path,
        run: &mut Run,
        (subject, owners): (&Subject, Vec<Option<u32>>),
        rules: Rules,
        console: Arc<dyn Console>,
    ) -> Result<Option<Server>, Error> {
        if rules.global {
            console.say(&"note: hls ctl is not answered: it could give away what --global promises");
            return Ok(None);
        }
        let (to, questions) = mpsc::channel();
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(io::Error::from)?;
        let bell = Arc::new(bell);
        let Subject { plan, derived, policies } = subject;
        let layout = registry::layout(plan, policies, derived, run.engine.built());
        let layout = Layout { owners, overrun: run.overrun, ..layout };
        let remote = RemoteRun {
            to,
            bell: bell.clone(),
            machine: derived.machine(plan).clone(),
            disabled_policies: run.registry.disabled_policies(),
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

    /// Answers the questions that have come.
    pub fn answer(&self, run: &mut Run) {
        // The bell is silenced first: questions from here on ring it again. That it was silent already is no error.
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        self.questions.try_iter().for_each(|question| question(run));
    }

    /// Ends the service.
    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        // The manager that still waits for an answer gets the error that the run has ended.
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

/// The run as the manager reaches it from the threads of the socket: each question is answered by the run's own thread.
struct RemoteRun {
    to: Sender<Question>,
    bell: Bell,
    /// What the machine gives.
    machine: Guarantee,
    disabled_policies: DisabledPolicies,
}

impl RemoteRun {
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Run) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let ended = || EngineError::Failed("the run has ended".into());
        let (to, answer) = mpsc::sync_channel(1);
        let question = move |run: &mut Run| {
            // The client's thread may have gone.
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
}

/// Each is done between two steps of the run.
impl RunningEngine for RemoteRun {
    type NextEngine = NextEngine;

    fn change(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        self.ask(move |run| match change {
            HierarchyChange::CreateScheduler { policy, .. } if !run.engines.has(policy) => {
                Err(EngineError::LeftOut(policy))
            }
            _ => run.carry_out(change),
        })?
    }

    fn prepare(
        &mut self,
        policies: Vec<PolicySource>,
        built_in: Option<u8>,
    ) -> Result<Preparation<NextEngine>, EngineError> {
        self.ask(move |run| {
            let built_in = run.engines.built_in().and(built_in.map_or(BuiltIn::NONE, BuiltIn::one));
            if let Some(ready) = run.engines.at_once(&policies, built_in) {
                return Ok(Box::new(|| Ok(ready)) as Preparation<NextEngine>);
            }
            let maps = run.engine.shared_maps().map_err(|error| EngineError::Failed(error.to_string()))?;
            Ok(Box::new(move || {
                let Prepared { next, policies, build, verify } = prepare(policies, built_in, &maps)?;
                Ok(Prepared { next: Some(next), policies, build, verify })
            }))
        })?
    }

    fn take_over(&mut self, next: NextEngine) -> Result<(), EngineError> {
        self.ask(move |run| run.take_over(next))?
    }

    fn take_disabled_policies(&mut self) -> Vec<PolicyDisabled> {
        self.disabled_policies.take()
    }

    fn messenger(&mut self) -> Result<OwnedFd, EngineError> {
        let messenger = self.ask(|run| run.engine.messenger())?;
        messenger.map_err(|error| EngineError::Failed(error.to_string()))
    }

    fn make_pages(&mut self, scheduler: CoreScheduler) -> Result<Pages, EngineError> {
        self.ask(move |run| make_pages(&mut run.engine, scheduler))?
    }

    fn thread(&mut self, tid: u32) -> Option<Thread> {
        let look = move |run: &mut Run| {
            // A thread that has just come may be in records that the run has not taken yet.
            run.thread(tid).or_else(|| {
                run.process_until_now();
                while run.engine.is_behind() && run.thread(tid).is_none() {
                    run.process_until_now();
                }
                run.thread(tid)
            })
        };
        self.ask(look).ok()?.and_then(identified)
    }

    fn lives(&mut self, thread: ThreadKey) -> bool {
        self.ask(move |run| run.lives(thread)).unwrap_or(false)
    }

    fn threads(&mut self) -> Vec<Thread> {
        let known = self.ask(|run| {
            let tids = run.engine.tids().into_iter();
            tids.filter_map(|tid| run.thread(tid)).collect::<Vec<_>>()
        });
        known.unwrap_or_default().into_iter().filter_map(identified).collect()
    }

    /// Not waited for: questions are answered in their order.
    fn promise(&mut self, to: Promisee, guarantee: &Guarantee) {
        let promise = hls_check::promise(ObservedVp::NONE, guarantee, &self.machine);
        // A run that has ended promises nothing.
        let _ = self.send(Box::new(move |run| run.promise(to, promise)));
    }

    fn observed(&mut self, vps: &[CoreVp]) -> Vec<Observed> {
        let vps = vps.to_vec();
        self.ask(move |run| run.observed(&vps)).unwrap_or_default()
    }

    fn decided(&mut self, scheduler: CoreScheduler) -> Option<Decided> {
        self.ask(move |run| run.engine.view().decided(scheduler)).ok()?
    }

    fn stolen(&mut self) -> Nanos {
        self.ask(|run| run.engine.stolen()).unwrap_or_default()
    }

    fn longest_hold_and_wait(&mut self) -> Option<(Nanos, Nanos)> {
        self.ask(|run| run.engine.longest_hold_and_wait()).ok()
    }
}

/// A thread with what the system says of it, unless it has ended. The socket's threads ask for that, so that the run
/// need not wait for it.
fn identified(thread: Thread) -> Option<Thread> {
    let Identity { pid, comm, uid } = Identity::of(thread.key.tid)?;
    Some(Thread { pid, comm, uid, ..thread })
}
