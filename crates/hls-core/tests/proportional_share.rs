//! What the policy `proportional-share` decides, in small hierarchies that are driven by hand.

mod support;

use hls_scenario::Machine;
use hls_units::Nanos;
use support::{ByHand, MS};

#[test]
fn shares_are_proportional() {
    let mut m = Machine::new(1, None);
    let ps = m.root("proportional-share", &[MS]);
    let (a, b) = (m.thread(ps, &[1]), m.thread(ps, &[4]));
    m.wake(a);
    m.wake(b);
    m.run_to(Nanos(1000 * MS));
    assert!((m.ran_ms(a) - 200.0).abs() <= 1.0, "{}", m.ran_ms(a));
    assert!((m.ran_ms(b) - 800.0).abs() <= 1.0);
}
