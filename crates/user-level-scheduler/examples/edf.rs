//! Earliest deadline first, as a process: `examples/user-level/edf.c` in Rust. `HLS_SETTINGS="1=20ms 2=50ms"` has the
//! jobs of the thread in slot 1 be done 20 ms after their wake-ups, and those in slot 2 after 50 ms.

use hls_user_level_scheduler::{MOST_URGENT, OpenError, Policy, SLOTS, Scheduler, Slot, Slots, run};

/// Within which time each thread is to be done after a wake-up, and by when that is now.
pub(crate) struct Edf {
    within_ns: [u64; SLOTS],
    deadline_at_ns: [u64; SLOTS],
}

impl Edf {
    /// A policy without threads.
    pub(crate) fn new() -> Edf {
        Edf { within_ns: [0; SLOTS], deadline_at_ns: [0; SLOTS] }
    }
}

impl Policy for Edf {
    fn thread_new(&mut self, scheduler: &mut Scheduler<'_>, slot: Slot) {
        self.within_ns[slot] = scheduler.setting(slot, 0).unwrap_or(100_000_000);
    }

    fn wakeup(&mut self, scheduler: &mut Scheduler<'_>, slot: Slot) {
        self.deadline_at_ns[slot] = scheduler.now_ns() + self.within_ns[slot];
        // The same for when the agent is late.
        scheduler.set_urgency(slot, MOST_URGENT - self.deadline_at_ns[slot]);
    }

    fn schedule(&mut self, _: &mut Scheduler<'_>, _: usize, candidates: Slots) -> Option<Slot> {
        candidates.min_by_key(|&slot| self.deadline_at_ns[slot])
    }
}

#[allow(dead_code, reason = "a test has the policy as a module")]
fn main() -> Result<(), OpenError> {
    run(&mut Edf::new())
}
