//! The policies that schedulers of a running hierarchy may have: the built-in ones, and those that were loaded.
//!
//! A lookup table; operations (`policies`) change it.

use crate::engine::PolicySource;
use crate::error::Error;
use hls_core::PolicyInfo;
use hls_hierarchy::{Policies, Policy};

/// A policy that was loaded.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    /// What it was built from.
    pub source: PolicySource,
    /// Its own description.
    pub info: PolicyInfo,
}

impl LoadedPolicy {
    /// The loaded policies of a build made from `sources`, in the order of `sources`.
    ///
    /// # Errors
    /// The build lacks one of them.
    pub fn all(sources: Vec<PolicySource>, built: &[PolicyInfo]) -> Result<Vec<LoadedPolicy>, Error> {
        let describe = |source: PolicySource| {
            let info = built.iter().find(|info| info.id == source.number && info.name == source.name);
            let missing = || Error::Failed(format!("found no policy `{}` in what was built", source.name));
            Ok(LoadedPolicy { info: info.ok_or_else(missing)?.clone(), source })
        };
        sources.into_iter().map(describe).collect()
    }
}

/// The built-in policies and these loaded ones.
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

/// The default parameters of a scheduler of a policy.
pub(crate) fn presets(info: &PolicyInfo) -> impl Iterator<Item = (String, u64)> {
    info.scheduler_params.iter().map(|info| (info.name.to_owned(), info.default.unwrap_or(info.min)))
}
