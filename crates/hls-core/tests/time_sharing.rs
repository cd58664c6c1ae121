//! What the policy `time-sharing` decides, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_scenario::Machine;
use hls_units::Nanos;

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

/// The part of the CPU, in thousandths, of a thread that alternately works and sleeps for these times beside hogs.
fn share_of_a_sleeper(work: u64, sleep: u64, hogs: usize) -> u64 {
    let mut m = Machine::new(1, None);
    let ts = m.root("time-sharing", &[]);
    let sleeper = m.thread(ts, &[8]);
    for _ in 0..hogs {
        let hog = m.thread(ts, &[8]);
        m.wake(hog);
    }
    let end = Nanos(100_000 * MS);
    while m.now < end {
        m.wake(sleeper);
        let done = m.core.ran(sleeper, m.now) + Nanos(work);
        // Its work is done at the earliest after this time, if it has the CPU all the time.
        while m.core.ran(sleeper, m.now) < done && m.now < end {
            let least = done - m.core.ran(sleeper, m.now);
            m.run_to(m.now + least);
        }
        m.block(sleeper);
        m.run_to(m.now + Nanos(sleep));
    }
    m.core.ran(sleeper, m.now).0 / (m.now.0 / 1000)
}

#[test]
fn short_sleeps_win_no_cpu_time() {
    let us = MS / 1000;
    for (work, sleep) in [(19 * MS, 100 * us), (19_999 * us, us), (10 * MS, 100 * us), (MS, us)] {
        for hogs in [1, 3, 9] {
            let (share, fair) = (share_of_a_sleeper(work, sleep, hogs), 1000 / (hogs as u64 + 1));
            let most = fair + 10;
            assert!(share <= most, "{work} of work, {sleep} of sleep, {hogs} hogs: {share} > {most}");
        }
    }
}

#[test]
fn no_rhythm_wins_more_than_a_quarter_of_the_cpu() {
    for work in [1, 2, 5, 13, 20, 39, 40, 41, 100] {
        for sleep in [1, 2, 5, 10, 30, 60, 120, 300] {
            let share = share_of_a_sleeper(work * MS, sleep * MS, 9);
            assert!(share <= 255, "{work} ms of work, {sleep} ms of sleep: {share}");
        }
    }
}

#[test]
fn a_thread_that_mostly_sleeps_gets_the_time_that_it_needs() {
    for (work, sleep) in [(1, 3), (5, 20), (5, 50), (20, 60)] {
        let (share, needs) = (share_of_a_sleeper(work * MS, sleep * MS, 9), 1000 * work / (work + sleep));
        assert!(share + 5 >= needs, "{work} ms of work, {sleep} ms of sleep: {share} < {needs}");
    }
}

#[test]
fn an_event_of_a_waiting_thread_is_no_wake_up() {
    let mut m = Machine::new(1, None);
    let ts = m.root("time-sharing", &[]);
    let (one, other) = (m.thread(ts, &[8]), m.thread(ts, &[8]));
    m.wake(one);
    m.wake(other);
    m.run_to(Nanos(200 * MS));
    // For a new nice value or affinity, the kernel takes a waiting thread out of its queue and puts it back.
    for ms in 201..1000 {
        let waits = if m.running[0] == Some(one) { other } else { one };
        if waits == one {
            m.block(one);
            m.wake(one);
        }
        m.run_to(Nanos(ms * MS));
    }
    assert!((480.0..520.0).contains(&m.ran_ms(one)), "{}", m.ran_ms(one));
}
