//! What the requests of users who are not root may cost. To answer takes CPU time from the threads of the hierarchy,
//! and anybody may ask, as often as he likes.
//!
//! All those requests together have a fiftieth of a CPU: they take turns, and between two turns is a pause in
//! proportion to the CPU time that this process used during the first. Whatever else the process did then counts, too,
//! against the users. Requests of root do not wait.

use rustix::time::{ClockId, clock_gettime};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A pause is so many times as long as the CPU time that was used before.
const PAUSE: u32 = 49;
/// No pause is longer: a server that is to stop waits for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Turns of users.
pub struct Allowance {
    /// When the next turn may begin.
    next_at: Mutex<Instant>,
}

/// A turn, for one request; what the request used is known when the turn is dropped.
pub struct Turn<'a> {
    next_at: MutexGuard<'a, Instant>,
    used_before: Duration,
}

impl Allowance {
    /// The first turn may begin at once.
    pub fn new() -> Allowance {
        Allowance { next_at: Mutex::new(Instant::now()) }
    }

    /// Waits for a turn.
    pub fn turn(&self) -> Turn<'_> {
        // A request that panicked has at worst not said what it used.
        let next_at = self.next_at.lock().unwrap_or_else(PoisonError::into_inner);
        sleep(next_at.saturating_duration_since(Instant::now()));
        Turn { next_at, used_before: used() }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.next_at = Instant::now() + pause_after(used().saturating_sub(self.used_before));
    }
}

fn pause_after(used: Duration) -> Duration {
    used.saturating_mul(PAUSE).min(LONGEST_PAUSE)
}

/// The CPU time that this process has used.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn pauses_are_in_proportion_and_have_an_end() {
        assert_eq!(pause_after(Duration::from_millis(2)), Duration::from_millis(98));
        assert_eq!(pause_after(Duration::from_secs(2)), LONGEST_PAUSE);
    }

    /// Four clients that ask have a fiftieth of a CPU together, not each: behind three of them comes a pause.
    #[test]
    fn clients_share_one_allowance() {
        let allowance = Allowance::new();
        let work = || {
            let until = used() + Duration::from_millis(2);
            while used() < until {}
        };
        let begun = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _turn = allowance.turn();
                    work();
                });
            }
        });
        assert!(begun.elapsed() >= Duration::from_millis(3 * 98), "{:?}", begun.elapsed());
    }
}
