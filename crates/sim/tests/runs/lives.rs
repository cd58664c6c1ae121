//! Threads that arrive and leave while others run.

use super::support::{ms, on_cpu_0, run, run_with};
use hls_monitor::event::What;
use hls_units::Nanos;

const RELEASED: What = What::JobRelease { deadline: Nanos::MAX };

#[test]
fn a_thread_that_arrives_may_preempt() {
    let hierarchy = r#"
        fixed-priority "F" {
            thread "low" priority=1
            thread "high" priority=2 arrive="3ms" leave="5ms"
        }"#;
    let run = run(hierarchy, ms(10));
    assert_eq!(run.stints("high"), on_cpu_0(&[(3, 5)]));
    assert_eq!(run.stints("low"), on_cpu_0(&[(0, 3), (5, 10)]));
    assert_eq!(run.thread("low").preemptions, 1);
}

#[test]
fn a_thread_may_leave_while_it_runs() {
    let run = run(r#"round-robin "R" { thread "t" arrive="1ms" leave="5ms" }"#, ms(10));
    let expected = [
        (ms(1), What::Arrive),
        (ms(1), RELEASED),
        (ms(1), What::Request),
        (ms(1), What::Grant),
        (ms(5), What::Release),
        (ms(5), What::Leave),
    ];
    assert_eq!(run.life("t"), expected);
    assert_eq!((run.thread("t").ran, run.thread("t").work, run.result.idle), (ms(4), ms(4), ms(6)));
}

#[test]
fn a_thread_may_leave_while_it_is_ready() {
    let hierarchy = r#"
        fixed-priority "F" {
            thread "t" priority=1 leave="5ms"
            thread "hog" priority=2
        }"#;
    let run = run(hierarchy, ms(10));
    let life = [
        (ms(0), What::Arrive),
        (ms(0), RELEASED),
        (ms(0), What::Request),
        (ms(5), What::Release),
        (ms(5), What::Leave),
    ];
    assert_eq!(run.life("t"), life);
    assert_eq!(run.stints("hog"), on_cpu_0(&[(0, 10)]));
}

/// A thread that has left is not woken up, and no job of it begins.
#[test]
fn a_thread_may_leave_while_it_sleeps() {
    let hierarchy = r#"round-robin "R" { thread "t" leave="5ms" { bursty run="1ms" sleep="10ms" } }"#;
    let run = run(hierarchy, ms(30));
    let done = What::JobDone { response: ms(1) };
    let life = run.life("t");
    assert_eq!(life[4..], [(ms(1), done), (ms(1), What::Release), (ms(5), What::Leave)]);
}

/// The jobs of 0 and 10 ms are in time, and after the thread has left no job of it is due.
#[test]
fn a_thread_that_has_left_misses_no_deadline() {
    let hierarchy = r#"round-robin "R" { thread "t" leave="15ms" { periodic run="1ms" every="10ms" } }"#;
    let run = run(hierarchy, ms(100));
    assert_eq!((run.thread("t").activations, run.thread("t").misses), (2, 0));
}

/// Frames at 10 and 20 ms; the gap of 33 ms has not passed when the renderer leaves.
#[test]
fn a_thread_that_has_left_misses_no_frame() {
    let hierarchy =
        r#"round-robin "R" { thread "t" leave="25ms" { frame-renderer frame="10ms" gap="33ms" } }"#;
    let run = run(hierarchy, ms(100));
    assert_eq!((run.thread("t").frames, run.thread("t").misses), (2, 0));
}

/// The reservation of a thread that has left is free for others.
#[test]
fn a_thread_may_leave_while_it_is_throttled() {
    let hierarchy = r#"
        fixed-priority "F" {
            reservation "R" priority=2 { thread "t" budget="2ms" period="10ms" leave="15ms" }
            thread "low" priority=1
        }"#;
    let run = run(hierarchy, ms(30));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 2), (10, 12)]));
    assert_eq!(run.stints("low"), on_cpu_0(&[(2, 10), (12, 30)]));
}

/// `waiter` arrives at 1 ms, finds the mutex held, and gets it when its owner leaves at 5 ms.
#[test]
fn a_thread_that_leaves_hands_on_its_mutex() {
    let hierarchy = r#"
        fixed-priority "F" {
            thread "owner" priority=1 leave="5ms"
            thread "waiter" priority=2
        }"#;
    let json = r#"{ "tasks" : {
        "owner" : { "lock" : "m", "run" : 20000, "unlock" : "m" },
        "waiter" : { "delay" : 1000, "loop" : 1, "lock" : "m", "run" : 1000, "unlock" : "m" } } }"#;
    let run = run_with(hierarchy, json, ms(10));
    assert_eq!(run.stints("owner"), on_cpu_0(&[(0, 1), (1, 5)]));
    assert_eq!(run.stints("waiter"), on_cpu_0(&[(5, 6)]));
}

/// `first` waits for the mutex and leaves at 3 ms; `second` gets the mutex when `owner` unlocks it at 5 ms.
#[test]
fn a_thread_that_has_left_waits_for_nothing() {
    let hierarchy = r#"
        fixed-priority "F" {
            thread "owner" priority=1
            thread "first" priority=3 leave="3ms"
            thread "second" priority=2
        }"#;
    let json = r#"{ "tasks" : {
        "owner" : { "loop" : 1, "lock" : "m", "run" : 5000, "unlock" : "m" },
        "first" : { "delay" : 1000, "loop" : 1, "lock" : "m", "run" : 1000, "unlock" : "m" },
        "second" : { "delay" : 2000, "loop" : 1, "lock" : "m", "run" : 1000, "unlock" : "m" } } }"#;
    let run = run_with(hierarchy, json, ms(10));
    assert_eq!(run.stints("first"), []);
    assert_eq!(run.stints("second"), on_cpu_0(&[(5, 6)]));
}

/// A thread leaves after the last step of its program.
#[test]
fn a_thread_leaves_at_the_end_of_its_program() {
    let json = r#"{ "tasks" : { "t" : { "loop" : 2, "run" : 1000 } } }"#;
    let run = run_with(r#"round-robin "R" { thread "t" }"#, json, ms(10));
    let life = run.life("t");
    let done = What::JobDone { response: ms(2) };
    assert_eq!(life[4..], [(ms(2), done), (ms(2), What::Release), (ms(2), What::Leave)]);
    assert_eq!(run.result.idle, ms(8));
}

/// The places of threads that leave are free again: 100 threads run one after the other, 1 ms each.
#[test]
fn many_come_and_go() {
    let threads: String =
        (0..100).map(|n| format!("thread \"t{n}\" arrive=\"{n}ms\" leave=\"{}ms\"\n", n + 1)).collect();
    let run = run(&format!("round-robin \"R\" {{\n{threads}}}"), ms(200));
    assert!((0..100).all(|n| run.thread(&format!("t{n}")).ran == ms(1)));
    assert_eq!(run.result.idle, ms(100));
}
