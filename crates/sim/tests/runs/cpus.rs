//! Several CPUs, and threads that may not use all of them.

use super::support::{ms, on_cpu_0, run, run_with};

/// Each thread has a CPU of its own.
#[test]
fn threads_spread_over_the_cpus() {
    let run = run("machine cpus=3\nround-robin \"R\" { thread \"t\" instances=2 }", ms(10));
    assert_eq!((run.thread("t-0").ran, run.thread("t-1").ran), (ms(10), ms(10)));
    assert_eq!(run.result.idle, ms(10));
}

/// Two CPUs hold three threads in turns of 10 ms: 60 ms of CPU time, 20 ms each, in 30 ms.
#[test]
fn more_threads_than_cpus_take_turns() {
    let run = run("machine cpus=2\nround-robin \"R\" { thread \"t\" instances=3 }", ms(30));
    assert!((0..3).all(|n| run.thread(&format!("t-{n}")).ran == ms(20)));
    assert_eq!(run.result.idle, ms(0));
}

/// CPU 1 is of no use to either, so they share CPU 0.
#[test]
fn a_task_keeps_to_its_cpus() {
    let json = r#"{ "tasks" : {
        "a" : { "cpus" : [ 0 ], "run" : 100000 },
        "b" : { "cpus" : [ 0 ], "run" : 100000 } } }"#;
    let run = run_with("machine cpus=2\nround-robin \"R\" { thread \"a\"; thread \"b\" }", json, ms(35));
    assert_eq!(run.stints("a"), on_cpu_0(&[(0, 10), (20, 30)]));
    assert_eq!(run.stints("b"), on_cpu_0(&[(10, 20), (30, 35)]));
    assert_eq!(run.result.idle, ms(35));
}

/// The `cpus` of a phase hold from its beginning on: the thread moves at once, and loses no time by that.
#[test]
fn a_phase_moves_its_thread() {
    let json = r#"{ "tasks" : { "t" : { "phases" : {
        "left" : { "cpus" : [ 0 ], "run" : 5000 },
        "right" : { "cpus" : [ 1 ], "run" : 5000 } } } } }"#;
    let run = run_with("machine cpus=2\nround-robin \"R\" { thread \"t\" }", json, ms(18));
    let expected = [(0, ms(0), ms(5)), (1, ms(5), ms(10)), (0, ms(10), ms(15)), (1, ms(15), ms(18))];
    assert_eq!(run.stints("t"), expected);
    assert_eq!((run.thread("t").ran, run.thread("t").migrations), (ms(18), 3));
    assert_eq!(run.thread("t").activations, 1, "it never slept");
}

/// A phase that has the CPUs of the phase before takes no turn from its thread.
#[test]
fn the_same_cpus_again_change_nothing() {
    let json = r#"{ "tasks" : {
        "t" : { "cpus" : [ 0 ], "phases" : {
            "one" : { "cpus" : [ 0 ], "run" : 1000 },
            "two" : { "cpus" : [ 0 ], "run" : 1000 } } },
        "u" : { "cpus" : [ 0 ], "run" : 1000 } } }"#;
    let run = run_with("machine cpus=2\nround-robin \"R\" { thread \"t\"; thread \"u\" }", json, ms(40));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 10), (20, 30)]));
    assert_eq!((run.thread("t").activations, run.thread("t").preemptions), (1, 2));
}

/// In a phase without `cpus` the thread may use its task's CPUs again.
#[test]
fn a_phase_without_cpus_has_the_cpus_of_its_task() {
    let json = r#"{ "tasks" : { "t" : { "cpus" : [ 1 ], "phases" : {
        "bound" : { "cpus" : [ 0 ], "run" : 5000 },
        "free" : { "run" : 5000 } } } } }"#;
    let run = run_with("machine cpus=2\nround-robin \"R\" { thread \"t\" }", json, ms(10));
    assert_eq!(run.stints("t"), [(0, ms(0), ms(5)), (1, ms(5), ms(10))]);
}

/// The bound thread takes CPU 0 from the free one, which goes on on CPU 1 at the same instant.
#[test]
fn a_free_thread_makes_room_for_a_bound_one() {
    let hierarchy = r#"
        machine cpus=2
        fixed-priority "F" {
            thread "free" priority=1
            thread "bound" priority=2 affinity="0" arrive="5ms"
        }"#;
    let run = run(hierarchy, ms(10));
    assert_eq!(run.stints("bound"), on_cpu_0(&[(5, 10)]));
    assert_eq!(run.stints("free"), [(0, ms(0), ms(5)), (1, ms(5), ms(10))]);
    assert_eq!((run.thread("free").migrations, run.thread("free").preemptions), (1, 1));
}

/// A scheduler that may hold one CPU leaves the other idle.
#[test]
fn a_width_bounds_what_is_held() {
    let hierarchy = r#"
        machine cpus=2
        fixed-priority "F" { round-robin "R" priority=1 width=1 { thread "t" instances=2 } }"#;
    let run = run(hierarchy, ms(40));
    assert_eq!((run.thread("t-0").ran, run.thread("t-1").ran, run.result.idle), (ms(20), ms(20), ms(40)));
    assert_eq!(run.scheduler("R").ran, ms(40));
}

/// The child of two VPs has half its share in each, so shares are doubled; the greatest that a file may state cannot
/// be, and all are halved instead.
#[test]
fn the_greatest_share_beside_a_child_of_several_vps() {
    let hierarchy = r#"
        machine cpus=2
        proportional-share "P" quantum="1ms" {
            round-robin "wide" share=65536 width=2 { thread "w" instances=2; }
            thread "a" share=65536
            thread "b" share=65536
        }"#;
    let run = run(hierarchy, ms(300));
    let near = |ran: hls_units::Nanos| ran.0.abs_diff(ms(200).0) <= ms(3).0;
    assert!(near(run.thread("a").ran) && near(run.thread("b").ran), "{:?}", run.thread("a").ran);
    assert_eq!(run.result.idle, ms(0));
}
