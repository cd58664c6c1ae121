//! `cost`: measures what a switch between threads costs in the kernel, by scheduler and by depth, and what it costs
//! to load an engine, by the policies that it has; `make cost` calls it.
//!
//!     cost [switches] [policies]          one of them, or both
//!     cost budget                         whether a load costs more than the part `policies` found before
//!
//! Boots the test machine once for each, where time is counted in instructions. Prints tables, and writes the figures
//! to `experiments/cost/results.csv`, `policies.csv` and `programs.csv`; the README beside them says what is counted.
//! `budget` writes nothing. Exit status: 0 all goals are reached, 1 one is missed, 2 wrong input, 3 the system failed.

mod figures;
mod policies;
mod simple;

use figures::{Figures, Place};
use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target};
use hls_vm::{Error, Flavour, Guest, Machine, Outcome, Script, Time, Vm};
use policies::{Costs, Loads};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use tempfile::TempDir;

/// How many schedulers are above each thread. For the fair class, which is a scheduler itself, the others are cgroups.
const DEPTHS: [u32; 5] = [1, 2, 4, 8, 16];

/// Our policies that are measured, once built in and once loaded.
const POLICIES: [&str; 2] = ["fixed-priority", "proportional-share"];

/// The command that measures under each scheduler, with the number of its batches.
const PIPE: &str = "pipe 40";

/// The prefix of the name of a policy that is loaded.
const LOADED: &str = "loaded-";

fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    match measure(&parts) {
        Ok(are_reached) => ExitCode::from(u8::from(!are_reached)),
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::from(if matches!(error, Error::Input(_)) { 2 } else { 3 })
        }
    }
}

/// Measures the named parts, or all; returns whether the goals are reached.
fn measure(parts: &[String]) -> Result<bool, Error> {
    if let Some(part) = parts.iter().find(|part| !["switches", "policies", "budget"].contains(&part.as_str()))
    {
        return Err(Error::Input(format!(
            "found the part `{part}`, expected `switches`, `policies` or `budget`"
        )));
    }
    let is_named = |part: &str| parts.iter().any(|wanted| wanted == part);
    let is_wanted = |part: &str| parts.is_empty() || is_named(part);
    let lab = Lab::open(Path::new(".cache/vm"))?;
    let mut are_reached = true;
    if is_wanted("switches") {
        let figures = Figures::read(&lab.boot(script(), lab.schedulers()?, "switches")?)?;
        lab.write("results.csv", &figures.csv(&lab.vm.kernel().release))?;
        print!("{}", figures.table());
        are_reached = figures.verdicts().iter().all(|verdict| verdict.kept);
    }
    if is_wanted("policies") {
        let costs = lab.costs()?;
        let release = &lab.vm.kernel().release;
        lab.write("policies.csv", &costs.csv(release))?;
        lab.write("programs.csv", &costs.programs_csv(release))?;
        print!("{}", costs.table());
    }
    if is_named("budget") {
        let rises = lab.loads()?.rises(&lab.read("policies.csv")?, MOST_PERCENT);
        rises.iter().for_each(|rise| println!("{rise}"));
        are_reached &= rises.is_empty();
    }
    Ok(are_reached)
}

/// The most by which a load may cost more than it did, in percent.
const MOST_PERCENT: u64 = 3;

/// The folder of the figures.
const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/cost");

/// The test machine, and a folder for what is compiled for it.
struct Lab {
    vm: Vm,
    cache: PathBuf,
    work: TempDir,
}

impl Lab {
    fn open(cache: &Path) -> Result<Lab, Error> {
        let vm = Vm::open(cache, Flavour::Cloud)?;
        let work =
            tempfile::tempdir().map_err(|error| Error::Failed(format!("a folder for work: {error}")))?;
        Ok(Lab { vm, cache: cache.to_owned(), work })
    }

    /// Runs the script in one boot, in which the programs `pipe` and `load` and these files are there; returns what it
    /// printed.
    fn boot(&self, script: String, files: Vec<(PathBuf, String)>, name: &str) -> Result<String, Error> {
        let pipe = self.work.path().join("pipe");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pipe.c");
        compile(Command::new("gcc").args(["-O2", "-static", "-o"]).arg(&pipe).arg(source))?;
        let guest = Guest {
            scripts: vec![Script { name: "cost".into(), text: script }],
            programs: vec![pipe, built_beside("load")?],
            files,
        };
        let machine = Machine {
            cpus: 1,
            time: Time::Exact { shift: 0 },
            limit: Duration::from_secs(1800),
            ..Machine::default()
        };
        output(&self.vm.run_quietly(&machine, &guest, &Path::new("out/cost").join(name))?)
    }

    /// scx_simple, and the engine with our policies as loaded ones, with their places in the guest.
    fn schedulers(&self) -> Result<Vec<(PathBuf, String)>, Error> {
        let simple = simple::object(&self.vm, &self.cache, self.work.path())?;
        Ok([vec![(simple, "/simple.bpf.o".into())], loaded(self.work.path())?].concat())
    }

    /// What engines cost.
    fn costs(&self) -> Result<Costs, Error> {
        Costs::read(&self.measure_engines(PIPE)?)
    }

    /// What it costs to load engines, and no more.
    fn loads(&self) -> Result<Loads, Error> {
        Loads::read(&self.measure_engines("")?)
    }

    fn measure_engines(&self, command: &str) -> Result<String, Error> {
        self.boot(policies::script(command), policies::engines(self.work.path())?, "policies")
    }

    /// Writes figures beside the README that says what they are.
    fn write(&self, name: &str, figures: &str) -> Result<(), Error> {
        let path = Path::new(FIGURES).join(name);
        std::fs::write(&path, figures).map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
    }

    /// Reads figures that were written before.
    fn read(&self, name: &str) -> Result<String, Error> {
        let path = Path::new(FIGURES).join(name);
        std::fs::read_to_string(&path).map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
    }
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
    measure(
        "scx_simple",
        Place::OneLeaf,
        1,
        &format!("load simple /simple.bpf.o sh -c 'unprobed; exec {PIPE}'"),
    );
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
    text.replacen("\nsleep", &format!("\n{UNPROBED}{NEST}sleep"), 1)
}

/// A program that ends some work of the kernel: once a scheduler that could print is loaded, the kernel notes the name
/// of each thread at each switch, which takes 54 instructions, even after the scheduler has gone.
const UNPROBED: &str =
    "echo 'echo 0 >/sys/kernel/tracing/events/bpf_trace/bpf_trace_printk/enable' >/bin/unprobed
chmod +x /bin/unprobed
";

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
    let path = path.map_err(|error| Error::Failed(format!("the path of `cost`: {error}")))?;
    Ok(path.with_file_name(name))
}
