//! What the policy `proportional-share` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_core::Calls;
use hls_scenario::Machine;
use hls_units::Nanos;

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

/// Two threads that may use only CPU 0 fall behind one that has CPU 1 to itself. A thread that comes to CPU 0 later
/// still shares it with them, and does not wait until they have caught up.
#[test]
fn threads_that_fall_behind_on_one_cpu_keep_nobody_waiting() {
    let mut m = Machine::new(2, None);
    let ps = m.root("proportional-share", &[MS]);
    let bound = |m: &mut Machine, cpu: u16| {
        let vp = m.thread(ps, &[100]);
        m.core.set_affinity(vp, 1 << cpu, m.now).unwrap();
        m.wake(vp);
        vp
    };
    for cpu in [0, 0, 1] {
        bound(&mut m, cpu);
    }
    m.run_to(Nanos(60_000 * MS));
    let late = bound(&mut m, 0);
    m.run_to(Nanos(61_000 * MS));
    assert!(m.ran_ms(late) > 200.0, "{}", m.ran_ms(late));
}

/// Three even threads on two CPUs, after one of them had a CPU to itself beside a thread with a hundredth of its
/// share: the others get their two thirds of a CPU.
#[test]
fn a_share_of_more_than_a_cpu_is_no_credit() {
    let mut m = Machine::new(2, None);
    let ps = m.root("proportional-share", &[MS]);
    let (heavy, light) = (m.thread(ps, &[100]), m.thread(ps, &[1]));
    m.wake(heavy);
    m.wake(light);
    m.run_to(Nanos(60_000 * MS));
    let (one, other) = (m.thread(ps, &[100]), m.thread(ps, &[100]));
    m.wake(one);
    m.wake(other);
    m.run_to(Nanos(63_000 * MS));
    for vp in [one, other] {
        assert!((1900.0..2050.0).contains(&m.ran_ms(vp)), "{}", m.ran_ms(vp));
    }
}
