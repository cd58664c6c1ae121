//! Which threads to describe next, and how much CPU time that may take.
//!
//! Every user may make threads, and move the user's threads between the user's cgroups, without a limit; each time
//! `/proc` must be read. So a thread, or a process, is queued at most once. Users take turns: a user with many
//! threads does not delay other users. All descriptions together have a twenty-fifth of a CPU. Unused time is saved,
//! up to half a second, for moments when many threads come at once, such as the beginning of a run.

use hls_engine::Turns;
use hls_units::Nanos;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::HashSet;
use std::time::Duration;

/// One in this many nanoseconds may be used for descriptions.
const PART: u32 = 25;
/// The most time that is saved.
const MOST_SAVED_NS: i64 = 500_000_000;

/// A thread or process that waits to be described.
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
    /// The queued items, to find whether one is queued.
    waiting: HashSet<Waiting>,
}

impl Descriptions {
    /// Queues an item of this user, if it does not wait already.
    pub fn add(&mut self, user: u32, item: Waiting) {
        if self.waiting.insert(item) {
            self.turns.add(user, item);
        }
    }

    /// Whether this item waits.
    pub fn has(&self, item: Waiting) -> bool {
        self.waiting.contains(&item)
    }

    /// Takes the item that has waited longest, of the user that has the turn. Returns the user and the item.
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

/// The CPU time that may be used for descriptions. A description that takes more than is left makes a debt: reading a
/// thread's cgroup may have to spin while another process moves threads.
#[derive(Debug)]
pub struct Budget {
    /// In nanoseconds; negative: a debt.
    saved_ns: i64,
    /// The time of `saved_ns`, by the monotonic clock.
    at: Duration,
}

impl Default for Budget {
    /// A full budget.
    fn default() -> Budget {
        Budget { saved_ns: MOST_SAVED_NS, at: time(ClockId::Monotonic) }
    }
}

impl Budget {
    /// Whether any time is left now.
    pub fn is_left(&mut self) -> bool {
        self.save(time(ClockId::Monotonic));
        self.saved_ns > 0
    }

    /// Subtracts time that was used.
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

/// The time by the clock that the hierarchy uses.
pub fn monotonic() -> Nanos {
    Nanos(u64::try_from(time(ClockId::Monotonic).as_nanos()).unwrap_or(u64::MAX))
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
    fn an_item_waits_only_once() {
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
