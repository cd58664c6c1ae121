//! What threads compute, and when: each shape of the hierarchy file.

use crate::support::{Run, SEED, SLACK, Seen, exact, ms, run_until};
use hls_monitor::event::{ObservedVp, What};
use hls_thread::{Action, Compute, Thread};
use hls_units::Nanos;
use hls_workload::program::Workload;

/// Runs the thread `t` with this program until enough is seen. `jobs` gives the CPU time of its finished jobs, and the
/// CPU time of the job that may be under way; the thread must compute for the former, and for no more than both.
fn run_alone(program: &str, enough: impl Fn(&Seen) -> bool, jobs: impl Fn(&Run) -> [Nanos; 2]) -> Run {
    let file = format!("round-robin \"R\" quantum=\"10ms\" {{ thread \"t\" {{ {program} }} }}");
    exact(
        || run_until(&file, &Workload::default(), &enough),
        |run| {
            let (end, [jobs, next]) = (run.end("t"), jobs(run));
            assert!(end.work >= jobs && end.ran >= end.work, "{end:?}, jobs of {jobs}");
            end.work <= jobs + next + Nanos(SLACK.0 * (run.jobs("t") + 1))
        },
    )
}

#[test]
fn a_periodic_thread_computes_its_jobs_and_no_more() {
    let run = run_alone(
        r#"periodic run="2ms" every="20ms""#,
        |seen| seen.jobs("t") >= 20,
        |run| [ms(2 * run.jobs("t")), ms(2)],
    );
    // The jobs of the first instant and of every period after it, as far as the machine had time for them.
    let most = run.periods(ms(20)) + 1;
    assert!(run.jobs("t") <= most && run.end("t").activations <= most, "{:?}", run.end("t"));
    let events = run.events("t");
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
    let run = run_alone(
        r#"periodic run="30ms" every="10ms""#,
        |seen| seen.jobs("t") >= 5,
        |run| [ms(30 * run.jobs("t")), ms(30)],
    );
    assert!(run.jobs("t") <= run.periods(ms(30)), "{}", run.jobs("t"));
    assert_eq!(run.misses("t"), run.periods(ms(10)), "every deadline of the run");
}

#[test]
fn a_cpu_bound_thread_takes_what_it_can() {
    let run = run_alone(
        "cpu-bound",
        |seen| seen.cpu_time >= ms(100),
        |run| [ms(50), run.outcome.length.saturating_sub(ms(50))],
    );
    let end = run.end("t");
    assert!(end.ran - end.work <= ms(20), "{end:?}");
    assert_eq!((end.activations, run.jobs("t")), (1, 0));
}

#[test]
fn a_bursty_thread_draws_what_it_draws_in_the_simulator() {
    let drawn = |run: &Run| {
        let jobs = run.jobs("t") as usize;
        let steps = &run.plan.groups[0].program.steps;
        let mut thread = Thread::new(ObservedVp(1), 0, SEED, 0);
        let mut drawn = Vec::new();
        while drawn.len() <= jobs {
            if let (Action::Compute, Compute::Work(work)) = (thread.next(steps, Nanos::ZERO), thread.compute)
            {
                drawn.push(work);
            }
        }
        [drawn[..jobs].iter().copied().sum(), drawn[jobs]]
    };
    run_alone(r#"bursty run="1ms..5ms" sleep="1ms..20ms""#, |seen| seen.jobs("t") >= 10, drawn);
}

#[test]
fn a_renderer_counts_finished_and_missed_frames() {
    let run = run_alone(
        r#"frame-renderer frame="10ms" gap="4ms""#,
        |seen| seen.cpu_time >= ms(100),
        |run| [ms(10 * run.end("t").frames), ms(10)],
    );
    let frames = run.end("t").frames;
    assert!((2..=run.periods(ms(10))).contains(&frames), "{frames}");
    assert!(run.misses("t") >= 2 * frames, "a frame takes more than two gaps: {}", run.misses("t"));
}

#[test]
fn tasks_are_served_in_their_order() {
    for by in ["edf", "priority"] {
        // Little work: both are served wherever a thread has a twentieth of a CPU.
        let program = format!(
            r#"tasks by="{by}" {{
                task "fast" run="200us" every="10ms"
                task "slow" run="800us" every="50ms"
            }}"#
        );
        let served = |run: &Run| {
            let [fast, slow] = &run.end("t").tasks[..] else { panic!("{:?}", run.end("t")) };
            [Nanos::from_micros(200 * fast.jobs + 800 * slow.jobs), Nanos::from_micros(1_000)]
        };
        let run = run_alone(&program, |seen| seen.jobs("t") >= 24, served);
        let [fast, slow] = &run.end("t").tasks[..] else { panic!("{:?}", run.end("t")) };
        assert_eq!((&fast.name[..], &slow.name[..]), ("fast", "slow"));
        assert!((1..=run.periods(ms(10)) + 1).contains(&fast.jobs), "{fast:?}");
        assert!((1..=run.periods(ms(50)) + 1).contains(&slow.jobs), "{slow:?}");
        assert!(
            fast.worst >= Nanos::from_micros(200) && slow.worst >= Nanos::from_micros(800),
            "{fast:?} {slow:?}"
        );
        assert_eq!(run.jobs("t"), fast.jobs + slow.jobs);
        assert_eq!(run.misses("t"), fast.misses + slow.misses);
    }
}
