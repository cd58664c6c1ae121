//! The time that interrupts steal from threads: no thread is charged for it, and it delays threads.

use super::support::{Stint, ms, on_cpu_0, run, us};
use hls_monitor::event::What;
use hls_monitor::result::QueueResult;
use hls_units::Nanos;

/// The first interrupt comes one `every` after the start.
#[test]
fn stolen_time_is_charged_to_nobody() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="10ms" takes="1ms" }
        round-robin "R" { thread "t" }"#;
    let run = run(hierarchy, ms(35));
    assert_eq!(run.stolen(), on_cpu_0(&[(10, 11), (20, 21), (30, 31)]));
    assert_eq!((run.thread("t").ran, run.thread("t").work), (ms(32), ms(32)));
    assert_eq!((run.result.stolen, run.result.idle), (ms(3), ms(0)));
    assert_eq!(run.scheduler("R").ran, ms(32));
    assert_eq!(run.thread("t").preemptions, 0);
}

/// Interrupts take [5, 6), [10, 11), ... ms. The first 10 ms of budget are used up at 12 ms: 5 + 4 + 1. The second
/// period begins within an interrupt, so the grant waits for its end at 21 ms, and the budget lasts until 33 ms.
#[test]
fn a_budget_loses_nothing_to_interrupts() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="5ms" takes="1ms" }
        reservation "R" { thread "t" guarantee="RESBH 10ms 20ms" }"#;
    let run = run(hierarchy, ms(39));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 12), (21, 33)]));
    assert_eq!(run.times("t", What::Throttle), [ms(12), ms(33)]);
    assert_eq!((run.thread("t").ran, run.result.stolen, run.result.idle), (ms(20), ms(7), ms(12)));
}

/// A job of 2 ms that is interrupted for 1 ms is done after 3.
#[test]
fn work_is_done_later() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="11ms" takes="1ms" }
        round-robin "R" { thread "t" { periodic run="2ms" every="10ms" } }"#;
    let run = run(hierarchy, ms(19));
    assert_eq!(run.stints("t"), on_cpu_0(&[(0, 2), (10, 13)]));
    assert_eq!((run.thread("t").response.worst, run.thread("t").work), (ms(3), ms(4)));
}

/// Both are due at 10 ms; the second waits until the first is done, and is then due 10 ms later.
#[test]
fn two_sources_take_turns() {
    let hierarchy = r#"
        machine {
            interrupt cpu=0 every="10ms" takes="2ms"
            interrupt cpu=0 every="10ms" takes="1ms"
        }
        round-robin "R" { thread "t" }"#;
    let run = run(hierarchy, ms(35));
    let expected = [(10, 12), (12, 13), (20, 22), (22, 23), (30, 32), (32, 33)];
    assert_eq!(run.stolen(), on_cpu_0(&expected));
    assert_eq!((run.thread("t").ran, run.thread("t").work, run.result.stolen), (ms(26), ms(26), ms(9)));
}

/// `a` leaves amid the interrupt of [10, 11) ms, which is accounted for in two parts; `b` is granted the CPU after it.
#[test]
fn a_thread_may_leave_during_an_interrupt() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="10ms" takes="1ms" }
        fixed-priority "F" {
            thread "a" priority=2 leave="10.5ms"
            thread "b" priority=1
        }"#;
    let run = run(hierarchy, ms(19));
    assert_eq!(run.stolen(), [(0, ms(10), us(10_500)), (0, us(10_500), ms(11))]);
    assert_eq!((run.thread("a").ran, run.thread("a").work), (ms(10), ms(10)));
    assert_eq!(run.stints("b"), on_cpu_0(&[(11, 19)]));
    assert_eq!((run.thread("b").work, run.result.stolen, run.result.idle), (ms(8), ms(1), ms(0)));
}

/// A thread that wakes up during an interrupt wants the CPU at once and has it when the interrupt is over.
#[test]
fn a_wake_up_waits_for_the_end_of_an_interrupt() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="10ms" takes="2ms" }
        round-robin "R" { thread "t" arrive="11ms" }"#;
    let run = run(hierarchy, ms(15));
    assert_eq!(run.times("t", What::Request), [ms(11)]);
    assert_eq!(run.stints("t"), on_cpu_0(&[(12, 15)]));
    assert_eq!(run.thread("t").wake_latency.worst, ms(1));
}

/// The switch of [9.5, 10.5) ms is interrupted for 2 ms when half of it is paid.
#[test]
fn a_switch_goes_on_behind_the_interrupt() {
    let hierarchy = r#"
        machine switch-cost="1ms" { interrupt cpu=0 every="10ms" takes="2ms" }
        round-robin "R" { thread "t" arrive="9.5ms" }"#;
    let run = run(hierarchy, ms(15));
    assert_eq!((run.thread("t").ran, run.thread("t").work, run.result.overhead), (us(3500), us(2500), ms(1)));
}

/// Half of the interrupt of [10, 11) ms is within the run.
#[test]
fn an_interrupt_at_the_end_is_stolen_too() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="10ms" takes="1ms" }
        round-robin "R" { thread "t" }"#;
    let run = run(hierarchy, us(10_500));
    assert_eq!((run.thread("t").ran, run.thread("t").work, run.result.stolen), (ms(10), ms(10), us(500)));
}

#[test]
fn other_cpus_go_on() {
    let hierarchy = r#"
        machine cpus=2 { interrupt cpu=1 every="10ms" takes="3ms" }
        round-robin "R" {
            thread "a" affinity="0"
            thread "b" affinity="1"
        }"#;
    let run = run(hierarchy, ms(19));
    assert_eq!((run.thread("a").ran, run.thread("b").ran), (ms(19), ms(16)));
    assert_eq!(run.stolen(), [(1, ms(10), ms(13))]);
}

/// The lengths of interrupts and the distances between them are drawn from their spans. No thread runs: all time is
/// stolen or idle.
#[test]
fn spans_are_kept() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="1ms..2ms" takes="10us..50us" }
        round-robin "R" { thread "t" arrive="1s" }"#;
    let run = run(hierarchy, ms(500));
    let stolen: Vec<Stint> = run.stolen();
    assert!((250..=500).contains(&stolen.len()), "{} interrupts", stolen.len());
    assert!(stolen.iter().all(|&(_, from, to)| (us(10)..=us(50)).contains(&(to - from))));
    assert!(stolen.windows(2).all(|pair| (ms(1)..=ms(2)).contains(&(pair[1].1 - pair[0].1))));
    let sum: Nanos = stolen.iter().map(|&(_, from, to)| to - from).sum();
    assert_eq!((run.result.stolen, run.result.idle), (sum, ms(500) - sum));
}

/// Each interrupt puts an entry into a queue when it is over, at 11, 21, 31 ms. The upcall takes 4 ms for it and passes
/// it on; the task takes 2 ms more. Responses count from the end of the interrupt.
#[test]
fn what_interrupts_put_into_a_queue_goes_on_to_the_next_one() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="10ms" takes="1ms" to="packets" next="mailbox" }
        fixed-priority "F" {
            thread "upcall" priority=2 { serves queue="packets" run="4ms"; }
            thread "task" priority=1 { serves queue="mailbox" run="2ms"; }
        }"#;
    let run = run(hierarchy, ms(39));
    assert_eq!(run.stints("upcall"), on_cpu_0(&[(11, 15), (21, 25), (31, 35)]));
    assert_eq!(run.stints("task"), on_cpu_0(&[(15, 17), (25, 27), (35, 37)]));
    let (upcall, task) = (run.thread("upcall").response, run.thread("task").response);
    assert_eq!([(upcall.count, upcall.worst), (task.count, task.worst)], [(3, ms(4)), (3, ms(6))]);
    let queue = |name: &str| QueueResult { name: name.into(), put: 3, dropped: 0, waiting: 0 };
    assert_eq!(run.result.queues, [queue("packets"), queue("mailbox")]);
}

/// Entries come at 11, 21, ... 91 ms and take 25 ms, without interrupts: from 11 to 38, 38 to 66, 66 to 94 ms. While
/// one is dealt with there is room for the first that comes.
#[test]
fn a_queue_that_is_full_drops_what_comes() {
    let hierarchy = r#"
        machine { interrupt cpu=0 every="10ms" takes="1ms" to="packets" }
        round-robin "R" { thread "t" { serves queue="packets" holds=1 run="25ms"; } }"#;
    let run = run(hierarchy, ms(100));
    let done = run.thread("t").response.count;
    let [QueueResult { put, dropped, waiting, .. }] = &run.result.queues[..] else { panic!("one queue") };
    assert_eq!((done, *put, *waiting, *dropped), (3, 9, 0, 5));
}
