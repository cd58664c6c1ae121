//! How many CPUs the machine of a hierarchy has: the caller's number or the file's.

use hls_hierarchy::{Cpus, Policies, read_with};

#[test]
fn the_caller_says_whether_the_file_may_decide() {
    const SILENT: &str = "round-robin { thread \"t\" }";
    const STATED: &str = "machine cpus=2\nround-robin { thread \"t\" }";
    for (text, cpus, found) in [
        (SILENT, Cpus::UnlessStated(4), (4, None)),
        (SILENT, Cpus::Exactly(4), (4, None)),
        (STATED, Cpus::UnlessStated(4), (2, Some(2))),
        (STATED, Cpus::Exactly(4), (4, Some(2))),
    ] {
        let (hierarchy, _) = read_with(&Policies::default(), cpus, text.as_bytes()).unwrap();
        assert_eq!((hierarchy.machine.cpus, hierarchy.machine.stated_cpus), found, "{text}, {cpus:?}");
    }
}

#[test]
fn a_file_is_judged_for_the_cpus_that_it_is_read_for() {
    let text = "machine cpus=2\nround-robin { thread \"t\" affinity=\"1\" }";
    let read = |cpus| read_with(&Policies::default(), cpus, text.as_bytes());
    assert!(read(Cpus::UnlessStated(1)).is_ok());
    let errors = read(Cpus::Exactly(1)).unwrap_err();
    assert!(errors[0].expected.contains("the machine has 1"), "{errors:?}");
}
