//! Carries out changes of a running hierarchy, for both engines.
//!
//! ```text
//!  Manager ─► HierarchyChange ─► carry_out ─┬─► the core's entry point
//!                                           └─► RunRegistry: its number in the result
//! ```
//!
//! Relies on its caller to make one change at a time, between two steps of the run. Decides nothing: the manager has
//! checked that the change is allowed and keeps every promise. Reports nothing as missing before it has checked that
//! the run goes on ([`ChangeableRun::goes_on`]), because after the end of a run the engine finds no thread.

use crate::registry::{RunRegistry, policy_of};
use hls_calculus::GraphEdge;
use hls_control::{
    Counts, Created, EngineError, HierarchyChange, Observed, PolicyDisabled, Promisee, Thread,
};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_engine::{ChangeableEngine, EngineThread, ThreadKey, VpUsage};
use hls_monitor::event::ObservedVp;
use hls_monitor::observe::Promise;
use hls_monitor::result::{Child, SchedulerInfo, VpInfo};
use hls_units::Nanos;

/// A run with a hierarchy that can change: an engine, and the registry of its VPs and schedulers.
pub trait ChangeableRun<'t> {
    /// What carries it out.
    type Engine: ChangeableEngine;

    /// The engine and the registry.
    fn parts(&mut self) -> (&mut Self::Engine, &mut RunRegistry<'t>);

    /// The time of the run.
    fn now(&mut self) -> Nanos;

    /// Has a change of the registry made that takes effect at `at`, between the records before and those after that
    /// time. Returns at once, also where records wait: to pass all of them on may take seconds. `at` is no earlier than
    /// in the calls before.
    fn once_processed(&mut self, at: Nanos, change: impl FnOnce(&mut RunRegistry<'t>) + 'static);

    /// The time up to which records have been passed on: a moment ago at most, unless records come faster than they can
    /// be passed on.
    fn processed_until(&mut self) -> Nanos;

    /// The name of a thread.
    fn thread_name(&self, thread: ThreadKey) -> String;

    /// Checks that the hierarchy still has its threads. What was found missing before a successful check does not
    /// exist.
    ///
    /// # Errors
    /// [`EngineError::Ended`]: it no longer has them. Another error: this cannot be found out.
    fn goes_on(&mut self) -> Result<(), EngineError>;

    /// Carries a change out, or refuses it whole.
    fn carry_out(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        let made = self.make(change);
        self.unless_ended(made)
    }

    /// Passes a result on. If the run has ended, replaces an error by [`EngineError::Ended`].
    fn unless_ended<T>(&mut self, done: Result<T, EngineError>) -> Result<T, EngineError> {
        done.or_else(|error| self.goes_on().and(Err(error)))
    }

    /// Carries a change out, or refuses it whole with the engine's error.
    fn make(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        let (engine, registry) = self.parts();
        match change {
            HierarchyChange::CreateScheduler { name, policy, params } => {
                let scheduler = engine.built().core.create_scheduler(policy, params)?;
                let policy = engine.view().policy(policy).map_or("", |info| info.name).to_owned();
                registry.add_scheduler(engine, scheduler, SchedulerInfo { name, policy });
                return Ok(Created::Scheduler(scheduler));
            }
            HierarchyChange::AttachScheduler { parent, child, params } => {
                return Ok(Created::Vp(attach(engine, registry, parent, child, params)?));
            }
            HierarchyChange::DestroyScheduler { scheduler } => {
                engine.built().core.destroy_scheduler(scheduler)?;
                if let Some(number) = engine.built().observed.remove(scheduler) {
                    let now = self.now();
                    self.once_processed(now, move |registry| registry.remove_scheduler(number));
                }
            }
            HierarchyChange::DetachScheduler { vp } => detach(engine, vp)?,
            HierarchyChange::ReplacePolicy { scheduler, policy, params } => {
                replace_policy(engine, registry, scheduler, policy, params)?;
            }
            HierarchyChange::MoveThread { thread, to, params } => self.move_thread(thread, to, params)?,
            HierarchyChange::CallAbout { thread, about } => {
                living(engine, thread)?;
                engine.call_about(thread.tid, about).map_err(gone_or_refused)?;
            }
            HierarchyChange::ClosePlace { place } => self.close_place(place),
        }
        Ok(Created::Nothing)
    }

    /// Moves a thread. A thread that has a number keeps it, and gives up its place of the file, which stays empty. A
    /// thread without one gets a number if a trace or a picture is to show it and it does not go to the default
    /// scheduler; otherwise it is not recorded.
    fn move_thread(
        &mut self,
        thread: ThreadKey,
        to: CoreScheduler,
        params: Params,
    ) -> Result<(), EngineError> {
        // Before the move: what the thread was promised ends no later.
        let now = self.now();
        let (engine, registry) = self.parts();
        let before = living(engine, thread)?.vp;
        let above = if before == ObservedVp::NONE {
            Vec::new()
        } else {
            registry.observer().topology().above(before)
        };
        engine.move_thread(thread.tid, to, params, &above).map_err(gone_or_refused)?;
        let vp = engine.built().number(thread.vp);
        if vp != ObservedVp::NONE {
            registry.places.leave(vp);
            let below = engine.built().observed.get(to);
            self.once_processed(now, move |registry| registry.move_below(vp, below, now));
        } else if to != engine.default_scheduler() && registry.listeners.draws() {
            self.number_thread(thread, to);
        }
        Ok(())
    }

    /// Gives a thread below this scheduler a number of its own.
    fn number_thread(&mut self, thread: ThreadKey, scheduler: CoreScheduler) -> Option<ObservedVp> {
        // The number of the thread first: tables cut long names.
        let name = format!("{} {}", thread.tid, self.thread_name(thread)).into();
        let info = VpInfo { name, child: Child::Thread, ..VpInfo::default() };
        let (engine, registry) = self.parts();
        registry.add_vp(engine, thread.vp, thread.tid, info, scheduler)
    }

    /// Closes this place of the file: no thread takes it any more.
    fn close_place(&mut self, place: GraphEdge) {
        let now = self.now();
        let (engine, registry) = self.parts();
        let Some(vp) = registry.places.close(place) else { return };
        if let Some(to) = engine.close_place(vp) {
            let below = engine.built().observed.get(to);
            self.once_processed(now, move |registry| registry.move_below(vp, below, now));
        }
    }

    /// Checks from now on what a promisee gets against this promise; an empty promise ends the checks.
    fn promise(&mut self, to: Promisee, promise: Promise) {
        // First: a VP that has a number now has it at that time.
        let now = self.now();
        if let Some(vp) = self.number_of(to, &promise) {
            self.once_processed(now, move |registry| registry.promise(vp, promise, now));
        }
    }

    /// The number under which a promisee's events are recorded. A thread without a number gets one now for its
    /// promise.
    fn number_of(&mut self, to: Promisee, promise: &Promise) -> Option<ObservedVp> {
        let is_some = |vp: &ObservedVp| *vp != ObservedVp::NONE;
        let (engine, registry) = self.parts();
        let thread = match to {
            Promisee::Place(place) => return registry.places.vp(place),
            Promisee::Scheduler(core_vp) => {
                if !engine.view().vp(core_vp)?.watched {
                    engine.built().core.watch(core_vp, true).ok()?;
                }
                return Some(engine.built().number(core_vp)).filter(is_some);
            }
            Promisee::Thread(thread) => thread,
        };
        let EngineThread { vp, scheduler, .. } = living(engine, thread).ok()?;
        if vp != ObservedVp::NONE || promise.is_empty() {
            return Some(vp).filter(is_some);
        }
        self.number_thread(thread, scheduler)
    }

    /// What these VPs of the core were promised and received.
    fn observed(&mut self, core_vps: &[CoreVp]) -> Result<Vec<Observed>, EngineError> {
        let now = self.processed_until();
        let (engine, registry) = self.parts();
        let observed = core_vps.iter().map(|core_vp| registry.observed(engine, *core_vp, now)).collect();
        self.goes_on().map(|()| observed)
    }

    /// What is counted for the whole run. How long the lock was held, only the engine knows.
    fn counts(&mut self) -> Counts {
        let engine = self.parts().0;
        let stolen = engine.stolen();
        let schedulers: Vec<CoreScheduler> =
            engine.built().observed.all().map(|(in_core, _)| in_core).collect();
        let view = engine.view();
        let decided = schedulers.into_iter().filter_map(|in_core| Some((in_core, view.decided(in_core)?)));
        Counts { stolen, decided: decided.collect(), longest_hold_and_wait: None }
    }

    /// Whether each of these threads lives.
    fn live(&mut self, threads: &[ThreadKey]) -> Result<Vec<bool>, EngineError> {
        let engine = self.parts().0;
        let live: Vec<bool> = threads.iter().map(|thread| living(engine, *thread).is_ok()).collect();
        if live.contains(&false) { self.goes_on().map(|()| live) } else { Ok(live) }
    }

    /// A thread and where it is, if it exists. Its owner comes from elsewhere.
    fn thread(&mut self, tid: u32) -> Result<Option<Thread>, EngineError> {
        match self.parts().0.thread(tid) {
            Some(found) => Ok(Some(self.place_of(found))),
            None => self.goes_on().map(|()| None),
        }
    }

    /// The TIDs of all threads.
    fn tids(&mut self) -> Vec<u32> {
        self.parts().0.tids()
    }

    /// All threads, and where they are.
    fn threads(&mut self) -> Result<Vec<Thread>, EngineError> {
        let tids = self.tids();
        self.threads_of(&tids)
    }

    /// These threads, and where they are, without threads that do not exist.
    fn threads_of(&mut self, tids: &[u32]) -> Result<Vec<Thread>, EngineError> {
        let of = |tid: &u32| self.parts().0.thread(*tid).map(|found| self.place_of(found));
        let threads = tids.iter().filter_map(of).collect();
        self.goes_on().map(|()| threads)
    }

    /// A thread as the engine has found it, without its owner.
    fn place_of(&mut self, found: EngineThread) -> Thread {
        let EngineThread { key, process, cpus, scheduler, vp } = found;
        let comm = self.thread_name(key);
        let registry = self.parts().1;
        let (pinned, slot) = (cpus & registry.cpus != registry.cpus, registry.places.of(vp));
        Thread { key, pid: process, comm, uid: None, pinned, scheduler, slot }
    }
}

/// Where a thread is, if the TID still belongs to the same thread.
fn living(engine: &mut impl ChangeableEngine, thread: ThreadKey) -> Result<EngineThread, EngineError> {
    engine.thread(thread.tid).filter(|found| found.key == thread).ok_or(EngineError::Gone)
}

/// Threads may end at any time: `NotFound` from the core means that the thread has just ended.
fn gone_or_refused(error: CoreError) -> EngineError {
    match error {
        CoreError::NotFound => EngineError::Gone,
        error => error.into(),
    }
}

/// Attaches a scheduler below another. Returns the VP in the core.
fn attach(
    engine: &mut impl ChangeableEngine,
    registry: &mut RunRegistry,
    parent: CoreScheduler,
    child: CoreScheduler,
    params: Params,
) -> Result<CoreVp, CoreError> {
    let core_vp = engine.built().core.attach(parent, Some(child), params)?;
    if let Some(number) = engine.built().observed.get(child) {
        let name = registry.observer().topology().scheduler_name(number).into();
        let info = VpInfo { name, child: Child::Scheduler(number), ..VpInfo::default() };
        registry.add_vp(engine, core_vp, 0, info, parent);
    }
    Ok(core_vp)
}

/// Removes a VP of a scheduler from the hierarchy, and keeps what it has used.
fn detach(engine: &mut impl ChangeableEngine, core_vp: CoreVp) -> Result<(), CoreError> {
    let now = engine.charge_until_now()?;
    let usage = VpUsage::of(engine.view(), core_vp, now);
    let built = engine.built();
    built.core.detach(core_vp, now)?;
    built.of_schedulers.retire(core_vp, usage);
    engine.unwatch(core_vp);
    Ok(())
}

/// Replaces a scheduler's policy. If the new policy refuses a child, a fallback takes its place.
fn replace_policy(
    engine: &mut impl ChangeableEngine,
    registry: &mut RunRegistry,
    scheduler: CoreScheduler,
    policy: u8,
    params: Params,
) -> Result<(), CoreError> {
    let before = policy_of(engine, scheduler);
    let replaced =
        engine.charge_until_now().and_then(|now| engine.built().core.replace(scheduler, policy, params, now));
    let after = policy_of(engine, scheduler);
    if let (Err(error), Some(fallback)) = (replaced, after.filter(|_| after != before)) {
        let violation = format!("the policy that was to replace it refused a child: {error}");
        registry.notify_manager(PolicyDisabled { scheduler, violation, fallback: fallback.to_owned() });
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Console;
    use crate::listeners::Listeners;
    use crate::registry::Places;
    use crate::request::Files;
    use crate::simulated::SimulatedRun;
    use hls_calculus::{Mode, Rules};
    use hls_check::Derived;
    use hls_core::About;
    use hls_plan::Plan;
    use hls_sim::Simulation;
    use hls_workload::program::Workload;
    use std::fmt::Display;
    use std::sync::Arc;

    struct Silence;

    impl Console for Silence {
        fn say(&self, _: &dyn Display) {}
    }

    /// A run that may have ended: then, as in the kernel, a thread that the engine does not find may still live.
    struct Run<'t> {
        run: SimulatedRun<'t>,
        has_ended: bool,
    }

    impl<'t> ChangeableRun<'t> for Run<'t> {
        type Engine = Simulation;

        fn parts(&mut self) -> (&mut Simulation, &mut RunRegistry<'t>) {
            self.run.parts()
        }

        fn now(&mut self) -> Nanos {
            self.run.now()
        }

        fn once_processed(&mut self, at: Nanos, change: impl FnOnce(&mut RunRegistry<'t>) + 'static) {
            self.run.once_processed(at, change);
        }

        fn goes_on(&mut self) -> Result<(), EngineError> {
            if self.has_ended { Err(EngineError::Ended) } else { Ok(()) }
        }

        fn processed_until(&mut self) -> Nanos {
            self.run.processed_until()
        }

        fn thread_name(&self, thread: ThreadKey) -> String {
            self.run.thread_name(thread)
        }
    }

    /// Hands a run with one thread to the test, and the thread's number.
    fn with_run(has_ended: bool, test: impl FnOnce(&mut Run, u32)) {
        let file = br#"round-robin "RR" { thread "one" }"#;
        let (hierarchy, _) = hls_hierarchy::read(file).expect("a valid file");
        let plan = Plan::new(hierarchy, &Workload::default()).expect("a plan");
        let rules = Rules { mode: Mode::Tight, global: false };
        let derived = Derived::new(&plan, rules);
        let (slack, files) = (Nanos::ZERO, &Files::default());
        let observer = hls_facade::observer(&plan, &derived, slack);
        let listeners = Listeners::new(files, &plan.topology, observer).expect("no files");
        let registry = RunRegistry::new(listeners, Places::default(), Arc::new(Silence));
        let machine = derived.machine(&plan).clone();
        let one = plan.threads().next().expect("it is there").vp.0;
        let mut simulation =
            Simulation::new(plan.clone(), hls_sim::Options::default()).expect("a simulation");
        simulation.run_until(Nanos(1), &mut |_| ()).expect("it runs");
        test(&mut Run { run: SimulatedRun { simulation, registry, machine }, has_ended }, one);
    }

    /// A number that no thread has, and one that no scheduler has.
    const NOBODY: ThreadKey = ThreadKey { tid: 4711, vp: CoreVp(4711), generation: 1 };
    const NONE: CoreScheduler = CoreScheduler(4711);

    #[test]
    fn what_is_missing_while_the_run_goes_on_does_not_exist() {
        with_run(false, |run, one| {
            assert_eq!(run.thread(NOBODY.tid), Ok(None));
            assert_eq!(run.live(&[NOBODY]), Ok(vec![false]));
            let found = run.thread(one).unwrap().expect("it is there");
            assert_eq!(run.threads(), Ok(vec![found]));
            assert_eq!(run.observed(&[]), Ok(Vec::new()));
            let gone = HierarchyChange::CallAbout { thread: NOBODY, about: About::suspend(true) };
            assert_eq!(run.carry_out(gone), Err(EngineError::Gone));
            let none = HierarchyChange::DestroyScheduler { scheduler: NONE };
            assert_eq!(run.carry_out(none), Err(EngineError::Core(CoreError::NotFound)));
        });
    }

    /// Everything that is missing or refused after the end of a run is reported as [`EngineError::Ended`].
    #[test]
    fn nothing_is_said_to_be_missing_where_the_run_has_ended() {
        with_run(true, |run, _| {
            assert_eq!(run.thread(NOBODY.tid), Err(EngineError::Ended));
            assert_eq!(run.live(&[NOBODY]), Err(EngineError::Ended));
            assert_eq!(run.threads(), Err(EngineError::Ended));
            assert_eq!(run.observed(&[]), Err(EngineError::Ended));
            let gone = HierarchyChange::CallAbout { thread: NOBODY, about: About::suspend(true) };
            assert_eq!(run.carry_out(gone), Err(EngineError::Ended));
            let none = HierarchyChange::DestroyScheduler { scheduler: NONE };
            assert_eq!(run.carry_out(none), Err(EngineError::Ended));
        });
    }
}
