//! The texts that teach a user: the help and the list of policies.

use super::outcome::{Outcome, assert_refused, hls};
use std::fs;

#[test]
fn every_help_fits_a_terminal() {
    for (args, width) in [
        (&["--help"][..], 100),
        (&["check", "--help"], 100),
        (&["run", "--help"], 100),
        (&["baseline", "--help"], 100),
        (&["guarantee", "--help"], 100),
        (&["doctor", "--help"], 100),
        (&["policy", "--help"], 100),
        (&["ctl", "--help"], 100),
        (&["guarantee", "RESBH 10ms 33ms"], 100),
        (&["policies"], 80),
    ] {
        let Outcome { code, stdout, stderr } = hls(args);
        assert_eq!((code, &stderr[..]), (Some(0), ""), "{args:?}");
        let widest = stdout.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= width, "{args:?}: {widest}");
    }
}

#[test]
fn the_hierarchy_in_the_help_is_right() {
    let help = hls(&["--help"]).stdout;
    let (_, rest) = help.split_once("how threads share the CPUs:\n").unwrap();
    let (example, _) = rest.split_once("\nWhat can be asked for").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("example.kdl");
    fs::write(&path, example).unwrap();
    let outcome = hls(&["run", path.to_str().unwrap(), "--for", "1s", "--cpus", "1"]);
    assert_eq!((outcome.code, &outcome.stderr[..]), (Some(0), ""), "{example}");
}

#[test]
fn every_policy_is_listed_with_every_parameter() {
    let list = hls(&["policies"]).stdout;
    for policy in hls_hierarchy::policies() {
        let (_, of_policy) = list.split_once(&format!("{}\n  {}", policy.name, &policy.doc[..10])).unwrap();
        let (of_policy, _) = of_policy.split_once("\n\n").unwrap();
        assert!(of_policy.contains("  accepts   ") && of_policy.contains("  provides  "), "{of_policy}");
        for param in policy.scheduler_params.iter().chain(&policy.vp_params) {
            assert!(of_policy.contains(&format!("\n    {} ", param.name)), "{}: {}", policy.name, param.name);
        }
    }
}

#[test]
fn no_command_and_an_unknown_one_are_bad_usage() {
    assert_refused(&[], &["Usage: hls <COMMAND>"]);
    assert_refused(&["simulate"], &["unrecognized subcommand 'simulate'"]);
    assert_refused(&["check"], &["<FILE>"]);
}
