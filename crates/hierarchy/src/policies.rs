//! The policies that a file may name: those that are built into the core, and loaded ones, which the caller of the
//! reader supplies.
//!
//! Relies on the core's registry and on the registry of the analyses, and on what loaded policies say of themselves; no
//! policy is known by name.

use hls_calculus::schedulers::{self, Declared, DeclaredError, Signature};
use hls_core::{ParamInfo, PolicyInfo, Unit};
use std::fmt;
use std::sync::Arc;

/// The name of the statement that loads a policy, which no policy may have.
pub(crate) const LOAD: &str = "load";

/// All policies that need not be loaded.
pub fn policies() -> &'static [PolicyInfo] {
    hls_core::policies()
}

/// The policies that a file may name.
#[derive(Clone, Debug)]
pub struct Policies {
    known: Vec<Policy>,
}

/// A policy that a file may name.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name, limits and parameters.
    pub info: &'static PolicyInfo,
    /// What a loaded policy declares that it promises; `None`: the calculus knows the policy by its name.
    pub declared: Option<Arc<Declared>>,
}

/// Why a policy cannot be used in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Files cannot use its name.
    Name {
        /// Its name.
        found: &'static str,
        /// What its name should be.
        expected: &'static str,
    },
    /// What the policy declares that it promises cannot be read.
    Declares(Vec<DeclaredError>),
}

impl Default for Policies {
    /// The policies that need not be loaded.
    fn default() -> Policies {
        Policies::of(policies())
    }
}

impl Policies {
    /// Exactly these policies, which the calculus knows by their names.
    pub fn of(known: &'static [PolicyInfo]) -> Policies {
        Policies { known: known.iter().map(|info| Policy { info, declared: None }).collect() }
    }

    /// Adds a policy that was loaded. Its description and texts are kept until the process ends, since hierarchies
    /// refer to them without being counted.
    ///
    /// # Errors
    /// Another policy has its name, or a file cannot use the name; or what it declares cannot be read.
    pub fn load(&mut self, info: &PolicyInfo) -> Result<(), Unusable> {
        if self.find(info.name).is_some() {
            return Err(Unusable::Name { found: info.name, expected: "a name that no other policy has" });
        }
        self.known.push(Policy::loaded(info)?);
        Ok(())
    }

    /// The policy of a name.
    pub fn find(&self, name: &str) -> Option<&Policy> {
        self.known.iter().find(|policy| policy.info.name == name)
    }

    /// All policies, the loaded ones last.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static PolicyInfo> {
        self.known.iter().map(|policy| policy.info)
    }

    /// The names of all policies, the loaded ones last.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.all().map(|info| info.name)
    }
}

impl Policy {
    /// A policy that was loaded. It may declare that it promises the same as a policy that need not be loaded.
    fn loaded(info: &PolicyInfo) -> Result<Policy, Unusable> {
        if let Some(expected) = name_fault(info.name) {
            return Err(Unusable::Name { found: info.name, expected });
        }
        let others: Vec<Signature> = policies().iter().map(signature).collect();
        let declared = Declared::read(&signature(info), &others, info.accepts, info.provides);
        let declared = declared.map_err(Unusable::Declares)?;
        Ok(Policy { info: info.kept(), declared: Some(Arc::new(declared)) })
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Name { found, expected } => write!(f, "found the name `{found}`, expected {expected}"),
            Unusable::Declares(errors) => {
                let lines: Vec<String> = errors.iter().map(DeclaredError::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

impl std::error::Error for Unusable {}

/// What is expected of a policy's name, unless it fits: a word that can begin a node and means nothing else in a file.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match name {
        "machine" | "thread" | LOAD => Some("a name that means nothing else in a file"),
        _ if is_word => None,
        _ => Some("a name of lower-case letters, digits and `-` that begins with a letter"),
    }
}

fn signature(info: &PolicyInfo) -> Signature {
    let params = |params: &[ParamInfo]| params.iter().map(param_of).collect();
    let (scheduler_params, vp_params) = (params(&info.scheduler_params), params(&info.vp_params));
    Signature { name: info.name, scheduler_params, vp_params }
}

/// A parameter as the calculus has it.
fn param_of(param: &ParamInfo) -> schedulers::Param {
    let unit = match param.unit {
        Unit::Time => schedulers::Unit::Time,
        Unit::Count => schedulers::Unit::Count,
    };
    let ParamInfo { name, default, min, max, doc, .. } = *param;
    schedulers::Param { name, unit, default, min, max, doc }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_a_name_of_its_own_and_is_analysed() {
        for policy in policies() {
            let same = policies().iter().filter(|other| other.name == policy.name);
            assert_eq!(same.count(), 1, "{}", policy.name);
            let entry = schedulers::find(policy.name);
            assert!(entry.is_some(), "{}", policy.name);
        }
        assert_eq!(policies().len(), schedulers::REGISTRY.len());
    }

    /// A parameter means the same in every policy that has it: a reservation's budget is a CBS's budget.
    #[test]
    fn parameters_of_one_name_are_alike() {
        let params =
            || policies().iter().flat_map(|policy| policy.scheduler_params.iter().chain(&policy.vp_params));
        for name in ["budget", "share"] {
            let mut alike: Vec<_> = params().filter(|param| param.name == name).collect();
            alike.dedup_by_key(|param| (param.unit, param.default, param.min, param.max));
            assert_eq!(alike.len(), 1, "{name}: {alike:?}");
        }
    }
}
