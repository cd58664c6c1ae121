//! What the policy `time-sharing` decides, in small hierarchies that are driven by hand.

mod support;

use hls_scenario::Machine;
use hls_units::Nanos;
use support::{ByHand, MS};

#[test]
fn nobody_starves_for_ever_under_time_sharing() {
    let mut m = Machine::new(1, None);
    let ts = m.root("time-sharing", &[20 * MS, 0, 980 * MS, 20 * MS]);
    let (high, low) = (m.thread(ts, &[9]), m.thread(ts, &[3]));
    m.wake(high);
    m.wake(low);
    m.run_to(Nanos(10_000 * MS));
    assert_eq!(m.ran_ms(low), 200.0);
    assert_eq!(m.ran_ms(high), 9800.0);
}
