//! Schedulers of the core's policies, as the calculus has them.

use hls_calculus::Scheduler;

/// A scheduler of a policy, with the policy's properties; of a policy that the core does not have, without any.
pub fn scheduler(name: impl Into<String>, policy: &str, params: Vec<(String, u64)>) -> Scheduler {
    let known = hls_core::policies().iter().find(|known| known.name == policy);
    let properties = known.map(|known| known.properties).unwrap_or_default();
    Scheduler {
        name: name.into(),
        policy: policy.into(),
        joins: properties.joins,
        tells_deadlines: properties.tells_deadlines,
        params,
    }
}
