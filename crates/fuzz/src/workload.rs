//! Workloads in rt-app's JSON. Relies on the checks of the simulator in a run.

use crate::hierarchy::run_for_a_moment;
use hls_hierarchy::model::Hierarchy;
use hls_plan::Plan;
use hls_workload::program::{Step, Workload};
use hls_workload::{WorkloadError, read_rt_app};

pub(crate) fn run(bytes: &[u8]) {
    match read_rt_app("file", bytes) {
        Ok(workload) => go_on(&workload),
        Err(errors) => hold(bytes, &errors),
    }
}

/// What must be true of a refusal.
fn hold(bytes: &[u8], errors: &[WorkloadError]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(!errors.is_empty(), "a refusal has an error");
    for error in errors {
        assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error}");
        assert!(!error.found.is_empty() && !error.expected.is_empty() && !error.to_string().contains('\n'));
    }
}

fn go_on(workload: &Workload) {
    for task in &workload.tasks {
        for (index, step) in task.program.steps.iter().enumerate() {
            if let Step::Repeat { target, counter, .. } = step {
                assert!(*target < index && *counter < task.program.counters);
            }
        }
    }
    if let Some(hierarchy) = hierarchy_for(workload)
        && let Ok(plan) = Plan::new(hierarchy, workload)
    {
        run_for_a_moment(plan);
    }
}

/// A hierarchy with a thread for each task, whatever its name; `None` for more tasks than can be simulated quickly.
fn hierarchy_for(workload: &Workload) -> Option<Hierarchy> {
    let tasks = &workload.tasks;
    if tasks.is_empty() || tasks.len() > 16 {
        return None;
    }
    let threads: String = (0..tasks.len()).map(|task| format!("thread \"t{task}\"\n")).collect();
    let text = format!("machine cpus=4\nround-robin {{\n{threads}}}\n");
    let (mut hierarchy, _) = hls_hierarchy::read(text.as_bytes()).ok()?;
    for (thread, task) in hierarchy.threads.iter_mut().zip(tasks) {
        thread.name.clone_from(&task.name);
    }
    Some(hierarchy)
}
