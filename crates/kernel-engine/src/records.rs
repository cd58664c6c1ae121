//! Takes the core's records. If the core has recorded more than it keeps, records were lost: marks where they are
//! missing, and adds what they may have told.

use crate::engine::{Engine, Notice};
use hls_core::{CoreVp, VpEntry, VpState};
use hls_engine::{Built, planned_record};
use hls_monitor::event::{ObservedVp, Record, What};
use std::collections::{BTreeSet, HashSet};
use std::mem;

/// How many times the engine tries to find the state of all VPs after records were lost, while more are lost.
const TRIES: u32 = 10;

impl Engine {
    /// Takes the core's records, and gives VPs their present numbers in them. To be called before any VP gets another
    /// number.
    pub(crate) fn take_records(&mut self) {
        let first = self.undelivered.len();
        if !self.take_kept_records() {
            self.notices.push(Notice::Lost);
            self.make_up_for_lost_records(first);
        }
        // A scheduler that has its own policy again may get a fallback again.
        let view = self.built.core.view();
        self.told.with_fallback.retain(|scheduler| view.why_fallback(*scheduler).is_some());
    }

    /// Takes the records that the core still has; `false` when records before the first of them were lost.
    fn take_kept_records(&mut self) -> bool {
        let Engine { built: Built { core, planned, observed, .. }, undelivered, told, .. } = self;
        core.view().take_records(|raw| {
            told.note(&raw);
            undelivered.extend(planned_record(planned, observed, raw));
        })
    }

    /// Records before `undelivered[first]` were lost. If more are lost meanwhile, there are several such gaps.
    fn make_up_for_lost_records(&mut self, mut first: usize) {
        for _ in 0..TRIES {
            let states = self.states();
            // Changes happen under the lock, for which this call waits; when it returns, changes that overlapped
            // with the reading are recorded.
            let _ = self.built.core.now();
            let next = self.undelivered.len();
            let are_all_here = self.take_kept_records();
            let added = self.tell_of_gap(first, if are_all_here { states } else { Vec::new() });
            if are_all_here {
                return;
            }
            first = next + added;
        }
        self.tell_of_gap(first, Vec::new());
    }

    /// Inserts a record before `undelivered[first]` that marks the gap, and after it what the lost records may have
    /// told and later ones do not. `states` were read after the gap: a VP without records between the gap and that
    /// reading has been in its state all along. Returns the number of inserted records.
    fn tell_of_gap(&mut self, first: usize, states: Vec<(ObservedVp, u16, What)>) -> usize {
        let tells_state = |record: &&Record| {
            matches!(record.what, What::Request | What::Grant | What::Revoke | What::Release | What::Leave)
        };
        let later = &self.undelivered[first..];
        let changed: HashSet<ObservedVp> = later.iter().filter(tells_state).map(|record| record.vp).collect();
        let lost = Record {
            at: later.first().map_or(self.built.core.called_at(), |record| record.at),
            vp: ObservedVp::NONE,
            cpu: 0,
            what: What::Lost,
        };
        let unchanged = states.into_iter().filter(|(vp, ..)| !changed.contains(vp));
        let mut then = vec![lost];
        then.extend(unchanged.map(|(vp, cpu, what)| Record { vp, cpu, what, ..lost }));
        then.extend(self.untold_cpus().into_iter().map(|(cpu, what)| Record { cpu, what, ..lost }));
        then.extend(self.untold_fallbacks().map(|what| Record { what, ..lost }));
        let added = then.len();
        self.undelivered.splice(first..first, then);
        added
    }

    /// The state of each VP that is recorded, and its CPU, as a record would tell it.
    fn states(&mut self) -> Vec<(ObservedVp, u16, What)> {
        let Built { core, planned, .. } = &mut self.built;
        let named = (0..).map(CoreVp).zip(&*planned).filter(|(_, vp)| **vp != ObservedVp::NONE);
        let state = |(core_vp, &vp): (CoreVp, &ObservedVp)| {
            let VpEntry { state, cpu, .. } = core.view().vp(core_vp).filter(|vp| vp.watched)?;
            let what = match state {
                VpState::Waiting => What::Release,
                VpState::Ready => What::Request,
                VpState::Running => What::Grant,
            };
            Some((vp, cpu.into(), what))
        };
        named.filter_map(state).collect()
    }

    /// The CPUs that went offline or came online without a record.
    fn untold_cpus(&mut self) -> Vec<(u16, What)> {
        let offline: BTreeSet<u16> = self.built.core.view().offline().collect();
        let told = mem::replace(&mut self.told.offline, offline.clone());
        let what = |cpu| if offline.contains(cpu) { What::Offline } else { What::Online };
        told.symmetric_difference(&offline).map(|cpu| (*cpu, what(cpu))).collect()
    }

    /// The schedulers that got a fallback without a record.
    fn untold_fallbacks(&mut self) -> impl Iterator<Item = What> {
        let Engine { built: Built { core, observed, .. }, told, .. } = self;
        let view = core.view();
        observed.all().filter_map(|(in_core, scheduler)| {
            let violation = view.why_fallback(in_core)?;
            let is_new = told.with_fallback.insert(in_core);
            is_new.then_some(What::PolicyDisabled { scheduler, violation })
        })
    }
}
