//! Workloads that do not fit their hierarchy, each beside a workload that does.

use super::support::{plan, workload};
use hls_plan::PlanError;

const HIERARCHY: &str = r#"
    machine cpus=2
    round-robin "R" {
        thread "free"
        thread "three" instances=3
        thread "stated" { cpu-bound }
    }"#;

/// The errors of a workload with these tasks.
fn misfits(tasks: &str) -> Vec<PlanError> {
    let json = format!(r#"{{ "tasks" : {{ {tasks} }} }}"#);
    plan(HIERARCHY, &workload(&json)).err().unwrap_or_default()
}

#[test]
fn a_task_needs_a_thread() {
    assert_eq!(misfits(r#""free" : { "run" : 1 }"#), []);
    let threads = ["free", "three", "stated"].map(String::from).to_vec();
    let missing = PlanError::NoSuchThread { task: "fre".into(), threads };
    assert_eq!(
        missing.to_string(),
        "task `fre`: found no thread of that name, expected the name of one in the hierarchy: `free`, `three`, `stated`"
    );
    assert_eq!(misfits(r#""fre" : { "run" : 1 }"#), [missing]);
}

#[test]
fn hierarchy_and_workload_agree_about_the_instances() {
    assert_eq!(misfits(r#""three" : { "instance" : 3, "run" : 1 }"#), []);
    assert_eq!(misfits(r#""free" : { "instance" : 9, "run" : 1 }"#), [], "the file leaves it open");
    let error = PlanError::Instances { thread: "three".into(), in_hierarchy: 3, in_workload: 1 };
    assert_eq!(error.to_string(), "task `three`: found 1 instances, expected as many as in the hierarchy, 3");
    assert_eq!(misfits(r#""three" : { "run" : 1 }"#), [error]);
}

#[test]
fn either_hierarchy_or_workload_says_what_a_thread_does() {
    let error = PlanError::TwoPrograms { thread: "stated".into() };
    assert!(error.to_string().starts_with("task `stated`: found a program "));
    assert_eq!(misfits(r#""stated" : { "run" : 1 }"#), [error]);
}

#[test]
fn a_cpu_must_be_there() {
    assert_eq!(misfits(r#""free" : { "cpus" : [ 0, 1 ], "run" : 1 }"#), []);
    let error = PlanError::NoSuchCpu { task: "free".into(), cpu: 2, cpus: 2 };
    assert_eq!(error.to_string(), "task `free`: found CPU 2, expected a CPU of the machine, 0 to 1");
    assert_eq!(misfits(r#""free" : { "cpus" : [ 1, 2 ], "run" : 1 }"#), std::slice::from_ref(&error));
    let in_a_phase = r#""free" : { "phases" : { "p" : { "cpus" : [ 2 ], "run" : 1 } } }"#;
    assert_eq!(misfits(in_a_phase), [error]);
}

/// Beside the threads of `free` there are a VP for each of the two CPUs above the root, the three instances of `three`,
/// and `stated`.
#[test]
fn the_core_has_room_for_all() {
    let room = hls_core::limits::MAX_VPS as u64 - 1;
    let others = 2 + 3 + 1;
    let task = |instances: u64| misfits(&format!(r#""free" : {{ "instance" : {instances}, "run" : 1 }}"#));
    assert_eq!(task(room - others), []);
    let error = PlanError::TooMany { vps: room + 1 };
    assert_eq!(
        error.to_string(),
        format!("the workload: found {} virtual processors in all, expected at most {room}", room + 1)
    );
    assert_eq!(task(room - others + 1), [error]);
}

#[test]
fn all_misfits_are_reported_at_once() {
    let tasks = r#"
        "nobody" : { "cpus" : [ 7 ], "run" : 1 },
        "stated" : { "instance" : 1, "run" : 1 },
        "three" : { "run" : 1 }"#;
    let found = misfits(tasks);
    assert!(
        matches!(
            &found[..],
            [
                PlanError::NoSuchCpu { cpu: 7, .. },
                PlanError::NoSuchThread { .. },
                PlanError::TwoPrograms { .. },
                PlanError::Instances { .. }
            ]
        ),
        "{found:?}"
    );
}

/// The instances of a thread follow each other, and have their numbers in their names.
#[test]
fn a_plan_names_its_threads() {
    let plan = plan(HIERARCHY, &workload(r#"{ "tasks" : { "free" : { "instance" : 2, "run" : 1 } } }"#));
    let plan = plan.expect("the workload fits");
    let names: Vec<&str> = plan.threads().map(|thread| thread.name).collect();
    assert_eq!(names, ["free-0", "free-1", "three-0", "three-1", "three-2", "stated"]);
    assert!(plan.threads().all(|thread| plan.topology.parent_name(thread.vp) == Some("R")));
}
