//! The policies that a file may name: those of the core, which run, and those that only the calculus has, which are
//! analysed and not run.
//!
//! Relies on the two registries; no policy is known by name.

use crate::diagnostic::Diagnostic;
use crate::model::Hierarchy;
use crate::names::one_of;
use hls_calculus::schedulers::{self, Description, Entry};
use hls_core::limits::MAX_VPS;
use hls_core::{ParamInfo, PolicyInfo, Unit};
use std::sync::LazyLock;

static POLICIES: LazyLock<Vec<PolicyInfo>> = LazyLock::new(|| {
    let analysed = schedulers::REGISTRY.iter().filter_map(|entry| Some(described(entry, entry.description?)));
    hls_core::policies().iter().cloned().chain(analysed).collect()
});

/// All policies, those that run before those that are only analysed.
pub fn policies() -> &'static [PolicyInfo] {
    &POLICIES
}

/// What keeps a hierarchy from being run: an error for each scheduler whose policy the core does not have.
pub fn cannot_run(hierarchy: &Hierarchy) -> Vec<Diagnostic> {
    let running: Vec<&str> =
        POLICIES.iter().filter(|policy| policy.runs()).map(|policy| policy.name).collect();
    let error = |scheduler: &crate::model::Scheduler| {
        let message = format!("scheduler `{}`", scheduler.name);
        let found = format!("the policy `{}`, which can be checked but not run", scheduler.policy.name);
        let expected = format!("a policy that runs: {}", one_of(&running));
        Diagnostic::error(scheduler.span.clone(), message, found, expected)
    };
    hierarchy.schedulers.iter().filter(|scheduler| !scheduler.policy.runs()).map(error).collect()
}

fn described(entry: &Entry, description: Description) -> PolicyInfo {
    PolicyInfo {
        id: 0,
        name: entry.policy,
        doc: description.doc,
        source: entry.source,
        accepts: None,
        provides: None,
        state_version: 0,
        max_children: MAX_VPS as u32,
        joins: entry.joins,
        scheduler_params: description.scheduler_params.iter().map(param).collect(),
        vp_params: description.vp_params.iter().map(param).collect(),
        messages: Vec::new(),
    }
}

fn param(param: &schedulers::Param) -> ParamInfo {
    let unit = match param.unit {
        schedulers::Unit::Time => Unit::Time,
        schedulers::Unit::Count => Unit::Count,
    };
    let schedulers::Param { name, default, min, max, doc, .. } = *param;
    ParamInfo { name, unit, default, min, max, doc }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_in_one_of_the_registries_and_analysed() {
        for policy in policies() {
            let same = policies().iter().filter(|other| other.name == policy.name);
            assert_eq!(same.count(), 1, "{}", policy.name);
            let entry = schedulers::find(policy.name);
            assert!(
                entry.is_some_and(|entry| entry.description.is_none() == policy.runs()),
                "{}",
                policy.name
            );
        }
        assert_eq!(policies().len(), schedulers::REGISTRY.len());
    }

    /// What several policies ask for by one name is one thing: the budget of a reservation is that of a CBS.
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
