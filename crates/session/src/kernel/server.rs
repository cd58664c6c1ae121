//! The socket of a run in the kernel, for requests of `hls ctl` and other clients.
//!
//! The run belongs to one thread, and the manager to the threads of the socket. The manager sends its questions to
//! the run's thread, and waits for the answers; so no request sees the engine, or the observer, in the middle of a
//! step.

use super::next_engine::{NextEngine, prepare};
use super::pages::make_pages;
use super::run::Run;
use super::users;
use crate::console::{Console, Error};
use crate::run::Subject;
use hls_calculus::{Guarantee, Rules};
use hls_client::Pages;
use hls_control::{
    Counts, Created, EngineError, HierarchyChange, Layout, Manager, Observed, PolicySource, Preparation,
    Prepared, Promisee, Readings, RunningEngine, Socket, Thread, add_used, serve,
};
use hls_core::{CoreScheduler, CoreVp};
use hls_engine::{ChangeableEngine, ThreadKey};
use hls_kernel_engine::BuiltIn;
use hls_monitor::event::ObservedVp;
use hls_units::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The most threads in one question of a status. The answer takes the run a millisecond on a slow machine.
const THREADS_A_QUESTION: usize = 64;

/// A question of the manager, which the run's thread executes.
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
    /// Begins to serve the socket. `None` for a hierarchy that fails its check, because then it is unknown which
    /// requests can be granted, and with `--global`, because requests could take back what the global analysis
    /// promises. `owners`: for each scheduler of the subject, the user that may change what is below it.
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
        let layout = run.registry.layout(plan, policies, derived, run.engine.built());
        let layout = Layout { owners, overrun: run.overrun, ..layout };
        let remote = RemoteRun { to, bell: bell.clone(), machine: derived.machine(plan).clone() };
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

    /// Answers the questions that have come. Returns whether there were any.
    pub fn answer(&self, run: &mut Run) -> bool {
        // The bell is reset first: later questions ring it again. It is no error if it was not ringing.
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        self.questions.try_iter().map(|question| question(run)).count() > 0
    }

    /// Ends the service.
    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        // A manager that still waits for an answer gets the error that the run has ended.
        drop(self.questions);
        // If the server panicked, it has printed that already.
        let _ = self.thread.join();
    }
}

impl AsFd for Server {
    /// Readable when there is something to answer.
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self.bell).as_fd()
    }
}

/// The manager's access to the run from the threads of the socket: the run's own thread answers each question.
#[derive(Clone)]
struct RemoteRun {
    to: Sender<Question>,
    bell: Bell,
    /// What the machine gives.
    machine: Guarantee,
}

impl RemoteRun {
    /// The answer of the run's thread; if it does not answer any more, the error that the run has ended.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Run) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (to, answer) = mpsc::sync_channel(1);
        let question = move |run: &mut Run| {
            let before = run.time_for_requests();
            let answer = question(run);
            // The client's thread may have gone.
            let _ = to.send((answer, run.time_for_requests().saturating_sub(before)));
        };
        self.send(Box::new(question)).map_err(|_| EngineError::Ended)?;
        let (answer, used) = answer.recv().map_err(|_| EngineError::Ended)?;
        add_used(used);
        answer
    }

    /// The answers to a question about each of these threads or VPs, in their order. They are asked for in pieces, so
    /// that other questions are answered in between.
    fn ask_in_pieces<T: Copy + Send + 'static, A: Send + 'static>(
        &self,
        all: &[T],
        question: fn(&mut Run, &[T]) -> Result<Vec<A>, EngineError>,
    ) -> Result<Vec<A>, EngineError> {
        let mut answers = Vec::with_capacity(all.len());
        for some in all.chunks(THREADS_A_QUESTION) {
            let some = some.to_vec();
            answers.extend(self.ask(move |run| question(run, &some))?);
        }
        Ok(answers)
    }

    fn send(&self, question: Question) -> Result<(), SendError<Question>> {
        self.to.send(question)?;
        // Fails only after more questions than can ever be asked.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        Ok(())
    }
}

/// Each call is executed between two steps of the run.
impl RunningEngine for RemoteRun {
    type NextEngine = NextEngine;

    fn reader(&self) -> Option<Box<dyn Readings>> {
        Some(Box::new(self.clone()))
    }

    fn now(&mut self) -> Result<Nanos, EngineError> {
        self.ask(|run| {
            let now = run.engine.now().map_err(|error| EngineError::Failed(error.to_string()));
            run.changeable().unless_ended(now)
        })
    }

    fn change(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        self.ask(move |run| match change {
            HierarchyChange::CreateScheduler { policy, .. } if !run.engines.has(policy) => {
                Err(EngineError::LeftOut(policy))
            }
            _ => run.carry_out(change),
        })
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
            let maps = run.engine.shared_maps().map_err(|error| EngineError::Failed(error.to_string()));
            let maps = run.changeable().unless_ended(maps)?;
            Ok(Box::new(move || {
                let Prepared { next, policies, build, verify } = prepare(policies, built_in, &maps)?;
                Ok(Prepared { next: Some(next), policies, build, verify })
            }))
        })
    }

    fn take_over(&mut self, next: NextEngine) -> Result<(), EngineError> {
        self.ask(move |run| run.take_over(next))
    }

    fn messenger(&mut self) -> Result<OwnedFd, EngineError> {
        self.ask(|run| {
            let messenger = run.engine.messenger().map_err(|error| EngineError::Failed(error.to_string()));
            run.changeable().unless_ended(messenger)
        })
    }

    fn make_pages(&mut self, scheduler: CoreScheduler) -> Result<Pages, EngineError> {
        self.ask(move |run| {
            let pages = make_pages(&mut run.engine, scheduler);
            run.changeable().unless_ended(pages)
        })
    }

    fn thread(&mut self, tid: u32) -> Result<Option<Thread>, EngineError> {
        self.ask(move |run| run.changeable().thread(tid))?.map_or(Ok(None), with_user)
    }

    fn live(&mut self, threads: &[ThreadKey]) -> Result<Vec<bool>, EngineError> {
        let threads = threads.to_vec();
        self.ask(move |run| run.changeable().live(&threads))
    }

    /// Does not wait: questions are answered in their order.
    fn promise(&mut self, to: Promisee, guarantee: &Guarantee, after: Nanos) {
        let promise = hls_check::promise(ObservedVp::NONE, guarantee, &self.machine);
        let settles_in = guarantee.settles_in();
        // A run that has ended promises nothing.
        let _ = self.send(Box::new(move |run| run.promise(to, promise, settles_in, after)));
    }
}

impl Readings for RemoteRun {
    fn threads(&mut self) -> Result<Vec<Thread>, EngineError> {
        let tids = self.ask(|run| Ok(run.engine.tids()))?;
        self.ask_in_pieces(&tids, |run, tids| run.changeable().threads(tids))
    }

    fn observed(&mut self, vps: &[CoreVp]) -> Result<Vec<Observed>, EngineError> {
        self.ask_in_pieces(vps, |run, vps| run.observed(vps))
    }

    fn counts(&mut self) -> Result<Counts, EngineError> {
        self.ask(|run| {
            let longest_hold_and_wait = Some(run.engine.longest_hold_and_wait());
            Ok(Counts { longest_hold_and_wait, ..run.changeable().counts() })
        })
    }
}

/// A thread with its user, unless it has ended. The socket's threads read `/proc`, so that the run need not wait.
fn with_user(thread: Thread) -> Result<Option<Thread>, EngineError> {
    Ok(users::user_of(thread.key.tid)?.map(|uid| Thread { uid, ..thread }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    /// A run that is not carried out, and its end of the questions.
    fn remote() -> (RemoteRun, Receiver<Question>) {
        let (to, questions) = mpsc::channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        (RemoteRun { to, bell, machine: Guarantee::Null }, questions)
    }

    /// The result of each question.
    fn outcomes(run: &mut RemoteRun) -> Vec<Result<(), EngineError>> {
        let (scheduler, vp) = (CoreScheduler(1), CoreVp(1));
        let key = ThreadKey { tid: 1, vp, generation: 1 };
        vec![
            run.change(HierarchyChange::DestroyScheduler { scheduler }).map(drop),
            run.prepare(Vec::new(), None).map(drop),
            run.now().map(drop),
            run.take_over(None),
            run.messenger().map(drop),
            run.make_pages(scheduler).map(drop),
            run.thread(1).map(drop),
            run.live(&[key]).map(drop),
            run.threads().map(drop),
            run.observed(&[vp]).map(drop),
            run.counts().map(drop),
        ]
    }

    /// The run ends while a question waits, as at Ctrl-C, or has ended before it is asked.
    #[test]
    fn a_question_that_is_not_answered_is_answered_by_the_end() {
        for is_before in [true, false] {
            let (mut run, questions) = remote();
            let gone = if is_before {
                drop(questions);
                None
            } else {
                Some(questions)
            };
            let dropping = gone.map(|questions| thread::spawn(move || questions.iter().for_each(drop)));
            let outcomes = outcomes(&mut run);
            let ended: Vec<_> = iter::repeat_n(Err(EngineError::Ended), outcomes.len()).collect();
            assert_eq!(outcomes, ended);
            drop(run);
            dropping.into_iter().for_each(|thread| thread.join().unwrap());
        }
    }
}
