//! What has changed in a running hierarchy, for clients that subscribe to it: the last changes, which all subscribers
//! share. A subscriber that is slower than the changes misses some, and sees that by their numbers.
//!
//! What has happened to schedulers is found by comparing the tree with the tree before ([`between`]), so that no
//! operation has to report it.

use crate::tree::{Above, Scheduler, Tree};
use hls_client::interface::{Change, Kind};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many changes are kept for subscribers.
const MOST_KEPT: usize = 1024;

/// The changes of a run.
#[derive(Debug)]
pub(crate) struct Changes {
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The last changes, with successive numbers.
    kept: VecDeque<Change>,
    /// The number of the next change.
    next: u64,
    /// How many subscribers there are; without one, no change is kept.
    subscribers: usize,
    has_stopped: bool,
}

impl Changes {
    pub(crate) fn new() -> Changes {
        let state = State { kept: VecDeque::new(), next: 1, subscribers: 0, has_stopped: false };
        Changes { state: Mutex::new(state), has_changed: Condvar::new() }
    }

    /// Keeps these changes, and numbers them; finds them only if somebody wants to know.
    pub(crate) fn add<C: IntoIterator<Item = Change>>(&self, changes: impl FnOnce() -> C) {
        let mut state = self.state();
        if state.subscribers == 0 {
            return;
        }
        for change in changes() {
            if state.kept.len() == MOST_KEPT {
                state.kept.pop_front();
            }
            let number = state.next;
            state.next += 1;
            state.kept.push_back(Change { number, ..change });
        }
        self.has_changed.notify_all();
    }

    /// Subscribes to the changes from now on.
    pub(crate) fn subscribe(self: &Arc<Self>) -> Subscription {
        let mut state = self.state();
        state.subscribers += 1;
        Subscription { changes: self.clone(), next: state.next }
    }

    /// There will be no more changes.
    pub(crate) fn stop(&self) {
        self.state().has_stopped = true;
        self.has_changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription to changes.
#[derive(Debug)]
pub(crate) struct Subscription {
    changes: Arc<Changes>,
    /// The number of the first change that the subscriber has not had.
    next: u64,
}

impl Subscription {
    /// Waits for the next changes, for at most this long; then there may be none. `None`: there will be no more.
    pub(crate) fn next(&mut self, longest: Duration) -> Option<Vec<Change>> {
        let until = Instant::now() + longest;
        let mut state = self.changes.state();
        while state.next == self.next && !state.has_stopped {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(Vec::new());
            }
            let waited = self.changes.has_changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.next == self.next {
            return None;
        }
        let new = state.kept.iter().filter(|change| change.number >= self.next).cloned().collect();
        self.next = state.next;
        Some(new)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.changes.state().subscribers -= 1;
    }
}

/// A change of this kind, which says nothing more yet.
pub(crate) fn change(kind: Kind) -> Change {
    Change { number: 0, kind, scheduler: None, thread: None, guarantee: None, policy: None }
}

/// What has happened to schedulers from one tree to the next. A scheduler keeps its number and its name for life.
pub(crate) fn between(old: &Tree, new: &Tree) -> Vec<Change> {
    let same =
        |tree: &Tree, at: usize, of: &Scheduler| tree.scheduler(at).is_some_and(|it| it.name == of.name);
    let gone = old.all().filter(|(at, scheduler)| !same(new, *at, scheduler));
    let destroyed = |(_, scheduler): (usize, &Scheduler)| Change {
        scheduler: Some(scheduler.name.clone()),
        ..change(Kind::Destroyed)
    };
    let mut found: Vec<Change> = gone.map(destroyed).collect();
    for (at, scheduler) in new.all() {
        let about = |kind, policy: &str| Change {
            scheduler: Some(scheduler.name.clone()),
            policy: Some(policy.to_owned()),
            ..change(kind)
        };
        let before = old.scheduler(at).filter(|_| same(old, at, scheduler));
        match (before.map(|before| &before.lost), &scheduler.lost) {
            (None, _) => {
                let promised = |above: &Above| new.promised(above.edge).0.rounded_for_people();
                let guarantee = scheduler.above.first().map(promised);
                found.push(Change { guarantee, ..about(Kind::Created, scheduler.policy.name) });
            }
            (Some(None), Some(lost)) => found.push(about(Kind::Disabled, lost.policy)),
            (Some(Some(_)), None) => found.push(about(Kind::Restored, scheduler.policy.name)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server keeps no more for a slow subscriber than for others, and the subscriber sees what it has missed.
    #[test]
    fn a_slow_subscriber_misses_changes_and_sees_that() {
        let changes = Arc::new(Changes::new());
        changes.add(|| [change(Kind::Created)]);
        let (mut slow, mut quick) = (changes.subscribe(), changes.subscribe());
        let numbers = |of: &mut Subscription| -> Vec<u64> {
            of.next(Duration::ZERO).unwrap().iter().map(|change| change.number).collect()
        };
        assert_eq!(numbers(&mut quick), [0; 0], "what nobody waited for is not kept");
        for number in 1..=MOST_KEPT as u64 + 2 {
            changes.add(|| [change(Kind::Placed)]);
            assert_eq!(numbers(&mut quick), [number]);
        }
        let kept = numbers(&mut slow);
        assert_eq!((kept.len(), kept[0]), (MOST_KEPT, 3), "the first two are missing");
        changes.stop();
        assert_eq!((slow.next(Duration::MAX / 4), quick.next(Duration::MAX / 4)), (None, None));
        drop((slow, quick));
        assert_eq!(changes.state().subscribers, 0);
    }
}
