//! What records of the core have told that no later record tells again: it is looked for when some were lost.

use hls_core::{CoreScheduler, RawRecord, RecordKind};
use std::collections::{BTreeSet, HashSet};

/// What records have told so far.
#[derive(Default)]
pub struct Told {
    /// The schedulers that have a fallback.
    pub with_fallback: HashSet<CoreScheduler>,
    /// The CPUs that are offline.
    pub offline: BTreeSet<u16>,
}

impl Told {
    /// A record tells this.
    pub fn note(&mut self, raw: &RawRecord) {
        match raw.kind {
            RecordKind::Fallback { scheduler, .. } => drop(self.with_fallback.insert(scheduler)),
            RecordKind::Offline => drop(self.offline.insert(raw.cpu)),
            RecordKind::Online => drop(self.offline.remove(&raw.cpu)),
            _ => {}
        }
    }
}
