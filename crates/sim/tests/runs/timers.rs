//! Precise timers, and timers that expire only at ticks.

use super::support::{ms, on_cpu_0, run};
use hls_monitor::event::What;
use hls_units::Nanos;

const RESERVATION: &str = r#"reservation "R" { thread "t" guarantee="RESBH 10ms 33ms" { cpu-bound } }"#;
const SLEEPER: &str = r#"round-robin "R" { thread "t" { bursty run="1ms" sleep="5ms" } }"#;

fn at_1024_hz(hierarchy: &str) -> String {
    format!("machine tick=\"1024Hz\"\n{hierarchy}")
}

/// The instant of tick `n`, at 1024 ticks a second.
fn tick(n: u64) -> Nanos {
    Nanos(n * 1_000_000_000 / 1024)
}

#[test]
fn a_precise_budget_is_exact() {
    let run = run(RESERVATION, ms(90));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 10), (33, 43), (66, 76)]));
    assert_eq!(run.thread("t").work, ms(30));
    assert_eq!(run.result.idle, ms(60));
}

/// 10 ms are 10.24 ticks, so the first budget is enforced eleven ticks after the grant. The next ones pay the 742 us
/// that this is too much: they are enforced after ten ticks, until a part of a tick is left. Period n begins at the
/// first tick after n * 33.792 ticks: 0, 34, 68, 102, 136, 169, 203, 237, 271, 305.
#[test]
fn a_budget_ends_at_a_tick_and_the_next_ones_pay_for_that() {
    let run = run(&at_1024_hz(RESERVATION), ms(330));
    let begins = [0, 34, 68, 102, 136, 169, 203, 237, 271, 305];
    let ticks = [11, 10, 10, 10, 11, 10, 10, 10, 11, 10];
    let stints = begins.into_iter().zip(ticks).map(|(begin, ticks)| (0, tick(begin), tick(begin + ticks)));
    assert_eq!(run.stints("t"), stints.collect::<Vec<_>>());
    assert!(ms(100) <= run.thread("t").ran && run.thread("t").ran < ms(100) + tick(1));
}

#[test]
fn a_precise_sleep_is_exact() {
    let run = run(SLEEPER, ms(20));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 1), (6, 7), (12, 13), (18, 19)]));
    assert_eq!(run.thread("t").response.worst, ms(1));
}

/// 1 ms of work and 5 ms of sleep from a tick on are 6.144 ticks, so each round takes 7. A job is released when its
/// sleep was over, not at the tick. Ticks are rounded down to whole nanoseconds, so the second sleep, which begins at a
/// rounded tick and ends at a whole one, ends latest after its time.
#[test]
fn a_sleep_by_ticks_ends_at_one() {
    let run = run(&at_1024_hz(SLEEPER), ms(25));
    assert_eq!(run.times("t", What::Request), [tick(0), tick(7), tick(14), tick(21)]);
    assert_eq!(run.stints("t")[1], (0, tick(7), tick(7) + ms(1)));
    let late = tick(14) - (tick(7) + ms(6));
    assert_eq!(late, Nanos(835_938));
    assert_eq!(run.thread("t").response.worst, late + ms(1));
}

/// A thread ends its work between ticks, too.
#[test]
fn the_end_of_work_needs_no_tick() {
    let run = run(&at_1024_hz(SLEEPER), ms(5));
    assert_eq!(run.times("t", What::Release), [ms(1)]);
}

/// A turn of 1 ms is 1.024 ticks long, and so ends after two ticks.
#[test]
fn turns_end_at_ticks() {
    let hierarchy = r#"round-robin "R" quantum="1ms" { thread "a"; thread "b" }"#;
    let run = run(&at_1024_hz(hierarchy), tick(8));
    let expected = [(0, tick(0), tick(2)), (0, tick(4), tick(6))];
    assert_eq!(run.stints("a")[..2], expected);
    assert_eq!(run.thread("b").ran, tick(4));
}
