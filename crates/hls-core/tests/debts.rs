//! Schedulers pay for CPU time that threads below them had without a grant.

use crate::support::{ByHand, MS, policy_of, timeline};
use hls_core::{About, Calls, CoreScheduler, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

/// The thread had a CPU for `ms` milliseconds without a grant.
fn owe(m: &mut Machine, thread: CoreVp, ms: u64) {
    let now = m.now;
    m.core.make_about(thread, About::owe(Nanos(ms * MS)), now).unwrap();
    m.settled();
}

/// A scheduler of one policy above two others: thread `a` below the first, which pays, and `b` below the second.
fn beside(policy: &str, vp_params: &[u64]) -> (Machine, [CoreVp; 2]) {
    let mut m = Machine::new(1, None);
    let above = m.root(policy, &[]);
    let below = [(); 2].map(|()| m.below(above, vp_params, "round-robin", &[100 * MS]));
    m.core.let_pay(below[0]).unwrap();
    let threads = below.map(|below| m.thread(below, &[]));
    threads.into_iter().for_each(|thread| m.wake(thread));
    (m, threads)
}

/// A sleeping thread below a scheduler that pays, which has 10 ms in every 20 ms.
fn reserved() -> (Machine, CoreVp) {
    let mut m = Machine::new(1, None);
    let root = m.root("reservation", &[]);
    let reserved = m.below(root, &[10 * MS, 20 * MS], "round-robin", &[100 * MS]);
    m.core.let_pay(reserved).unwrap();
    let thread = m.thread(reserved, &[]);
    (m, thread)
}

/// The next budget is less by 4 ms, and the one after it is whole.
#[test]
fn a_budget_pays_once() {
    let (mut m, a) = reserved();
    m.wake(a);
    assert_eq!(timeline(&mut m, &[a], 15), "aaaaaaaaaa.....");
    owe(&mut m, a, 4);
    let later = timeline(&mut m, &[a], 45);
    assert_eq!(later, ".....aaaaaa..............aaaaaaaaaa..........", "6 ms of 10 in one period");
    assert_eq!(m.ran_ms(a), 26.0, "it is charged, but has not run");
}

/// Its slice ends 4 ms earlier, and the next one is whole.
#[test]
fn a_running_scheduler_pays_at_once() {
    let (mut m, a) = reserved();
    m.run_to(Nanos(100 * MS));
    m.wake(a);
    assert_eq!(timeline(&mut m, &[a], 3), "aaa");
    owe(&mut m, a, 4);
    assert_eq!(timeline(&mut m, &[a], 37), "aaa..............aaaaaaaaaa..........");
}

/// Whatever the policy: the scheduler that pays 160 ms has 160 ms less than its sibling, but for a quantum of each.
#[test]
fn a_share_pays() {
    for policy in ["proportional-share", "bvt", "stride", "sfq", "eevdf", "linux-eevdf"] {
        let params: Vec<u64> =
            policy_of(policy).vp_params.iter().map(|param| param.default.unwrap_or(1)).collect();
        let (mut m, [a, b]) = beside(policy, &params);
        for _ in 0..20 {
            m.run_to(m.now + Nanos(50 * MS));
            owe(&mut m, a, 8);
        }
        m.run_to(m.now + Nanos(1000 * MS));
        let less = m.ran_ms(b) - m.ran_ms(a);
        assert!((less - 160.0).abs() <= 20.0, "{policy}: {less}");
    }
}

/// No scheduler pays for the threads of its siblings, nor where one above it does.
#[test]
fn the_topmost_scheduler_pays() {
    let mut m = Machine::new(1, None);
    let root = m.root("fixed-priority", &[]);
    let owned = m.below(root, &[1], "round-robin", &[10 * MS]);
    let inner = m.below(owned, &[], "round-robin", &[10 * MS]);
    let (held, other) = (m.thread(inner, &[]), m.thread(root, &[2]));
    [owned, inner].into_iter().for_each(|payer| m.core.let_pay(payer).unwrap());
    let owed = |m: &Machine| {
        let of = |child: CoreScheduler| m.core.image().vps.iter().find(|vp| vp.child == child.0);
        [owned, inner].map(|child| of(child).unwrap().owed_us)
    };
    owe(&mut m, other, 3);
    assert_eq!(owed(&m), [0, 0]);
    owe(&mut m, held, 3);
    assert_eq!(owed(&m), [3000, 0]);
    (0..9).for_each(|_| owe(&mut m, held, 3));
    assert_eq!(owed(&m), [10_000, 0], "as much as an overrun, at most");
    m.wake(held);
    assert_eq!(owed(&m), [0, 0]);
}
