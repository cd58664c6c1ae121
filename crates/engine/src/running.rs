//! What both engines offer for changes of a running hierarchy, in the core's numbers: the entry points of the core
//! itself, through [`Built`], and the operations around them that differ between simulated and real threads.
//!
//! Relies on one change being made at a time. Nothing here decides whether a change may be made.

use crate::Built;
use hls_core::{About, Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_monitor::event::{ObservedScheduler, ObservedVp};
use hls_units::Nanos;

/// A thread while it lives. No later thread has the same key, even if it has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Its number in the system; in the simulator the number of its VP in the plan.
    pub tid: u32,
    /// Its VP in the core.
    pub vp: CoreVp,
    /// Counts the threads that have had the VP; 0 in the simulator, where a thread that has gone never comes back.
    pub generation: u32,
}

/// Where an engine has a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineThread {
    /// Which thread.
    pub key: ThreadKey,
    /// Its name.
    pub name: String,
    /// Its process; in the simulator the number of the thread.
    pub process: u32,
    /// The CPUs that it may use, a bit each; in the simulator those that it may use at all times of the run.
    pub cpus: u64,
    /// The core's scheduler above it.
    pub scheduler: CoreScheduler,
    /// The number under which its events are recorded; 0: none.
    pub vp: ObservedVp,
}

/// An engine with a hierarchy that can change while it runs.
pub trait ChangeableEngine {
    /// The core that it runs.
    type Core: Calls;

    /// The hierarchy in the core; the entry points of the core change it.
    fn built(&mut self) -> &mut Built<Self::Core>;

    /// How long the run has lasted. If the core cannot be asked, as of the last call of it.
    fn elapsed(&mut self) -> Nanos;

    /// Charges CPU time used up to now, before a change, to the present VPs. Returns the core's time.
    ///
    /// # Errors
    /// The core cannot be asked.
    fn charge_until_now(&mut self) -> Result<Nanos, CoreError>;

    /// Records the events of a VP of the core under this number from now on, and its present state at once. The VP is
    /// the thread `tid`'s; 0: a scheduler's.
    ///
    /// # Errors
    /// There is no such VP any more, or it is another thread's.
    fn watch(&mut self, core_vp: CoreVp, tid: u32, vp: ObservedVp) -> Result<(), CoreError>;

    /// Takes the number of a VP of the core away, and records that the VP left.
    fn unwatch(&mut self, core_vp: CoreVp);

    /// The living thread of this number, however new it is.
    fn thread(&mut self, tid: u32) -> Option<EngineThread>;

    /// The numbers of all living threads, in order.
    fn tids(&mut self) -> Vec<u32>;

    /// Moves a thread below a scheduler of the core. No rule of the file moves it again. `above`: the result's
    /// schedulers above the thread before the move.
    ///
    /// # Errors
    /// [`CoreError::NotFound`]: the thread is gone; else what the core says.
    fn move_thread(
        &mut self,
        tid: u32,
        to: CoreScheduler,
        params: Params,
        above: &[ObservedScheduler],
    ) -> Result<(), CoreError>;

    /// Makes a call of the core about a thread's VP, and returns the VP.
    ///
    /// # Errors
    /// As of [`ChangeableEngine::move_thread`].
    fn call_about(&mut self, tid: u32, about: About) -> Result<CoreVp, CoreError>;

    /// Closes this place of the plan: threads that a rule assigns to it go to the default scheduler. Returns that
    /// scheduler, by the core's number, if the thread has not come yet and keeps this number.
    fn close_place(&mut self, vp: ObservedVp) -> Option<CoreScheduler>;

    /// CPU time that a VP of the core has had.
    fn ran(&mut self, core_vp: CoreVp) -> Nanos;
}
