//! Steps of a thread that concern no other thread: computing, sleeping, timers, yields, loops; and loops that take no
//! time.

use super::support::{carry_out, ms, on_cpu_0, paranoid, plan, run_under, run_with, workload};
use hls_monitor::event::What;
use hls_sim::Failure;
use hls_units::Nanos;
use hls_workload::program::{Program, Span, Step, Task, Workload};
use hls_workload::read_rt_app;

const ONE: &str = r#"round-robin "R" { thread "t" }"#;

/// The thread computes three times for 1 ms, each time followed by a sleep of 1 ms, and then for 2 ms; it does all of
/// that twice, and ends.
#[test]
fn loops_enclose_each_other() {
    let json = r#"{ "tasks" : { "t" : { "loop" : 2, "phases" : {
        "beats" : { "loop" : 3, "run" : 1000, "sleep" : 1000 },
        "rest" : { "run" : 2000 } } } } }"#;
    let run = run_with(ONE, json, ms(30));
    let expected = [(0, 1), (2, 3), (4, 5), (6, 9), (10, 11), (12, 13), (14, 16)];
    assert_eq!(run.stints("t"), on_cpu_0(&expected));
    assert_eq!(run.times("t", What::Leave), [ms(16)]);
    assert_eq!(run.thread("t").work, ms(10));
}

/// A key that is repeated is a further event.
#[test]
fn repeated_keys_are_events_in_order() {
    let json = r#"{ "tasks" : { "t" : { "loop" : 1,
        "run" : 1000, "sleep" : 2000, "run" : 3000, "sleep" : 4000, "run" : 5000 } } }"#;
    assert_eq!(run_with(ONE, json, ms(30)).stints("t"), on_cpu_0(&[(0, 1), (3, 6), (10, 15)]));
}

/// A thread is preempted for [1, `until`) ms amid a `runtime` of 5 ms.
fn preempted_until(until_ms: u64) -> super::support::Run {
    let hierarchy = format!(
        r#"fixed-priority "F" {{
            thread "t" priority=1
            thread "high" priority=2 arrive="1ms" leave="{until_ms}ms" {{ cpu-bound }}
        }}"#
    );
    let json = r#"{ "tasks" : { "t" : { "loop" : 1, "runtime" : 5000 } } }"#;
    run_with(&hierarchy, json, ms(20))
}

/// A `runtime` ends after 5 ms, however much of them the thread had; but a thread takes its next step only when it
/// runs.
#[test]
fn runtime_passes_whether_the_thread_runs_or_not() {
    let short = preempted_until(3);
    assert_eq!((short.stints("t"), short.thread("t").work), (on_cpu_0(&[(0, 1), (3, 5)]), ms(3)));
    let long = preempted_until(7);
    assert_eq!((long.stints("t"), long.thread("t").work), (on_cpu_0(&[(0, 1)]), ms(1)));
    assert_eq!(long.times("t", What::Leave), [ms(7)]);
}

/// The first period begins when the thread arrives.
#[test]
fn a_timer_ends_periods() {
    let json = r#"{ "tasks" : { "t" : { "run" : 1000, "timer" : { "ref" : "unique", "period" : 5000 } } } }"#;
    let run = run_with(ONE, json, ms(14));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 1), (5, 6), (10, 11)]));
    assert_eq!(run.thread("t").misses, 0);
}

/// One job of 7 ms, then jobs of 1 ms, by a timer of 5 ms.
fn late_once(mode: &str) -> Vec<super::support::Stint> {
    let timer = format!(r#"{{ "ref" : "unique", "period" : 5000, "mode" : "{mode}" }}"#);
    let json = format!(
        r#"{{ "tasks" : {{ "t" : {{ "loop" : 1, "phases" : {{
            "long" : {{ "run" : 7000, "timer" : {timer} }},
            "short" : {{ "loop" : 3, "run" : 1000, "timer" : {timer} }} }} }} }} }}"#
    );
    run_with(ONE, &json, ms(40)).stints("t")
}

/// The expiry of 5 ms has passed at 7 ms. The next one of the grid is at 10 ms; a period that begins at 7 ends at 12.
#[test]
fn an_absolute_timer_keeps_its_grid() {
    assert_eq!(late_once("absolute"), on_cpu_0(&[(0, 8), (10, 11), (15, 16)]));
    assert_eq!(late_once("relative"), on_cpu_0(&[(0, 8), (12, 13), (17, 18)]));
}

/// Without the yields, turns would be of 10 ms.
#[test]
fn a_yield_ends_a_turn() {
    let json = r#"{ "tasks" : {
        "a" : { "run" : 1000, "yield" : "" },
        "b" : { "run" : 2000, "yield" : "" } } }"#;
    let run = run_with(r#"round-robin "R" { thread "a"; thread "b" }"#, json, ms(8));
    assert_eq!(run.stints("a"), on_cpu_0(&[(0, 1), (3, 4), (6, 7)]));
    assert_eq!(run.stints("b"), on_cpu_0(&[(1, 3), (4, 6), (7, 8)]));
}

/// Jobs of 1 ms, then one of 12, then of 1 again. A `yield` ends a job of SCHED_DEADLINE: the next one begins with the
/// next period that the long job has not used up.
#[test]
fn a_yield_ends_the_job_of_a_deadline_thread() {
    let json = r#"{ "tasks" : { "t" : { "policy" : "SCHED_DEADLINE", "dl-runtime" : 2000, "dl-period" : 5000,
        "dl-deadline" : 4000, "loop" : 1, "phases" : {
            "short" : { "loop" : 2, "run" : 1000, "yield" : "" },
            "long" : { "run" : 12000, "yield" : "" },
            "last" : { "run" : 1000, "yield" : "", "run" : 1000 } } } } }"#;
    // How the thread is scheduled is for the hierarchy, and so its policy and budget are named as left out.
    let workload = read_rt_app("test.json", json.as_bytes()).unwrap();
    assert_eq!(workload.unsupported.len(), 4);
    let run = run_under(ONE, &workload, ms(40));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 1), (5, 6), (10, 22), (25, 26), (30, 31)]));
    let thread = run.thread("t");
    assert_eq!((thread.activations, thread.misses, thread.response.worst), (5, 1, ms(12)));
}

/// A thread that is alone goes on when it yields.
#[test]
fn a_yield_to_nobody_changes_nothing() {
    let run = run_with(ONE, r#"{ "tasks" : { "t" : { "run" : 1000, "yield" : "" } } }"#, ms(8));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 8)]));
    assert_eq!(run.thread("t").preemptions, 0);
}

#[test]
fn a_delay_is_added_to_the_arrival() {
    let json = r#"{ "tasks" : { "t" : { "delay" : 2000, "run" : 1000 } } }"#;
    let run = run_with(r#"round-robin "R" { thread "t" arrive="3ms" }"#, json, ms(8));
    assert_eq!(run.times("t", What::Arrive), [ms(5)]);
    assert_eq!(run.thread("t").ran, ms(3));
}

/// A program that no file can state, for the thread `t`.
fn programmed(steps: Vec<Step>) -> Workload {
    let task = Task {
        name: "t".into(),
        instances: 1,
        start_at: Nanos::ZERO,
        program: Program::forever(steps),
        cpus: None,
        at: 0,
    };
    Workload { tasks: vec![task], ..Workload::default() }
}

fn failure(hierarchy: &str, workload: &Workload) -> Option<Failure> {
    let plan = plan(hierarchy, workload).expect("the workload fits");
    carry_out(plan, Vec::new(), ms(10), paranoid(1)).err()
}

#[test]
fn a_loop_that_takes_no_time_ends_the_run() {
    let stuck = Some(Failure::NoProgress { at: ms(0), thread: "t".into() });
    assert_eq!(failure(ONE, &programmed(vec![Step::Yield])), stuck);
    assert_eq!(failure(ONE, &programmed(vec![Step::Run(Span::exactly(Nanos(0)))])), stuck);
    assert_eq!(failure(ONE, &programmed(vec![Step::Run(Span::exactly(Nanos::from_micros(1)))])), None);
}

/// A barrier of one thread never blocks. The reader of the workload does not refuse such a loop, as barriers can block.
#[test]
fn a_barrier_of_one_takes_no_time() {
    let json = r#"{ "tasks" : { "idle" : { "sleep" : 3000 }, "t" : { "delay" : 2000, "barrier" : "b" } } }"#;
    let hierarchy = r#"round-robin "R" { thread "idle"; thread "t" }"#;
    let stuck = Failure::NoProgress { at: ms(2), thread: "t".into() };
    assert_eq!(failure(hierarchy, &workload(json)), Some(stuck.clone()));
    let text = stuck.to_string();
    assert!(text.starts_with("at 2ms: ") && text.contains("thread `t` was the last"), "{text}");
}
