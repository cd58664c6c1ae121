//! What a [`Manager`](crate::Manager) asks of the engine that runs the hierarchy: to change it, to identify threads,
//! and to say how promises were kept. Relies on the core's numbers for schedulers and VPs. Decides nothing.

use hls_calculus::{GraphEdge, Guarantee};
use hls_client::Pages;
use hls_core::pages::Decided;
use hls_core::{About, CoreError, CoreScheduler, CoreVp, Params, PolicyInfo};
use hls_engine::ThreadKey;
use hls_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A thread and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Which thread.
    pub key: ThreadKey,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// The user of all of its ids; `None` where they differ.
    pub uid: Option<u32>,
    /// Whether it may use only some of the machine's CPUs.
    pub pinned: bool,
    /// The scheduler of the core that its VP is below.
    pub scheduler: CoreScheduler,
    /// The place that a rule of the file gives the thread, as an edge of the first graph (the file's). `None` after
    /// [`HierarchyChange::MoveThread`].
    pub slot: Option<GraphEdge>,
}

/// A scheduler or thread to which something is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promisee {
    /// A scheduler, by one of its VPs in the core.
    Scheduler(CoreVp),
    /// A thread that a request has placed.
    Thread(ThreadKey),
    /// The thread, whichever it is, that has the place of this edge of the first graph (the file's).
    Place(GraphEdge),
}

/// What a VP was promised and what it received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// CPU time that the VP has had since the promise began, or, without a promise, since the VP came.
    pub ran: Nanos,
    /// CPU time that the VP was promised for the time in which it wanted a CPU.
    pub promised: Nanos,
    /// Time that interrupts, threads of higher classes and the host took from the VP.
    pub stolen: Nanos,
    /// How often the promise was broken.
    pub broken: u64,
}

/// What is counted for the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Time that was stolen from the machine so far, over all CPUs.
    pub stolen: Nanos,
    /// The longest measured hold of the hierarchy's lock so far, and the longest wait for it. Decisions and changes
    /// are made under this lock. `None` in the simulator, where nothing takes time.
    pub longest_hold_and_wait: Option<(Nanos, Nanos)>,
    /// How the choices of each scheduler were made that has a policy with pages.
    pub decided: HashMap<CoreScheduler, Decided>,
}

/// A policy that is loaded or is to be loaded, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySource {
    /// The policy's number in the core.
    pub number: u8,
    /// The policy's name in this hierarchy.
    pub name: String,
    /// The path of its file, for messages.
    pub path: PathBuf,
    /// The text of its file.
    pub text: String,
}

/// An engine with other policies, ready to take over.
#[derive(Debug)]
pub struct Prepared<T> {
    /// The engine.
    pub next: T,
    /// All policies of that engine, built-in ones included.
    pub policies: Vec<PolicyInfo>,
    /// How long it took to compile the engine.
    pub build: Duration,
    /// How long the kernel then took to verify and load it.
    pub verify: Duration,
}

/// The rest of the work to make an engine ready. It takes seconds and does not need the current engine.
pub type Preparation<T> = Box<dyn FnOnce() -> Result<Prepared<T>, EngineError> + Send>;

/// A policy broke the contract of policies; a fallback policy has replaced it in its scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDisabled {
    /// The scheduler.
    pub scheduler: CoreScheduler,
    /// What the policy did.
    pub violation: String,
    /// The fallback policy, which has the default values of its parameters.
    pub fallback: String,
}

/// The policies that were disabled and that the manager has not taken note of yet. Shared by the manager and the code
/// that runs the engine, which may have threads of their own.
#[derive(Clone, Debug, Default)]
pub struct DisabledPolicies(Arc<Mutex<Vec<PolicyDisabled>>>);

impl DisabledPolicies {
    /// Adds one, for the manager.
    pub fn push(&self, disabled: PolicyDisabled) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(disabled);
    }

    /// Takes all of them, in order.
    pub(crate) fn take(&self) -> Vec<PolicyDisabled> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why an engine did not do what it was asked for. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// The core refused.
    Core(CoreError),
    /// The thread has ended, or another has its numbers now.
    Gone,
    /// A policy is wrong; where, and how.
    Policy(String),
    /// The engine that runs was made without the built-in policy of this number; one with it can be prepared.
    LeftOut(u8),
    /// The run has ended, or is about to: the kernel may have taken its threads back already. Whatever was found
    /// meanwhile is not an answer.
    Ended,
    /// The system failed.
    Failed(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Core(error) => error.fmt(f),
            EngineError::Gone => f.write_str("the thread has ended"),
            EngineError::Ended => f.write_str("the run has ended"),
            EngineError::LeftOut(policy) => write!(f, "the engine was made without its policy {policy}"),
            EngineError::Policy(reason) | EngineError::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<CoreError> for EngineError {
    fn from(error: CoreError) -> EngineError {
        EngineError::Core(error)
    }
}

/// A change of the running hierarchy. It is carried out whole, or refused without any effect. Numbers of schedulers
/// and VPs are the core's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HierarchyChange {
    /// Creates an instance of a policy, with a name for people: [`Created::Scheduler`].
    CreateScheduler {
        /// The name.
        name: String,
        /// The policy's number.
        policy: u8,
        /// The scheduler's parameters.
        params: Params,
    },
    /// Destroys a scheduler without children and parents.
    DestroyScheduler {
        /// The scheduler.
        scheduler: CoreScheduler,
    },
    /// Attaches a scheduler below another with one more VP: [`Created::Vp`].
    AttachScheduler {
        /// The scheduler above.
        parent: CoreScheduler,
        /// The scheduler below.
        child: CoreScheduler,
        /// The VP's parameters.
        params: Params,
    },
    /// Takes the VP of a scheduler without children out of the hierarchy. What it was promised ends.
    DetachScheduler {
        /// The VP.
        vp: CoreVp,
    },
    /// Replaces a scheduler's policy; its children stay, with their parameters. If the new policy refuses a child, a
    /// fallback policy takes its place, and [`DisabledPolicies`] has the scheduler.
    ReplacePolicy {
        /// The scheduler.
        scheduler: CoreScheduler,
        /// The other policy's number.
        policy: u8,
        /// The scheduler's parameters from now on.
        params: Params,
    },
    /// Moves a thread below a scheduler, which may be its present one. A promise that a request gave the thread ends,
    /// as it would when the thread ends. No rule of the file moves the thread again.
    MoveThread {
        /// The thread.
        thread: ThreadKey,
        /// The scheduler.
        to: CoreScheduler,
        /// The parameters of its VP there.
        params: Params,
    },
    /// Makes a call of the core about a thread's VP that leaves the VP where it is, such as a new parameter.
    CallAbout {
        /// The thread.
        thread: ThreadKey,
        /// The call.
        about: About,
    },
    /// Closes the place of this edge of the first graph (the file's): threads that the file assigns to it stay in the
    /// default scheduler. The caller moves the thread that has the place now.
    ClosePlace {
        /// The edge.
        place: GraphEdge,
    },
}

/// What a [`HierarchyChange`] has brought into being, by the core's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// Nothing.
    Nothing,
    /// A scheduler.
    Scheduler(CoreScheduler),
    /// A VP.
    Vp(CoreVp),
}

impl Created {
    /// The scheduler that a change has created.
    ///
    /// # Errors
    /// It was another kind of change.
    pub fn scheduler(self) -> Result<CoreScheduler, EngineError> {
        match self {
            Created::Scheduler(scheduler) => Ok(scheduler),
            other => Err(EngineError::Failed(format!("found {other:?} created, expected a scheduler"))),
        }
    }

    /// The VP that a change has created.
    ///
    /// # Errors
    /// It was another kind of change.
    pub fn vp(self) -> Result<CoreVp, EngineError> {
        match self {
            Created::Vp(vp) => Ok(vp),
            other => Err(EngineError::Failed(format!("found {other:?} created, expected a VP"))),
        }
    }
}

/// What a status asks of a run. With thousands of threads it takes long.
pub trait Readings {
    /// All threads of the machine. Their users are not needed.
    ///
    /// # Errors
    /// As of [`RunningEngine::thread`].
    fn threads(&mut self) -> Result<Vec<Thread>, EngineError>;

    /// How the promises to these VPs were kept, in their order.
    ///
    /// # Errors
    /// The run has ended.
    fn observed(&mut self, vps: &[CoreVp]) -> Result<Vec<Observed>, EngineError>;

    /// What is counted for the whole run.
    ///
    /// # Errors
    /// The run has ended.
    fn counts(&mut self) -> Result<Counts, EngineError>;
}

/// The manager's view of an engine that runs a hierarchy.
///
/// A run may end at any moment, even in the middle of a request. Then the engine no longer knows the threads, though
/// they live. So every question can be answered by [`EngineError::Ended`], and after the end of a run no engine
/// answers that something does not exist.
pub trait RunningEngine: Readings {
    /// An engine with other policies, ready to take over.
    type NextEngine;

    /// Takes readings of the same run while other code has the engine; `None`: only the engine itself can be asked.
    fn reader(&self) -> Option<Box<dyn Readings>> {
        None
    }

    /// The time of the run.
    ///
    /// # Errors
    /// The run has ended.
    fn now(&mut self) -> Result<Nanos, EngineError>;

    /// Makes a change.
    ///
    /// # Errors
    /// What the core says; the thread is gone; the run has ended; the system failed.
    fn change(&mut self, change: HierarchyChange) -> Result<Created, EngineError>;

    /// Begins to make an engine that has these policies, the built-in policies of the current engine, and the
    /// built-in policy of number `built_in`. Does not touch the current engine.
    ///
    /// # Errors
    /// The errors of the system. The preparation fails with [`EngineError::Policy`] if a policy is wrong.
    fn prepare(
        &mut self,
        policies: Vec<PolicySource>,
        built_in: Option<u8>,
    ) -> Result<Preparation<Self::NextEngine>, EngineError>;

    /// Has an engine take over. The new engine has the policy of every scheduler.
    ///
    /// # Errors
    /// What the system says.
    fn take_over(&mut self, next: Self::NextEngine) -> Result<(), EngineError>;

    /// A descriptor through which a thread posts messages to its scheduler, for every client that asks. A thread's
    /// messages are about that thread alone.
    ///
    /// # Errors
    /// The engine has none.
    fn messenger(&mut self) -> Result<OwnedFd, EngineError>;

    /// Makes fresh pages for a scheduler with a policy that has pages; they replace its old ones. They are removed with
    /// the scheduler.
    ///
    /// # Errors
    /// The engine has none to give.
    fn make_pages(&mut self, scheduler: CoreScheduler) -> Result<Pages, EngineError>;

    /// The living thread of this number, however new it is; `None`: the hierarchy schedules no such thread.
    ///
    /// # Errors
    /// The run has ended; the system does not identify the thread.
    fn thread(&mut self, tid: u32) -> Result<Option<Thread>, EngineError>;

    /// Whether each of these threads still lives, in their order. Cheaper than [`RunningEngine::thread`].
    ///
    /// # Errors
    /// The run has ended.
    fn live(&mut self, threads: &[ThreadKey]) -> Result<Vec<bool>, EngineError>;

    /// Tells the monitor what a promisee is promised in real time, from `after` later on; its earlier promise ends now.
    /// Called when a promise changes; what the file promises is known at the beginning. It has no result: a run that
    /// has ended promises nothing.
    fn promise(&mut self, to: Promisee, guarantee: &Guarantee, after: Nanos);
}
