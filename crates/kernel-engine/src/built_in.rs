//! Which of the policies that are built in an engine has. Those from [`limits::FIRST_OPTIONAL`] on can be left out of
//! the object before the kernel gets it (`hls_built_in_policies` in `core/port/bpf.h`): the verifier does not look at
//! their hooks, and the kernel does not keep them.

use hls_core::{PolicyInfo, limits};
use serde::{Deserialize, Serialize};

/// Some of the policies that are built in: a bit for each, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltIn(u64);

impl BuiltIn {
    /// Every policy.
    pub const ALL: BuiltIn = BuiltIn(u64::MAX);
    /// No policy.
    pub const NONE: BuiltIn = BuiltIn(0);

    /// The policy of this number; none, if it is loaded.
    pub fn one(policy: u8) -> BuiltIn {
        BuiltIn(1_u64.checked_shl(policy.into()).unwrap_or(0))
    }

    /// These policies, and those that every engine has. Loaded policies do not count.
    pub fn with<'p>(policies: impl IntoIterator<Item = &'p PolicyInfo>) -> BuiltIn {
        let always = hls_core::policies().iter().filter(|info| info.id < limits::FIRST_OPTIONAL);
        always.chain(policies).map(|info| BuiltIn::one(info.id)).fold(BuiltIn::NONE, BuiltIn::and)
    }

    /// All of these, and all of those.
    pub fn and(self, others: BuiltIn) -> BuiltIn {
        BuiltIn(self.0 | others.0)
    }

    /// Whether none of `others` is missing.
    pub fn has_all_of(self, others: BuiltIn) -> bool {
        others.0 & !self.0 == 0
    }

    /// The value of the engine's variable.
    pub(crate) fn bytes(self) -> [u8; 8] {
        self.0.to_ne_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_policies_are_in_every_engine() {
        let all = hls_core::policies();
        let [least, most] = [BuiltIn::with([]), BuiltIn::with(all)];
        assert!(most.has_all_of(least) && !least.has_all_of(most));
        assert_eq!(least.and(most), most);
        assert!(BuiltIn::ALL.has_all_of(most));
    }
}
