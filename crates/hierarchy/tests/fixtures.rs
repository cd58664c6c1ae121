//! Every file of `tests/ok` is read, every file of `tests/err` is refused, each with the text beside it.

use crate::common;
use hls_hierarchy::model::{Child, Hierarchy};
use hls_hierarchy::{Cpus, Policies, Source, read_with};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[test]
fn good_files_are_read() {
    check_folder("ok", |source, bytes| {
        let (hierarchy, warnings) = read_with(&common::policies(bytes), Cpus::UnlessStated(1), bytes)
            .map_err(|errors| errors.iter().map(|error| source.line(error) + "\n").collect::<String>())?;
        let warnings: String = warnings.iter().map(|warning| source.line(warning) + "\n").collect();
        Ok(warnings + &describe(&hierarchy))
    });
}

/// The core's own policies differ from the tests' policies in their limits at most.
#[test]
fn good_files_are_good_with_the_core_s_policies() {
    for file in hierarchy_files("ok") {
        let bytes = std::fs::read(&file).expect("it can be read");
        let policies = common::loaded(Policies::default(), &bytes);
        let errors = read_with(&policies, Cpus::UnlessStated(1), &bytes).err();
        assert_eq!(errors, None, "{}", file.display());
    }
}

#[test]
fn bad_files_are_refused() {
    check_folder("err", |source, bytes| {
        match read_with(&common::policies(bytes), Cpus::UnlessStated(1), bytes) {
            Ok(_) => Err("it was read without an error".to_owned()),
            Err(errors) => Ok(errors.iter().map(|error| source.line(error) + "\n").collect()),
        }
    });
}

/// Compares what `text_of` makes of every hierarchy file of a folder with the `.txt` file beside it.
fn check_folder(folder: &str, text_of: impl Fn(&Source, &[u8]) -> Result<String, String>) {
    let mut failures = String::new();
    for file in hierarchy_files(folder) {
        let name = file.file_name().expect("a file has a name").to_string_lossy();
        let bytes = std::fs::read(&file).expect("it can be read");
        let failure = match text_of(&Source::new(&name, &bytes), &bytes) {
            Err(why) => Some(format!("{name}: {why}")),
            Ok(text) => hls_golden::difference(&file.with_extension("txt"), &text),
        };
        failure.iter().for_each(|failure| writeln!(failures, "{failure}").unwrap());
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The hierarchy files of a folder, in the order of their names.
fn hierarchy_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "kdl"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {}", folder.display());
    files
}

/// All that a hierarchy holds but its spans, one line an item.
fn describe(hierarchy: &Hierarchy) -> String {
    let mut text = format!("{:?}\n", hierarchy.machine);
    for load in &hierarchy.loads {
        writeln!(text, "load {} as {:?}: {}", load.path, load.name, load.policy()).unwrap();
    }
    for scheduler in &hierarchy.schedulers {
        writeln!(text, "{} `{}` {:?}", scheduler.policy.name, scheduler.name, scheduler.params).unwrap();
        scheduler.owner.iter().for_each(|owner| writeln!(text, "    of {:?}", owner.value).unwrap());
        scheduler.is_default.then(|| writeln!(text, "    the default").unwrap());
        scheduler.is_service.then(|| writeln!(text, "    for hls").unwrap());
    }
    for thread in &hierarchy.threads {
        write!(text, "thread `{}` x{}, from {}", thread.name, thread.count(), thread.arrive).unwrap();
        thread.leave.iter().for_each(|leave| write!(text, " to {leave}").unwrap());
        thread.affinity.iter().for_each(|cpus| write!(text, ", on {cpus:?}").unwrap());
        thread.need.iter().for_each(|need| write!(text, ", needs {need}").unwrap());
        thread.who.iter().for_each(|who| write!(text, ", is {:?}", who.value).unwrap());
        text.push('\n');
        let steps = thread.program.iter().flat_map(|program| program.steps.iter());
        steps.for_each(|step| writeln!(text, "    {step:?}").unwrap());
    }
    for edge in &hierarchy.edges {
        let parent = edge.parent.map_or("(root)", |parent| &hierarchy.schedulers[parent].name);
        let child = match edge.child {
            Child::Scheduler(child) => &hierarchy.schedulers[child].name,
            Child::Thread(child) => &hierarchy.threads[child].name,
        };
        write!(text, "{parent} -> {child} x{} {:?}", edge.width, edge.params).unwrap();
        edge.requested.iter().for_each(|requested| write!(text, " {requested}").unwrap());
        text.push('\n');
    }
    text
}
