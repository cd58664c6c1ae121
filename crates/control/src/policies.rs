//! Loading, replacing and unloading policies while the hierarchy runs (Vassal, sections 3 and 4).
//!
//! An engine has one set of loaded policies. A change makes a new set, and with it the next engine, which is prepared
//! while the current engine goes on and then takes over. Relies on the current engine going on when the next one fails.

use crate::asked::{Asked, Serve};
use crate::changes::change;
use crate::engine::{HierarchyChange, PolicySource, Preparation, Prepared, RunningEngine};
use crate::error::{Error, refused};
use crate::evacuate::Evacuated;
use crate::loaded::{LoadedPolicy, known, policy_of, presets};
use crate::manager::{Manager, Peer};
use crate::params::shown;
use crate::tree::{Scheduler, Tree, named};
use crate::varlink::Fault;
use hls_client::interface::{self, Kind, LoadReply, LoadTimes, PoliciesReply, UnloadReply};
use hls_core::limits::FIRST_LOADED;
use hls_core::{CoreScheduler, ParamInfo, Params, PolicyInfo};
use hls_hierarchy::analysis::graph_scheduler;
use hls_hierarchy::{Policies, Policy};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A change of policies that has begun. Preparing the next engine takes seconds and does not need the manager.
pub(crate) struct Change<T, W> {
    what: W,
    sources: Vec<PolicySource>,
    preparation: Preparation<T>,
}

impl<T, W> Change<T, W> {
    pub(crate) fn prepare(self) -> Result<Ready<T, W>, Error> {
        Ok(Ready { what: self.what, sources: self.sources, prepared: (self.preparation)()? })
    }
}

/// A change of policies, with a next engine that is ready to take over.
pub(crate) struct Ready<T, W> {
    what: W,
    sources: Vec<PolicySource>,
    prepared: Prepared<T>,
}

/// A change that loads a policy.
pub(crate) struct Load {
    name: String,
    /// Which of the loaded policies it replaces.
    old: Option<usize>,
    /// Whether schedulers in which the policy was disabled are to have it again.
    replace: bool,
}

/// A change that adds the built-in policy of this number to the engine.
pub(crate) struct BringIn(u8);

/// A change that unloads a policy.
pub(crate) struct Unload {
    /// Which of the loaded policies.
    at: usize,
    evacuate: bool,
}

impl Serve for interface::Policies {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<PoliciesReply, Fault> {
        Ok(PoliciesReply { policies: asked.with(|it| Ok(it.policies()))? })
    }
}

impl Serve for interface::Load {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<LoadReply, Fault> {
        let interface::Load { name, path, text, replace } = self;
        let source = PolicySource { number: 0, name, path: path.into(), text };
        let begin = |it: &mut Manager<E>| it.begin_load(source, replace);
        let turn = asked.with(|it| it.turn(asked.who))?;
        asked.change(&turn, begin, Manager::finish_load)
    }
}

impl Serve for interface::Unload {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<UnloadReply, Fault> {
        let begin = |it: &mut Manager<E>| it.begin_unload(&self.name, self.evacuate);
        let turn = asked.with(|it| it.turn(asked.who))?;
        asked.change(&turn, begin, Manager::finish_unload)
    }
}

/// The pause between the parts of a change of policies, or of a demotion. Each part takes CPU time from the threads of
/// the hierarchy; the pause keeps them from taking it out of the same period.
pub(crate) const REST: Duration = Duration::from_millis(40);

impl<E: RunningEngine> Asked<'_, E> {
    /// Does an operation that may need a built-in policy which the engine was made without. If it does, and nothing
    /// else is wrong with the request, an engine with that policy takes over for good, and the operation is done again.
    pub(crate) fn with_policy<T>(
        &self,
        act: impl Fn(&mut Manager<E>) -> Result<T, Error>,
    ) -> Result<T, Fault> {
        let done = self.held(&act)?;
        let Err(Error::LeftOut(policy)) = done else { return Ok(done?) };
        self.aside(|| self.bring_in(policy))?;
        self.with(act)
    }

    /// Has an engine take over that also has the built-in policy of this number, unless one has meanwhile.
    fn bring_in(&self, policy: u8) -> Result<(), Fault> {
        let turn = self.with(|it| Ok(it.turn.clone()))?;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.with(|it| Ok(it.brought_in.contains(&policy)))? {
            return Ok(());
        }
        self.change_in_turn(|it| it.begin_bring_in(policy), Manager::finish_bring_in)
    }

    /// Makes a change of policies, one at a time. While the next engine is prepared, all other requests are answered.
    fn change<W, R>(
        &self,
        turn: &Mutex<()>,
        begin: impl FnOnce(&mut Manager<E>) -> Result<Change<E::NextEngine, W>, Error>,
        finish: impl FnOnce(&mut Manager<E>, Ready<E::NextEngine, W>) -> Result<R, Error>,
    ) -> Result<R, Fault> {
        // The lock guards no data: a preparation that panicked has left nothing behind.
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.change_in_turn(begin, finish)
    }

    /// Makes a change of policies, for a caller that holds the lock of such changes.
    fn change_in_turn<W, R>(
        &self,
        begin: impl FnOnce(&mut Manager<E>) -> Result<Change<E::NextEngine, W>, Error>,
        finish: impl FnOnce(&mut Manager<E>, Ready<E::NextEngine, W>) -> Result<R, Error>,
    ) -> Result<R, Fault> {
        sleep(REST);
        let change = self.with(begin)?;
        let ready = change.prepare()?;
        sleep(REST);
        self.with(|it| finish(it, ready))
    }
}

impl<E: RunningEngine> Manager<E> {
    /// The policies that a scheduler may have now.
    pub fn policies(&mut self) -> Vec<interface::Policy> {
        self.note_disabled_policies();
        let status = |info: &PolicyInfo, file: Option<String>| interface::Policy {
            name: info.name.into(),
            what: info.doc.into(),
            file,
            schedulers: names(&self.tree, &users(&self.tree, info)),
        };
        let built_in = hls_core::policies().iter().map(|info| status(info, None));
        let path = |loaded: &LoadedPolicy| Some(loaded.source.path.display().to_string());
        let loaded = self.loaded.iter().map(|loaded| status(&loaded.info, path(loaded)));
        built_in.chain(loaded).collect()
    }

    /// The lock to hold while a change of policies is prepared. Only one change is prepared at a time; other requests
    /// do not wait for it.
    ///
    /// # Errors
    /// Users other than root change no policies.
    pub(crate) fn turn(&self, who: Peer) -> Result<Arc<Mutex<()>>, Error> {
        match who {
            Peer::ROOT => Ok(self.turn.clone()),
            Peer { uid } => {
                Err(Error::Denied(format!("found user {uid}, expected root: a policy decides for all")))
            }
        }
    }

    /// Loads a policy, under the name in its source. With `replace` it replaces the loaded policy of that name: the
    /// schedulers of that policy keep their state if the new build understands it. Otherwise they start afresh with
    /// their parameters; so do schedulers in which the policy was disabled.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn load(&mut self, who: Peer, source: PolicySource, replace: bool) -> Result<LoadReply, Error> {
        self.turn(who)?;
        let change = self.begin_load(source, replace)?;
        self.finish_load(change.prepare()?)
    }

    pub(crate) fn begin_load(
        &mut self,
        source: PolicySource,
        replace: bool,
    ) -> Result<Change<E::NextEngine, Load>, Error> {
        let (name, path) = (source.name.clone(), source.path.display().to_string());
        if hls_core::policies().iter().any(|info| info.name == name) {
            let reason =
                format!("found the policy `{name}`, which is built in, expected another name for {path}");
            return Err(Error::InUse(reason));
        }
        let was_lost =
            |scheduler: &Scheduler| scheduler.lost.as_ref().is_some_and(|lost| lost.policy == name);
        let old = match self.find_loaded(&name) {
            Ok(at) if !replace => {
                let from = self.loaded[at].source.path.display();
                let expected = "expected another name, or a request to replace it";
                let found = format!("found a policy `{name}` already, loaded from {from}");
                return Err(Error::InUse(format!("{found}, {expected}")));
            }
            Err(error) if replace && !self.tree.all().any(|(_, it)| was_lost(it)) => return Err(error),
            found => found.ok(),
        };
        let number = old.map_or_else(|| self.free_number(), |at| Ok(self.loaded[at].source.number))?;
        let source = PolicySource { number, ..source };
        let mut sources = self.sources();
        match old {
            Some(at) => sources[at] = source,
            None => sources.push(source),
        }
        self.begin(sources, None, Load { name, old, replace })
    }

    pub(crate) fn finish_load(&mut self, ready: Ready<E::NextEngine, Load>) -> Result<LoadReply, Error> {
        self.sweep()?;
        let Load { name, old, replace } = ready.what;
        let loaded = LoadedPolicy::all(ready.sources, &ready.prepared.policies)?;
        let policies = known(&loaded)?;
        let mut kept = old.map_or_else(Vec::new, |at| users(&self.tree, &self.loaded[at].info));
        if let Some(at) = old.filter(|_| !kept.is_empty()) {
            let (was, is) = (&self.loaded[at].info, &loaded[at].info);
            may_have(was, is)?;
            if !may_go_on(was, is) {
                self.begin_anew(&std::mem::take(&mut kept), &policies, &name)?;
            }
        }
        let kept = names(&self.tree, &kept);
        let times = self.publish(ready.prepared, loaded, policies)?;
        let mut report = LoadReply { policy: name, kept, given: Vec::new(), without: Vec::new(), times };
        if replace {
            self.give_back(&mut report)?;
        }
        Ok(report)
    }

    /// Gives these schedulers the fallback policy before another build, which does not understand their state,
    /// replaces their policy; afterwards they get the new build. Refuses if they could not have it.
    fn begin_anew(&mut self, schedulers: &[usize], policies: &Policies, name: &str) -> Result<(), Error> {
        let mut tree = self.tree.clone();
        for at in schedulers {
            let params = tree.scheduler(*at).map(|scheduler| scheduler.params.clone()).unwrap_or_default();
            tree = with_policy(&tree, policies, *at, name, &params)?.0;
        }
        for at in schedulers {
            let Some(Scheduler { id, policy, .. }) = self.tree.scheduler(*at).cloned() else { continue };
            let fallback = if policy.properties.joins { "join" } else { "round-robin" };
            let info = policy_of(&self.policies, fallback)?.info;
            let presets: Vec<u64> = presets(info).map(|(_, preset)| preset).collect();
            let params = Params::from_slice(&presets);
            let replace = HierarchyChange::ReplacePolicy { scheduler: id, policy: info.id, params };
            self.engine.change(replace)?;
            self.fall_back(*at, fallback, "another build is to replace it".into());
        }
        Ok(())
    }

    /// Gives a policy back to the schedulers in which it was disabled, with the parameters that they had.
    fn give_back(&mut self, report: &mut LoadReply) -> Result<(), Error> {
        let lost = |(at, scheduler): (usize, &Scheduler)| {
            let lost = scheduler.lost.clone().filter(|lost| lost.policy == report.policy)?;
            Some((at, scheduler.name.clone(), lost.params))
        };
        let all: Vec<_> = self.tree.all().filter_map(lost).collect();
        for (at, name, params) in all {
            match self.give(at, &report.policy, &params) {
                Ok(()) => report.given.push(name),
                Err(Error::Ended) => return Err(Error::Ended),
                Err(error) => report.without.push(format!("`{name}`: {error}")),
            }
        }
        Ok(())
    }

    /// Replaces the policy of a scheduler, with these parameters.
    fn give(&mut self, at: usize, policy: &str, params: &[(String, u64)]) -> Result<(), Error> {
        let (mut tree, id, own) = with_policy(&self.tree, &self.policies, at, policy, params)?;
        let Some(scheduler) = tree.schedulers[at].as_mut() else { return Ok(()) };
        scheduler.lost = None;
        let policy = scheduler.policy.id;
        self.engine.change(HierarchyChange::ReplacePolicy { scheduler: id, policy, params: own })?;
        self.commit(tree);
        Ok(())
    }

    /// Unloads a policy that no scheduler has. With `evacuate`, its schedulers and all schedulers below them are
    /// first emptied and destroyed.
    ///
    /// # Errors
    /// The error has the reason, and what was evacuated before it; nothing else has changed.
    pub fn unload(&mut self, who: Peer, name: &str, evacuate: bool) -> Result<UnloadReply, Error> {
        self.turn(who)?;
        let change = self.begin_unload(name, evacuate)?;
        self.finish_unload(change.prepare()?)
    }

    pub(crate) fn begin_unload(
        &mut self,
        name: &str,
        evacuate: bool,
    ) -> Result<Change<E::NextEngine, Unload>, Error> {
        self.sweep()?;
        let at = self.find_loaded(name)?;
        if !evacuate {
            self.is_unused(at)?;
        }
        let mut sources = self.sources();
        sources.remove(at);
        self.begin(sources, None, Unload { at, evacuate })
    }

    pub(crate) fn finish_unload(
        &mut self,
        ready: Ready<E::NextEngine, Unload>,
    ) -> Result<UnloadReply, Error> {
        self.sweep()?;
        let Unload { at, evacuate } = ready.what;
        let loaded = LoadedPolicy::all(ready.sources, &ready.prepared.policies)?;
        let policies = known(&loaded)?;
        let evacuated = match evacuate {
            true => self.evacuate(self.loaded[at].info.id)?,
            false => Evacuated::default(),
        };
        let times = self
            .is_unused(at)
            .and_then(|()| self.publish(ready.prepared, loaded, policies))
            .map_err(|error| evacuated.before(error))?;
        Ok(UnloadReply { moved: evacuated.threads, destroyed: evacuated.schedulers, times })
    }

    fn is_unused(&self, at: usize) -> Result<(), Error> {
        let LoadedPolicy { info, source } = &self.loaded[at];
        let users = names(&self.tree, &users(&self.tree, info));
        if users.is_empty() {
            return Ok(());
        }
        let (name, users) = (&source.name, users.join("`, `"));
        Err(Error::InUse(format!(
            "found the policy `{name}` in use by `{users}`, expected no scheduler of it"
        )))
    }

    /// Begins to prepare an engine that also has the built-in policy of this number.
    pub(crate) fn begin_bring_in(&mut self, policy: u8) -> Result<Change<E::NextEngine, BringIn>, Error> {
        self.begin(self.sources(), Some(policy), BringIn(policy))
    }

    pub(crate) fn finish_bring_in(&mut self, ready: Ready<E::NextEngine, BringIn>) -> Result<(), Error> {
        let loaded = LoadedPolicy::all(ready.sources, &ready.prepared.policies)?;
        let policies = known(&loaded)?;
        self.publish(ready.prepared, loaded, policies)?;
        let BringIn(policy) = ready.what;
        self.brought_in.insert(policy);
        Ok(())
    }

    fn begin<W>(
        &mut self,
        sources: Vec<PolicySource>,
        built_in: Option<u8>,
        what: W,
    ) -> Result<Change<E::NextEngine, W>, Error> {
        let preparation = self.engine.prepare(sources.clone(), built_in)?;
        Ok(Change { what, sources, preparation })
    }

    /// Has the prepared engine take over, with these policies.
    fn publish(
        &mut self,
        prepared: Prepared<E::NextEngine>,
        loaded: Vec<LoadedPolicy>,
        policies: Policies,
    ) -> Result<LoadTimes, Error> {
        let begin = Instant::now();
        self.engine.take_over(prepared.next)?;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let times = LoadTimes {
            build_ns: ns(prepared.build),
            verify_ns: ns(prepared.verify),
            publish_ns: ns(begin.elapsed()),
        };
        for scheduler in self.tree.schedulers.iter_mut().flatten() {
            scheduler.policy =
                policies.find(scheduler.policy.name).map_or(scheduler.policy, |found| found.info);
        }
        let before = std::mem::replace(&mut self.loaded, loaded);
        self.policies = policies;
        self.note_loads(&before);
        Ok(times)
    }

    /// Tells subscribers which policies were loaded, replaced and unloaded.
    fn note_loads(&self, before: &[LoadedPolicy]) {
        let has = |all: &[LoadedPolicy], of: &LoadedPolicy| all.iter().any(|it| it.source == of.source);
        let about = |kind, of: &LoadedPolicy| interface::Change {
            policy: Some(of.source.name.clone()),
            ..change(kind)
        };
        let gone = before.iter().filter(|of| !has(&self.loaded, of)).map(|of| about(Kind::Unloaded, of));
        let new = self.loaded.iter().filter(|of| !has(before, of)).map(|of| about(Kind::Loaded, of));
        self.changes.add(|| gone.chain(new));
    }

    /// Which of the loaded policies has this name.
    fn find_loaded(&self, name: &str) -> Result<usize, Error> {
        let is_it = |loaded: &LoadedPolicy| loaded.source.name == name;
        self.loaded.iter().position(is_it).ok_or_else(|| {
            let names: Vec<&str> = self.loaded.iter().map(|loaded| loaded.source.name.as_str()).collect();
            let expected =
                if names.is_empty() { "one that was loaded: none was".into() } else { names.join(", ") };
            Error::NotFound(format!("found no policy `{name}` that was loaded, expected {expected}"))
        })
    }

    /// The loaded policies of the current engine.
    fn sources(&self) -> Vec<PolicySource> {
        self.loaded.iter().map(|loaded| loaded.source.clone()).collect()
    }

    fn free_number(&self) -> Result<u8, Error> {
        let is_free = |number: &u8| self.loaded.iter().all(|loaded| loaded.source.number != *number);
        (FIRST_LOADED..=u8::MAX).find(is_free).ok_or_else(|| {
            Error::InUse(format!("found {} loaded policies, expected one less", self.loaded.len()))
        })
    }
}

/// The tree with another policy in a scheduler, if the parameters fit and all needs hold; also the scheduler's number
/// in the core and its parameters there.
fn with_policy(
    tree: &Tree,
    policies: &Policies,
    at: usize,
    policy: &str,
    params: &[(String, u64)],
) -> Result<(Tree, CoreScheduler, Params), Error> {
    let Policy { info, declared } = policy_of(policies, policy)?;
    let mut tree = tree.clone();
    let Some(scheduler) = tree.schedulers[at].as_mut() else {
        return Err(Error::NotFound("found no scheduler of that number".into()));
    };
    let own = carried_over(info, params)?;
    (scheduler.policy, scheduler.params) = (*info, named(&info.scheduler_params, &own));
    let id = scheduler.id;
    let by = graph_scheduler(&scheduler.name, info, declared.as_ref(), scheduler.params.clone());
    // All children begin anew with the other policy.
    tree.end_resting(|it| it.scheduler == at)?;
    tree.admission.replace(at, by).map_err(refused)?;
    Ok((tree, id, Params::from_slice(&own)))
}

/// The schedulers of a policy.
fn users(tree: &Tree, policy: &PolicyInfo) -> Vec<usize> {
    tree.all().filter(|(_, scheduler)| scheduler.policy.id == policy.id).map(|(at, _)| at).collect()
}

fn names(tree: &Tree, schedulers: &[usize]) -> Vec<String> {
    schedulers.iter().filter_map(|at| Some(tree.scheduler(*at)?.name.clone())).collect()
}

/// The parameters of a scheduler in the order of a policy that is to take them over. The policy must know all of
/// them; any other parameter of the policy must have a default.
fn carried_over(info: &PolicyInfo, params: &[(String, u64)]) -> Result<Vec<u64>, Error> {
    let is_known = |name: &str| info.scheduler_params.iter().any(|known| known.name == name);
    if let Some((name, _)) = params.iter().find(|(name, _)| !is_known(name)) {
        let found = format!("found the parameter `{name}`, which `{}` does not have any more", info.name);
        return Err(Error::BadValue(found));
    }
    let value = |known: &ParamInfo| {
        let value = params.iter().find(|(name, _)| name == known.name).map(|(_, value)| *value);
        let value = value.or(known.default).ok_or_else(|| {
            Error::BadValue(format!("found no `{}`, expected one: {}", known.name, known.doc))
        })?;
        if (known.min..=known.max).contains(&value) {
            return Ok(value);
        }
        let [found, least, most] = [value, known.min, known.max].map(|value| shown(known, value));
        Err(Error::BadValue(format!("parameter `{}`: found {found}, expected {least} to {most}", known.name)))
    };
    info.scheduler_params.iter().map(value).collect()
}

/// Whether the new build of a policy can have the children of the old build's schedulers.
fn may_have(old: &PolicyInfo, new: &PolicyInfo) -> Result<(), Error> {
    let differs = match old {
        _ if old.vp_params != new.vp_params => Some("the parameters of a VP"),
        _ if old.max_children != new.max_children => Some("most_children"),
        _ => old.properties.difference(new.properties),
    };
    match differs {
        None => Ok(()),
        Some(what) => Err(Error::InUse(format!(
            "found another build of `{}` in which {what} differs, expected one that can have the children of \
             its schedulers; unload the old build first",
            new.name
        ))),
    }
}

/// Whether its schedulers can keep their state.
fn may_go_on(old: &PolicyInfo, new: &PolicyInfo) -> bool {
    old.state_version == new.state_version
        && old.scheduler_params == new.scheduler_params
        && (old.accepts, old.provides) == (new.accepts, new.provides)
}
