//! The manager of a running hierarchy: its tree and policies, what each user may change, and how changes become known.
//!
//! An operation (`operations`, `evacuate`, `policies`) works on a copy of the tree, which becomes the hierarchy by
//! [`Manager::commit`] once the engine has made the change. Relies on its caller to let one operation in at a time.

use crate::changes::{Changes, between, change};
use crate::engine::{DisabledPolicies, PolicyDisabled, Promisee, RunningEngine, Thread};
use crate::error::Error;
use crate::loaded::{LoadedPolicy, known, policy_of, presets};
use crate::tree::{Layout, Lease, Lost, Tree};
use hls_calculus::Mode;
use hls_client::interface::{Change, Kind};
use hls_engine::ThreadKey;
use hls_hierarchy::analysis::graph_scheduler;
use hls_hierarchy::{Policies, Policy};
use hls_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// The user that makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The effective user when the client connected.
    pub uid: u32,
}

impl Peer {
    /// Root: it may do everything.
    pub const ROOT: Peer = Peer { uid: 0 };

    pub(crate) fn is_root(self) -> bool {
        self == Peer::ROOT
    }
}

/// A thread that is suspended.
#[derive(Clone, Debug)]
pub(crate) struct Suspension {
    pub(crate) thread: ThreadKey,
    /// The name of the scheduler that holds it back.
    pub(crate) by: String,
}

/// The threads that are suspended, by their numbers.
pub(crate) type Suspensions = BTreeMap<u32, Suspension>;

/// What answers requests: a hierarchy, and the engine that runs it.
pub struct Manager<E> {
    pub(crate) engine: E,
    pub(crate) tree: Tree,
    /// The policies that were loaded.
    pub(crate) loaded: Vec<LoadedPolicy>,
    /// All policies that schedulers may have, loaded ones included.
    pub(crate) policies: Policies,
    pub(crate) suspensions: Suspensions,
    disabled_policies: DisabledPolicies,
    /// What has changed, for clients that subscribe to it.
    pub(crate) changes: Arc<Changes>,
    /// The built-in policies that requests have added to the engine; each engine from then on has them.
    pub(crate) brought_in: BTreeSet<u8>,
    /// Held while a change of policies is prepared and made.
    pub(crate) turn: Arc<Mutex<()>>,
}

impl<E: RunningEngine> Manager<E> {
    /// Takes over a hierarchy that the engine has built.
    ///
    /// # Errors
    /// Everything that is wrong with the hierarchy.
    pub fn new(engine: E, layout: Layout, mode: Mode) -> Result<Manager<E>, Error> {
        let loaded = layout.loaded.clone();
        let policies = known(&loaded)?;
        let disabled_policies = layout.disabled_policies.clone();
        Ok(Manager {
            engine,
            tree: Tree::new(layout, &policies, mode)?,
            loaded,
            policies,
            suspensions: Suspensions::new(),
            disabled_policies,
            changes: Arc::new(Changes::new()),
            brought_in: BTreeSet::new(),
            turn: Arc::default(),
        })
    }

    /// The engine, for the code that runs it.
    pub fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// The engine, for a caller that goes on without a manager.
    pub fn into_engine(self) -> E {
        self.engine
    }

    /// Takes note of policies that were disabled: the promises below their schedulers end.
    pub fn note_disabled_policies(&mut self) {
        for PolicyDisabled { scheduler, violation, fallback } in self.disabled_policies.take() {
            if let Some(at) = self.tree.of_core(scheduler) {
                self.fall_back(at, &fallback, violation);
            }
        }
    }

    /// Notes that a fallback policy, which promises nothing, has replaced a scheduler's own.
    pub(crate) fn fall_back(&mut self, at: usize, fallback: &str, violation: String) {
        let Ok(Policy { info, .. }) = policy_of(&self.policies, fallback) else { return };
        let mut tree = self.tree.clone();
        let Some(known) = tree.schedulers[at].as_mut() else { return };
        let params: Vec<_> = presets(info).collect();
        let had = std::mem::replace(&mut known.params, params.clone());
        let policy = std::mem::replace(&mut known.policy, *info).name;
        known.lost = Some(Lost { policy, params: had, violation });
        // The fallback is a policy that the calculus knows by its name.
        let to = graph_scheduler(&known.name, info, None, params);
        let _ = tree.end_resting(|it| it.scheduler == at);
        let _ = tree.admission.fall_back(at, to);
        self.commit(tree);
    }

    /// Takes into account what happened without a request: policies that were disabled, and threads that have ended.
    /// Their guarantees and suspensions end, and promoted schedulers without threads are destroyed.
    ///
    /// # Errors
    /// The run has ended: what happened to its threads is not known.
    pub fn sweep(&mut self) -> Result<(), Error> {
        self.note_disabled_policies();
        self.end_rests()?;
        self.end_leases()?;
        self.remove_abandoned()?;
        self.end_suspensions()
    }

    /// [`Manager::sweep`] for the periodic tick. If no scheduler is promoted and no thread suspended, only notes
    /// disabled policies.
    ///
    /// # Errors
    /// As of [`Manager::sweep`].
    pub fn tidy(&mut self) -> Result<(), Error> {
        self.note_disabled_policies();
        let has_promoted = self.tree.all().any(|(_, scheduler)| scheduler.is_promoted);
        if has_promoted || !self.suspensions.is_empty() { self.sweep() } else { Ok(()) }
    }

    /// Ends the places that have rested long enough.
    pub(crate) fn end_rests(&mut self) -> Result<(), Error> {
        if self.tree.resting.is_empty() {
            return Ok(());
        }
        let now = self.engine.now()?;
        self.tree.rests_seen_at = now;
        if self.tree.resting.values().any(|it| it.until <= now) {
            let mut tree = self.tree.clone();
            tree.end_resting(|it| it.until <= now)?;
            self.commit(tree);
        }
        Ok(())
    }

    /// Ends the guarantees of threads that have ended.
    pub(crate) fn end_leases(&mut self) -> Result<(), Error> {
        let keys: Vec<ThreadKey> = self.tree.leases.values().map(|lease| lease.key).collect();
        let gone = self.gone(&keys)?;
        if gone.is_empty() {
            return Ok(());
        }
        let now = self.engine.now()?;
        let mut tree = self.tree.clone();
        let of_gone = gone.iter().filter_map(|tid| {
            self.tree.leases.remove(tid);
            tree.leases.remove(tid)
        });
        let left: Vec<Lease> = of_gone.collect();
        tree.leave(&left, now)?;
        self.commit(tree);
        let released = |tid: u32| Change { thread: Some(tid), ..change(Kind::Released) };
        self.changes.add(|| gone.into_iter().map(released));
        Ok(())
    }

    /// The TIDs of the threads among `keys` that have ended.
    pub(crate) fn gone(&mut self, keys: &[ThreadKey]) -> Result<Vec<u32>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let live = self.engine.live(keys)?;
        Ok(keys.iter().zip(live).filter(|(_, lives)| !lives).map(|(key, _)| key.tid).collect())
    }

    /// Makes `tree`, a changed copy, the hierarchy, and has the engine watch the promises that have changed.
    pub(crate) fn commit(&mut self, tree: Tree) {
        self.commit_later(tree, |_| Nanos::ZERO);
    }

    /// The same, but a changed promise begins this much later.
    pub(crate) fn commit_later(&mut self, tree: Tree, begins_after: impl Fn(Promisee) -> Nanos) {
        let old = std::mem::replace(&mut self.tree, tree);
        let before = old.promisees();
        for (who, at) in self.tree.promisees() {
            if !before.get(&who).is_some_and(|(of_old, _)| self.tree.promises_as(at.0, &old, *of_old)) {
                self.engine.promise(who, &self.tree.promised_to_each(at), begins_after(who));
            }
        }
        self.changes.add(|| between(&old, &self.tree));
    }

    /// A living thread.
    pub(crate) fn living(&mut self, tid: u32) -> Result<Thread, Error> {
        let thread = self.engine.thread(tid)?;
        thread.ok_or_else(|| {
            Error::NotFound(format!("found no thread {tid} in the hierarchy, expected a living one there"))
        })
    }

    /// A thread that the user may move: one of the user's own, in a place that the user may change.
    pub(crate) fn thread(&mut self, who: Peer, tid: u32) -> Result<Thread, Error> {
        let thread = self.living(tid)?;
        if let Some(at) = self.tree.of_core(thread.scheduler) {
            self.is_open(at)?;
        }
        if who.is_root() {
            return Ok(thread);
        }
        if thread.uid != Some(who.uid) {
            let found = thread.uid.map_or("several users".into(), |uid| format!("user {uid}"));
            let reason = format!("found thread {tid} of {found}, expected one of user {}", who.uid);
            return Err(Error::Denied(reason));
        }
        let at = self.scheduler_of(&thread)?;
        if at != self.tree.default {
            self.may_change_below(who, at)?;
        }
        Ok(thread)
    }

    pub(crate) fn scheduler_of(&self, thread: &Thread) -> Result<usize, Error> {
        self.tree.of_core(thread.scheduler).ok_or_else(|| nowhere(thread))
    }

    /// Whether requests may change a scheduler: they may not change schedulers that were added for the threads of
    /// `hls`. The CPU time of these is not part of what the file promises, and is taken first.
    fn is_open(&self, scheduler: usize) -> Result<(), Error> {
        if !self.tree.added.contains(&scheduler) {
            return Ok(());
        }
        let name = self.tree.scheduler(scheduler).map_or("?", |scheduler| &scheduler.name);
        Err(Error::InUse(format!(
            "found `{name}`, which hls has added for its own threads, expected another scheduler"
        )))
    }

    /// Whether the user may change what is below a scheduler.
    pub(crate) fn may_change_below(&self, who: Peer, scheduler: usize) -> Result<(), Error> {
        self.is_open(scheduler)?;
        if who.is_root() || self.tree.is_below_of(scheduler, who.uid) {
            return Ok(());
        }
        let name = self.tree.scheduler(scheduler).map_or("?", |scheduler| &scheduler.name);
        let found = format!("found `{name}`, which is not below a scheduler of user {}", who.uid);
        Err(Error::Denied(format!("{found}, expected one that is (`owner` in the hierarchy file)")))
    }
}

/// The error for a thread with a scheduler that is not known here.
pub(crate) fn nowhere(thread: &Thread) -> Error {
    let Thread { key, scheduler, .. } = thread;
    Error::Failed(format!(
        "found thread {} below scheduler {} of the core, expected a known one",
        key.tid, scheduler.0
    ))
}
