//! The state known from the core's records that no later record repeats. When records were lost, it is compared with
//! the core.

use hls_core::{CoreScheduler, RawRecord, RecordKind};
use std::collections::{BTreeSet, HashSet};

/// The state known from records so far.
#[derive(Default)]
pub struct Told {
    /// The schedulers that have a fallback.
    pub with_fallback: HashSet<CoreScheduler>,
    /// The CPUs that are offline.
    pub offline: BTreeSet<u16>,
}

impl Told {
    /// Takes a record into account.
    pub fn note(&mut self, raw: &RawRecord) {
        match raw.kind {
            RecordKind::Fallback { scheduler, .. } => drop(self.with_fallback.insert(scheduler)),
            RecordKind::Offline => drop(self.offline.insert(raw.cpu)),
            RecordKind::Online => drop(self.offline.remove(&raw.cpu)),
            _ => {}
        }
    }
}
