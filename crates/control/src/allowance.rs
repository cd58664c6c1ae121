//! Limits the CPU time of requests of users other than root. Answers take CPU time from the threads of the hierarchy,
//! and every user may ask any number of times.
//!
//! Each user has a fiftieth of a CPU: one request runs at a time, and after it the same user pauses for a time in
//! proportion to the CPU time that it used. The CPU time of a request is the time of the thread that carries it out
//! plus the time that other threads and processes use for it ([`add_used`]). Users take turns, so that no user waits
//! for all requests of another; after a request other users pause as well, but not for long. A request may do slow work
//! aside: then other users have turns meanwhile, and the request has the next one. Root does not wait. Users wait while
//! root is answered, for at most a second per request of root.

use hls_engine::Turns;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The length of a pause, as a multiple of the CPU time that the request before it used.
const PAUSE: u32 = 49;
/// The longest pause after a request for all other users.
const LONGEST_FOR_OTHERS: Duration = Duration::from_secs(1);

/// The longest time that users wait while a request of root is answered.
const LONGEST_FOR_ROOT: Duration = Duration::from_secs(1);

/// Turns of users.
pub struct Allowance {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The numbers of requests that wait.
    waiting: Turns<u64>,
    /// The request that has the turn, from when it is called until it ends.
    current: Option<u64>,
    /// The users with a request that does slow work aside, or has come back from it: their other requests wait.
    aside: HashSet<u32>,
    /// The requests that have done their work aside, and wait for a turn again.
    back: VecDeque<u64>,
    /// The number of requests so far, which numbers the next one.
    requests: u64,
    /// The number of root's requests under way, and the time until which users wait for them.
    of_root: u32,
    roots_until: Option<Instant>,
    /// When the next turn may begin.
    next_at: Instant,
    /// When the next turn of a user may begin, where that is later.
    next_of: HashMap<u32, Instant>,
    has_stopped: bool,
}

/// A turn, for one request. The thread that has the turn carries out the request; when the turn is dropped, the CPU
/// time of the request is charged.
pub struct Turn<'a> {
    allowance: &'a Allowance,
    user: u32,
    request: u64,
    used_before: Duration,
    /// A turn stays with its thread.
    of_thread: PhantomData<*const ()>,
}

thread_local! {
    /// The CPU time that other threads have used for requests of this thread.
    static USED_ELSEWHERE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Charges CPU time that another thread has used to the request that this thread carries out.
pub fn add_used(time: Duration) {
    USED_ELSEWHERE.set(USED_ELSEWHERE.get().saturating_add(time));
}

impl Allowance {
    /// The first turn may begin at once.
    pub fn new() -> Allowance {
        let state = State {
            waiting: Turns::default(),
            current: None,
            aside: HashSet::new(),
            back: VecDeque::new(),
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
        self.wait_for(state, user, request)?;
        Some(Turn { allowance: self, user, request, used_before: used(), of_thread: PhantomData })
    }

    /// Waits until this request has the turn; `None`: there are no more turns.
    fn wait_for(&self, mut state: MutexGuard<'_, State>, user: u32, request: u64) -> Option<()> {
        loop {
            if state.has_stopped {
                return None;
            }
            let now = Instant::now();
            if state.call_next(now) {
                self.changed.notify_all();
            }
            if state.current == Some(request) {
                return Some(());
            }
            let longest = state.from(user).saturating_duration_since(now);
            state = match longest.is_zero() {
                // Another request has the turn, or will get it.
                true => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                false => self.changed.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// A request of root begins.
    pub fn root(&self) -> OfRoot<'_> {
        let mut state = self.state();
        state.of_root += 1;
        state.roots_until = Some(Instant::now() + LONGEST_FOR_ROOT);
        OfRoot(self)
    }

    /// Until when users wait because root is answered.
    pub fn roots_until(&self) -> Option<Instant> {
        self.state().roots_until
    }

    /// Ends all waits: there are no more turns.
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

    /// Calls the next request, if it is time for one; returns whether it did.
    fn call_next(&mut self, now: Instant) -> bool {
        if self.current.is_some() || now < self.next_at || self.roots_until.is_some_and(|until| now < until) {
            return false;
        }
        self.next_of.retain(|_, from| *from > now);
        let State { waiting, next_of, aside, back, .. } = self;
        let may = |user: u32| !next_of.contains_key(&user) && !aside.contains(&user);
        self.current = back.pop_front().or_else(|| waiting.take_of(may).map(|(_, request)| request));
        self.current.is_some()
    }

    /// The request that has the turn, of this user, does slow work aside, after it has used this CPU time.
    fn leave(&mut self, user: u32, used: Duration, now: Instant) {
        self.aside.insert(user);
        self.next_at = now + pause_after(used).min(LONGEST_FOR_OTHERS);
        self.current = None;
    }

    /// A request of this user has ended, and used this CPU time.
    fn end(&mut self, user: u32, used: Duration, now: Instant) {
        let pause = pause_after(used);
        self.next_of.insert(user, now + pause);
        self.next_at = now + pause.min(LONGEST_FOR_OTHERS);
        self.aside.remove(&user);
        self.current = None;
    }
}

impl Turn<'_> {
    /// Does slow work of the request while other users have their turns, and waits for the next turn; `None`: there
    /// are no more turns. The request pays for the work when it ends.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        self.allowance.state().leave(self.user, self.used(), Instant::now());
        self.allowance.changed.notify_all();
        let done = work();
        let mut state = self.allowance.state();
        state.back.push_back(self.request);
        self.allowance.wait_for(state, self.user, self.request)?;
        Some(done)
    }

    /// The CPU time that the request has used so far.
    fn used(&self) -> Duration {
        used().saturating_sub(self.used_before)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.allowance.state();
        // If the work aside panicked, another request may have the turn.
        let other = state.current.filter(|request| *request != self.request);
        state.end(self.user, self.used(), Instant::now());
        state.current = other;
        drop(state);
        // Waiting threads look at the time.
        self.allowance.changed.notify_all();
    }
}

/// A request of root, until this is dropped.
pub struct OfRoot<'a>(&'a Allowance);

impl Drop for OfRoot<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.of_root -= 1;
        if state.of_root == 0 {
            state.roots_until = None;
            // Most often the users have to pause anyway; then none of them is woken up for nothing.
            if state.call_next(Instant::now()) {
                self.0.changed.notify_all();
            }
        }
    }
}

/// How long a user waits after a request that used this CPU time.
pub fn pause_after(used: Duration) -> Duration {
    used.saturating_mul(PAUSE)
}

/// The CPU time that this thread has used, and that other threads have used for it.
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
        assert_eq!(allowance.state().current, Some(7), "root has no request: the user's is called");
        let _slow = allowance.root();
        let mut state = allowance.state();
        let until = state.roots_until.unwrap();
        (state.current, state.next_at) = (None, until);
        state.waiting.add(1, 8);
        assert!(state.call_next(until), "a slow request of root keeps users waiting for a second");
    }

    /// While a request works aside, another user has a turn, and the same user has none; then the request comes first.
    #[test]
    fn work_aside_leaves_the_turn_to_others() {
        let allowance = Allowance::new();
        let turn = allowance.turn(1).unwrap();
        let done = turn.aside(|| {
            let mut state = allowance.state();
            [(1, 100), (2, 101), (3, 102)].into_iter().for_each(|(user, it)| state.waiting.add(user, it));
            let now = state.next_at;
            assert!(state.call_next(now) && state.current == Some(101));
            state.end(2, Duration::ZERO, now);
            "done"
        });
        assert_eq!((done, allowance.state().current), (Some("done"), Some(turn.request)));
        add_used(MS);
        drop(turn);
        let mut state = allowance.state();
        assert!(state.next_of.contains_key(&1), "the user pays");
        let now = state.next_of[&1];
        assert!(state.call_next(now) && state.current == Some(102), "the other user has not had a turn yet");
        state.end(3, Duration::ZERO, now);
        assert!(state.call_next(now) && state.current == Some(100), "nothing is aside any more");
    }

    /// After work aside that panics nothing of the request is left, and another request keeps its turn.
    #[test]
    fn work_aside_that_panics_ends_the_request() {
        let allowance = &Allowance::new();
        let panics = || {
            let turn = allowance.turn(1);
            turn.map(|turn| {
                turn.aside(|| {
                    allowance.state().current = Some(7);
                    panic!("a panic that a test asked for")
                })
            })
        };
        assert!(thread::scope(|scope| scope.spawn(|| panics().is_some()).join()).is_err());
        let state = allowance.state();
        assert_eq!((state.current, state.aside.len(), state.back.len()), (Some(7), 0, 0));
    }

    /// Four clients of a user have a fiftieth of a CPU together, not each: three of them wait for a pause.
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

    /// CPU time that other threads use for a request is charged to it, their other CPU time is not.
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
    fn waiting_requests_do_not_delay_the_end() {
        let allowance = &Allowance::new();
        allowance.state().end(1, Duration::from_secs(1000), Instant::now());
        thread::scope(|scope| {
            let waits = scope.spawn(|| allowance.turn(1).is_none());
            allowance.stop();
            assert!(waits.join().unwrap());
        });
    }
}
