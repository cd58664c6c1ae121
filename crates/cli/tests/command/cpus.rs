//! How many CPUs a hierarchy file is checked and run for: `--cpus` decides, without it `machine cpus=` of the file,
//! without both the CPUs that are online here. The output says which of these decided.

use super::outcome::{Outcome, assert_refused, hls};
use std::fs;

/// Files with two threads that want a whole CPU each, which two CPUs can give and one cannot; one file does not say how
/// many CPUs the machine has.
const FILES: [(&str, &str); 2] = [("silent.kdl", ""), ("stated.kdl", "machine cpus=1\n")];
const HIERARCHY: &str = "fixed-priority \"FP\" {\n    thread \"a\" priority=1 guarantee=\"ALL\"\n    \
                         thread \"b\" priority=0 guarantee=\"ALL\"\n}\n";

/// Calls `look` with the paths of the two files, which are removed afterwards.
fn with_files(look: impl Fn(&str, &str)) {
    let directory = tempfile::tempdir().unwrap();
    let paths = FILES.map(|(name, machine)| {
        let path = directory.path().join(name);
        fs::write(&path, format!("{machine}{HIERARCHY}")).unwrap();
        path.display().to_string()
    });
    look(&paths[0], &paths[1]);
}

/// How many CPUs are online here, by the kernel's list for the whole machine: this process may be allowed on fewer.
fn online() -> u16 {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().parse::<u16>().unwrap() + 1
}

fn machine(cpus: u16) -> String {
    format!("machine with {cpus} CPU{}", if cpus == 1 { "" } else { "s" })
}

#[test]
fn the_command_line_comes_before_the_file_and_the_file_before_this_machine() {
    let here = format!("{} (online here; `--cpus` or `machine cpus=` say otherwise)", machine(online()));
    let asked_here = format!("{} (online here, by `--cpus online`", machine(online()));
    with_files(|silent, stated| {
        for (args, first_line, code) in [
            (&[silent][..], &here[..], i32::from(online() < 2)),
            (&[silent, "--cpus", "online"], &asked_here, i32::from(online() < 2)),
            (&[silent, "--cpus", "2"], "machine with 2 CPUs (by `--cpus`)", 0),
            (&[silent, "--cpus", "1"], "machine with 1 CPU (by `--cpus`)", 1),
            (&[stated], "machine with 1 CPU", 1),
            (&[stated, "--cpus", "2"], "machine with 2 CPUs (by `--cpus`; the file says 1)", 0),
        ] {
            for command in [&["check"][..], &["run", "--for", "20ms"]] {
                let Outcome { code: found, stdout, stderr } = hls(&[command, args].concat());
                let line = stdout.lines().next().unwrap_or_default();
                assert!(line.starts_with(first_line), "{command:?} {args:?}: {stdout}{stderr}");
                assert_eq!(found, Some(code), "{command:?} {args:?}: {stdout}{stderr}");
            }
        }
        let Outcome { stdout, .. } = hls(&["baseline", stated, "--cpus", "2", "--for", "20ms"]);
        assert!(stdout.contains("\nthe number of CPUs: by `--cpus`; the file says 1\n"), "{stdout}");
        let Outcome { stdout, .. } = hls(&["baseline", stated, "--for", "20ms"]);
        assert!(!stdout.contains("the number of CPUs"), "{stdout}");
    });
    let Outcome { stdout, .. } = hls(&["fit", "tasks.kdl", "--cpus", "3"]);
    assert!(stdout.starts_with("machine with 3 CPUs (by `--cpus`; the file says 1)\n"), "{stdout}");
}

#[test]
fn the_kernel_engine_refuses_another_number_of_cpus_than_this_machine_has() {
    let other = if online() > 1 { "1" } else { "64" };
    let expected = format!("found --cpus {other}, expected the {} of this machine", online());
    with_files(|silent, stated| {
        for file in [silent, stated] {
            assert_refused(&["run", file, "--engine", "kernel", "--cpus", other], &[&expected]);
        }
    });
    for bad in ["0", "65", "-1", "all"] {
        let found = format!("found `{bad}`, expected a whole number from 1 to 64, or `online`");
        assert_refused(&["check", "tasks.kdl", "--cpus", bad], &[&found]);
    }
}
