//! Carries out changes of a running hierarchy, for both engines.
//!
//! ```text
//!  Manager ─► HierarchyChange ─► carry_out ─┬─► the core's entry point
//!                                           ├─► RunRegistry: the result's number of what is new
//!                                           └─► DueChange: what the registry gets in order of time
//! ```
//!
//! Relies on its caller to make one change at a time, between two steps of the run. Decides nothing: the manager has
//! checked that the change is allowed and keeps every promise. Reports nothing as missing before it has checked that
//! the run goes on ([`ChangeableRun::goes_on`]), because after the end of a run the engine finds no thread.

use crate::registry::{DueChange, RegistryChange, RunRegistry, policy_of};
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

/// A run with a hierarchy that can change: its engine, and the registry of its VPs and schedulers.
pub struct ChangeableRun<'r, E> {
    pub engine: &'r mut E,
    pub registry: &'r mut RunRegistry,
    /// Checks that the hierarchy still has its threads. What was found missing before a successful check does not
    /// exist. [`EngineError::Ended`]: it no longer has them. Another error: this cannot be found out.
    pub goes_on: fn(&E) -> Result<(), EngineError>,
}

/// What a change has created, and the change of the registry that its caller is to make when it is due.
type Made = (Created, Option<DueChange>);

impl<E: ChangeableEngine> ChangeableRun<'_, E> {
    /// Carries a change out, or refuses it whole.
    pub fn carry_out(&mut self, change: HierarchyChange) -> Result<Made, EngineError> {
        let made = self.make(change);
        self.unless_ended(made)
    }

    /// Passes a result on. If the run has ended, replaces an error by [`EngineError::Ended`].
    pub fn unless_ended<T>(&self, done: Result<T, EngineError>) -> Result<T, EngineError> {
        done.or_else(|error| self.sure(()).and(Err(error)))
    }

    /// Passes on what was found or not found, if the run goes on.
    fn sure<T>(&self, found: T) -> Result<T, EngineError> {
        (self.goes_on)(self.engine).map(|()| found)
    }

    /// Carries a change out, or refuses it whole with the engine's error.
    fn make(&mut self, change: HierarchyChange) -> Result<Made, EngineError> {
        let (engine, registry) = (&mut *self.engine, &mut *self.registry);
        let later = match change {
            HierarchyChange::CreateScheduler { name, policy, params } => {
                let scheduler = engine.built().core.create_scheduler(policy, params)?;
                let policy =
                    engine.built().core.view().policy(policy).map_or("", |info| info.name).to_owned();
                registry.add_scheduler(engine, scheduler, SchedulerInfo { name, policy });
                return Ok((Created::Scheduler(scheduler), None));
            }
            HierarchyChange::AttachScheduler { parent, child, params } => {
                return Ok((Created::Vp(attach(engine, registry, parent, child, params)?), None));
            }
            HierarchyChange::DestroyScheduler { scheduler } => {
                engine.built().core.destroy_scheduler(scheduler)?;
                let number = engine.built().observed.remove(scheduler);
                number.map(|number| (engine.elapsed(), RegistryChange::RemoveScheduler(number)))
            }
            HierarchyChange::DetachScheduler { vp } => {
                detach(engine, vp)?;
                None
            }
            HierarchyChange::ReplacePolicy { scheduler, policy, params } => {
                replace_policy(engine, registry, scheduler, policy, params)?;
                None
            }
            HierarchyChange::MoveThread { thread, to, params } => self.move_thread(thread, to, params)?,
            HierarchyChange::CallAbout { thread, about } => {
                living(engine, thread)?;
                engine.call_about(thread.tid, about).map_err(gone_or_refused)?;
                None
            }
            HierarchyChange::ClosePlace { place } => self.close_place(place),
        };
        Ok((Created::Nothing, later))
    }

    /// Moves a thread. A thread that has a number keeps it, and gives up its place of the file, which stays empty. A
    /// thread without one gets a number if a trace or a picture is to show it and it does not go to the default
    /// scheduler; otherwise it is not recorded.
    fn move_thread(
        &mut self,
        thread: ThreadKey,
        to: CoreScheduler,
        params: Params,
    ) -> Result<Option<DueChange>, EngineError> {
        let (engine, registry) = (&mut *self.engine, &mut *self.registry);
        // Before the move: what the thread was promised ends no later.
        let now = engine.elapsed();
        let before = living(engine, thread)?;
        let above = if before.vp == ObservedVp::NONE {
            Vec::new()
        } else {
            registry.observer().topology().above(before.vp)
        };
        engine.move_thread(thread.tid, to, params, &above).map_err(gone_or_refused)?;
        let vp = engine.built().number(thread.vp);
        if vp != ObservedVp::NONE {
            registry.places.leave(vp);
            let below = engine.built().observed.get(to);
            return Ok(below.map(|below| (now, RegistryChange::MoveBelow(vp, below))));
        }
        if to != engine.built().default.0 && registry.listeners.draws() {
            self.number_thread(&before, to);
        }
        Ok(None)
    }

    /// Gives a thread a number of its own. It is below this scheduler.
    fn number_thread(&mut self, thread: &EngineThread, scheduler: CoreScheduler) -> Option<ObservedVp> {
        let EngineThread { key: ThreadKey { tid, vp, .. }, name, .. } = thread;
        // The number of the thread first: tables cut long names.
        let info = VpInfo { name: format!("{tid} {name}").into(), child: Child::Thread, ..VpInfo::default() };
        self.registry.add_vp(self.engine, *vp, *tid, info, scheduler)
    }

    /// Closes this place of the file: no thread takes it any more.
    fn close_place(&mut self, place: GraphEdge) -> Option<DueChange> {
        let now = self.engine.elapsed();
        let vp = self.registry.places.close(place)?;
        let to = self.engine.close_place(vp)?;
        let below = self.engine.built().observed.get(to)?;
        Some((now, RegistryChange::MoveBelow(vp, below)))
    }

    /// What checks what a promisee gets against this promise, from `after` later on; an empty promise ends the checks.
    pub fn promise(&mut self, to: Promisee, promise: Promise, after: Nanos) -> Option<DueChange> {
        // First: a VP that has a number now has it at that time.
        let now = self.engine.elapsed();
        let vp = self.number_of(to, &promise)?;
        Some((now, RegistryChange::Promise(Promise { vp, ..promise }, after)))
    }

    /// The number under which a promisee's events are recorded. A thread without a number gets one now for its
    /// promise.
    fn number_of(&mut self, to: Promisee, promise: &Promise) -> Option<ObservedVp> {
        let is_some = |vp: &ObservedVp| *vp != ObservedVp::NONE;
        let thread = match to {
            Promisee::Place(place) => return self.registry.places.vp(place),
            Promisee::Scheduler(core_vp) => {
                let built = self.engine.built();
                if !built.core.view().vp(core_vp)?.watched {
                    built.core.watch(core_vp, true).ok()?;
                }
                return Some(built.number(core_vp)).filter(is_some);
            }
            Promisee::Thread(thread) => thread,
        };
        let thread = living(self.engine, thread).ok()?;
        if is_some(&thread.vp) || promise.is_empty() {
            return Some(thread.vp).filter(is_some);
        }
        self.number_thread(&thread, thread.scheduler)
    }

    /// What these VPs of the core were promised and received. Records have been passed on up to `now`.
    pub fn observed(&mut self, core_vps: &[CoreVp], now: Nanos) -> Result<Vec<Observed>, EngineError> {
        let of = |core_vp: &CoreVp| self.registry.observed(self.engine, *core_vp, now);
        let observed = core_vps.iter().map(of).collect();
        self.sure(observed)
    }

    /// Whether each of these threads lives.
    pub fn live(&mut self, threads: &[ThreadKey]) -> Result<Vec<bool>, EngineError> {
        let live: Vec<bool> = threads.iter().map(|thread| living(self.engine, *thread).is_ok()).collect();
        if live.contains(&false) { self.sure(live) } else { Ok(live) }
    }

    /// A thread and where it is, if it exists. Its owner comes from elsewhere.
    pub fn thread(&mut self, tid: u32) -> Result<Option<Thread>, EngineError> {
        match self.engine.thread(tid) {
            Some(found) => Ok(Some(self.place_of(found))),
            None => self.sure(None),
        }
    }

    /// These threads, and where they are, without threads that do not exist.
    pub fn threads(&mut self, tids: &[u32]) -> Result<Vec<Thread>, EngineError> {
        let of = |tid: &u32| self.engine.thread(*tid).map(|found| self.place_of(found));
        let threads = tids.iter().filter_map(of).collect();
        self.sure(threads)
    }

    /// What is counted for the whole run. How long the lock was held, only the engine knows.
    pub fn counts(&mut self) -> Counts {
        let built = self.engine.built();
        let view = built.core.view();
        let cpus = 0..self.registry.cpus.count_ones() as u16;
        let stolen = cpus.map(|cpu| view.stolen(cpu)).fold(Nanos::ZERO, Nanos::saturating_add);
        let decided = built.observed.all().filter_map(|(in_core, _)| Some((in_core, view.decided(in_core)?)));
        Counts { stolen, decided: decided.collect(), longest_hold_and_wait: None }
    }

    /// A thread as the engine has found it, without its owner.
    fn place_of(&self, found: EngineThread) -> Thread {
        let EngineThread { key, name, process, cpus, scheduler, vp } = found;
        let (pinned, slot) = (cpus & self.registry.cpus != self.registry.cpus, self.registry.places.of(vp));
        Thread { key, pid: process, comm: name, uid: None, pinned, scheduler, slot }
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
    let built = engine.built();
    let usage = VpUsage::of(built.core.view(), core_vp, now);
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
    use crate::run::Files;
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

    /// Hands a run with one thread to the test, and the thread's number. The run may have ended: then, as in the
    /// kernel, a thread that the engine does not find may still live.
    fn with_run(has_ended: bool, test: impl FnOnce(&mut ChangeableRun<Simulation>, u32)) {
        let file = br#"round-robin "RR" { thread "one" }"#;
        let (hierarchy, _) = hls_hierarchy::read(file).expect("a valid file");
        let plan = Plan::new(hierarchy, &Workload::default()).expect("a plan");
        let rules = Rules { mode: Mode::Tight, global: false };
        let derived = Derived::new(&plan, rules);
        let (slack, files) = (Nanos::ZERO, &Files::default());
        let observer = hls_facade::observer(&plan, &derived, slack);
        let listeners = Listeners::new(files, &plan.topology, observer).expect("no files");
        let registry = &mut RunRegistry::new(listeners, Places::default(), Arc::new(Silence));
        let one = plan.threads().next().expect("it is there").vp.0;
        let mut simulation =
            Simulation::new(plan.clone(), hls_sim::Options::default()).expect("a simulation");
        simulation.run_until(Nanos(1), &mut |_| ()).expect("it runs");
        let goes_on: fn(&Simulation) -> Result<(), EngineError> =
            if has_ended { |_| Err(EngineError::Ended) } else { |_| Ok(()) };
        test(&mut ChangeableRun { engine: &mut simulation, registry, goes_on }, one);
    }

    /// A number that no thread has, and one that no scheduler has.
    const NOBODY: ThreadKey = ThreadKey { tid: 4711, vp: CoreVp(4711), generation: 1 };
    const NONE: CoreScheduler = CoreScheduler(4711);

    /// The error of a change.
    fn refusal(run: &mut ChangeableRun<Simulation>, change: HierarchyChange) -> EngineError {
        run.carry_out(change).map(|(created, _)| created).expect_err("it is not there")
    }

    #[test]
    fn what_is_missing_while_the_run_goes_on_does_not_exist() {
        with_run(false, |run, one| {
            assert_eq!(run.thread(NOBODY.tid), Ok(None));
            assert_eq!(run.live(&[NOBODY]), Ok(vec![false]));
            let found = run.thread(one).unwrap().expect("it is there");
            assert_eq!(run.threads(&[one, NOBODY.tid]), Ok(vec![found]));
            assert_eq!(run.observed(&[], Nanos(1)), Ok(Vec::new()));
            let gone = HierarchyChange::CallAbout { thread: NOBODY, about: About::suspend(true) };
            assert_eq!(refusal(run, gone), EngineError::Gone);
            let none = HierarchyChange::DestroyScheduler { scheduler: NONE };
            assert_eq!(refusal(run, none), EngineError::Core(CoreError::NotFound));
        });
    }

    /// Everything that is missing or refused after the end of a run is reported as [`EngineError::Ended`].
    #[test]
    fn nothing_is_said_to_be_missing_where_the_run_has_ended() {
        with_run(true, |run, one| {
            assert_eq!(run.thread(NOBODY.tid), Err(EngineError::Ended));
            assert_eq!(run.live(&[NOBODY]), Err(EngineError::Ended));
            assert_eq!(run.threads(&[one, NOBODY.tid]), Err(EngineError::Ended));
            assert_eq!(run.observed(&[], Nanos(1)), Err(EngineError::Ended));
            let gone = HierarchyChange::CallAbout { thread: NOBODY, about: About::suspend(true) };
            assert_eq!(refusal(run, gone), EngineError::Ended);
            let none = HierarchyChange::DestroyScheduler { scheduler: NONE };
            assert_eq!(refusal(run, none), EngineError::Ended);
        });
    }
}
