//! Every workload file in `tests/ok` and `tests/err` against what is expected of it, which stands beside it.
//!
//! The files are found by listing the directories, since lists kept by hand forget.

use hls_workload::program::Workload;
use hls_workload::{WorkloadError, read_rt_app};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The workload files of a directory of fixtures.
fn workload_files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory);
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    assert!(files.len() >= 5, "{} has lost its fixtures", directory.display());
    files
}

/// One line a task, step, resource, timer and unsupported setting.
fn render(workload: &Workload) -> String {
    let mut text = String::new();
    if let Some(duration) = workload.duration {
        writeln!(text, "duration {duration}").unwrap();
    }
    for task in &workload.tasks {
        let cpus = task.cpus.as_ref().map_or("all".to_owned(), |cpus| format!("{cpus:?}"));
        let (name, instances, start, counters) =
            (&task.name, task.instances, task.start_at, task.program.counters);
        writeln!(text, "task {name}: {instances} threads from {start}, CPUs {cpus}, {counters} counters")
            .unwrap();
        for (index, step) in task.program.steps.iter().enumerate() {
            writeln!(text, "  {index}: {step:?}").unwrap();
        }
    }
    for (index, resource) in workload.resources.iter().enumerate() {
        writeln!(text, "resource {index}: {} {:?}", resource.name, resource.kind).unwrap();
    }
    for (index, timer) in workload.timers.iter().enumerate() {
        writeln!(text, "timer {index}: {timer}").unwrap();
    }
    for sentence in &workload.unsupported {
        writeln!(text, "unsupported: {sentence}").unwrap();
    }
    text
}

fn read(path: &Path) -> Result<Workload, Vec<WorkloadError>> {
    let name = path.file_name().unwrap().to_str().unwrap();
    read_rt_app(name, &std::fs::read(path).unwrap())
}

/// Compares with the text beside the fixture.
fn check(path: &Path, actual: &str) {
    hls_golden::assert_golden(&path.with_extension("txt"), actual);
}

#[test]
fn good_files_become_the_programs_beside_them() {
    for path in workload_files("ok") {
        match read(&path) {
            Ok(workload) => check(&path, &render(&workload)),
            Err(errors) => panic!("{}: {}", path.display(), errors[0]),
        }
    }
}

#[test]
fn bad_files_are_refused_with_the_messages_beside_them() {
    for path in workload_files("err") {
        let Err(errors) = read(&path) else { panic!("{} was accepted", path.display()) };
        let messages: String = errors.iter().map(|error| format!("{error}\n")).collect();
        check(&path, &messages);
    }
}

#[test]
fn the_example_of_the_manual_is_a_good_file() {
    let manual =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workloads.md"))
            .unwrap();
    let (_, rest) = manual.split_once("```json\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let workload =
        read_rt_app("example", example.as_bytes()).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert_eq!(workload.tasks.len(), 3);
    assert_eq!(workload.unsupported, [""; 0]);
}
