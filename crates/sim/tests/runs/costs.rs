//! What switches and decisions cost, and which threads pay for them.

use super::support::{Run, ms, run, us};

const COSTS: &str = r#"machine switch-cost="100us" decision-cost="10us""#;

fn with_costs(hierarchy: &str, length_ms: u64) -> Run {
    let run = run(&format!("{COSTS}\n{hierarchy}"), ms(length_ms));
    assert_eq!(run.ran(), run.work() + run.result.overhead, "all CPU time but work is overhead");
    run
}

/// Switches at 0, 10, 20 and 30 ms, each of one level: 110 us, paid by the thread that gets the CPU.
#[test]
fn the_thread_that_gets_the_cpu_pays_for_the_switch() {
    let run = with_costs(r#"round-robin "R" { thread "a"; thread "b" }"#, 35);
    assert_eq!((run.thread("a").ran, run.thread("a").work), (ms(20), ms(20) - us(220)));
    assert_eq!((run.thread("b").ran, run.thread("b").work), (ms(15), ms(15) - us(220)));
    assert_eq!((run.result.overhead, run.result.switches), (us(440), 4));
}

/// The first decision goes over two levels, the others are the lower scheduler's alone: 120 + 3 * 110 us.
#[test]
fn each_level_that_decides_costs() {
    let run =
        with_costs(r#"fixed-priority "F" { round-robin "R" priority=1 { thread "a"; thread "b" } }"#, 35);
    assert_eq!(run.result.overhead, us(120 + 3 * 110));
    assert_eq!(run.thread("a").work, ms(20) - us(120 + 110));
}

/// A turn that goes to the same thread costs a decision and no switch: at 0 ms 110 us, at 10 and at 20 ms 10 us.
#[test]
fn a_decision_for_the_same_thread_is_no_switch() {
    let run = with_costs(r#"round-robin "R" { thread "a" }"#, 25);
    assert_eq!((run.result.overhead, run.result.switches), (us(130), 1));
    assert_eq!(run.thread("a").work, ms(25) - us(130));
}

/// Each round takes 0.11 + 1 ms of the CPU and 1 ms of sleep: 2.11 ms. The fifth begins at 8.44 ms and sleeps from
/// 9.55 ms on. The switch to idleness costs nothing.
#[test]
fn idleness_costs_nothing() {
    let run = with_costs(r#"round-robin "R" { thread "a" { bursty run="1ms" sleep="1ms" } }"#, 10);
    assert_eq!((run.thread("a").ran, run.thread("a").work), (us(5 * 1110), ms(5)));
    assert_eq!((run.result.overhead, run.result.idle), (us(550), us(4450)));
}

/// `low` has paid 0.4 of 1 ms when `high` comes, which pays 1 ms, computes until 3.4 ms and sleeps. `low` begins to pay
/// anew: its program has the CPU from 4.4 ms on. The 0.6 ms that it did not pay are no overhead.
#[test]
fn what_a_preempted_thread_has_not_paid_is_not_paid() {
    let hierarchy = r#"
        machine switch-cost="1ms"
        fixed-priority "F" {
            thread "low" priority=1
            thread "high" priority=2 arrive="400us" { bursty run="2ms" sleep="1s" }
        }"#;
    let run = run(hierarchy, ms(10));
    assert_eq!((run.thread("low").ran, run.thread("low").work), (ms(7), us(5600)));
    assert_eq!((run.thread("high").ran, run.thread("high").work), (ms(3), ms(2)));
    assert_eq!(run.result.overhead, us(2400));
}

/// The budget pays for the switch: the program has 9 of 10 ms a period.
#[test]
fn overhead_comes_out_of_the_budget() {
    let hierarchy = r#"
        machine switch-cost="1ms"
        reservation "R" { thread "a" guarantee="RESBH 10ms 20ms" }"#;
    let run = run(hierarchy, ms(59));
    assert_eq!((run.thread("a").ran, run.thread("a").work), (ms(30), ms(27)));
    assert_eq!(run.scheduler("R").ran, ms(30));
}

/// At the end, at 20 ms, the third switch is due and nothing of it is paid.
#[test]
fn what_is_not_paid_at_the_end_is_no_overhead() {
    let run = with_costs(r#"round-robin "R" { thread "a"; thread "b" }"#, 20);
    assert_eq!((run.result.overhead, run.work()), (us(220), ms(20) - us(220)));
}
