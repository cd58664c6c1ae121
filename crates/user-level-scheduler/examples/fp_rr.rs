//! Fixed priorities, and round robin among equals, as a process: `examples/user-level/fp_rr.c` in Rust.
//! `HLS_SETTINGS="1=3 2=3 3=1,5ms"` has the threads in slots 1 and 2 at priority 3, the one in slot 3 at priority 1, in
//! turns of 5 ms.

use hls_user_level_scheduler::{OpenError, Policy, SLOTS, Scheduler, Slot, Slots, run};
use std::cmp::Reverse;

/// The priority of each thread, and its place in the line: the least is the first.
pub(crate) struct FpRr {
    priority: [u64; SLOTS],
    place: [u64; SLOTS],
    places: u64,
}

impl FpRr {
    /// A policy without threads.
    pub(crate) fn new() -> FpRr {
        FpRr { priority: [0; SLOTS], place: [0; SLOTS], places: 0 }
    }

    fn go_behind(&mut self, slot: Slot) {
        self.places += 1;
        self.place[slot] = self.places;
    }
}

impl Policy for FpRr {
    fn thread_new(&mut self, scheduler: &mut Scheduler<'_>, slot: Slot) {
        self.priority[slot] = scheduler.setting(slot, 0).unwrap_or(1);
        scheduler.set_urgency(slot, self.priority[slot] + 1);
        scheduler.give_slice(slot, scheduler.setting(slot, 1).unwrap_or(10_000_000));
    }

    fn wakeup(&mut self, _: &mut Scheduler<'_>, slot: Slot) {
        self.go_behind(slot);
    }

    fn yielded(&mut self, _: &mut Scheduler<'_>, slot: Slot) {
        self.go_behind(slot);
    }

    fn schedule(&mut self, _: &mut Scheduler<'_>, _: usize, candidates: Slots) -> Option<Slot> {
        candidates.min_by_key(|&slot| (Reverse(self.priority[slot]), self.place[slot]))
    }
}

#[allow(dead_code, reason = "a test has the policy as a module")]
fn main() -> Result<(), OpenError> {
    run(&mut FpRr::new())
}
