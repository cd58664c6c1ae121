//! Steps of a thread that concern other threads: mutexes, conditions, semaphores, barriers, suspend and resume.

use super::support::{ms, on_cpu_0, run_with};
use hls_monitor::event::What;

/// `high` arrives at 1 ms and waits for the mutex, which `low` holds until 5 ms; then `high` preempts `low`.
#[test]
fn a_mutex_is_waited_for() {
    let hierarchy = r#"fixed-priority "F" { thread "low" priority=1; thread "high" priority=2 }"#;
    let json = r#"{ "tasks" : {
        "low" : { "loop" : 1, "lock" : "m", "run" : 5000, "unlock" : "m", "run" : 1000 },
        "high" : { "delay" : 1000, "loop" : 1, "lock" : "m", "run" : 1000, "unlock" : "m" } } }"#;
    let run = run_with(hierarchy, json, ms(10));
    assert_eq!(run.stints("high"), on_cpu_0(&[(5, 6)]));
    assert_eq!(run.stints("low"), on_cpu_0(&[(0, 1), (1, 5), (6, 7)]));
    assert_eq!(run.times("high", What::JobDone { response: ms(5) }), [ms(6)], "the wait is part of the job");
}

/// The first waiter gets the mutex from its owner before any other thread can lock it, even the owner.
#[test]
fn a_mutex_is_handed_on() {
    let hierarchy = "machine cpus=2\nround-robin \"R\" { thread \"t\" instances=2 }";
    let json = r#"{ "tasks" : { "t" : { "instance" : 2, "lock" : "m", "run" : 2000, "unlock" : "m" } } }"#;
    let run = run_with(hierarchy, json, ms(8));
    assert_eq!((run.thread("t-0").ran, run.thread("t-1").ran), (ms(4), ms(4)));
    assert_eq!(run.result.idle, ms(8));
}

/// Each post lets one wait end, also one that comes later: the reader has three jobs at once, and two of them begin
/// when the job before is done.
#[test]
fn a_semaphore_counts_posts() {
    let hierarchy = "machine cpus=2\nround-robin \"R\" { thread \"writer\"; thread \"reader\" }";
    let json = r#"{ "tasks" : {
        "writer" : { "loop" : 1, "run" : 1000, "sem_post" : "s", "sem_post" : "s", "run" : 1000, "sem_post" : "s" },
        "reader" : { "sem_wait" : "s", "run" : 3000 } } }"#;
    let run = run_with(hierarchy, json, ms(20));
    let stints: Vec<_> = run.stints("reader").iter().map(|&(_, from, to)| (from, to)).collect();
    assert_eq!(stints, [(ms(1), ms(10))]);
    let responses = [3, 6, 8].map(|response| run.times("reader", What::JobDone { response: ms(response) }));
    assert_eq!(responses, [[ms(4)], [ms(7)], [ms(10)]], "a job is released when it is posted");
}

const WAITERS: &str = r#"
    machine cpus=3
    round-robin "R" { thread "waiter" instances=2; thread "caller" }"#;

fn waiters(call: &str) -> super::support::Run {
    let json = format!(
        r#"{{ "tasks" : {{
            "waiter" : {{ "instance" : 2, "loop" : 1, "lock" : "m", "wait" : {{ "ref" : "c", "mutex" : "m" }},
                "run" : 1000, "unlock" : "m" }},
            "caller" : {{ "loop" : 1, "run" : 5000, "lock" : "m", "{call}" : "c", "run" : 2000, "unlock" : "m" }}
        }} }}"#
    );
    run_with(WAITERS, &json, ms(20))
}

/// The job of the first waiter is released at 5 ms by the signal, but the caller has the mutex until 7 ms. The other
/// waiter waits for ever.
#[test]
fn a_signal_wakes_one() {
    let run = waiters("signal");
    let stints = run.stints("waiter-0");
    assert_eq!((stints.len(), stints[0].1, stints[0].2), (1, ms(7), ms(8)));
    assert_eq!(run.times("waiter-0", What::JobDone { response: ms(3) }), [ms(8)]);
    assert_eq!(run.stints("waiter-1"), []);
    assert_eq!(run.times("waiter-1", What::Leave), []);
}

/// The waits of both end at 5 ms, and both get the mutex one after the other, in the order in which they came.
#[test]
fn a_broadcast_wakes_all() {
    let run = waiters("broad");
    assert_eq!(run.times("waiter-0", What::Leave), [ms(8)]);
    assert_eq!(run.times("waiter-1", What::Leave), [ms(9)]);
    assert_eq!(run.times("waiter-1", What::JobDone { response: ms(4) }), [ms(9)]);
}

/// A signal of a condition for which no thread waits is lost.
#[test]
fn a_signal_does_not_wait_for_its_waiter() {
    let json = r#"{ "tasks" : {
        "waiter" : { "instance" : 2, "delay" : 1000,
            "lock" : "m", "wait" : { "ref" : "c", "mutex" : "m" }, "unlock" : "m", "run" : 1000 },
        "caller" : { "loop" : 1, "signal" : "c", "run" : 3000 } } }"#;
    let run = run_with(WAITERS, json, ms(10));
    assert_eq!(run.ran(), ms(3));
}

/// The last of three comes at 3 ms; all go on then, and again at 6 ms.
#[test]
fn a_barrier_opens_when_all_have_come() {
    let hierarchy = r#"
        machine cpus=3
        round-robin "R" { thread "a"; thread "b"; thread "c" }"#;
    let json = r#"{ "tasks" : {
        "a" : { "run" : 1000, "barrier" : "all" },
        "b" : { "run" : 2000, "barrier" : "all" },
        "c" : { "run" : 3000, "barrier" : "all" } } }"#;
    let run = run_with(hierarchy, json, ms(9));
    let begins = |thread| run.stints(thread).iter().map(|stint| stint.1).collect::<Vec<_>>();
    assert_eq!((begins("a"), begins("b")), (vec![ms(0), ms(3), ms(6)], vec![ms(0), ms(3), ms(6)]));
    assert_eq!((run.thread("a").ran, run.thread("b").ran, run.thread("c").ran), (ms(3), ms(6), ms(9)));
}

const PAIR: &str = r#"
    machine cpus=2
    round-robin "R" { thread "sleeper"; thread "waker" }"#;

/// `sleeper` is woken at 5 and 10 ms, and computes for 1 ms each time; a job of it begins with each `resume`.
#[test]
fn a_resume_ends_a_suspend() {
    let json = r#"{ "tasks" : {
        "sleeper" : { "suspend" : "s", "run" : 1000 },
        "waker" : { "run" : 5000, "resume" : "s" } } }"#;
    let run = run_with(PAIR, json, ms(14));
    let stints: Vec<_> = run.stints("sleeper").iter().map(|&(_, from, to)| (from, to)).collect();
    assert_eq!(stints, [(ms(5), ms(6)), (ms(10), ms(11))]);
    assert_eq!(run.thread("sleeper").response.worst, ms(1));
    assert_eq!(run.thread("waker").ran, ms(14));
}

/// The `resume` of 0 ms is lost on a thread that suspends itself at 1 ms.
#[test]
fn an_early_resume_is_lost() {
    let json = r#"{ "tasks" : {
        "sleeper" : { "delay" : 1000, "suspend" : "s", "run" : 1000 },
        "waker" : { "loop" : 1, "resume" : "s", "run" : 5000 } } }"#;
    let run = run_with(PAIR, json, ms(14));
    assert_eq!((run.thread("sleeper").ran, run.thread("waker").ran), (ms(0), ms(5)));
}

/// `signal`, then `wait`: two threads take turns, and compute for 1 ms each.
#[test]
fn a_signal_and_a_wait_take_turns() {
    let json = r#"{ "tasks" : {
        "sleeper" : { "lock" : "m", "wait" : { "ref" : "ping", "mutex" : "m" }, "unlock" : "m",
            "run" : 1000, "lock" : "m", "signal" : "pong", "unlock" : "m" },
        "waker" : { "run" : 1000, "lock" : "m", "signal" : "ping", "wait" : { "ref" : "pong", "mutex" : "m" },
            "unlock" : "m" } } }"#;
    let run = run_with(PAIR, json, ms(10));
    assert_eq!((run.thread("sleeper").ran, run.thread("waker").ran), (ms(5), ms(5)));
    assert_eq!(run.stints("waker").iter().map(|stint| stint.1).collect::<Vec<_>>(), [0, 2, 4, 6, 8].map(ms));
}
