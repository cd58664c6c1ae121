//! Policies that come and go while the hierarchy runs (Vassal, sections 3 and 4): loaded, replaced, unloaded.
//!
//! The engine runs one set of loaded policies at a time. A change is a new set: it is prepared while the old one
//! decides, and then takes its place. Relies on the engine to leave the old one where it is when the new one fails.

use crate::engine::{Hsi, PolicySource, Prepared};
use crate::error::Error;
use crate::evacuate::Evacuated;
use crate::manager::{Manager, Peer, refused};
use crate::params::shown;
use crate::tree::{Scheduler, Tree, named};
use hls_core::limits::FIRST_LOADED;
use hls_core::{ParamInfo, Params, PolicyInfo};
use hls_hierarchy::{Policies, Policy};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A policy that was loaded.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    /// What it was built from.
    pub source: PolicySource,
    /// What it says of itself.
    pub info: PolicyInfo,
}

/// How long a change of policies took. All but the last part holds nobody up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Took {
    /// To compile the engine, in nanoseconds.
    pub build_ns: u64,
    /// Until the kernel had looked at it and had it ready.
    pub verify_ns: u64,
    /// Until it had taken over.
    pub publish_ns: u64,
}

/// What became of a request to load a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The name under which files and requests know it.
    pub policy: String,
    /// Schedulers of the policy that it replaced, with all that they knew.
    pub kept: Vec<String>,
    /// Schedulers that have it now as if they were new: it had been taken out of them.
    pub given: Vec<String>,
    /// Those of them that cannot have it, each with the reason.
    pub without: Vec<String>,
    /// How long it took.
    pub took: Took,
}

/// What became of a request to unload a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnloadReport {
    /// How many threads were moved to the default scheduler first.
    pub moved: usize,
    /// The schedulers that were destroyed then.
    pub destroyed: Vec<String>,
    /// How long it took.
    pub took: Took,
}

/// A policy, and who uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyStatus {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    /// The file that it was loaded from; none: it is built in.
    pub file: Option<String>,
    /// Its schedulers.
    pub schedulers: Vec<String>,
}

impl<E: Hsi> Manager<E> {
    /// The policies that a scheduler may have now.
    pub fn policies(&self) -> Vec<PolicyStatus> {
        let status = |info: &PolicyInfo, file: Option<String>| PolicyStatus {
            name: info.name.into(),
            what: info.doc.into(),
            file,
            schedulers: users(&self.tree, info).into_iter().map(str::to_owned).collect(),
        };
        let built_in = hls_core::policies().iter().map(|info| status(info, None));
        let path = |loaded: &LoadedPolicy| Some(loaded.source.path.display().to_string());
        let loaded = self.loaded.iter().map(|loaded| status(&loaded.info, path(loaded)));
        built_in.chain(loaded).collect()
    }

    /// Loads a policy, under the name that its source has. One of that name is replaced, if that is wanted: its
    /// schedulers go on with what they know.
    ///
    /// # Errors
    /// Why not; nothing has changed.
    pub fn load(&mut self, who: Peer, source: PolicySource, replace: bool) -> Result<LoadReport, Error> {
        may_load(who)?;
        self.sweep();
        let (name, path) = (source.name.clone(), source.path.display().to_string());
        if hls_core::policies().iter().any(|info| info.name == name) {
            let reason =
                format!("found the policy `{name}`, which is built in, expected another name for {path}");
            return Err(Error::InUse(reason));
        }
        let old = self.loaded.iter().position(|loaded| loaded.source.name == name);
        if old.is_some() && !replace {
            let expected = "expected another name, or that it is to be replaced";
            return Err(Error::InUse(format!("found a policy `{name}` already, {expected}")));
        }
        let number = old.map_or_else(|| self.free_number(), |at| Ok(self.loaded[at].source.number))?;
        let source = PolicySource { number, ..source };
        let mut sources = self.sources();
        match old {
            Some(at) => sources[at] = source,
            None => sources.push(source),
        }
        let kept = old.map_or_else(Vec::new, |at| users(&self.tree, &self.loaded[at].info));
        let kept: Vec<String> = kept.into_iter().map(str::to_owned).collect();
        let took = self.change(sources, old.filter(|_| !kept.is_empty()))?;
        let mut report = LoadReport { policy: name, kept, given: Vec::new(), without: Vec::new(), took };
        if replace {
            self.give_back(&mut report);
        }
        Ok(report)
    }

    /// Gives a policy back to the schedulers that it was taken out of, with the parameters that they had.
    fn give_back(&mut self, report: &mut LoadReport) {
        let lost = |(at, scheduler): (usize, &Scheduler)| {
            let lost = scheduler.lost.clone().filter(|lost| lost.policy == report.policy)?;
            Some((at, scheduler.name.clone(), lost.params))
        };
        let all: Vec<_> = self.tree.all().filter_map(lost).collect();
        for (at, name, params) in all {
            match self.give(at, &report.policy, &params) {
                Ok(()) => report.given.push(name),
                Err(error) => report.without.push(format!("`{name}`: {error}")),
            }
        }
    }

    /// Gives a scheduler another policy in its place, with these parameters.
    fn give(&mut self, at: usize, policy: &str, params: &[(String, u64)]) -> Result<(), Error> {
        let (mut tree, id, own) = self.with_policy(&self.tree, at, policy, params)?;
        let Some(scheduler) = tree.schedulers[at].as_mut() else { return Ok(()) };
        scheduler.lost = None;
        self.engine.replace(id, scheduler.policy.id, own)?;
        self.commit(tree);
        Ok(())
    }

    /// The hierarchy in which a scheduler has another policy, if its parameters fit and all needs hold; which scheduler
    /// of the core it is, and its parameters there.
    fn with_policy(
        &self,
        tree: &Tree,
        at: usize,
        policy: &str,
        params: &[(String, u64)],
    ) -> Result<(Tree, u32, Params), Error> {
        let Policy { info, declared } = policy_of(&self.policies, policy)?;
        let mut tree = tree.clone();
        let Some(scheduler) = tree.schedulers[at].as_mut() else {
            return Err(Error::NotFound("found no scheduler of that number".into()));
        };
        let own = carried_over(info, params)?;
        (scheduler.policy, scheduler.params) = (*info, named(&info.scheduler_params, &own));
        let id = scheduler.id;
        let by = hls_calculus::Scheduler {
            name: scheduler.name.clone(),
            policy: declared.clone().map_or_else(|| info.name.into(), hls_calculus::Policy::Declared),
            params: scheduler.params.clone(),
        };
        tree.admission.replace(at, by).map_err(refused)?;
        Ok((tree, id, Params::from_slice(&own)))
    }

    /// Unloads a policy that no scheduler has. With `evacuate` its schedulers, and all that are below them, are emptied
    /// and destroyed first.
    ///
    /// # Errors
    /// Why not; nothing has changed, but for what was evacuated already.
    pub fn unload(&mut self, who: Peer, name: &str, evacuate: bool) -> Result<UnloadReport, Error> {
        may_load(who)?;
        self.sweep();
        let is_it = |loaded: &LoadedPolicy| loaded.source.name == name;
        let at = self.loaded.iter().position(is_it).ok_or_else(|| {
            let names: Vec<&str> = self.loaded.iter().map(|loaded| loaded.source.name.as_str()).collect();
            let expected =
                if names.is_empty() { "one that was loaded: none was".into() } else { names.join(", ") };
            Error::NotFound(format!("found no policy `{name}` that was loaded, expected {expected}"))
        })?;
        let evacuated = match evacuate {
            true => self.evacuate(self.loaded[at].info.id)?,
            false => Evacuated::default(),
        };
        let users = users(&self.tree, &self.loaded[at].info);
        if !users.is_empty() {
            let users: Vec<String> = users.iter().map(|user| format!("`{user}`")).collect();
            let reason = format!(
                "found the policy `{name}` in use by {}, expected no scheduler of it",
                users.join(", ")
            );
            return Err(Error::InUse(reason));
        }
        let mut sources = self.sources();
        sources.remove(at);
        let Evacuated { threads: moved, schedulers: destroyed } = evacuated;
        Ok(UnloadReport { moved, destroyed, took: self.change(sources, None)? })
    }

    /// Has the engine go on with this set. `replaced`: which of the old ones has schedulers that are to go on.
    fn change(&mut self, sources: Vec<PolicySource>, replaced: Option<usize>) -> Result<Took, Error> {
        let Prepared { newer, policies, build, verify } = self.engine.prepare(&sources)?;
        let describe = |source: PolicySource| {
            let info = policies.iter().find(|info| info.id == source.number && info.name == source.name);
            let missing = || Error::Failed(format!("found no policy `{}` in what was built", source.name));
            Ok(LoadedPolicy { info: info.ok_or_else(missing)?.clone(), source })
        };
        let loaded = sources.into_iter().map(describe).collect::<Result<Vec<_>, Error>>()?;
        if let Some(at) = replaced {
            may_go_on(&self.loaded[at].info, &loaded[at].info)?;
        }
        let policies = known(&loaded)?;
        let begin = Instant::now();
        self.engine.publish(newer)?;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let took = Took { build_ns: ns(build), verify_ns: ns(verify), publish_ns: ns(begin.elapsed()) };
        for scheduler in self.tree.schedulers.iter_mut().flatten() {
            scheduler.policy =
                policies.find(scheduler.policy.name).map_or(scheduler.policy, |found| found.info);
        }
        (self.loaded, self.policies) = (loaded, policies);
        Ok(took)
    }

    /// What the engine of the day was made of.
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

/// Those that need not be loaded, and these.
pub(crate) fn known(loaded: &[LoadedPolicy]) -> Result<Policies, Error> {
    let mut policies = Policies::of(hls_core::policies());
    for LoadedPolicy { info, source } in loaded {
        let wrong = |error| Error::BadValue(format!("{}: {error}", source.path.display()));
        policies.load(info).map_err(wrong)?;
    }
    Ok(policies)
}

/// The policy of a name that a scheduler may have.
pub(crate) fn policy_of<'p>(policies: &'p Policies, name: &str) -> Result<&'p Policy, Error> {
    policies.find(name).ok_or_else(|| {
        let names: Vec<&str> = policies.names().collect();
        Error::NotFound(format!("found the policy `{name}`, expected one that runs: {}", names.join(", ")))
    })
}

/// Whose word is code that decides for everybody.
fn may_load(who: Peer) -> Result<(), Error> {
    match who {
        Peer::ROOT => Ok(()),
        Peer { uid } => {
            Err(Error::Denied(format!("found user {uid}, expected root: a policy decides for all")))
        }
    }
}

/// The schedulers of a policy.
fn users<'t>(tree: &'t Tree, policy: &PolicyInfo) -> Vec<&'t str> {
    let uses = tree.all().filter(|(_, scheduler)| scheduler.policy.id == policy.id);
    uses.map(|(_, scheduler)| scheduler.name.as_str()).collect()
}

/// The parameters of a scheduler in the order of a policy that is to take them over: all that it has, and no others
/// but those that need not be stated.
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

/// Whether schedulers of one build of a policy can go on with another.
fn may_go_on(old: &PolicyInfo, new: &PolicyInfo) -> Result<(), Error> {
    let differs = [
        (old.state_version != new.state_version, "state_version"),
        (old.scheduler_params != new.scheduler_params, "the parameters of a scheduler"),
        (old.vp_params != new.vp_params, "the parameters of a VP"),
        (old.max_children != new.max_children, "most_children"),
        (old.joins != new.joins, "joins"),
        ((old.accepts, old.provides) != (new.accepts, new.provides), "what it promises"),
    ];
    match differs.iter().find(|(differs, _)| *differs) {
        None => Ok(()),
        Some((_, what)) => Err(Error::InUse(format!(
            "found another build of `{}` in which {what} differs, expected one whose schedulers can go on with \
             what they know; unload it first",
            new.name
        ))),
    }
}
