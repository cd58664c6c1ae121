//! Which threads to weigh anew: the threads of cgroups with a new weight. Only the kernel knows which threads these
//! are, so every thread with a share that does not take all changes into account is weighed, in turn, some at each
//! look. Relies on the arena for the number of changes that each share takes into account (`bpf/weights.h`).

use crate::threads::Known;
use hls_core::CoreVp;
use std::collections::BTreeMap;

/// How far the threads have been weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weighing {
    /// The number of changes of weights at the last look; wraps around.
    changed: u32,
    /// Whether some thread's share may not take all changes into account.
    is_needed: bool,
    /// The TID of the thread that was weighed last.
    last: u32,
}

impl Weighing {
    /// A thread has a share that takes `weights_seen` changes into account.
    pub fn look_at(&mut self, weights_seen: u32) {
        self.is_needed |= weights_seen != self.changed;
    }

    /// Whether there may be more threads to weigh than were last returned.
    pub fn is_needed(&self) -> bool {
        self.is_needed
    }

    /// The VPs, with their generations, to weigh now, at most `most`. `changed`: the number of changes; `seen`: how
    /// many of them a VP's share takes into account. In rising order of TIDs from the last one on, so that every
    /// thread has its turn even if weights change all the time.
    pub fn next(
        &mut self,
        changed: u32,
        known: &BTreeMap<u32, Known>,
        seen: impl Fn(CoreVp) -> u32,
        most: usize,
    ) -> Vec<(CoreVp, u32)> {
        self.look_at(changed);
        self.changed = changed;
        if !self.is_needed {
            return Vec::new();
        }
        let in_turn = known.range(self.last + 1..).chain(known.range(..=self.last));
        let stale = in_turn.filter(|(_, known)| seen(known.core_vp) != changed);
        let next: Vec<(&u32, &Known)> = stale.take(most).collect();
        self.is_needed = next.len() == most;
        self.last = next.last().map_or(self.last, |(tid, _)| **tid);
        next.into_iter().map(|(_, known)| (known.core_vp, known.generation)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads with these TIDs, each with the VP of the same number.
    fn known(tids: &[u32]) -> BTreeMap<u32, Known> {
        let known =
            |&tid: &u32| (tid, Known { core_vp: CoreVp(tid), generation: 7, tgid: tid, described: None });
        tids.iter().map(known).collect()
    }

    #[test]
    fn no_thread_is_weighed_unless_a_weight_changes() {
        let (mut weighing, known) = (Weighing::default(), known(&[1, 2]));
        assert_eq!(weighing.next(0, &known, |_| unreachable!("nothing has changed"), 2), []);
        assert_eq!(weighing.next(1, &known, |vp| u32::from(vp.0 == 1), 2), [(CoreVp(2), 7)]);
        assert!(!weighing.is_needed());
        assert_eq!(weighing.next(1, &known, |_| 1, 2), []);
    }

    #[test]
    fn a_thread_that_comes_late_with_an_old_share_is_weighed() {
        let mut weighing = Weighing::default();
        assert_eq!(weighing.next(1, &known(&[1]), |_| 1, 2), []);
        weighing.look_at(1);
        assert!(!weighing.is_needed(), "its share is new");
        weighing.look_at(0);
        assert_eq!(weighing.next(1, &known(&[1, 2]), |vp| 2 - vp.0, 2), [(CoreVp(2), 7)]);
    }

    #[test]
    fn each_thread_has_its_turn_though_weights_change_all_the_time() {
        let (mut weighing, known) = (Weighing::default(), known(&[1, 2, 3, 4, 5]));
        let mut weighed = Vec::new();
        for changed in 1..=5 {
            let some = weighing.next(changed, &known, |_| 0, 2);
            assert!(weighing.is_needed());
            weighed.extend(some.into_iter().map(|(vp, _)| vp.0));
        }
        assert_eq!(weighed, [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
    }
}
