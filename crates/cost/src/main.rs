//! `hls-cost`: measures what a switch between threads costs in the kernel, by scheduler and by depth; `make cost` calls
//! it.
//!
//! Boots the test machine once, where time is counted in instructions, and measures a switch through a pipe under each
//! scheduler. Prints a table, and writes the figures to `experiments/cost/results.csv`, whose README says what is
//! counted. Exit status: 0 all goals are reached, 1 one is missed, 2 wrong input, 3 the system failed.

mod figures;
mod simple;

use figures::{Figures, Place};
use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target};
use hls_vm::{Error, Flavour, Guest, Machine, Outcome, Script, Time, Vm};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// How many schedulers are above each thread. For the fair class, which is a scheduler itself, the others are cgroups.
const DEPTHS: [u32; 5] = [1, 2, 4, 8, 16];

/// Our policies that are measured, once built in and once loaded.
const POLICIES: [&str; 2] = ["fixed-priority", "proportional-share"];

/// The command that measures under each scheduler, with the number of its batches.
const PIPE: &str = "pipe 40";

/// The prefix of the name of a policy that is loaded.
const LOADED: &str = "loaded-";

fn main() -> ExitCode {
    match measure(Path::new(".cache/vm"), Path::new("out/cost")) {
        Ok(figures) => {
            print!("{}", figures.table());
            ExitCode::from(u8::from(!figures.verdicts().iter().all(|verdict| verdict.kept)))
        }
        Err(error) => {
            eprintln!("hls-cost: {error}");
            ExitCode::from(if matches!(error, Error::Input(_)) { 2 } else { 3 })
        }
    }
}

/// Measures everything in one boot, so that the figures can be compared with each other.
fn measure(cache: &Path, folder: &Path) -> Result<Figures, Error> {
    let vm = Vm::open(cache, Flavour::Cloud)?;
    let work = tempfile::tempdir().map_err(|error| Error::Failed(format!("a folder for work: {error}")))?;
    let simple = simple::object(&vm, cache, work.path())?;
    let pipe = work.path().join("pipe");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pipe.c");
    compile(Command::new("gcc").args(["-O2", "-static", "-o"]).arg(&pipe).arg(source))?;
    let guest = Guest {
        scripts: vec![Script { name: "cost".into(), text: script() }],
        programs: vec![pipe, built_beside("load")?],
        files: [vec![(simple, "/simple.bpf.o".into())], loaded(work.path())?].concat(),
    };
    let machine = Machine {
        cpus: 1,
        time: Time::Exact { shift: 0 },
        limit: Duration::from_secs(1800),
        ..Machine::default()
    };
    let outcome = vm.run_quietly(&machine, &guest, folder)?;
    let figures = Figures::read(&output(&outcome)?)?;
    let results = Path::new("experiments/cost/results.csv");
    std::fs::write(results, figures.csv(&vm.kernel().release))
        .map_err(|error| Error::Failed(format!("{}: {error}", results.display())))?;
    Ok(figures)
}

/// Builds the engine with our policies as loaded ones, and what they say of themselves; returns the files with their
/// places in the guest.
fn loaded(work: &Path) -> Result<Vec<(PathBuf, String)>, Error> {
    let failed = |error: hls_policy_build::Error| Error::Failed(error.to_string());
    let file = |name: &&str| {
        let path = PathBuf::from(format!("policies/{}.c", name.replace('-', "_")));
        PolicyFile::read(&path)?.renamed(&format!("{LOADED}{name}"))
    };
    let files = POLICIES.iter().map(file).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let files: Vec<(u8, PolicyFile)> = NUMBERS.zip(files).collect();
    let build = |target: Target, place: &str| {
        let path = work.join(place);
        let built = Builder::default().build(target, &files).map_err(failed)?;
        std::fs::write(&path, built.bytes)
            .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
        Ok((path, format!("/{place}")))
    };
    Ok(vec![build(Target::Engine, "loaded.bpf.o")?, build(Target::Description, "loaded.said.o")?])
}

/// The script that measures in the guest. Each line of its output is `SCHEDULER PLACE DEPTH INSTRUCTIONS`.
fn script() -> String {
    // At first the kernel is still busy with its own boot.
    let mut text = String::from("#!/bin/sh -e\nsleep 5\n");
    let mut measure = |scheduler: &str, place: Place, depth: u32, command: &str| {
        let place = place.name();
        writeln!(text, "echo {scheduler} {place} {depth} $({command} | cut -d' ' -f1)")
            .expect("a string takes all");
    };
    measure("SCHED_FIFO", Place::OneLeaf, 1, &format!("{PIPE} fifo"));
    measure("fair", Place::OneLeaf, 1, PIPE);
    for depth in &DEPTHS[1..] {
        for (place, other) in [(Place::OneLeaf, "a"), (Place::TwoBranches, "b")] {
            let below = |top: &str| format!("/sys/fs/cgroup/{top}{}", "/x".repeat(*depth as usize - 2));
            let (one, other) = (below("a"), below(other));
            measure("fair", place, *depth, &format!("nest {one}; nest {other}; {PIPE} {one} {other}"));
        }
    }
    measure("scx_simple", Place::OneLeaf, 1, &format!("load simple /simple.bpf.o {PIPE}"));
    for policy in POLICIES {
        for (place, branches) in [(Place::OneLeaf, "one"), (Place::TwoBranches, "two")] {
            for depth in DEPTHS {
                measure(policy, place, depth, &format!("load {policy} {depth} {branches} {PIPE}"));
            }
        }
        for depth in DEPTHS {
            let policy = format!("{LOADED}{policy}");
            measure(&policy, Place::TwoBranches, depth, &format!("load {policy} {depth} two {PIPE}"));
        }
    }
    text.replacen("\nsleep", &format!("\n{NEST}sleep"), 1)
}

/// A shell function that makes a cgroup, with a CPU controller at every level above it: so the fair class has as many
/// levels of run queues.
const NEST: &str = "nest() {
	mkdir -p \"$1\"
	folder=/sys/fs/cgroup
	for name in $(echo \"${1#$folder}\" | tr / ' '); do
		echo +cpu >$folder/cgroup.subtree_control
		folder=$folder/$name
	done
}
";

fn output(outcome: &Outcome) -> Result<String, Error> {
    let output: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    if outcome.is_clean() {
        Ok(output)
    } else {
        Err(Error::Failed(format!("the guest failed: {outcome:#?}")))
    }
}

/// Runs a compiler.
fn compile(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Failed(format!("{name} failed ({status}); its messages are above"))),
        Err(error) => Err(Error::Unavailable(format!("{name}: {error}"))),
    }
}

/// The path of a program that was built with this one, in the same folder.
fn built_beside(name: &str) -> Result<PathBuf, Error> {
    let path = std::env::current_exe();
    let path = path.map_err(|error| Error::Failed(format!("the path of hls-cost: {error}")))?;
    Ok(path.with_file_name(name))
}
