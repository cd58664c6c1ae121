//! Policies that are written with `include/hls_scheduler.h` schedule as their papers say: schedules that were worked
//! out by hand, a character a millisecond, with an agent whose turns take no time unless a test says so.

#[path = "support/agent.rs"]
mod agent;
mod support;

use agent::{Program, World, compile};
use hls_core::CoreVp;

const FP_RR: &str = "examples/user-level/fp_rr.c";

/// A world with threads in the slots from 1 on, asleep.
fn world(source: &str, settings: &str, threads: u64) -> (World, Vec<CoreVp>) {
    let mut world = World::new(Program::open(&compile(source), settings), 1);
    let threads = (1..=threads).map(|slot| world.thread(slot)).collect();
    (world, threads)
}

#[test]
fn fp_rr_takes_equals_in_turn_and_lets_the_greater_priority_preempt() {
    let (mut world, threads) = world(FP_RR, "1=3,3ms 2=3,3ms 3=1,2ms 4=5", 4);
    for thread in &threads[..3] {
        world.wake(*thread);
    }
    assert_eq!(world.timeline(&threads, 7), "aaabbba");
    world.wake(threads[3]);
    assert_eq!(world.timeline(&threads, 2), "dd");
    world.block(threads[3]);
    // `a` goes on with the 2 ms that its slice has left.
    assert_eq!(world.timeline(&threads, 6), "aabbba");
    world.block(threads[0]);
    world.block(threads[1]);
    assert_eq!(world.timeline(&threads, 3), "ccc");
}
