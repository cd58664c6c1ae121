//! Releases, deadlines and misses; frames and gaps.

use super::support::{Run, ms, run, us};
use hls_monitor::event::What;
use hls_units::Nanos;

/// Runs the thread `t` alone, with this shape.
fn alone(shape: &str, length: Nanos) -> Run {
    run(&format!("round-robin \"R\" {{ thread \"t\" {{ {shape} }} }}"), length)
}

/// When jobs were released, and their deadlines.
fn releases(run: &Run) -> Vec<(Nanos, Nanos)> {
    let release = |(at, what)| match what {
        What::JobRelease { deadline } => Some((at, deadline)),
        _ => None,
    };
    run.life("t").into_iter().filter_map(release).collect()
}

/// After how long jobs were done.
fn responses(run: &Run) -> Vec<Nanos> {
    let response = |(_, what)| match what {
        What::JobDone { response } => Some(response),
        _ => None,
    };
    run.life("t").into_iter().filter_map(response).collect()
}

#[test]
fn a_period_is_the_deadline_when_nothing_else_is_said() {
    let run = alone(r#"periodic run="2ms" every="10ms""#, ms(39));
    let expected = [(ms(0), ms(10)), (ms(10), ms(20)), (ms(20), ms(30)), (ms(30), ms(40))];
    assert_eq!(releases(&run), expected);
    assert_eq!(responses(&run), [ms(2); 4]);
    assert_eq!((run.thread("t").activations, run.thread("t").misses), (4, 0));
}

#[test]
fn an_offset_moves_every_release() {
    let run = alone(r#"periodic run="1ms" every="10ms" offset="3ms" deadline="5ms""#, ms(25));
    assert_eq!(releases(&run)[1..], [(ms(3), ms(8)), (ms(13), ms(18)), (ms(23), ms(28))]);
    assert_eq!(run.times("t", What::Grant)[..], [ms(3), ms(13), ms(23)]);
    assert_eq!(run.thread("t").misses, 0);
}

/// The thread wakes up 1 ms after the release, from which response and deadline count: a response of 3 ms is late for a
/// deadline of 2.5 ms, and in time for one of 3 ms.
#[test]
fn jitter_delays_the_wake_up_only() {
    let late = alone(r#"periodic run="2ms" every="10ms" jitter="1ms" deadline="2.5ms""#, ms(29));
    assert_eq!(late.times("t", What::Request), [ms(1), ms(11), ms(21)]);
    assert_eq!(responses(&late), [ms(3); 3]);
    assert_eq!(late.thread("t").misses, 3);
    let in_time = alone(r#"periodic run="2ms" every="10ms" jitter="1ms" deadline="3ms""#, ms(29));
    assert_eq!(in_time.thread("t").misses, 0);
}

/// The jitter of each release is drawn from the span.
#[test]
fn jitter_stays_within_its_span() {
    let run = alone(r#"periodic run="1ms" every="10ms" jitter="1ms..4ms""#, ms(999));
    let requests = run.times("t", What::Request);
    assert_eq!(requests.len(), 100);
    let within = |(n, at): (u64, &Nanos)| (ms(10 * n + 1)..=ms(10 * n + 4)).contains(at);
    assert!((0..).zip(&requests).all(within));
    assert!(requests.windows(2).any(|pair| pair[1] - pair[0] != ms(10)));
}

/// Jobs of 15 ms every 10: released at 0, 10, 20, done at 15, 30, 45.
#[test]
fn a_late_job_does_not_move_the_next_release() {
    let run = alone(r#"periodic run="15ms" every="10ms""#, ms(45));
    assert_eq!(responses(&run), [ms(15), ms(20), ms(25)]);
}

/// At 40 ms the first two jobs have missed their deadlines, and the third, due at 30 ms, is being done; the fourth is
/// due at this instant, and so not late. One nanosecond later the fourth is late, too, though it has not begun.
#[test]
fn misses_at_the_end_count_jobs_that_never_came() {
    let shape = r#"periodic run="15ms" every="10ms""#;
    assert_eq!(alone(shape, ms(40)).thread("t").misses, 3);
    assert_eq!(alone(shape, ms(40) + Nanos(1)).thread("t").misses, 4);
}

fn starved(leave: &str, length: Nanos) -> Run {
    let hierarchy = format!(
        r#"fixed-priority "F" {{
            thread "t" priority=1 {leave} {{ periodic run="1ms" every="10ms" }}
            thread "hog" priority=2
        }}"#
    );
    run(&hierarchy, length)
}

/// Deadlines at 10, 20 and 30 ms pass.
#[test]
fn a_thread_that_never_runs_misses_all_deadlines() {
    let run = starved("", ms(35));
    assert_eq!((run.thread("t").activations, run.thread("t").ran, run.thread("t").misses), (1, ms(0), 3));
}

/// Deadlines at 10, 20 and 30 ms pass, and are counted when the thread leaves and not again at the end.
#[test]
fn a_thread_that_leaves_has_missed_what_was_due() {
    let run = starved(r#"leave="35ms""#, ms(100));
    assert_eq!(run.thread("t").misses, 3);
    let misses = |(_, what): &(Nanos, What)| matches!(what, What::Miss { .. });
    let last = run.life("t").into_iter().rfind(misses);
    assert_eq!(last, Some((ms(35), What::Miss { count: 3 })));
}

/// A job that is done on its deadline is in time.
#[test]
fn the_deadline_itself_is_in_time() {
    assert_eq!(alone(r#"periodic run="5ms" every="10ms" deadline="5ms""#, ms(19)).thread("t").misses, 0);
    let late = alone(r#"periodic run="5ms" every="10ms" deadline="4.999ms""#, ms(19));
    assert_eq!(late.thread("t").misses, 2);
}

/// The frames and misses of a renderer that is alone and has a gap of 33 ms.
fn frames(frame: &str, length: Nanos) -> (u64, u64) {
    let run = alone(&format!("frame-renderer frame=\"{frame}\" gap=\"33ms\""), length);
    (run.thread("t").frames, run.thread("t").misses)
}

#[test]
fn each_full_gap_beyond_the_first_is_a_miss() {
    assert_eq!(frames("10ms", ms(95)), (9, 0));
    assert_eq!(frames("33ms", ms(99)), (3, 0), "a frame at the end of its gap is in time");
    assert_eq!(frames("34ms", ms(102)), (3, 3));
    assert_eq!(frames("66ms", ms(132)), (2, 2));
    assert_eq!(frames("67ms", ms(134)), (2, 4));
}

/// Where no frame is done by 99 ms, the frames due at 33 and 66 ms are missed, and the one due at 99 ms not yet.
#[test]
fn frames_that_never_came_are_missed() {
    assert_eq!(frames("200ms", ms(99)), (0, 2));
    assert_eq!(frames("200ms", ms(99) + Nanos(1)), (0, 3));
    assert_eq!(frames("10ms", ms(9)), (0, 0));
}

/// Frames are done at 10, 20, 30 and 40 ms. A burst of another thread delays the next one to 90 ms, 50 ms after the
/// last: one miss.
#[test]
fn a_renderer_watches_its_gaps() {
    let hierarchy = r#"
        fixed-priority "F" {
            thread "t" priority=1 { frame-renderer frame="10ms" gap="33ms" }
            thread "burst" priority=2 arrive="40ms" leave="80ms"
        }"#;
    let run = run(hierarchy, us(95_500));
    assert_eq!((run.thread("t").frames, run.thread("t").misses), (5, 1));
    assert_eq!(run.times("t", What::Miss { count: 1 }), [ms(90)]);
}
