//! What a [`Manager`](crate::Manager) asks of the engine that runs the hierarchy: the entry points of the core, and who
//! the threads are. Relies on the core's numbers for schedulers and VPs. Decides nothing.

use hls_calculus::Guarantee;
use hls_core::{CoreError, Params, PolicyInfo};
use hls_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A thread while it lives. No later thread has the same key, even if it has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Its number in the system.
    pub tid: u32,
    /// Its VP in the core.
    pub vp: u32,
    /// When it came into being, by a clock of the engine's.
    pub since: u64,
}

/// A thread and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Which.
    pub key: ThreadKey,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// The user that it belongs to with all of its ids; `None` where they differ.
    pub uid: Option<u32>,
    /// Whether it may use only some of the machine's CPUs.
    pub pinned: bool,
    /// The scheduler of the core that its VP is below.
    pub scheduler: u32,
    /// The edge of the first graph, that of the file, whose place it takes by a rule of the file. None after
    /// [`Hsi::move_thread`].
    pub slot: Option<usize>,
}

/// Who is promised something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promisee {
    /// A scheduler, by one of its VPs in the core.
    Scheduler(u32),
    /// A thread that a request has placed.
    Thread(ThreadKey),
    /// Whoever takes the place of this edge of the first graph, that of the file.
    Place(usize),
}

/// What became of the promise to a VP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// CPU time that it has had since the promise began; where there is none, since it came.
    pub ran: Nanos,
    /// CPU time that it was promised in the time in which it wanted a CPU.
    pub promised: Nanos,
    /// Time that interrupts, threads of higher classes and the host took from it.
    pub stolen: Nanos,
    /// How often the promise was broken.
    pub broken: u64,
}

/// A policy that is loaded, or to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySource {
    /// That of the policy in the core.
    pub number: u8,
    /// The name under which it is known here.
    pub name: String,
    /// Where its author has it, for messages.
    pub path: PathBuf,
    /// The file.
    pub text: String,
}

/// An engine with other policies, ready to take over.
#[derive(Debug)]
pub struct Prepared<T> {
    /// The engine.
    pub newer: T,
    /// Its policies, those that are built in included.
    pub policies: Vec<PolicyInfo>,
    /// How long it took to compile it,
    pub build: Duration,
    /// and until the kernel had it ready.
    pub verify: Duration,
}

/// What is left to be done to have an engine ready. It takes seconds, in which the one that runs is not needed.
pub type Preparation<T> = Box<dyn FnOnce() -> Result<Prepared<T>, EngineError> + Send>;

/// A scheduler whose policy was taken out for what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOut {
    /// The scheduler.
    pub scheduler: u32,
    /// What the policy did.
    pub offence: String,
    /// The policy that is in its place, with the parameters that it has where nobody says others.
    pub fallback: String,
}

/// Why the engine did not do what it was asked for. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// The core refused.
    Core(CoreError),
    /// The thread has ended, or another has its numbers now.
    Gone,
    /// A policy is wrong; where, and how.
    Policy(String),
    /// The system failed.
    Failed(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Core(error) => error.fmt(f),
            EngineError::Gone => f.write_str("the thread has ended"),
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

/// The hierarchical scheduler infrastructure of a running engine. Every call is done or refused as a whole.
pub trait Hsi {
    /// An engine with other policies.
    type Newer;

    /// How an engine is made ready that has these policies beside those that are built in. Nothing that runs is
    /// touched.
    ///
    /// # Errors
    /// What the system says. The preparation: [`EngineError::Policy`], what is wrong with them.
    fn prepare(&mut self, policies: Vec<PolicySource>) -> Result<Preparation<Self::Newer>, EngineError>;

    /// Has an engine take over. No scheduler has a policy that it lacks.
    ///
    /// # Errors
    /// What the system says.
    fn publish(&mut self, newer: Self::Newer) -> Result<(), EngineError>;

    /// Gives a scheduler another policy in its place; its children stay, with their parameters.
    ///
    /// # Errors
    /// What the core says. Where the policy itself refuses a child, a fallback is in its place: then the scheduler is
    /// among [`Hsi::taken_out`].
    fn replace(&mut self, scheduler: u32, policy: u8, params: Params) -> Result<(), EngineError>;

    /// The schedulers whose policies were taken out since the last time, in order. Asks nobody, and takes no time.
    fn taken_out(&mut self) -> Vec<TakenOut>;

    /// Creates an instance of a policy, with a name for people; returns its number.
    ///
    /// # Errors
    /// What the core says.
    fn create_scheduler(&mut self, name: &str, policy: u8, params: Params) -> Result<u32, EngineError>;

    /// Destroys a scheduler without children and parents.
    ///
    /// # Errors
    /// What the core says.
    fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), EngineError>;

    /// Hangs a scheduler below another with one VP more; returns the VP.
    ///
    /// # Errors
    /// What the core says.
    fn attach(&mut self, parent: u32, child: u32, params: Params) -> Result<u32, EngineError>;

    /// Takes the VP of a scheduler without children out of the hierarchy. What it was promised ends.
    ///
    /// # Errors
    /// What the core says.
    fn detach(&mut self, vp: u32) -> Result<(), EngineError>;

    /// Moves a thread below a scheduler, the same one included. What it was promised by a request ends, as it does with
    /// the thread. No rule of the file moves it again.
    ///
    /// # Errors
    /// What the core says; the thread is gone.
    fn move_thread(&mut self, thread: ThreadKey, to: u32, params: Params) -> Result<(), EngineError>;

    /// Nobody takes the place of this edge of the first graph any more: whom the file gives it stays in the default
    /// scheduler. Who has it is moved by the caller.
    ///
    /// # Errors
    /// What the system says.
    fn close(&mut self, place: usize) -> Result<(), EngineError>;

    /// Sets parameter number `param` of a thread's VP.
    ///
    /// # Errors
    /// What the core says; the thread is gone.
    fn message(&mut self, thread: ThreadKey, param: u32, value: u64) -> Result<(), EngineError>;

    /// The way by which a thread talks to its scheduler, to be handed to whoever asks. It is about the thread alone
    /// that uses it.
    ///
    /// # Errors
    /// The engine has none.
    fn messenger(&mut self) -> Result<OwnedFd, EngineError>;

    /// The living thread of this number.
    fn thread(&mut self, tid: u32) -> Option<Thread>;

    /// Whether a thread still lives. Cheaper than [`Hsi::thread`].
    fn lives(&self, thread: ThreadKey) -> bool;

    /// All threads of the machine.
    fn threads(&mut self) -> Vec<Thread>;

    /// What somebody is promised from now on, in real time, in the place of what he was before: for the monitor. Told
    /// when it becomes another; what the file promises is known at the beginning.
    fn promise(&mut self, to: Promisee, guarantee: &Guarantee);

    /// What became of these VPs, in their order.
    fn observed(&mut self, vps: &[u32]) -> Vec<Observed>;

    /// Time that was stolen from the machine so far, over all CPUs.
    fn stolen(&mut self) -> Nanos;
}
