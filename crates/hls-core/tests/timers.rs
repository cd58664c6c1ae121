//! Timers of many virtual processors (VPs) that are due at once: each call of the platform handles a few of them and
//! reports that the rest is due, so that no call is long and CPUs can decide in between.

use crate::support::{ByHand, MS};
use hls_core::CoreVp;
use hls_scenario::Machine;
use hls_units::Nanos;

const MANY: u64 = 1_000;
/// The most VPs that one call handles (`HLS_MAX_BATCH`).
const BATCH: u64 = 4;
const PERIOD: u64 = 1_000 * MS;

/// Makes timer calls at this instant until nothing is due any more; returns their number. Invariants are checked
/// after each call.
fn calls_at(m: &mut Machine, at: u64) -> u64 {
    m.now = Nanos(at);
    let mut calls = 0;
    while m.core.timer_at() <= m.now {
        m.core.timers(m.now);
        m.settled();
        calls += 1;
        assert!(calls <= 2 * MANY, "timers are due for ever");
    }
    calls
}

fn are_in_batches(calls: u64) {
    // A decision in between may begin the period of one more VP.
    assert!((MANY / (BATCH + 1)..=2 * MANY).contains(&calls), "{calls} calls dealt with {MANY} VPs");
}

fn awake(m: &mut Machine, threads: impl Iterator<Item = CoreVp>) {
    threads.for_each(|thread| m.core.request(thread, m.now));
    m.settled();
}

#[test]
fn periods_of_ready_vps_end_in_batches() {
    let mut m = Machine::new(1, None);
    let root = m.root("reservation", &[]);
    let threads: Vec<_> = (0..MANY).map(|_| m.thread(root, &[MS / 2, PERIOD])).collect();
    awake(&mut m, threads.into_iter());
    are_in_batches(calls_at(&mut m, PERIOD));
}

#[test]
fn depleted_vps_are_refilled_in_batches() {
    let mut m = Machine::new(1, None);
    let root = m.root("reservation", &[]);
    let threads: Vec<_> = (0..MANY).map(|_| m.thread(root, &[MS / 2, PERIOD])).collect();
    awake(&mut m, threads.iter().copied());
    m.run_to(Nanos(PERIOD - 1));
    are_in_batches(calls_at(&mut m, PERIOD));
    m.run_to(Nanos(2 * PERIOD - 1));
    let missing = threads.iter().filter(|&&thread| m.ran_ms(thread) < 1.0).count();
    assert_eq!(missing, 0, "threads that had not two budgets in two periods");
}

#[test]
fn timers_of_many_schedulers_go_off_in_batches() {
    let mut m = Machine::new(1, None);
    let root = m.root("round-robin", &[]);
    let threads: Vec<_> = (0..MANY)
        .map(|_| {
            let below = m.below(root, &[], "reservation", &[]);
            m.thread(below, &[MS / 2, PERIOD])
        })
        .collect();
    awake(&mut m, threads.into_iter());
    are_in_batches(calls_at(&mut m, PERIOD));
}
