//! What threads share: mutexes, conditions, semaphores, barriers, queues. Waiters are served in the order in which they
//! came.
//!
//! A mutex is handed to its first waiter when it is unlocked, so that no thread overtakes another. Knows threads by
//! number only; returns which threads are to be woken, and leaves the waking to the engine.

use hls_monitor::result::QueueResult;
use hls_units::Nanos;
use hls_workload::program::{Entry, Queue, QueueId, Resource, ResourceId, ResourceKind};
use std::collections::VecDeque;

type ThreadId = u32;

/// A mutex, a condition, a semaphore or a barrier.
#[derive(Clone, Debug, Default)]
struct Shared {
    /// Threads that a barrier takes; 0 for other kinds.
    barrier: u32,
    owner: Option<ThreadId>,
    waiters: VecDeque<ThreadId>,
    /// For a condition: the mutex that each waiter takes again, in step with `waiters`.
    mutexes: VecDeque<ResourceId>,
    /// For a semaphore: when each post happened that no thread has taken.
    posts: VecDeque<Nanos>,
}

/// A thread that no longer waits for a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// The thread.
    pub thread: ThreadId,
    /// Whether the thread has its mutex again and is to be woken; otherwise it now waits for the mutex.
    pub has_mutex: bool,
}

/// Entries that wait for threads, or threads that wait for entries.
#[derive(Clone, Debug, Default)]
struct Waiting {
    holds: usize,
    entries: VecDeque<Entry>,
    threads: VecDeque<ThreadId>,
    result: QueueResult,
}

/// All mutexes, conditions, semaphores, barriers and queues of a run.
#[derive(Clone, Debug, Default)]
pub struct Sync {
    shared: Vec<Shared>,
    queues: Vec<Waiting>,
}

impl Sync {
    /// Nobody holds or awaits anything.
    pub fn new(resources: &[Resource], queues: &[Queue]) -> Sync {
        let shared = |resource: &Resource| match resource.kind {
            ResourceKind::Barrier(threads) => Shared { barrier: threads, ..Shared::default() },
            ResourceKind::Mutex | ResourceKind::Condition | ResourceKind::Semaphore => Shared::default(),
        };
        let waiting = |queue: &Queue| Waiting {
            holds: queue.holds as usize,
            result: QueueResult { name: queue.name.clone(), ..QueueResult::default() },
            ..Waiting::default()
        };
        Sync { shared: resources.iter().map(shared).collect(), queues: queues.iter().map(waiting).collect() }
    }

    /// The thread takes the first entry of the queue; `None`: there is none, and the thread waits for one.
    pub fn take(&mut self, queue: QueueId, thread: ThreadId) -> Option<Entry> {
        let queue = &mut self.queues[queue as usize];
        take_or_wait(&mut queue.entries, &mut queue.threads, thread)
    }

    /// Puts an entry into the queue; returns the thread that waited for it, and is to be woken. A full
    /// queue drops the entry.
    pub fn put(&mut self, queue: QueueId, entry: Entry) -> Option<ThreadId> {
        let queue = &mut self.queues[queue as usize];
        queue.result.put += 1;
        let waiter = queue.threads.pop_front();
        match waiter {
            Some(_) => {}
            None if queue.entries.len() < queue.holds => queue.entries.push_back(entry),
            None => queue.result.dropped += 1,
        }
        waiter
    }

    /// What became of the entries of each queue.
    pub fn queues(&self) -> Vec<QueueResult> {
        let result =
            |queue: &Waiting| QueueResult { waiting: queue.entries.len() as u64, ..queue.result.clone() };
        self.queues.iter().map(result).collect()
    }

    fn at(&mut self, id: ResourceId) -> &mut Shared {
        &mut self.shared[id as usize]
    }

    /// The thread takes the mutex; `false` where another thread holds it, and this one now waits for it. A thread that
    /// holds the mutex already goes on.
    pub fn lock(&mut self, mutex: ResourceId, thread: ThreadId) -> bool {
        let shared = self.at(mutex);
        match shared.owner {
            None => shared.owner = Some(thread),
            Some(owner) if owner == thread => {}
            Some(_) => {
                shared.waiters.push_back(thread);
                return false;
            }
        }
        true
    }

    /// Releases the mutex, if the thread holds it; returns the thread that has it now and is to be woken.
    pub fn unlock(&mut self, mutex: ResourceId, thread: ThreadId) -> Option<ThreadId> {
        let shared = self.at(mutex);
        if shared.owner != Some(thread) {
            return None;
        }
        shared.owner = shared.waiters.pop_front();
        shared.owner
    }

    /// The thread waits for the condition; returns the thread that has the mutex now and is to be woken.
    pub fn wait(&mut self, condition: ResourceId, mutex: ResourceId, thread: ThreadId) -> Option<ThreadId> {
        let shared = self.at(condition);
        shared.waiters.push_back(thread);
        shared.mutexes.push_back(mutex);
        self.unlock(mutex, thread)
    }

    /// Signals the condition; returns the thread that no longer waits for it, if any thread waited.
    pub fn signal(&mut self, condition: ResourceId) -> Option<Signalled> {
        let shared = self.at(condition);
        let (thread, mutex) = (shared.waiters.pop_front()?, shared.mutexes.pop_front()?);
        Some(Signalled { thread, has_mutex: self.lock(mutex, thread) })
    }

    /// Ends the wait of all waiters.
    pub fn broadcast(&mut self, condition: ResourceId) -> Vec<Signalled> {
        let waiters = self.at(condition).waiters.len();
        (0..waiters).filter_map(|_| self.signal(condition)).collect()
    }

    /// Posts a semaphore at `now`; returns the thread that awaited the post, and is to be woken.
    pub fn post(&mut self, semaphore: ResourceId, now: Nanos) -> Option<ThreadId> {
        let shared = self.at(semaphore);
        let waiter = shared.waiters.pop_front();
        if waiter.is_none() {
            shared.posts.push_back(now);
        }
        waiter
    }

    /// The thread takes the first post of a semaphore, and is told when it happened; `None`: there is none, and the
    /// thread waits for one.
    pub fn await_post(&mut self, semaphore: ResourceId, thread: ThreadId) -> Option<Nanos> {
        let shared = self.at(semaphore);
        take_or_wait(&mut shared.posts, &mut shared.waiters, thread)
    }

    /// The thread has come to the barrier. `None`: it waits there; otherwise these threads, which waited, are to be
    /// woken, and the thread goes on.
    pub fn arrive(&mut self, barrier: ResourceId, thread: ThreadId) -> Option<Vec<ThreadId>> {
        let shared = self.at(barrier);
        if shared.waiters.len() + 1 < shared.barrier as usize {
            shared.waiters.push_back(thread);
            return None;
        }
        Some(shared.waiters.drain(..).collect())
    }

    /// The thread has ended: it waits for nothing any more, and what it held is handed on; returns the threads that are
    /// to be woken.
    pub fn forget(&mut self, thread: ThreadId) -> Vec<ThreadId> {
        let mut woken = Vec::new();
        for queue in &mut self.queues {
            queue.threads.retain(|&waiter| waiter != thread);
        }
        for shared in &mut self.shared {
            while let Some(place) = shared.waiters.iter().position(|&waiter| waiter == thread) {
                shared.waiters.remove(place);
                if place < shared.mutexes.len() {
                    shared.mutexes.remove(place);
                }
            }
            if shared.owner == Some(thread) {
                shared.owner = shared.waiters.pop_front();
                woken.extend(shared.owner);
            }
        }
        woken
    }
}

/// The thread takes the first item there; `None`: there is none, and the thread waits behind the others.
fn take_or_wait<T>(there: &mut VecDeque<T>, waiters: &mut VecDeque<ThreadId>, thread: ThreadId) -> Option<T> {
    let first = there.pop_front();
    if first.is_none() {
        waiters.push_back(thread);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sync(kinds: &[ResourceKind]) -> Sync {
        let resource = |kind: &ResourceKind| Resource { name: String::new(), kind: *kind };
        Sync::new(&kinds.iter().map(resource).collect::<Vec<_>>(), &[])
    }

    #[test]
    fn a_queue_counts_what_comes_while_nobody_waits() {
        let mut sync = Sync::new(&[], &[Queue { name: "q".into(), holds: 2 }]);
        assert_eq!(sync.take(0, 7), None);
        let entry = |at| Entry { release: Nanos(at), next: Some(3) };
        assert_eq!(sync.put(0, entry(1)), Some(7));
        assert_eq!((2..5).map(|at| sync.put(0, entry(at))).collect::<Vec<_>>(), [None; 3]);
        assert_eq!(
            [sync.take(0, 7), sync.take(0, 7), sync.take(0, 7)],
            [Some(entry(2)), Some(entry(3)), None]
        );
        assert_eq!(sync.queues(), [QueueResult { name: "q".into(), put: 4, dropped: 1, waiting: 0 }]);
        sync.forget(7);
        assert_eq!(sync.put(0, entry(9)), None, "nobody waits any more");
    }

    #[test]
    fn a_semaphore_counts_what_is_posted_while_nobody_waits() {
        let mut sync = sync(&[ResourceKind::Semaphore]);
        assert_eq!([sync.await_post(0, 1), sync.await_post(0, 2)], [None; 2]);
        let posted = [3, 4, 5, 6].map(|at| sync.post(0, Nanos(at)));
        assert_eq!(posted, [Some(1), Some(2), None, None]);
        assert_eq!([0; 3].map(|_| sync.await_post(0, 1)), [Some(Nanos(5)), Some(Nanos(6)), None]);
        sync.forget(1);
        assert_eq!(sync.post(0, Nanos(7)), None, "nobody waits any more");
    }

    #[test]
    fn a_mutex_goes_to_the_first_waiter() {
        let mut sync = sync(&[ResourceKind::Mutex]);
        assert!(sync.lock(0, 1));
        assert!(!sync.lock(0, 2));
        assert!(!sync.lock(0, 3));
        assert_eq!(sync.unlock(0, 9), None);
        assert_eq!(sync.unlock(0, 1), Some(2));
        assert_eq!(sync.unlock(0, 2), Some(3));
        assert_eq!(sync.unlock(0, 3), None);
    }

    #[test]
    fn a_waiter_takes_the_mutex_again() {
        let mut sync = sync(&[ResourceKind::Condition, ResourceKind::Mutex]);
        assert!(sync.lock(1, 1));
        assert_eq!(sync.wait(0, 1, 1), None);
        assert_eq!(sync.signal(0), Some(Signalled { thread: 1, has_mutex: true }));
        assert_eq!(sync.signal(0), None);
        assert_eq!(sync.wait(0, 1, 1), None);
        assert!(sync.lock(1, 2));
        assert_eq!(sync.broadcast(0), vec![Signalled { thread: 1, has_mutex: false }], "2 holds the mutex");
        assert_eq!(sync.unlock(1, 2), Some(1));
    }

    #[test]
    fn a_barrier_opens_for_all() {
        let mut sync = sync(&[ResourceKind::Barrier(3)]);
        assert_eq!(sync.arrive(0, 1), None);
        assert_eq!(sync.arrive(0, 2), None);
        assert_eq!(sync.arrive(0, 3), Some(vec![1, 2]));
        assert_eq!(sync.arrive(0, 1), None);
    }

    #[test]
    fn the_dead_hold_and_await_nothing() {
        let mut sync = sync(&[ResourceKind::Mutex]);
        assert!(sync.lock(0, 1));
        assert!(!sync.lock(0, 2));
        assert!(!sync.lock(0, 3));
        assert_eq!(sync.forget(2), vec![]);
        assert_eq!(sync.forget(1), vec![3]);
    }
}
