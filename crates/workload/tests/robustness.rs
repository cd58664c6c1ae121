//! Whatever the bytes are, reading them ends with a workload or with errors that have a place in the file.
//!
//! The bytes are the good fixtures, cut off or with a few bytes overwritten, so that most of the reader is reached.

use hls_workload::program::Step;
use hls_workload::read_rt_app;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::path::Path;

fn good_files() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ok");
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// A byte that is likely to matter, or any.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![3 => select(br#"{}[]":,-0123456789.e\/*' "#.to_vec()), 1 => any::<u8>()]
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    match read_rt_app("w.json", bytes) {
        Ok(workload) => {
            for task in &workload.tasks {
                let steps = &task.program.steps;
                for (index, step) in steps.iter().enumerate() {
                    if let Step::Repeat { target, counter, .. } = step {
                        prop_assert!(*target < index && *counter < task.program.counters);
                    }
                }
            }
        }
        Err(errors) => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert!(!errors.is_empty());
            for error in &errors {
                prop_assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error}");
                prop_assert!(!error.found.is_empty() && !error.expected.is_empty());
                prop_assert!(!error.to_string().contains('\n'), "{error}");
            }
            prop_assert!(errors.is_sorted_by_key(|error| (error.line, error.column)));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_or_refused(
        file in select(good_files()),
        damage in vec((any::<Index>(), byte()), 0..6),
        length in any::<Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = file;
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if cut {
            bytes.truncate(length.index(bytes.len() + 1));
        }
        check(&bytes)?;
    }

    #[test]
    fn a_truncated_file_is_refused(file in select(good_files()), length in any::<Index>()) {
        // The last bracket is the end of the workload; what is cut behind it is white space.
        let end = file.iter().rposition(|byte| *byte == b'}').unwrap();
        let bytes = &file[..length.index(end + 1)];
        check(bytes)?;
        prop_assert!(read_rt_app("w.json", bytes).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(byte(), 0..200)) {
        check(&bytes)?;
    }
}
