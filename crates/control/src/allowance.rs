//! What the requests of users who are not root may cost. To answer takes CPU time from the threads of the hierarchy,
//! and anybody may ask, as often as he likes.
//!
//! Each user has a fiftieth of a CPU: there is one request at a time, and between two of the same user is a pause in
//! proportion to the CPU time that the first took. The CPU time of a request is that of the thread that carries it out,
//! and the time that other threads and processes use for it ([`add_used`]). Users take turns, so that nobody waits for
//! all that another one has asked; after a request the others wait as well, but not for long. Root does not wait, and
//! users wait while root is answered, for a second of each of root's requests at most.

use hls_plan::Turns;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::cell::Cell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A pause is so many times as long as the CPU time that was used before.
const PAUSE: u32 = 49;
/// No other user waits longer for the next turn.
const LONGEST_FOR_OTHERS: Duration = Duration::from_secs(1);

/// While a request of root's is answered users wait for so long at most.
const LONGEST_FOR_ROOT: Duration = Duration::from_secs(1);

/// Turns of users.
pub struct Allowance {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The numbers of requests that wait.
    waiting: Turns<u64>,
    /// The request that has the turn, from its call to its end.
    current: Option<u64>,
    /// How many there were.
    requests: u64,
    /// How many requests of root's are under way, and until when users wait for them.
    of_root: u32,
    roots_until: Option<Instant>,
    /// When the next turn may begin.
    next_at: Instant,
    /// When the next turn of a user may begin, where that is later.
    next_of: HashMap<u32, Instant>,
    has_stopped: bool,
}

/// A turn, for one request, which the thread that has the turn carries out; what it used is known when the turn is
/// dropped.
pub struct Turn<'a> {
    allowance: &'a Allowance,
    user: u32,
    used_before: Duration,
    /// A turn stays with its thread.
    of_thread: PhantomData<*const ()>,
}

thread_local! {
    /// The CPU time that other threads have used for the requests of this one.
    static USED_ELSEWHERE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Another thread has used so much CPU time for the request that this thread carries out.
pub fn add_used(time: Duration) {
    USED_ELSEWHERE.set(USED_ELSEWHERE.get().saturating_add(time));
}

impl Allowance {
    /// The first turn may begin at once.
    pub fn new() -> Allowance {
        let state = State {
            waiting: Turns::default(),
            current: None,
            requests: 0,
            of_root: 0,
            roots_until: None,
            next_at: Instant::now(),
            next_of: HashMap::new(),
            has_stopped: false,
        };
        Allowance { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits for a turn of this user; `None`: there are no more turns.
    pub fn turn(&self, user: u32) -> Option<Turn<'_>> {
        let mut state = self.state();
        let request = state.requests;
        state.requests += 1;
        state.waiting.add(user, request);
        loop {
            if state.has_stopped {
                return None;
            }
            let now = Instant::now();
            if state.call_next(now) {
                self.changed.notify_all();
            }
            if state.current == Some(request) {
                return Some(Turn { allowance: self, user, used_before: used(), of_thread: PhantomData });
            }
            let longest = state.from(user).saturating_duration_since(now);
            state = match longest.is_zero() {
                // Another one's turn goes on, or is next.
                true => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                false => self.changed.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// A request of root's begins.
    pub fn root(&self) -> OfRoot<'_> {
        let mut state = self.state();
        state.of_root += 1;
        state.roots_until = Some(Instant::now() + LONGEST_FOR_ROOT);
        OfRoot(self)
    }

    /// Until when users wait since root is answered.
    pub fn roots_until(&self) -> Option<Instant> {
        self.state().roots_until
    }

    /// Nobody waits any more.
    pub fn stop(&self) {
        self.state().has_stopped = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// When the next turn of this user may begin.
    fn from(&self, user: u32) -> Instant {
        let of_user = self.next_of.get(&user).copied();
        [of_user, self.roots_until].into_iter().flatten().fold(self.next_at, Instant::max)
    }

    /// Calls the next request, if it is time for one; whether it did.
    fn call_next(&mut self, now: Instant) -> bool {
        if self.current.is_some() || now < self.next_at || self.roots_until.is_some_and(|until| now < until) {
            return false;
        }
        self.next_of.retain(|_, from| *from > now);
        let State { waiting, next_of, .. } = self;
        self.current = waiting.take_of(|user| !next_of.contains_key(&user)).map(|(_, request)| request);
        self.current.is_some()
    }

    /// A request of this user has ended that used so much.
    fn end(&mut self, user: u32, used: Duration, now: Instant) {
        let pause = pause_after(used);
        self.next_of.insert(user, now + pause);
        self.next_at = now + pause.min(LONGEST_FOR_OTHERS);
        self.current = None;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let used = used().saturating_sub(self.used_before);
        self.allowance.state().end(self.user, used, Instant::now());
        // Those that wait look at the time.
        self.allowance.changed.notify_all();
    }
}

/// A request of root's, until this is dropped.
pub struct OfRoot<'a>(&'a Allowance);

impl Drop for OfRoot<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.of_root -= 1;
        if state.of_root == 0 {
            state.roots_until = None;
            self.0.changed.notify_all();
        }
    }
}

/// How long a user waits after a request that took so much CPU time.
pub fn pause_after(used: Duration) -> Duration {
    used.saturating_mul(PAUSE)
}

/// The CPU time that this thread, and others for it, have used.
fn used() -> Duration {
    thread_time().saturating_add(USED_ELSEWHERE.get())
}

/// The CPU time that this thread has used.
pub fn thread_time() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn pauses_are_the_user_s_and_short_for_others() {
        let allowance = Allowance::new();
        let mut state = allowance.state();
        let now = Instant::now();
        state.end(1, 2 * MS, now);
        assert_eq!((state.from(1), state.from(2)), (now + 98 * MS, now + 98 * MS));
        state.end(1, 4000 * MS, now);
        assert_eq!((state.from(1), state.from(2)), (now + 196_000 * MS, now + 1000 * MS));
        state.waiting.add(1, 7);
        state.waiting.add(2, 8);
        assert!(!state.call_next(now + 999 * MS) && state.call_next(now + 1000 * MS));
        assert_eq!(state.current, Some(8));
        state.end(2, MS, now + 1001 * MS);
        assert!(!state.call_next(now + 195_999 * MS) && state.call_next(now + 196_001 * MS));
        assert_eq!(state.current, Some(7));
    }

    /// Users wait while root is answered, but not for more than a second.
    #[test]
    fn root_comes_first() {
        let allowance = Allowance::new();
        let (one, other) = (allowance.root(), allowance.root());
        let until = allowance.roots_until().unwrap();
        {
            let mut state = allowance.state();
            state.waiting.add(1, 7);
            assert!(!state.call_next(until - MS) && state.from(1) == until);
        }
        drop(one);
        assert!(!allowance.state().call_next(until - MS), "the other request is under way");
        drop(other);
        assert!(allowance.state().call_next(until - MS), "no request is");
        let _slow = allowance.root();
        let mut state = allowance.state();
        let until = state.roots_until.unwrap();
        (state.current, state.next_at) = (None, until);
        state.waiting.add(1, 8);
        assert!(state.call_next(until), "a slow one keeps users waiting for a second");
    }

    /// Four clients that ask have a fiftieth of a CPU together, not each: behind three of them comes a pause.
    #[test]
    fn clients_share_one_allowance() {
        let allowance = Allowance::new();
        let work = || {
            let until = used() + 2 * MS;
            while used() < until {}
        };
        let begun = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _turn = allowance.turn(1000);
                    work();
                });
            }
        });
        assert!(begun.elapsed() >= 3 * 98 * MS, "{:?}", begun.elapsed());
    }

    /// What other threads do for a request counts, and what they do besides does not.
    #[test]
    fn a_request_pays_for_what_is_done_for_it() {
        let allowance = &Allowance::new();
        let pause_behind = |request: &dyn Fn()| {
            let turn = allowance.turn(1000);
            request();
            drop(turn);
            let mut state = allowance.state();
            state.next_at = Instant::now();
            state.next_of.remove(&1000).unwrap().saturating_duration_since(Instant::now())
        };
        assert!(pause_behind(&|| add_used(100 * MS)) > 4800 * MS);
        let beside = pause_behind(&|| {
            let work = || {
                let until = thread_time() + 100 * MS;
                while thread_time() < until {}
            };
            thread::scope(|scope| drop(scope.spawn(work)));
        });
        assert!(beside < 2400 * MS, "{beside:?}");
    }

    #[test]
    fn whoever_waits_does_not_hold_up_the_end() {
        let allowance = &Allowance::new();
        allowance.state().end(1, Duration::from_secs(1000), Instant::now());
        thread::scope(|scope| {
            let waits = scope.spawn(|| allowance.turn(1).is_none());
            allowance.stop();
            assert!(waits.join().unwrap());
        });
    }
}
