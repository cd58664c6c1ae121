//! What the policy `limit` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_scenario::Machine;
use hls_units::Nanos;

#[test]
fn a_limit_makes_hard() {
    let mut m = Machine::new(1, None);
    let rr = m.root("round-robin", &[]);
    let limit = m.below(rr, &[], "limit", &[]);
    let capped = m.thread(limit, &[5 * MS, 20 * MS]);
    m.wake(capped);
    m.run_to(Nanos(1000 * MS));
    assert_eq!(m.ran_ms(capped), 250.0);
}
