//! What both engines offer to whoever changes a hierarchy while it runs, by the numbers of the core: the entry points
//! of the core itself, through [`Built`], and what around them differs between simulated and real threads.
//!
//! Relies on one change being made at a time. Nothing here decides whether a change may be made.

use crate::Built;
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params, View};
use hls_monitor::event::{ObservedScheduler, ObservedVp};
use hls_units::Nanos;

/// A thread while it lives. No later thread has the same key, even if it has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Its number in the system; in the simulator that of its VP in the plan.
    pub tid: u32,
    /// Its VP in the core.
    pub vp: CoreVp,
    /// Counts the threads that have had the VP; 0 in the simulator, where a thread that has gone never comes back.
    pub generation: u32,
}

/// Where an engine has a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineThread {
    /// Which thread.
    pub key: ThreadKey,
    /// The CPUs that it may use, as far as is known at any time of the run, a bit each.
    pub cpus: u64,
    /// The core's scheduler above it.
    pub scheduler: CoreScheduler,
    /// The number under which what happens to it is recorded; 0: none.
    pub vp: ObservedVp,
}

/// An engine whose hierarchy can change while it runs.
pub trait ChangeableEngine {
    /// The core that it runs.
    type Core: Calls;

    /// The hierarchy in the core, whose entry points change it.
    fn built(&mut self) -> &mut Built<Self::Core>;

    /// What can be read of the core.
    fn view(&mut self) -> &View;

    /// Charges what was used up to now to those who are there before a change; what time it is for the core.
    ///
    /// # Errors
    /// The core cannot be asked.
    fn charge_until_now(&mut self) -> Result<Nanos, CoreError>;

    /// From now on what happens to a VP of the core is recorded under this number, how it stands at first. It is the
    /// VP of the thread `tid`; 0: of a scheduler.
    ///
    /// # Errors
    /// There is no such VP any more, or it is another's.
    fn watch(&mut self, core_vp: CoreVp, tid: u32, vp: ObservedVp) -> Result<(), CoreError>;

    /// A VP of the core loses its number; that it left is recorded.
    fn unwatch(&mut self, core_vp: CoreVp);

    /// The living thread of this number, however new it is.
    fn thread(&mut self, tid: u32) -> Option<EngineThread>;

    /// The scheduler of the core for threads that nobody placed.
    fn default_scheduler(&self) -> CoreScheduler;

    /// The numbers of all threads that there are, in order.
    fn tids(&mut self) -> Vec<u32>;

    /// Moves a thread below a scheduler of the core. No rule of the file moves it again. `above`: the schedulers of the
    /// result that it was below.
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

    /// Sets a parameter of a thread's VP, which its scheduler gets as a message.
    ///
    /// # Errors
    /// As of [`ChangeableEngine::move_thread`].
    fn set_parameter(&mut self, tid: u32, param: u32, value: u64) -> Result<(), CoreError>;

    /// Suspends a thread, or resumes it: to its scheduler a suspended thread sleeps, whatever it does.
    ///
    /// # Errors
    /// [`CoreError::NotFound`]: there is no such thread.
    fn suspend(&mut self, tid: u32, is_suspended: bool) -> Result<(), CoreError>;

    /// Nobody takes this place of the plan any more: whom a rule gives it comes to the default scheduler. Returns that
    /// one, by the core's number, where the thread is yet to come and keeps this number.
    fn close_place(&mut self, vp: ObservedVp) -> Option<CoreScheduler>;

    /// CPU time that a VP of the core has had.
    fn ran(&mut self, core_vp: CoreVp) -> Nanos;

    /// Time that others than the hierarchy have had, over all CPUs.
    fn stolen(&mut self) -> Nanos;
}
