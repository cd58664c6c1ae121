//! The texts that teach a user: the help, completions and manual pages, and the list of policies.

use super::outcome::{Outcome, assert_refused, hls};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Output};

/// The names of the commands below a command, as the help of that command lists them.
fn below(command: &[String]) -> Vec<String> {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["-h"]).collect();
    let help = hls(&words).stdout;
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// All commands, each by its words behind `hls`: none at first, then `check`, `ctl status` ...
fn commands() -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut at = 0;
    while let Some(command) = commands.get(at).cloned() {
        commands.extend(below(&command).into_iter().map(|name| [&command[..], &[name]].concat()));
        at += 1;
    }
    assert!(commands.len() >= 30, "the help has lost its commands: {commands:?}");
    commands
}

fn assert_fits(args: &[&str], width: usize) {
    let Outcome { code, stdout, stderr } = hls(args);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{args:?}");
    let widest = stdout.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= width, "{args:?}: {widest}");
}

#[test]
fn every_help_fits_a_terminal() {
    for command in commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        assert_fits(&words, 100);
    }
    assert_fits(&["guarantee", "RESBH 10ms 33ms"], 100);
    assert_fits(&["policies"], 80);
}

/// The output of a program; `None` where this machine does not have it.
fn output_of(program: &str, args: &[&str]) -> Option<Output> {
    match Command::new(program).args(args).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: this machine has no `{program}`");
            None
        }
        output => Some(output.unwrap()),
    }
}

/// What bash offers behind each command are the commands of the help, and options.
#[test]
fn bash_completes_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hls.bash");
    let Outcome { code, stdout, stderr } = hls(&["completions", "bash"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    fs::write(&path, stdout).unwrap();
    let script = path.to_str().unwrap();
    let Some(read) = output_of("bash", &["-n", script]) else { return };
    assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
    let complete = "source \"$1\"; shift; COMP_WORDS=(\"$@\" ''); COMP_CWORD=$#; _hls hls '' \"${!#}\"; \
                    printf '%s\\n' \"${COMPREPLY[@]}\"";
    for command in commands() {
        let words = command.iter().map(String::as_str);
        let args: Vec<&str> = ["-c", complete, "bash", script, "hls"].into_iter().chain(words).collect();
        let offered = String::from_utf8(output_of("bash", &args).unwrap().stdout).unwrap();
        let is_command = |word: &&str| !word.is_empty() && !word.starts_with('-') && *word != "help";
        let offered: BTreeSet<&str> = offered.lines().filter(is_command).collect();
        let names = below(&command);
        if !names.is_empty() {
            assert_eq!(offered, names.iter().map(String::as_str).collect(), "hls {}", command.join(" "));
        }
    }
}

#[test]
fn every_shell_has_completions() {
    let commands = commands();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let Outcome { code, stdout, stderr } = hls(&["completions", shell]);
        assert_eq!((code, &stderr[..]), (Some(0), ""), "{shell}");
        assert!(commands.iter().flatten().all(|name| stdout.contains(name)), "{shell}");
    }
    assert_refused(&["completions", "csh"], &["invalid value 'csh'", "possible values: bash"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("share/man1");
    let Outcome { code, stdout, stderr } = hls(&["man", folder.to_str().unwrap()]);
    assert_eq!((code, &stdout[..], &stderr[..]), (Some(0), "", ""));
    let page =
        |command: &Vec<String>| format!("{}.1", [&["hls".to_owned()], &command[..]].concat().join("-"));
    let expected: BTreeSet<String> = commands().iter().map(page).collect();
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(entries.collect::<BTreeSet<String>>(), expected);
    for page in &expected {
        let path = folder.join(page);
        assert!(fs::read_to_string(&path).unwrap().contains("\n.SH SYNOPSIS\n"), "{page}");
        let args = ["-man", "-Tutf8", "-ww", path.to_str().unwrap()];
        let Some(Output { status, stdout, stderr }) = output_of("groff", &args) else { return };
        assert!(status.success() && !stdout.is_empty(), "{page}");
        assert!(stderr.is_empty(), "{page}: {}", String::from_utf8_lossy(&stderr));
    }
}

#[test]
fn manual_pages_that_cannot_be_written_are_an_error() {
    let Outcome { code, stdout, stderr } = hls(&["man", "/dev/null/man1"]);
    assert_eq!((code, &stdout[..]), (Some(3), ""), "{stderr}");
    assert!(stderr.starts_with("hls: cannot write /dev/null/man1: Not a directory"), "{stderr}");
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
