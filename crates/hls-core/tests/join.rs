//! What the policy `join` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_core::{Calls, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

#[test]
fn a_join_takes_the_slack_as_well() {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[]);
    let res = m.below(fp, &[2], "reservation", &[]);
    let rr = m.below(fp, &[1], "round-robin", &[10 * MS]);
    let join = m.below(res, &[10 * MS, 40 * MS], "join", &[]);
    m.core.attach(rr, Some(join), Params::default()).unwrap();
    let (soft, hog) = (m.thread(join, &[]), m.thread(rr, &[]));
    m.wake(hog);
    m.wake(soft);
    m.run_to(Nanos(4000 * MS));
    assert!((m.ran_ms(soft) - 2500.0).abs() <= 20.0, "{}", m.ran_ms(soft));
    m.block(soft);
    m.run_to(Nanos(5000 * MS));
    assert!((m.ran_ms(hog) - 2500.0).abs() <= 20.0, "{}", m.ran_ms(hog));
}
