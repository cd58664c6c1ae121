//! Tasks that a thread serves: the order in which the thread serves them, and their response times beside the bounds.
//!
//! `HLS_SEEDS=1000` makes the random part longer.

use super::support::{Run, carry_out, ms, paranoid, plan, run};
use hls_calculus::{Mode, ceil_nanos};
use hls_check::Derived;
use hls_monitor::result::TaskResult;
use hls_units::Nanos;
use hls_workload::program::Workload;
use oorandom::Rand32;
use std::fmt::Write;

fn alone(tasks: &str, length: Nanos) -> Run {
    run(&format!("round-robin \"R\" {{ thread \"t\" {{ tasks {tasks} }} }}"), length)
}

fn task(run: &Run, name: &str) -> TaskResult {
    run.thread("t").tasks.iter().find(|task| task.name == name).expect("a task of that name").clone()
}

const TWO: &str = r#"{ task "a" run="1ms" every="5ms"; task "b" run="6ms" every="10ms" deadline="9ms" }"#;

/// Both tasks begin together: under fixed priority `b` waits for two jobs of `a`, under EDF for one.
#[test]
fn the_set_states_the_order() {
    let edf = alone(&format!("by=\"edf\" {TWO}"), ms(100));
    assert_eq!((task(&edf, "a").worst, task(&edf, "b").worst), (ms(3), ms(7)));
    let fixed = alone(&format!("by=\"priority\" {TWO}"), ms(100));
    assert_eq!((task(&fixed, "a").worst, task(&fixed, "b").worst), (ms(1), ms(8)));
    for run in [edf, fixed] {
        assert_eq!((task(&run, "a").jobs, task(&run, "b").jobs), (20, 10));
        assert_eq!((run.thread("t").misses, run.thread("t").response.count), (0, 30));
        // The thread sleeps whenever nothing is ready: from 8 to 10 ms, and so on; it wakes up at the very end, too.
        assert_eq!((run.thread("t").ran, run.thread("t").activations), (ms(80), 11));
    }
}

/// Nothing is ready before 3 ms, and the thread does not ask for the CPU.
#[test]
fn offsets_and_jitter_delay_the_first_job() {
    let run = alone(r#"by="edf" { task "a" run="1ms" every="10ms" offset="2ms" jitter="1ms" }"#, ms(25));
    let requests = run.times("t", hls_monitor::event::What::Request);
    assert_eq!(requests, [ms(3), ms(13), ms(23)]);
    assert_eq!(
        task(&run, "a"),
        TaskResult { name: "a".into(), jobs: 3, misses: 0, worst: ms(2), worst_is_open: false, bound: None }
    );
}

/// `a` takes 8 of every 10 ms, and `b` needs 8 ms in every 20: its jobs get the other 2 of every 10 ms, and so are done
/// at 40 and 80 ms, though they are due at 20 and 40 ms.
#[test]
fn jobs_that_are_late_or_never_done_are_misses() {
    let tasks = r#"by="priority" { task "a" run="8ms" every="10ms"; task "b" run="8ms" every="20ms" }"#;
    let run = alone(tasks, ms(100));
    assert_eq!(
        task(&run, "a"),
        TaskResult { name: "a".into(), jobs: 10, misses: 0, worst: ms(8), worst_is_open: false, bound: None }
    );
    // At the end the jobs due at 60 and 80 ms are late, too, and the job due at 100 ms is not.
    let late =
        TaskResult { name: "b".into(), jobs: 2, misses: 4, worst: ms(60), worst_is_open: false, bound: None };
    assert_eq!((task(&run, "b"), run.thread("t").misses), (late, 4));
}

/// A random hierarchy: threads with tasks, hogs and sleepers, all with reservations, and a hog without one.
fn hierarchy(random: &mut Rand32) -> String {
    let mut text = String::from(
        "fixed-priority \"F\" { reservation \"R\" priority=2; time-sharing \"T\" priority=1 }\n",
    );
    let periods = [3, 5, 8, 10, 20];
    let mut left = 100;
    for thread in 0..random.rand_range(1..5) {
        let share = random.rand_range(10..60).min(left);
        left -= share;
        if share == 0 {
            break;
        }
        let period = periods[random.rand_range(0..5) as usize];
        let budget = period * share * 10;
        let _ = write!(
            text,
            "thread \"t{thread}\" parent=\"R\" guarantee=\"RESBH {budget}us {period}ms\" arrive=\"{}us\" {{ ",
            random.rand_range(0..20_000)
        );
        match random.rand_range(0..6) {
            0 => text += "cpu-bound }\n",
            1 => text += "bursty run=\"1ms..9ms\" sleep=\"1ms..9ms\" }\n",
            _ => {
                let _ = writeln!(text, "{} }}", tasks(random, share));
            }
        }
    }
    text + "thread \"hog\" parent=\"T\"\n"
}

/// Tasks that take about three quarters of a share, in percent.
fn tasks(random: &mut Rand32, share: u32) -> String {
    let by = ["edf", "priority"][random.rand_range(0..2) as usize];
    let count = random.rand_range(1..4);
    let mut text = format!("tasks by=\"{by}\" {{ ");
    for number in 0..count {
        let every = random.rand_range(10..80);
        let run = (every * share * random.rand_range(4..9) / count).max(1);
        let deadline = every * random.rand_range(6..14) / 10;
        let (least, offset) =
            (run / random.rand_range(1..3), random.rand_range(0..2) * random.rand_range(0..every));
        let jitter = random.rand_range(0..2) * random.rand_range(0..5);
        let _ = write!(
            text,
            "task \"k{number}\" run=\"{least}us..{run}us\" every=\"{every}ms\" deadline=\"{deadline}ms\" \
             offset=\"{offset}ms\" jitter=\"0ms..{jitter}ms\"; "
        );
    }
    text + "}"
}

/// No response time exceeds its bound, and tasks that are said to be in time are.
#[test]
fn no_response_exceeds_its_bound() {
    let cases = std::env::var("HLS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    let (mut bounded, mut in_time) = (0, 0);
    for seed in 0..cases {
        let text = hierarchy(&mut Rand32::new(seed));
        let plan = plan(&text, &Workload::default()).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let derived = Derived::new(&plan, Mode::Tight);
        let run =
            carry_out(plan.clone(), Vec::new(), ms(2_000), paranoid(seed)).unwrap_or_else(|f| panic!("{f}"));
        for serves in derived.tasks(&plan) {
            let results = &run.thread(serves.name).tasks;
            for ((result, bound), task) in
                results.iter().zip(&serves.verdict.responses).zip(&serves.set.tasks)
            {
                let Some(bound) = bound.bound() else { continue };
                bounded += 1;
                let says = format!(
                    "seed {seed}: {} of {}: {result:?}, bound {bound}\n{text}",
                    result.name, serves.name
                );
                assert!(result.worst <= ceil_nanos(bound), "{says}");
                in_time += usize::from(*bound <= task.deadline);
                assert!(*bound > task.deadline || result.misses == 0, "{says}");
            }
        }
    }
    assert!(bounded > cases as usize && in_time > cases as usize / 2, "{bounded} bounds, {in_time} in time");
}

/// The claim of `calculus/src/tasks/reserved.rs` at full utilisation: every thread takes all of its budget, releases
/// are a period apart, and neither jitter nor late arrival nor what others do makes a job late.
#[test]
fn a_reservation_is_enough_for_a_thread_that_begins_its_periods() {
    let thread = |name: &str, run: u32, every: u32, jitter: u32, arrive: u32| {
        format!(
            "thread \"{name}\" guarantee=\"RESBH {run}ms {every}ms\" arrive=\"{arrive}ms\" {{ periodic run=\"{run}ms\" \
             every=\"{}ms\" deadline=\"{}ms\" jitter=\"0ms..{jitter}ms\" }}\n",
            every + jitter,
            every + jitter
        )
    };
    for seed in 0..20 {
        let mut random = Rand32::new(seed);
        let mut arrive = || random.rand_range(0..40);
        let text = format!(
            "reservation \"R\" {{ {}{}{}thread \"hog\" guarantee=\"RESBH 4ms 20ms\" }}",
            thread("a", 10, 33, 0, arrive()),
            thread("b", 3, 11, 2, arrive()),
            thread("c", 9, 45, 5, arrive()),
        );
        let plan = plan(&text, &Workload::default()).unwrap();
        let derived = Derived::new(&plan, Mode::Tight);
        assert_eq!(derived.problems(&plan), [], "{text}");
        assert_eq!(derived.task_problems(&plan), [], "{text}");
        let run = carry_out(plan, Vec::new(), ms(3_000), paranoid(seed)).unwrap_or_else(|f| panic!("{f}"));
        for name in ["a", "b", "c"] {
            assert_eq!(run.thread(name).misses, 0, "seed {seed}: {name}");
        }
    }
}

/// The same for a limit: a thread alone below it is done within the bound, whatever the limit holds, and however its
/// jobs come; a bound is known, and it is met.
#[test]
fn a_limit_s_budget_is_there_at_once_for_a_thread_that_begins_its_periods() {
    let cases = std::env::var("HLS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    let (mut bounded, mut at_once) = (0, 0);
    for seed in 0..cases {
        let mut random = Rand32::new(seed);
        let budget = random.rand_range(2..20);
        let period = budget + random.rand_range(0..40);
        let run = random.rand_range(1..budget + 1);
        let jitter = random.rand_range(0..2) * random.rand_range(0..7);
        let every = period + jitter + random.rand_range(0..3) * random.rand_range(0..30);
        let thread = format!(
            "thread \"t\" guarantee=\"RESBH {budget}ms {period}ms\" arrive=\"{}ms\" {{ \
             periodic run=\"{run}ms\" every=\"{every}ms\" jitter=\"0ms..{jitter}ms\" }}",
            random.rand_range(0..40)
        );
        let text = match seed % 3 {
            0 => format!(
                "fixed-priority \"F\" {{ limit \"L\" priority=2 {{ {thread} }}; thread \"hog\" priority=1 }}"
            ),
            1 => format!(
                "reservation \"R\" {{ limit \"L\" guarantee=\"RESBH 4ms 5ms\" {{ {thread} }}
                 thread \"hog\" guarantee=\"RESBH 2ms 10ms\" }}"
            ),
            _ => {
                format!("round-robin \"R\" quantum=\"1ms\" {{ limit \"L\" {{ {thread} }}; thread \"hog\" }}")
            }
        };
        let plan = plan(&text, &Workload::default()).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let derived = Derived::new(&plan, Mode::Tight);
        let result = carry_out(plan.clone(), Vec::new(), ms(3_000), paranoid(seed));
        let worst = result.unwrap_or_else(|f| panic!("{f}")).thread("t").response.worst;
        for bound in derived.tasks(&plan).iter().flat_map(|serves| &serves.verdict.responses) {
            let Some(bound) = bound.bound() else { continue };
            assert!(worst <= ceil_nanos(bound), "seed {seed}: {worst}, bound {bound}\n{text}");
            bounded += 1;
            at_once += u32::from(ceil_nanos(bound) == ms((run + jitter).into()));
        }
    }
    assert!(bounded > cases / 2 && at_once > 10, "{bounded} bounds, {at_once} at once");
}

/// What the warning is about: the same thread, but its reservation comes through a join, which is asked for all the
/// time.
#[test]
fn a_thread_that_does_not_begin_its_periods_is_warned_of() {
    let text = r#"
        fixed-priority "F" {
            reservation "R" priority=2 { join "J" guarantee="RESBH 10ms 33ms" }
            join "J" priority=1
        }
        thread "video" parent="J" guarantee="RESBS 10ms 33ms" { periodic run="10ms" every="33ms" }"#;
    let plan = plan(text, &Workload::default()).unwrap();
    let problems = Derived::new(&plan, Mode::Tight).task_problems(&plan);
    let [warning] = &problems[..] else { panic!("{problems:?}") };
    assert!(warning.found.contains("certain only in every 56ms"), "{warning:?}");
    assert_eq!(warning.help.as_deref(), Some("RESCS 10ms 33ms or RESBS 10ms 21.5ms would do"));
}
