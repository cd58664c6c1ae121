//! Objects with the descriptions of loaded policies: compilers make them from users' files.

use hls_core::{described_policies, limits, policies};
use hls_hierarchy::Policies;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(table) = described_policies(bytes) else { return };
    let (built_in, loaded) = table.split_at(policies().len());
    assert!(built_in == policies(), "the built-in policies come first");
    let mut known = Policies::default();
    for policy in loaded {
        assert!(policy.id >= limits::FIRST_LOADED);
        assert!(policy.scheduler_params.len() <= limits::SCHEDULER_PARAMS);
        assert!(policy.vp_params.len() <= limits::VP_PARAMS);
        // A policy's name may be taken, and what it declares may be wrong.
        let _ = known.load(policy);
    }
}
