//! What the policy `reservation` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_scenario::Machine;
use hls_units::Nanos;

#[test]
fn a_reservation_is_kept_and_is_hard() {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[]);
    let res = m.below(fp, &[2], "reservation", &[]);
    let rr = m.below(fp, &[1], "round-robin", &[]);
    let reserved = m.thread(res, &[10 * MS, 33 * MS]);
    let hog = m.thread(rr, &[]);
    m.wake(hog);
    m.wake(reserved);
    m.run_to(Nanos(3300 * MS));
    assert_eq!(m.ran_ms(reserved), 1000.0);
    assert_eq!(m.ran_ms(hog), 2300.0);
}
