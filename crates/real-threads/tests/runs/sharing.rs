//! What threads share, and what else rt-app's programs ask for.

use crate::support::{Run, SLACK, exact, ms, rt_app, run_until};
use hls_monitor::event::What;
use hls_units::Nanos;

const TWO: &str = r#"round-robin "R" quantum="10ms" { thread "a"; thread "b"; }"#;

#[test]
fn a_mutex_is_held_by_one_at_a_time_and_handed_over() {
    let task = r#"{ "lock" : "m", "run" : 2000, "unlock" : "m" }"#;
    let workload = rt_app(&format!(r#"{{ "tasks" : {{ "a" : {task}, "b" : {task} }} }}"#));
    // Both compute only while they hold the mutex: together no more than one CPU's time, where two would give twice as
    // much. Each thread waits for the other in turn.
    let is_exact = |run: &Run| {
        let (a, b) = (run.end("a").work, run.end("b").work);
        assert!(a.min(b) >= ms(6), "{a}, {b}");
        let slack = Nanos(SLACK.0 * (a + b).0 / 2_000_000);
        a + b <= run.outcome.length + SLACK && a.saturating_sub(b).max(b.saturating_sub(a)) <= ms(2) + slack
    };
    exact(|| run_until(TWO, &workload, |seen| seen.cpu_time >= ms(100)), is_exact);
}

#[test]
fn a_condition_wakes_its_waiter_and_begins_its_job() {
    let workload = rt_app(
        r#"{ "tasks" : {
            "a" : { "sleep" : 5000, "lock" : "m", "signal" : "c", "unlock" : "m" },
            "b" : { "lock" : "m", "wait" : { "ref" : "c", "mutex" : "m" }, "unlock" : "m", "run" : 1000 }
        } }"#,
    );
    let is_exact = |run: &Run| {
        let (work, jobs) = (run.end("b").work, run.jobs("b"));
        assert!(work >= ms(jobs - 1), "{work} in {jobs} jobs");
        work <= ms(jobs + 1) + Nanos(SLACK.0 * jobs)
    };
    let run = exact(|| run_until(TWO, &workload, |seen| seen.jobs("b") >= 10), is_exact);
    let jobs = run.jobs("b");
    assert!(jobs <= run.periods(ms(5)) + 1, "{jobs}");
    let responses = run.events("b").into_iter().filter_map(|(_, what)| match what {
        What::JobDone { response } => Some(response),
        _ => None,
    });
    // The first job begins when the thread arrives and ends at once; each other one computes for 1 ms.
    assert!(responses.skip(1).min() >= Some(ms(1)));
}

#[test]
fn a_semaphore_lets_as_many_jobs_begin_as_were_posted() {
    let workload = rt_app(
        r#"{ "tasks" : {
            "a" : { "sleep" : 5000, "sem_post" : "s", "sem_post" : "s" },
            "b" : { "sem_wait" : "s", "run" : 1000 }
        } }"#,
    );
    let is_exact = |run: &Run| {
        let (work, jobs) = (run.end("b").work, run.jobs("b"));
        work >= ms(jobs - 2) && work <= ms(jobs + 1) + Nanos(SLACK.0 * jobs)
    };
    let run = exact(|| run_until(TWO, &workload, |seen| seen.jobs("b") >= 20), is_exact);
    // Besides the posts there is the job that begins when the thread arrives, and ends when it waits.
    assert!(run.jobs("b") <= 2 * run.periods(ms(5)) + 3, "{}", run.jobs("b"));
}

#[test]
fn what_a_thread_puts_into_a_queue_another_one_deals_with() {
    let hierarchy = r#"round-robin "R" {
        thread "a" { periodic run="100us" every="10ms" to="q"; }
        thread "b" { serves queue="q" run="1ms"; }
    }"#;
    let run = run_until(hierarchy, &Default::default(), |seen| seen.jobs("b") >= 10);
    let [queue] = &run.outcome.queues[..] else { panic!("{:?}", run.outcome.queues) };
    // The run may end after an entry was put and before it was dealt with.
    let (put, done) = (queue.put, run.jobs("b"));
    assert!(put <= run.periods(ms(10)) + 1, "{put}");
    assert!(done <= put && put - done <= queue.waiting + 1, "{done} of {queue:?}");
    assert_eq!(queue.dropped, 0);
    let work = run.end("b").work;
    assert!(work >= ms(done), "{work} in {done} jobs");
}

#[test]
fn a_barrier_keeps_threads_in_step() {
    let workload = rt_app(
        r#"{ "tasks" : {
            "a" : { "run" : 1000, "barrier" : "x" },
            "b" : { "run" : 3000, "barrier" : "x" }
        } }"#,
    );
    let is_exact = |run: &Run| {
        let (a, b) = (run.end("a").work, run.end("b").work);
        let rounds = b.0 / 3_000_000;
        assert!(rounds >= 5, "{a}, {b}");
        a >= ms(rounds) && a <= ms(rounds + 1) + Nanos(SLACK.0 * (rounds + 1))
    };
    exact(|| run_until(TWO, &workload, |seen| seen.cpu_time >= ms(100)), is_exact);
}

#[test]
fn a_program_that_ends_leaves_and_hands_on_what_it_holds() {
    let workload = rt_app(
        r#"{ "tasks" : {
            "a" : { "loop" : 1, "lock" : "m", "run" : 20000, "yield" : 1 },
            "b" : { "delay" : 10000, "lock" : "m", "run" : 1000, "unlock" : "m", "timer" :
                { "ref" : "unique", "period" : 10000, "mode" : "absolute" } }
        } }"#,
    );
    let run = run_until(TWO, &workload, |seen| seen.jobs("b") >= 5);
    let (left, what) = *run.events("a").last().unwrap();
    assert!(what == What::Leave && left >= ms(20), "{what:?} at {left}");
    let first = run.events("b").into_iter().find(|(_, what)| matches!(what, What::JobDone { .. })).unwrap();
    assert!(first.0 >= left, "b waits for what a never releases");
}
