//! The rules of rt-app that are easy to get wrong, each with the case on its other side.

use hls_units::Nanos;
use hls_workload::program::{Program, ResourceKind, Span, Step, WhenLate, Workload};
use hls_workload::{WorkloadError, read_rt_app};

fn read(text: &str) -> Result<Workload, Vec<WorkloadError>> {
    read_rt_app("w.json", text.as_bytes())
}

/// The program of the only task, which has the members `members`.
fn program(members: &str) -> Program {
    let workload = read(&format!(r#"{{"tasks": {{"a": {{{members}}}}}}}"#))
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    workload.tasks[0].program.clone()
}

/// The first error of a file with one task.
fn refusal(members: &str) -> String {
    read(&format!(r#"{{"tasks": {{"a": {{{members}}}}}}}"#)).unwrap_err()[0].to_string()
}

fn run(micros: u64) -> Step {
    Step::Run(Span::exactly(Nanos::from_micros(micros)))
}

fn repeat(target: usize, times: Option<u32>, counter: u32) -> Step {
    Step::Repeat { target, times, counter }
}

#[test]
fn a_key_is_the_event_that_it_begins_with() {
    let steps =
        program(r#""loop": 1, "run": 1, "run": 2, "run0": 3, "runner": 4, "runtime_5": 5, "run": 6"#).steps;
    let elapsed = Step::RunUntilElapsed(Nanos::from_micros(5));
    assert_eq!(*steps, [run(1), run(2), run(3), run(4), elapsed, run(6)]);
    // The other way round it is no event, and a phase needs one.
    assert!(refusal(r#""overrun": 1"#).starts_with("w.json:1:12: found no event in task \"a\","));
}

#[test]
fn a_task_without_loop_never_ends_and_a_phase_is_done_once() {
    assert_eq!(*program(r#""run": 1"#).steps, [run(1), repeat(0, None, 0)]);
    assert_eq!(*program(r#""run": 1, "loop": -1"#).steps, [run(1), repeat(0, None, 0)]);
    assert_eq!(*program(r#""run": 1, "loop": 1"#).steps, [run(1)]);
    assert_eq!(*program(r#""run": 1, "loop": 3"#).steps, [run(1), repeat(0, Some(2), 0)]);
    let phased = program(r#""phases": {"p": {"run": 1}, "p": {"run": 2}}"#);
    assert_eq!(*phased.steps, [run(1), run(2), repeat(0, None, 1)]);
}

#[test]
fn loops_of_phases_lie_in_the_loop_of_the_task() {
    let program = program(r#""loop": 4, "phases": {"p": {"loop": 2, "run": 1}, "q": {"loop": 5, "run": 2}}"#);
    assert_eq!(program.counters, 2);
    assert_eq!(
        *program.steps,
        [run(1), repeat(0, Some(1), 0), run(2), repeat(2, Some(4), 0), repeat(0, Some(3), 1)]
    );
}

#[test]
fn a_loop_of_zero_ends_a_task_at_once_but_a_phase_never() {
    assert!(program(r#""loop": 0, "phases": {"p": {"run": 1}}"#).steps.is_empty());
    assert_eq!(
        *program(r#""loop": 1, "phases": {"p": {"loop": 0, "run": 1}}"#).steps,
        [run(1), repeat(0, None, 0)]
    );
    // Without `phases` the loop is the phase's.
    assert_eq!(*program(r#""loop": 0, "run": 1"#).steps, [run(1), repeat(0, None, 0)]);
}

#[test]
fn numbers_are_those_that_fit_into_32_bits() {
    assert_eq!(*program(r#""loop": 1, "run": 2147483647, "run": -0"#).steps, [run(2147483647), run(0)]);
    assert_eq!(*program(r#""loop": 1, "run": 1, "run_on": -1"#).steps, [run(1), Step::RunForever]);
    for number in
        ["2147483648", "-2", "1.0", "1e1", "\"1\"", "99999999999999999999999999", "true", "null", "[]"]
    {
        let message = refusal(&format!(r#""run": {number}"#));
        assert!(message.starts_with("w.json:1:25: found "), "{message}");
        let expected =
            "expected a whole number of microseconds for `run`, or -1 for ever, from -1 to 2147483647";
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn a_timer_of_no_period_never_blocks() {
    let timer = |period: &str| format!(r#""loop": 1, "run": 1, "timer": {{"ref": "t", "period": {period}}}"#);
    assert_eq!(*program(&timer("0")).steps, [run(1)]);
    assert_eq!(program(&timer("1")).steps.len(), 3);
    assert!(refusal(&timer("-1")).contains("found -1"));
}

#[test]
fn periods_count_from_the_start_of_the_thread_and_not_from_the_first_use() {
    let text =
        r#""loop": 2, "run": 1, "timer": {"ref": "t", "period": 9}, "timer": {"ref": "u", "period": 8}"#;
    let program = program(text);
    let timers: Vec<Option<u32>> = program
        .steps
        .iter()
        .map(|step| match step {
            Step::AwaitTimer { timer, .. } => Some(*timer),
            _ => None,
        })
        .collect();
    // Both are armed before anything runs, and not again in the second round.
    assert_eq!(timers, [Some(1), Some(0), None, Some(0), Some(1), None]);
    assert_eq!(program.steps.last(), Some(&repeat(2, Some(1), 0)));
}

#[test]
fn one_absolute_use_makes_a_shared_timer_absolute_and_a_unique_one_only_in_its_task() {
    let modes = |name: &str| {
        let text = format!(
            r#"{{"tasks": {{
                "a": {{"timer": {{"ref": "{name}", "period": 1}}}},
                "b": {{"timer": {{"ref": "{name}", "period": 1, "mode": "absolute"}}}}}}}}"#
        );
        let workload = read(&text).unwrap();
        assert_eq!(workload.timers, [format!("a/{name}"), format!("b/{name}")]);
        let mode = |task: usize| match workload.tasks[task].program.steps[0] {
            Step::AwaitTimer { when_late, .. } => when_late == WhenLate::CatchUp,
            _ => panic!("not a timer"),
        };
        (mode(0), mode(1), workload.unsupported.len())
    };
    assert_eq!(modes("tick"), (true, true, 1));
    assert_eq!(modes("uniqueTick"), (false, true, 0));
}

#[test]
fn a_barrier_takes_the_threads_of_every_event_that_names_it() {
    let text = r#"{"tasks": {"a": {"instance": 3, "barrier": "x"}, "b": {"barrier": "x", "run": 1, "barrier": "x"}}}"#;
    assert_eq!(read(text).unwrap().resources[0].kind, ResourceKind::Barrier(5));
}

#[test]
fn names_of_different_kinds_are_different_things() {
    let workload =
        read(r#"{"tasks": {"a": {"suspend": "", "lock": "a", "signal": "a", "barrier": "a"}}}"#).unwrap();
    let kinds: Vec<ResourceKind> = workload.resources.iter().map(|resource| resource.kind).collect();
    assert_eq!(kinds, [ResourceKind::Condition, ResourceKind::Mutex, ResourceKind::Barrier(1)]);
    assert!(workload.resources.iter().all(|resource| resource.name == "a"));
}

#[test]
fn a_resume_needs_somebody_to_wake() {
    let text =
        |name: &str| format!(r#"{{"tasks": {{"a": {{"suspend"}}, "b": {{"run": 1, "resume": "{name}"}}}}}}"#);
    assert!(read(&text("a")).is_ok());
    let errors = read(&text("b")).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "w.json:1:56: found \"b\", which nobody waits for, expected the name of a `suspend` of some task"
    );
}

#[test]
fn a_phase_without_cpus_goes_back_to_the_task_s() {
    let affinities = |task: &str| -> Vec<Step> {
        let program =
            program(&format!(r#"{task} "phases": {{"p": {{"cpus": [1], "run": 1}}, "q": {{"run": 1}}}}"#));
        program.steps.iter().filter(|step| matches!(step, Step::SetAffinity(_))).cloned().collect()
    };
    assert_eq!(affinities(""), [Step::SetAffinity(Some(vec![1])), Step::SetAffinity(None)]);
    assert_eq!(
        affinities(r#""cpus": [2],"#),
        [Step::SetAffinity(Some(vec![1])), Step::SetAffinity(Some(vec![2]))]
    );
    assert_eq!(*program(r#""cpus": [2], "phases": {"p": {"run": 1}}"#).steps, [run(1), repeat(0, None, 1)]);
}

#[test]
fn the_duration_counts_seconds_and_may_be_open() {
    let duration =
        |global: &str| read(&format!(r#"{{"global": {{{global}}}, "tasks": {{"a": {{"run": 1}}}}}}"#));
    assert_eq!(duration(r#""duration": 3"#).unwrap().duration, Some(Nanos::from_secs(3)));
    for open in ["", r#""duration": -1"#, r#""duration": 0"#, r#""duration": null"#] {
        assert_eq!(duration(open).unwrap().duration, None, "{open}");
    }
    assert!(duration(r#""duration": -2"#).is_err());
}
