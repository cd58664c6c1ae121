//! What the policy `round-robin` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_scenario::Machine;
use hls_units::Nanos;

#[test]
fn children_take_turns_of_a_quantum() {
    let mut m = Machine::new(1, None);
    let rr = m.root("round-robin", &[10 * MS]);
    let threads = [(); 3].map(|()| m.thread(rr, &[]));
    threads.iter().for_each(|&thread| m.wake(thread));
    let mut turns = Vec::new();
    for turn in 1..=6 {
        turns.push(m.running[0].expect("three threads want the CPU"));
        m.run_to(Nanos(turn * 10 * MS));
    }
    assert_eq!(turns, [threads, threads].concat());
    // A thread that blocks gives up the rest of its turn, and begins a new one when it is back.
    m.run_to(Nanos(64 * MS));
    assert_eq!(m.running[0], Some(threads[0]));
    m.block(threads[0]);
    assert_eq!(m.running[0], Some(threads[1]));
    m.wake(threads[0]);
    m.run_to(Nanos(93 * MS));
    assert_eq!(threads.map(|thread| m.ran_ms(thread)), [33.0, 30.0, 30.0]);
}
