//! Response times of threads below a fixed priority that rest on what their siblings' file says
//! (`check/src/siblings.rs`).
//!
//! `HLS_SEEDS=1000` makes the random part longer.

use super::support::{Run, carry_out, ms, paranoid, plan};
use hls_calculus::{Mode, ceil_nanos};
use hls_check::{Derived, hold_to_bounds};
use hls_monitor::demand::Excess;
use hls_monitor::observe::Observer;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_units::Nanos;
use hls_workload::program::Workload;
use oorandom::Rand32;
use std::fmt::Write;

fn planned(text: &str) -> Plan {
    plan(text, &Workload::default()).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The name, the bound, and how many threads the bound rests on.
fn bounds(text: &str) -> Vec<(String, Option<Nanos>, usize)> {
    let plan = planned(text);
    let of = |serves: &hls_check::ThreadTasks| {
        (serves.name.to_owned(), serves.verdict.responses[0].bound().map(ceil_nanos), serves.resting_on.len())
    };
    Derived::new(&plan, Mode::Tight).tasks(&plan).iter().map(of).collect()
}

fn carried_out(plan: &Plan, seed: u64) -> Run {
    carry_out(plan.clone(), Vec::new(), ms(2_000), paranoid(seed))
        .unwrap_or_else(|failure| panic!("{failure}"))
}

const THREE: &str = r#"
    thread "t1" priority=3 { periodic run="1ms" every="4ms" }
    thread "t2" priority=2 { periodic run="2ms" every="6ms" }
    thread "t3" priority=1 { periodic run="3ms" every="10ms" }"#;

/// Joseph and Pandya's analysis on a whole CPU.
#[test]
fn bounds_equal_the_bounds_of_one_thread_with_tasks() {
    let found = bounds(&format!("fixed-priority \"F\" {{ {THREE} }}"));
    let expected = [("t1", 1, 0), ("t2", 3, 2), ("t3", 10, 3)];
    assert_eq!(found, expected.map(|(name, bound, on)| (name.to_owned(), Some(ms(bound)), on)));
}

/// Below 6 ms in every 10 ms: 4 ms after 8 ms without any, and 16 ms (8 of `hi`, 8 of `lo`) of three periods.
#[test]
fn bounds_take_into_account_what_the_scheduler_itself_is_promised() {
    let found = bounds(
        r#"reservation "R" { fixed-priority "F" guarantee="RESBH 6ms 10ms" {
            thread "hi" priority=2 { periodic run="4ms" every="20ms" }
            thread "lo" priority=1 { periodic run="8ms" every="40ms" }
        } }"#,
    );
    assert_eq!(found, [("hi".into(), Some(ms(12)), 0), ("lo".into(), Some(ms(32)), 2)]);
}

/// Each of three threads of one priority may wait for both others.
#[test]
fn threads_of_equal_priority_wait_for_each_other() {
    let found = bounds(
        r#"fixed-priority "F" { thread "t" instances=3 priority=1 { periodic run="2ms" every="10ms" } }"#,
    );
    assert_eq!(found, [("t".into(), Some(ms(6)), 3)]);
}

/// Where it is not known how much a thread above wants, nothing is certain.
#[test]
fn nothing_rests_on_threads_of_which_nothing_is_known() {
    let below = r#"thread "t" priority=1 { periodic run="1ms" every="10ms" }"#;
    for above in [
        "thread \"u\" priority=1",
        "thread \"u\" priority=2 { bursty run=\"1ms\" sleep=\"9ms\" }",
        "thread \"u\" priority=2 { tasks by=\"edf\" { task \"a\" run=\"1ms\" every=\"9ms\"; \
         task \"b\" run=\"1ms\" every=\"9ms\" } }",
        "round-robin \"RR\" priority=2 { thread \"u\" { periodic run=\"1ms\" every=\"9ms\" } }",
    ] {
        let found = bounds(&format!("fixed-priority \"F\" {{ {above}; {below} }}"));
        assert!(found.iter().all(|(name, ..)| name != "t"), "{above}: {found:?}");
    }
    // What is below does not matter.
    let found = bounds(&format!("fixed-priority \"F\" {{ {below}; thread \"u\" priority=0 }}"));
    assert_eq!(found, [("t".into(), Some(ms(1)), 0)]);
}

/// A random scheduler with up to six threads, on a whole CPU, or below a reservation or shares.
fn hierarchy(random: &mut Rand32) -> String {
    let (parent, percent) = [
        ("round-robin \"R\" { fixed-priority \"F\"", 95),
        ("reservation \"R\" { fixed-priority \"F\" guarantee=\"RESBH 6ms 10ms\"", 55),
        ("fixed-priority \"R\" { thread \"low\" priority=0; fixed-priority \"F\" priority=1", 95),
        (
            "reservation \"R\" { thread \"other\" guarantee=\"RESBH 1ms 4ms\"; \
             fixed-priority \"F\" guarantee=\"RESBH 3ms 6ms\"",
            45,
        ),
    ][random.rand_range(0..4) as usize];
    let count = random.rand_range(2..7);
    let mut text = format!("{parent} {{ ");
    for thread in 0..count {
        let every = random.rand_range(8..60);
        let run = (every * 10 * percent / count * random.rand_range(5..10) / 10).max(1);
        let least = run / random.rand_range(1..3);
        let jitter = random.rand_range(0..2) * random.rand_range(0..7);
        let _ = write!(
            text,
            "thread \"t{thread}\" priority={} arrive=\"{}us\" {{ \
             periodic run=\"{least}us..{run}us\" every=\"{every}ms\" jitter=\"0ms..{jitter}ms\" }}; ",
            random.rand_range(0..4),
            random.rand_range(0..30_000),
        );
    }
    text + "} }"
}

/// No response time exceeds its bound, threads that are said to be in time are, and none wants more than its file says.
#[test]
fn no_response_exceeds_its_bound() {
    let cases = std::env::var("HLS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(80);
    let (mut bounded, mut in_time) = (0, 0);
    for seed in 0..cases {
        let text = hierarchy(&mut Rand32::new(seed));
        let plan = planned(&text);
        let derived = Derived::new(&plan, Mode::Tight);
        let run = carried_out(&plan, seed);
        assert_eq!(watched(&derived, &plan, &run).exceeded, [], "seed {seed}\n{text}");
        for serves in derived.tasks(&plan) {
            let Some(bound) = serves.verdict.responses[0].bound() else { continue };
            let result = run.thread(serves.name);
            let says = format!("seed {seed}: {} {:?}, bound {bound}\n{text}", serves.name, result.response);
            assert!(result.response.worst <= ceil_nanos(bound), "{says}");
            assert!(serves.verdict.miss.is_some() || result.misses == 0, "{says}");
            bounded += usize::from(!serves.resting_on.is_empty());
            in_time += usize::from(serves.verdict.miss.is_none());
        }
    }
    assert!(bounded > cases as usize && in_time > cases as usize, "{bounded} bounds, {in_time} in time");
}

/// The result of a run, with its threads compared with what another file says of them, and with its bounds.
fn watched(derived: &Derived, plan: &Plan, run: &Run) -> RunResult {
    let mut observer = Observer::new(run.plan.topology.clone(), Vec::new()).expecting(derived.expected(plan));
    run.records.iter().for_each(|record| observer.observe(record));
    let mut result = observer.finish(ms(2_000));
    hold_to_bounds(&mut result, &derived.response_bounds(plan), Nanos::ZERO);
    result
}

/// A bound that rests on a thread which wants more than the file says is not tested; other bounds are.
#[test]
fn bounds_that_rest_on_a_thread_that_wants_more_are_left_out() {
    let stated = planned(&format!("fixed-priority \"F\" {{ {THREE} }}"));
    let derived = Derived::new(&stated, Mode::Tight);
    let held = |change: (&str, &str)| {
        let text = format!("fixed-priority \"F\" {{ {} }}", THREE.replace(change.0, change.1));
        let result = watched(&derived, &stated, &carried_out(&planned(&text), 1));
        let bounds = result.threads.iter().map(|thread| thread.bound.is_some()).collect::<Vec<_>>();
        (
            bounds,
            result.exceeded.iter().map(|exceeded| (exceeded.at, exceeded.by)).collect::<Vec<_>>(),
            result.is_kept(),
        )
    };
    assert_eq!(held(("", "")), (vec![true, true, true], vec![], true));
    let longer = ("run=\"2ms\" every=\"6ms\"", "run=\"2.5ms\" every=\"7ms\"");
    assert_eq!(
        held(longer),
        (vec![true, false, false], vec![(Nanos(3_500_000), Excess::Long(Nanos(2_500_000)))], true)
    );
    let sooner = ("run=\"1ms\" every=\"4ms\"", "run=\"1ms\" every=\"3ms\"");
    assert_eq!(held(sooner), (vec![true, false, false], vec![(ms(3), Excess::Soon(ms(3)))], true));
    let least = ("run=\"3ms\" every=\"10ms\"", "run=\"3ms\" every=\"9ms\"");
    assert_eq!(held(least).0, [true, true, false]);
}
