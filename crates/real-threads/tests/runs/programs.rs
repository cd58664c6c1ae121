//! What threads compute, and when: each shape of the hierarchy file.

use crate::support::{Run, SEED, SLACK, ms, run};
use hls_monitor::event::{ObservedVp, What};
use hls_thread::{Action, Compute, Thread};
use hls_units::Nanos;
use hls_workload::program::Workload;

fn run_alone(thread: &str, length: Nanos) -> Run {
    run(&format!("round-robin \"R\" quantum=\"10ms\" {{ {thread} }}"), &Workload::default(), length)
}

/// Asserts that a thread computed for `jobs`, the CPU time of its finished jobs, and for no more than `next` beside
/// that, the CPU time of the job that may be under way.
fn assert_computed(run: &Run, name: &str, jobs: Nanos, next: Nanos) {
    let slack = Nanos(SLACK.0 * (run.jobs(name) + 1));
    let (work, ran) = (run.end(name).work, run.end(name).ran);
    assert!(work >= jobs && work <= jobs + next + slack, "{name}: {work}, jobs of {jobs}");
    assert!(ran >= work, "{name}: {ran}, {work}");
}

#[test]
fn a_periodic_thread_computes_its_jobs_and_no_more() {
    let run = run_alone(r#"thread "p" { periodic run="2ms" every="20ms"; }"#, ms(810));
    let jobs = run.jobs("p");
    // The jobs of the first instant and of every period after it, as far as the machine had time for them.
    assert!((20..=41).contains(&jobs), "{jobs}");
    assert_computed(&run, "p", Nanos(jobs * 2_000_000), ms(2));
    assert!(run.end("p").activations <= 41, "{:?}", run.end("p"));
    let events = run.events("p");
    assert_eq!(events[..2], [(ms(0), What::Arrive), (events[1].0, What::JobRelease { deadline: ms(20) })]);
    let releases = events.iter().filter_map(|&(at, what)| match what {
        What::JobRelease { deadline } => Some((at, deadline)),
        _ => None,
    });
    for (number, (at, deadline)) in (0..).zip(releases) {
        assert_eq!(deadline, ms(20 * (number + 1)), "on the grid, however late");
        assert!(at >= ms(20 * number), "job {number} at {at}");
    }
}

#[test]
fn what_is_late_is_counted_as_the_simulator_does() {
    // 30 ms in every 10 ms: job n is done no sooner than 30(n+1) ms after the begin, and due at 10(n+1) ms.
    let run = run_alone(r#"thread "p" { periodic run="30ms" every="10ms"; }"#, ms(405));
    let jobs = run.jobs("p");
    assert!((1..=13).contains(&jobs), "{jobs}");
    assert_eq!(run.misses("p"), 40, "every deadline but that at 410 ms");
    assert_computed(&run, "p", Nanos(jobs * 30_000_000), ms(30));
}

#[test]
fn a_cpu_bound_thread_takes_what_it_can() {
    let run = run_alone(r#"thread "c" { cpu-bound; }"#, ms(400));
    let end = run.end("c");
    assert!(end.work <= ms(400) + SLACK && end.work >= ms(20), "{end:?}");
    assert!(end.ran - end.work <= ms(20), "{end:?}");
    assert_eq!((end.activations, run.jobs("c")), (1, 0));
}

#[test]
fn a_bursty_thread_draws_what_it_draws_in_the_simulator() {
    let run = run_alone(r#"thread "b" { bursty run="1ms..5ms" sleep="1ms..20ms"; }"#, ms(600));
    let jobs = run.jobs("b") as usize;
    let steps = &run.plan.groups[0].program.steps;
    let mut thread = Thread::new(ObservedVp(1), 0, SEED, 0);
    let mut drawn = Vec::new();
    while drawn.len() <= jobs {
        if let (Action::Compute, Compute::Work(work)) = (thread.next(steps, Nanos::ZERO), thread.compute) {
            drawn.push(work);
        }
    }
    assert!(jobs >= 5, "{jobs}");
    assert_computed(&run, "b", drawn[..jobs].iter().copied().sum(), drawn[jobs]);
}

#[test]
fn a_renderer_counts_its_frames_and_those_that_were_due() {
    let run = run_alone(r#"thread "f" { frame-renderer frame="10ms" gap="4ms"; }"#, ms(400));
    let frames = run.end("f").frames;
    assert!((2..=40).contains(&frames), "{frames}");
    assert!(run.misses("f") >= 2 * frames, "a frame takes more than two gaps: {}", run.misses("f"));
    assert_computed(&run, "f", Nanos(frames * 10_000_000), ms(10));
}

#[test]
fn tasks_are_served_in_their_order() {
    for by in ["edf", "priority"] {
        let run = run_alone(
            &format!(
                r#"thread "t" {{
                    tasks by="{by}" {{
                        task "fast" run="1ms" every="10ms"
                        task "slow" run="4ms" every="50ms"
                    }}
                }}"#
            ),
            ms(495),
        );
        let [fast, slow] = &run.end("t").tasks[..] else { panic!("{:?}", run.end("t")) };
        assert_eq!((&fast.name[..], &slow.name[..]), ("fast", "slow"));
        assert!((20..=50).contains(&fast.jobs) && (4..=10).contains(&slow.jobs), "{fast:?} {slow:?}");
        assert!(fast.worst >= ms(1) && slow.worst >= ms(4), "{fast:?} {slow:?}");
        assert_eq!(run.jobs("t"), fast.jobs + slow.jobs);
        assert_eq!(run.misses("t"), fast.misses + slow.misses);
        assert_computed(&run, "t", Nanos((fast.jobs + 4 * slow.jobs) * 1_000_000), ms(5));
    }
}
