//! Which threads are to be described next, and how much CPU time that may take.
//!
//! Anybody may make threads, and move those of his own between cgroups of his own, as many and as often as he likes;
//! each time `/proc` is to be read. So a thread, or a process, waits at most once. Users take turns: a user with many
//! threads delays no other user. All of it has a twenty-fifth of a CPU. Unused time is saved, up to half a second,
//! for moments in which many threads come at once, such as the beginning of a run.

use hls_plan::Turns;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::HashSet;
use std::time::Duration;

/// Of the time that passes, this part may be used.
const PART: u32 = 25;
/// So much may be saved.
const MOST_SAVED_NS: i64 = 500_000_000;

/// What waits to be described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// The thread with this TID.
    Thread(u32),
    /// All threads of the process with this number.
    Process(u32),
}

/// Threads and processes that wait to be described.
#[derive(Debug, Default)]
pub struct Descriptions {
    turns: Turns<Waiting>,
    /// All that wait.
    waiting: HashSet<Waiting>,
}

impl Descriptions {
    /// Something of this user's is to be described, if it does not wait already.
    pub fn add(&mut self, user: u32, item: Waiting) {
        if self.waiting.insert(item) {
            self.turns.add(user, item);
        }
    }

    /// Whether that waits.
    pub fn has(&self, item: Waiting) -> bool {
        self.waiting.contains(&item)
    }

    /// Takes the item that has waited longest of the user that has the turn; the user, and the item.
    pub fn take(&mut self) -> Option<(u32, Waiting)> {
        let (user, item) = self.turns.take()?;
        self.waiting.remove(&item);
        Some((user, item))
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}

/// The CPU time that may be used for descriptions. One that took longer than there was is owed: to read where a thread
/// is may have to wait, computing, for whoever moves threads.
#[derive(Debug)]
pub struct Budget {
    /// In nanoseconds; less than nothing is owed.
    saved_ns: i64,
    /// When that was so, by a clock that goes on.
    at: Duration,
}

impl Default for Budget {
    /// All that may be saved.
    fn default() -> Budget {
        Budget { saved_ns: MOST_SAVED_NS, at: time(ClockId::Monotonic) }
    }
}

impl Budget {
    /// Whether there is any left now.
    pub fn is_left(&mut self) -> bool {
        self.save(time(ClockId::Monotonic));
        self.saved_ns > 0
    }

    /// So much was used.
    pub fn spend(&mut self, used: Duration) {
        self.saved_ns = self.saved_ns.saturating_sub(nanoseconds(used));
    }

    fn save(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at);
        self.saved_ns = self.saved_ns.saturating_add(nanoseconds(passed / PART)).min(MOST_SAVED_NS);
        self.at = now;
    }
}

fn nanoseconds(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

/// The CPU time that this thread has used.
pub fn cpu_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    Duration::new(tv_sec.unsigned_abs(), u32::try_from(tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::Waiting::{Process, Thread};
    use super::*;

    #[test]
    fn what_waits_is_there_once() {
        let mut waiting = Descriptions::default();
        for _ in 0..1000 {
            waiting.add(1000, Process(7));
            waiting.add(1000, Thread(7));
        }
        assert!(waiting.has(Process(7)) && !waiting.has(Process(8)));
        assert_eq!(waiting.take(), Some((1000, Process(7))));
        assert!(!waiting.has(Process(7)));
        waiting.add(1000, Process(7));
        assert_eq!(waiting.take(), Some((1000, Thread(7))));
        assert_eq!(waiting.take(), Some((1000, Process(7))));
        assert!(waiting.take().is_none() && waiting.is_empty());
    }

    #[test]
    fn a_part_of_the_time_that_passes_may_be_used() {
        let mut budget = Budget { saved_ns: 0, at: Duration::from_secs(10) };
        budget.save(Duration::from_secs(11));
        assert_eq!(budget.saved_ns, 40_000_000);
        budget.spend(Duration::from_millis(50));
        assert_eq!(budget.saved_ns, -10_000_000, "it is owed");
        budget.save(Duration::from_secs(12));
        assert_eq!(budget.saved_ns, 30_000_000);
        budget.save(Duration::from_secs(1000));
        assert_eq!(budget.saved_ns, MOST_SAVED_NS);
    }
}
