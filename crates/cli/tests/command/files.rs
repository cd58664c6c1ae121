//! Files that cannot be written: exit 3, a message with the path, and nothing left behind.

use super::outcome::{Outcome, command, figure_1, hls};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const OUTPUTS: [&str; 3] = ["--trace", "--timeline", "--timehist"];
/// A user other than root.
const NOBODY: u32 = 65534;

fn entries(directory: &Path) -> usize {
    directory.read_dir().unwrap().count()
}

/// Asserts that the command exited with 3, and printed which file could not be written and why.
fn assert_failed(outcome: &Outcome, path: &str, why: &str) {
    let Outcome { code, stdout, stderr } = outcome;
    assert_eq!((*code, &stdout[..]), (Some(3), ""), "{stderr}");
    assert!(stderr.starts_with(&format!("hls: cannot write {path}: ")), "{stderr}");
    assert!(stderr.to_lowercase().contains(why) && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn a_full_disk_a_missing_directory_and_a_directory_are_named() {
    for output in OUTPUTS {
        for (path, why) in [
            ("/dev/full", "no space left"),
            ("/tmp/missing/directory/file", "no such file or directory"),
            ("/tmp", "is a directory"),
        ] {
            assert_failed(&hls(&["run", &figure_1(), "--for", "10s", output, path]), path, why);
        }
    }
}

#[test]
fn one_file_that_fails_leaves_none_of_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let path = path.to_str().unwrap();
    for full in OUTPUTS {
        let mut args = vec!["run".to_owned(), figure_1(), "--for".into(), "10s".into()];
        for output in OUTPUTS {
            args.push(output.into());
            args.push(if output == full { "/dev/full".into() } else { format!("{path}{output}") });
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_failed(&hls(&args), "/dev/full", "no space left");
        assert_eq!(entries(directory.path()), 0, "{full}");
    }
}

#[test]
fn a_place_without_permission_stays_as_it_is() {
    // Root is refused nothing, so the command runs as another user, from a folder that this user can read.
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    // Another process copies `hls`: if this process had the copy open for writing while another test forks, the copy
    // could not be executed for a moment.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_hls")).arg(at("hls")).status().unwrap().success());
    fs::copy(figure_1(), at("figure1.kdl")).unwrap();
    fs::create_dir(at("closed")).unwrap();
    fs::create_dir(at("open")).unwrap();
    fs::write(at("open/kept"), "before").unwrap();
    fs::set_permissions(at("open/kept"), Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(at("open"), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(at("closed"), Permissions::from_mode(0o555)).unwrap();
    let is_root = File::create(at("closed/probe")).is_ok();
    let _ = fs::remove_file(at("closed/probe"));
    for output in OUTPUTS {
        for path in ["closed/file", "open/kept"] {
            let mut command = Command::new(at("hls"));
            command.args(["run", "figure1.kdl", "--for", "1s", output, path]).current_dir(directory.path());
            if is_root {
                command.uid(NOBODY);
            }
            assert_failed(&command.output().unwrap().into(), path, "permission denied");
        }
    }
    assert_eq!((entries(&at("closed")), entries(&at("open"))), (0, 1));
    assert_eq!(fs::read_to_string(at("open/kept")).unwrap(), "before");
}

#[test]
fn results_that_cannot_be_printed_are_an_error() {
    for args in [&["policies"][..], &["check", &figure_1()], &["run", &figure_1(), "--for", "1s", "--json"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let outcome: Outcome = command(args).stdout(Stdio::from(full)).output().unwrap().into();
        assert_eq!(outcome.code, Some(3), "{args:?}");
        assert!(outcome.stderr.starts_with("hls: standard output: No space left"), "{}", outcome.stderr);
    }
}

#[test]
fn a_file_that_was_there_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picture.svg");
    fs::write(&path, "before").unwrap();
    let outcome = hls(&["run", &figure_1(), "--for", "1s", "--timeline", path.to_str().unwrap()]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains(&format!("timeline: {} (open it in a browser)", path.display())));
    assert!(fs::read_to_string(&path).unwrap().starts_with("<svg"));
    assert_eq!(entries(directory.path()), 1);
}
