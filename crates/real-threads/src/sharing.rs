//! The mutexes, conditions, semaphores, barriers and queues of real threads: [`hls_thread::Sync`] under a lock, and
//! which threads have been woken when.
//!
//! The lock is held for as long as it takes to change a few words, and only where a thread takes a step that concerns
//! others. A mutex of a program is not this lock: a thread that waits for one sleeps at its own bell until it has it.

use crate::area::Area;
use crate::clock::ring;
use hls_monitor::result::QueueResult;
use hls_thread::{Signalled, Sync};
use hls_units::Nanos;
use hls_workload::program::{Entry, Queue, QueueId, Resource, ResourceId};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The instant at which the thread was woken.
    pub at: Nanos,
    /// The release of the job that begins with the wake-up, if one does.
    pub release: Option<Nanos>,
    /// The entry of a queue that it waited for.
    pub entry: Option<Entry>,
}

/// All mutexes, conditions, semaphores, barriers and queues of a run.
pub struct Sharing<'a> {
    area: &'a Area,
    state: Mutex<State>,
}

struct State {
    sync: Sync,
    threads: Vec<Waiting>,
}

/// Whether a thread that waits, or may wait, for others has been woken.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    woken_at: Option<Nanos>,
    /// When the thread's semaphore was posted, or its condition signalled; then it may have to wait for its mutex.
    release: Option<Nanos>,
    /// The entry of a queue that it waited for.
    entry: Option<Entry>,
}

impl<'a> Sharing<'a> {
    /// All mutexes are free, and no thread waits.
    pub fn new(area: &'a Area, resources: &[Resource], queues: &[Queue], threads: u32) -> Sharing<'a> {
        let threads = vec![Waiting::default(); threads as usize];
        Sharing { area, state: Mutex::new(State { sync: Sync::new(resources, queues), threads }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the wake-up of a thread, if it has been woken since the last call.
    pub fn take_woken(&self, thread: u32) -> Option<Woken> {
        let waiting = &mut self.state().threads[thread as usize];
        let at = waiting.woken_at.take()?;
        Some(Woken { at, release: waiting.release.take(), entry: waiting.entry.take() })
    }

    /// The thread takes a mutex; `false`: another thread holds it, and this one is to block.
    pub fn lock(&self, mutex: ResourceId, thread: u32) -> bool {
        self.state().sync.lock(mutex, thread)
    }

    /// The thread releases a mutex, and the first waiter gets it.
    pub fn unlock(&self, mutex: ResourceId, thread: u32, now: Nanos) {
        let next = self.state().sync.unlock(mutex, thread);
        self.wake(next, now);
    }

    /// The thread releases its mutex and waits for a condition: it is to block.
    pub fn wait(&self, condition: ResourceId, mutex: ResourceId, thread: u32, now: Nanos) {
        let next = self.state().sync.wait(condition, mutex, thread);
        self.wake(next, now);
    }

    /// Ends the wait of the first waiter of a condition, or of all.
    pub fn signal(&self, condition: ResourceId, all: bool, now: Nanos) {
        let mut state = self.state();
        let signalled = match all {
            true => state.sync.broadcast(condition),
            false => state.sync.signal(condition).into_iter().collect(),
        };
        for Signalled { thread, .. } in &signalled {
            state.threads[*thread as usize].release = Some(now);
        }
        drop(state);
        self.wake(signalled.iter().filter(|waiter| waiter.has_mutex).map(|waiter| waiter.thread), now);
    }

    /// Posts a semaphore.
    pub fn post(&self, semaphore: ResourceId, now: Nanos) {
        let mut state = self.state();
        let waiter = state.sync.post(semaphore, now);
        if let Some(thread) = waiter {
            state.threads[thread as usize].release = Some(now);
        }
        drop(state);
        self.wake(waiter, now);
    }

    /// The thread takes a post of a semaphore, and is told when it happened; `None`: there is none, and it is to block.
    pub fn await_post(&self, semaphore: ResourceId, thread: u32) -> Option<Nanos> {
        self.state().sync.await_post(semaphore, thread)
    }

    /// The thread has come to a barrier; `false`: others are still missing there, and the thread is to block.
    pub fn arrive(&self, barrier: ResourceId, thread: u32, now: Nanos) -> bool {
        let mut state = self.state();
        let Some(others) = state.sync.arrive(barrier, thread) else { return false };
        others.iter().for_each(|&other| state.threads[other as usize].release = Some(now));
        drop(state);
        self.wake(others, now);
        true
    }

    /// The thread takes the first entry of a queue; `None`: there is none, and it is to block.
    pub fn take(&self, queue: QueueId, thread: u32) -> Option<Entry> {
        self.state().sync.take(queue, thread)
    }

    /// Puts an entry into a queue.
    pub fn put(&self, queue: QueueId, entry: Entry, now: Nanos) {
        let mut state = self.state();
        let waiter = state.sync.put(queue, entry);
        if let Some(thread) = waiter {
            state.threads[thread as usize].entry = Some(entry);
        }
        drop(state);
        self.wake(waiter, now);
    }

    /// The figures of each queue.
    pub fn queues(&self) -> Vec<QueueResult> {
        self.state().sync.queues()
    }

    /// The thread has ended: it waits for nothing, and the next waiters get the mutexes that it held.
    pub fn forget(&self, thread: u32, now: Nanos) {
        let next = self.state().sync.forget(thread);
        self.wake(next, now);
    }

    fn wake(&self, threads: impl IntoIterator<Item = u32>, now: Nanos) {
        for thread in threads {
            self.state().threads[thread as usize].woken_at = Some(now);
            ring(self.area.slot(thread).bell());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_workload::program::ResourceKind;

    #[test]
    fn a_signalled_thread_wakes_when_it_has_the_mutex_again() {
        let (area, _file) = Area::create(2).unwrap();
        let resource = |kind| Resource { name: String::new(), kind };
        let sharing =
            Sharing::new(&area, &[resource(ResourceKind::Mutex), resource(ResourceKind::Condition)], &[], 2);
        assert!(sharing.lock(0, 0));
        sharing.wait(1, 0, 0, Nanos(1));
        assert!(sharing.lock(0, 1));
        sharing.signal(1, false, Nanos(5));
        assert_eq!(sharing.take_woken(0), None);
        sharing.unlock(0, 1, Nanos(7));
        assert_eq!(sharing.take_woken(0), Some(Woken { at: Nanos(7), release: Some(Nanos(5)), entry: None }));
        assert_eq!(sharing.take_woken(0), None);
    }

    #[test]
    fn a_thread_that_ends_hands_on_its_mutexes() {
        let (area, _file) = Area::create(2).unwrap();
        let sharing =
            Sharing::new(&area, &[Resource { name: String::new(), kind: ResourceKind::Mutex }], &[], 2);
        assert!(sharing.lock(0, 0));
        assert!(!sharing.lock(0, 1));
        sharing.forget(0, Nanos(3));
        assert_eq!(sharing.take_woken(1), Some(Woken { at: Nanos(3), release: None, entry: None }));
    }
}
