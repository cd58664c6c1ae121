//! The threads that attend to clients, one per client. A thread stays when its client has gone. To make or end a
//! thread, the kernel takes a lock, and a user's thread can hold that lock for seconds if it loses its CPU while it
//! moves threads between cgroups.
//!
//! One thread attends to root alone, so that root finds a free thread. The others serve root's further clients before
//! users'. A thread that takes a client learns whether another thread is free; if none is, it makes one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Clients that wait for a thread, and the threads that wait for clients.
pub struct Attendants<C> {
    state: Mutex<State<C>>,
    changed: Condvar,
}

struct State<C> {
    of_root: VecDeque<C>,
    of_users: VecDeque<C>,
    /// How many waiting threads attend to anybody.
    free: usize,
    /// Whether the thread that attends to root alone waits: root's next client is left to it.
    is_roots_free: bool,
    has_stopped: bool,
}

/// A client for the thread that asked.
pub struct Next<C> {
    pub client: C,
    /// Whether no other thread is free for the next client.
    pub is_last: bool,
}

impl<C> Attendants<C> {
    pub fn new() -> Attendants<C> {
        let (of_root, of_users) = Default::default();
        let state = State { of_root, of_users, free: 0, is_roots_free: false, has_stopped: false };
        Attendants { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A client has come.
    pub fn add(&self, client: C, is_root: bool) {
        let mut state = self.state();
        if is_root {
            state.of_root.push_back(client);
        } else {
            state.of_users.push_back(client);
        }
        drop(state);
        // Wakes all threads: a single one could be root's thread, which does not take a user's client.
        self.changed.notify_all();
    }

    /// Waits for a client, of root alone or of anybody; `None`: there are no more.
    pub fn next(&self, of_root_alone: bool) -> Option<Next<C>> {
        let mut state = self.state();
        if of_root_alone {
            state.is_roots_free = true;
        } else {
            state.free += 1;
        }
        loop {
            if state.has_stopped {
                return None;
            }
            if of_root_alone {
                if let Some(client) = state.of_root.pop_front() {
                    state.is_roots_free = false;
                    return Some(Next { client, is_last: false });
                }
            } else if let Some(client) = state.for_anybody() {
                state.free -= 1;
                return Some(Next { client, is_last: state.free == 0 });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No more clients will come.
    pub fn stop(&self) {
        self.state().has_stopped = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> State<C> {
    /// The next client for a thread that attends to anybody.
    fn for_anybody(&mut self) -> Option<C> {
        let beyond_roots = usize::from(self.is_roots_free);
        let of_root = if self.of_root.len() > beyond_roots { self.of_root.pop_front() } else { None };
        of_root.or_else(|| self.of_users.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_comes_first_and_has_a_thread_of_its_own() {
        let attendants = Attendants::new();
        attendants.add("user", false);
        attendants.add("root", true);
        attendants.add("root again", true);
        let next = |of_root_alone| attendants.next(of_root_alone).map(|next| (next.client, next.is_last));
        assert_eq!(next(true), Some(("root", false)));
        assert_eq!(next(false), Some(("root again", true)), "there is no other thread");
        assert_eq!(next(false), Some(("user", true)));
        attendants.stop();
        assert_eq!((next(true), next(false)), (None, None));
    }

    #[test]
    fn a_client_of_root_s_is_left_to_root_s_thread() {
        let mut state = State {
            of_root: [1, 2].into(),
            of_users: [3].into(),
            free: 1,
            is_roots_free: true,
            has_stopped: false,
        };
        assert_eq!((state.for_anybody(), state.for_anybody(), state.for_anybody()), (Some(1), Some(3), None));
        state.is_roots_free = false;
        assert_eq!(state.for_anybody(), Some(2));
    }

    #[test]
    fn a_thread_with_a_client_knows_whether_others_are_free() {
        let attendants = Attendants::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| attendants.next(false).map(|next| (next.client, next.is_last)));
            while attendants.state().free == 0 {
                std::thread::yield_now();
            }
            attendants.state().of_users.push_back(1);
            assert_eq!(attendants.next(false).map(|next| (next.client, next.is_last)), Some((1, false)));
            attendants.add(2, false);
            assert_eq!(waiting.join().unwrap(), Some((2, true)));
        });
    }
}
