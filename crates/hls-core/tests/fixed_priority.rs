//! What the policy `fixed-priority` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_core::CoreVp;
use hls_scenario::Machine;
use hls_units::Nanos;

#[test]
fn the_highest_priority_runs() {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[]);
    let (low, high) = (m.thread(fp, &[1]), m.thread(fp, &[2]));
    m.wake(low);
    assert_eq!(m.running[0], Some(low));
    m.wake(high);
    assert_eq!(m.running[0], Some(high));
    m.block(high);
    assert_eq!(m.running[0], Some(low));
    m.block(low);
    assert_eq!(m.running[0], None);
}

#[test]
fn a_level_is_shared_in_turn() {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[10 * MS]);
    let threads: Vec<CoreVp> = (0..3).map(|_| m.thread(fp, &[5])).collect();
    threads.iter().for_each(|&t| m.wake(t));
    m.run_to(Nanos(300 * MS));
    threads.iter().for_each(|&t| assert_eq!(m.ran_ms(t), 100.0));
}
