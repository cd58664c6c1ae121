//! Which built-in policies an engine has. Every engine has the policies below [`limits::FIRST_OPTIONAL`]; it has the
//! optional ones, the policies of the literature, only if it was compiled with them. With fewer policies, the kernel's
//! verifier has less to check.

use hls_core::{PolicyInfo, limits};
use serde::{Deserialize, Serialize};

/// A set of built-in policies: a bit for each, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltIn(u64);

impl BuiltIn {
    /// No policy.
    pub const NONE: BuiltIn = BuiltIn(0);

    /// The policy of this number; none, if it is loaded.
    pub fn one(policy: u8) -> BuiltIn {
        BuiltIn(1_u64.checked_shl(policy.into()).unwrap_or(0))
    }

    /// These policies, and the policies that every engine has. Loaded policies do not count.
    pub fn with<'p>(policies: impl IntoIterator<Item = &'p PolicyInfo>) -> BuiltIn {
        let always = hls_core::policies().iter().filter(|info| info.id < limits::FIRST_OPTIONAL);
        always.chain(policies).map(|info| BuiltIn::one(info.id)).fold(BuiltIn::NONE, BuiltIn::and)
    }

    /// The union of both sets.
    pub fn and(self, others: BuiltIn) -> BuiltIn {
        BuiltIn(self.0 | others.0)
    }

    /// Whether none of `others` is missing.
    pub fn has_all_of(self, others: BuiltIn) -> bool {
        others.0 & !self.0 == 0
    }

    /// The numbers of the optional policies.
    pub fn literature(self) -> Vec<u8> {
        let known =
            hls_core::policies().iter().map(|info| info.id).filter(|id| *id >= limits::FIRST_OPTIONAL);
        known.filter(|id| self.has_all_of(BuiltIn::one(*id))).collect()
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
        assert_eq!(least.literature(), []);
        assert_eq!(
            most.literature().len(),
            all.iter().filter(|info| info.id >= limits::FIRST_OPTIONAL).count()
        );
    }
}
