//! The threads that attend to clients, one to each. They stay when a client has gone: the kernel makes and ends a
//! thread under a lock that a user who moves threads between cgroups may hold for seconds, having no CPU.
//!
//! One of them attends to root alone, so that root finds one free. The others take root's clients first. A thread that
//! takes a client learns whether another one is free; where none is, it makes one.

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
    /// How many threads wait that attend to anybody.
    free: usize,
    has_stopped: bool,
}

/// A client for the thread that asked.
pub struct Next<C> {
    pub client: C,
    /// Whether no other thread is free for whoever comes next.
    pub is_last: bool,
}

impl<C> Attendants<C> {
    pub fn new() -> Attendants<C> {
        let state =
            State { of_root: VecDeque::new(), of_users: VecDeque::new(), free: 0, has_stopped: false };
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
        // All: one alone might be root's, and the client another's.
        self.changed.notify_all();
    }

    /// Waits for a client, of root alone or of anybody; `None`: there are no more.
    pub fn next(&self, of_root_alone: bool) -> Option<Next<C>> {
        let mut state = self.state();
        state.free += usize::from(!of_root_alone);
        loop {
            if state.has_stopped {
                return None;
            }
            let client = state.of_root.pop_front();
            let client = if of_root_alone { client } else { client.or_else(|| state.of_users.pop_front()) };
            if let Some(client) = client {
                state.free -= usize::from(!of_root_alone);
                return Some(Next { client, is_last: !of_root_alone && state.free == 0 });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nobody comes any more.
    pub fn stop(&self) {
        self.state().has_stopped = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn who_takes_a_client_knows_whether_others_are_free() {
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
