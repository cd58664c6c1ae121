//! The kernel engine in the test machine: scripts that run `hls` on a kernel with sched_ext, under every kind of storm,
//! with its invariants checked all the while. The scripts of `short/`, of `exact/`, where time is exact, and of
//! `parallel/` and `agents/`, where CPUs run at once, are part of every test; those of `long/`, longer forms of the
//! others, and those of `exact/` on a kernel with PREEMPT_RT are run by `make storm`.
//!
//! Relies on `hls_vm`, on stress-ng, and on the built `hls`. Where there is no test machine the tests say so and are
//! skipped, except in continuous integration.

mod selftests;

use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target};
use hls_vm::{Accel, Flavour, Guest, Machine, Outcome, Script, Time, Vm};
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How much of everything: what a script does again and again is set before its first line.
const SHORT: &str = "KILLS='300 2000'\nCYCLES=2\nSTORM=2\nCHURN=120\nMIXED=60\nAGENTS=25\n";
const LONG: &str = "KILLS=$(seq 50 97 4000)\nCYCLES=100\nSTORM=60\nSTEPS=$(seq 1 3 28)\nCHURN=1800\nMIXED=600\n\
    AGENTS=600\nINSTANTS=32\n";

/// Programs of the tests' own, by their files.
const OWN: [&str; 17] = [
    "saboteur",
    "mover",
    "crowd",
    "teller",
    "in_kernel",
    "churn",
    "census",
    "attacker",
    "herd",
    "into_cgroup",
    "chooser",
    "flood",
    "composite",
    "warden",
    "holder",
    "promoter",
    "upcall",
];

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel")
}

/// All scripts of a folder, in order, each with the shell variables that `set` sets.
fn scripts(folder: &str, set: &str) -> Vec<Script> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(here().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| script(path, set)).collect()
}

fn script(path: &Path, set: &str) -> Script {
    let script = Script::read(path).unwrap();
    Script { text: script.text.replacen('\n', &format!("\n{set}"), 1), ..script }
}

/// All storms, or those that `STORMS` names.
fn wanted<T: Clone>(storms: Vec<T>, script: impl Fn(&T) -> &Script) -> Vec<T> {
    let Ok(names) = env::var("STORMS") else { return storms };
    let of_name = |name: &str| {
        let found = storms.iter().find(|storm| script(storm).name.strip_suffix(".sh") == Some(name));
        found.cloned().unwrap_or_else(|| panic!("found no storm `{name}`"))
    };
    names.split_whitespace().map(of_name).collect()
}

/// What the environment says, or else the preset.
fn of_environment(name: &str, preset: &str) -> String {
    env::var(name).unwrap_or_else(|_| preset.to_owned())
}

/// Compiles one of the tests' own C programs into the folder. Returns its path.
fn compiled(name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    let status = Command::new("gcc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here().join("../../../.."))
        .arg(here().join(name).with_extension("c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{name} cannot be compiled");
    program
}

/// The folder in which the test machine's kernel is kept, and programs that were built from its source.
fn cache() -> PathBuf {
    here().join("../../../../.cache/vm")
}

/// A machine of two processors, whose instructions QEMU translates, so that every host does the same.
fn machine(limit: Duration) -> Machine {
    Machine { time: Time::Free(Accel::Tcg), limit, ..Machine::default() }
}

/// Processors that run at once.
fn parallel_machine(cpus: u32, limit: Duration) -> Machine {
    Machine { cpus, time: Time::Free(Accel::Parallel), ..machine(limit) }
}

/// Boots this flavour of the kernel once and runs the scripts; `None` where that cannot be done here.
fn boot(flavour: Flavour, scripts: Vec<Script>, machine: &Machine) -> Option<Outcome> {
    let vm = Vm::open_or_skip(&cache(), flavour).unwrap()?;
    Some(run(&vm, machine, scripts, None))
}

/// Runs the scripts in the guest, which has `hls` and what the scripts need, and `program`, beside it.
fn run(vm: &Vm, machine: &Machine, scripts: Vec<Script>, program: Option<PathBuf>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let stripped = folder.path().join("hls");
    // With its symbols `hls` would take a tenth of the guest's memory, twice.
    let strip = Command::new("strip").arg("-o").arg(&stripped).arg(env!("CARGO_BIN_EXE_hls")).status();
    assert!(strip.is_ok_and(|status| status.success()), "hls cannot be stripped");
    let mut programs = vec![stripped];
    programs.extend(OWN.map(|name| compiled(name, folder.path())));
    programs.extend(["stress-ng", "chrt", "taskset", "renice"].map(PathBuf::from));
    programs.extend(program);
    let built = built_policies(folder.path(), &scripts);
    let files = vec![
        (here(), "/usr/kernel".into()),
        (folder.path().join("policies"), "/usr/policies".into()),
        // The guest has no compilers. In this folder it finds what compilers would make.
        (built, "/usr/cache/hls/policies".into()),
    ];
    vm.run_quietly(machine, &Guest { scripts, programs, files }, folder.path()).unwrap()
}

/// Copies the policies of the examples, of the gallery and of these tests, and builds the engines that the scripts
/// load. Returns the folder.
fn built_policies(folder: &Path, scripts: &[Script]) -> PathBuf {
    let (copies, cache) = (folder.join("policies"), folder.join("built"));
    for folder in [&copies, &cache] {
        fs::create_dir(folder).unwrap();
    }
    let sources =
        ["examples/policies", "crates/policy-build/tests/gallery", "crates/cli/tests/kernel/policies"];
    for source in sources {
        for entry in fs::read_dir(here().join("../../../..").join(source)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "c") {
                fs::copy(&path, copies.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let builder = Builder { cache: Some(cache.clone()), ..Builder::default() };
    for engine in scripts.iter().flat_map(|script| engines(script, &copies)) {
        let files = engine.iter().map(|name| PolicyFile::read(&copies.join(name)).unwrap());
        let policies: Vec<_> = NUMBERS.zip(files).collect();
        for target in [Target::Description, Target::Engine] {
            builder.build(target, &policies).unwrap();
        }
    }
    cache
}

/// The engines that a script loads, each by its policies' files: one with each that the script names, one with all in a
/// line that begins `# Together: `; the script `gallery` loads each policy of the gallery, and all together, as far as
/// compiler and verifier let them through.
fn engines(script: &Script, policies: &Path) -> Vec<Vec<String>> {
    let together = script.text.lines().filter_map(|line| line.strip_prefix("# Together: "));
    let mut engines: Vec<Vec<_>> =
        together.map(|names| names.split(' ').map(str::to_owned).collect()).collect();
    let mut gallery = Vec::new();
    for entry in fs::read_dir(policies).unwrap() {
        let path = entry.unwrap().path();
        let (name, text) = (path.file_name().unwrap().to_str().unwrap(), fs::read_to_string(&path).unwrap());
        let is_hung_here = script.name.starts_with("gallery") && text.contains("Noticed: ");
        if is_hung_here && !text.contains("by the compiler") && !text.contains("by the verifier") {
            gallery.push(name.to_owned());
        }
        if script.text.contains(name) || is_hung_here && !text.contains("by the compiler") {
            engines.push(vec![name.to_owned()]);
        }
    }
    gallery.sort();
    engines.extend((!gallery.is_empty()).then_some(gallery));
    engines
}

/// What failed is said at once: other tests may still take half an hour.
fn is_clean(outcome: &Outcome) {
    for script in outcome.scripts.iter().filter(|script| script.status != Some(0)) {
        say(&format!("== {} ({:?})\n{}\n", script.name, script.status, script.output));
    }
    assert!(outcome.is_clean(), "{:?} {:?} {}", outcome.problems, outcome.cut_short, outcome.kernel_log);
}

/// Not by `eprintln`: what that prints a test that passes keeps to itself, and any other one until all have ended.
fn say(text: &str) {
    io::stderr().write_all(text.as_bytes()).unwrap();
}

/// The environment may have more instants at which hls is killed (`INSTANTS`).
#[test]
fn the_engine_weathers_the_storms() {
    // With threads of the kernel for the work of packets.
    let machine = Machine { append: "thread_backlog_napi".into(), ..machine(Duration::from_secs(3600)) };
    let set = format!("{SHORT}INSTANTS={}\n", of_environment("INSTANTS", "4"));
    let scripts = wanted(scripts("short", &set), |script| script);
    if let Some(outcome) = boot(Flavour::Cloud, scripts, &machine) {
        is_clean(&outcome);
    }
}

#[test]
fn promises_are_kept_where_time_is_exact() {
    keeps_promises(Flavour::Cloud);
}

/// How much was done and checked.
fn print(outcome: &Outcome) {
    outcome.scripts.iter().for_each(|script| say(&script.output));
}

#[test]
#[ignore = "needs another kernel: make storm"]
fn promises_are_kept_by_a_real_time_kernel_where_time_is_exact() {
    keeps_promises(Flavour::Rt);
}

fn keeps_promises(flavour: Flavour) {
    let time = Time::Exact { shift: 2 };
    let machine = Machine { cpus: 1, time, ..machine(Duration::from_secs(3600)) };
    let scripts = wanted(scripts("exact", SHORT), |script| script);
    if let Some(outcome) = boot(flavour, scripts, &machine) {
        is_clean(&outcome);
        print(&outcome);
    }
}

#[test]
#[ignore = "takes two hours: make storm"]
fn the_engine_weathers_long_storms() {
    let limit = Duration::from_secs(3600);
    let of = |folder: &str, machine: Machine| {
        scripts(folder, LONG).into_iter().map(move |script| (script, machine.clone()))
    };
    let storms = of("short", machine(limit)).chain(of("long", machine(limit)));
    let storms = storms.chain(of("agents", parallel_machine(2, limit)));
    let storms = storms.chain(of("parallel", parallel_machine(8, limit))).collect();
    for (script, machine) in wanted(storms, |(script, _)| script) {
        if let Some(outcome) = boot(Flavour::Cloud, vec![script], &machine) {
            is_clean(&outcome);
            print(&outcome);
        }
    }
}

/// The fewer CPUs, the less it depends on the host what a thread gets, and when a request is answered.
#[test]
fn agents_take_nothing_from_others_where_cpus_run_at_once() {
    let machine = parallel_machine(2, Duration::from_secs(1800));
    if let Some(outcome) = boot(Flavour::Cloud, wanted(scripts("agents", SHORT), |script| script), &machine) {
        is_clean(&outcome);
        print(&outcome);
    }
}

#[test]
fn the_engine_loses_no_thread_where_cpus_run_at_once() {
    let limit = Duration::from_secs(1800);
    // The guest's kernel takes its CPUs for real ones: they get the lock of the hierarchy in the order of tickets. No
    // more CPUs than most hosts have, or a CPU whose turn it is would stand still.
    let real = Machine { append: "clearcpuid=hypervisor".into(), ..parallel_machine(2, limit) };
    let churn = script(&here().join("parallel/1-churn.sh"), "CHURN=30\n");
    let all = wanted(scripts("parallel", SHORT), |script| script);
    for (scripts, machine) in [(all, parallel_machine(4, limit)), (vec![churn], real)] {
        if let Some(outcome) = boot(Flavour::Cloud, scripts, &machine) {
            is_clean(&outcome);
            print(&outcome);
        }
    }
}

/// The environment may have other numbers of threads (`HERDS`), and another hold that is no failure (`MOST_NS`).
#[test]
#[ignore = "takes ten minutes: make storm"]
fn the_lock_is_held_for_as_long_with_many_threads_as_with_few() {
    let herds = of_environment("HERDS", "1000 10000");
    let set = format!("HERDS='{herds}'\nMOST_NS={}\n", of_environment("MOST_NS", "20000"));
    let time = Time::Exact { shift: 1 };
    let machine = Machine { memory_mib: 6144, time, ..machine(Duration::from_secs(7200)) };
    if let Some(outcome) = boot(Flavour::Cloud, vec![script(&here().join("holds.sh"), &set)], &machine) {
        is_clean(&outcome);
        print(&outcome);
    }
}

#[test]
#[ignore = "takes minutes: make storm"]
fn bad_policies_break_nobody_elses_promise_where_time_is_exact() {
    let machine = Machine { cpus: 1, time: Time::Exact { shift: 1 }, ..machine(Duration::from_secs(3600)) };
    let gallery = script(&here().join("long/gallery.sh"), "TOGETHER=1\n");
    if let Some(outcome) = boot(Flavour::Cloud, vec![gallery], &machine) {
        is_clean(&outcome);
    }
}

#[test]
#[ignore = "takes ten minutes: make storm"]
fn the_kernels_own_tests_pass_as_before() {
    let Some(vm) = Vm::open_or_skip(&cache(), Flavour::Cloud).unwrap() else { return };
    let runner = selftests::runner(&vm, &cache());
    // The kernel's tests have deadlines of a second, which a busy host would miss.
    let machine = Machine { time: Time::Exact { shift: 0 }, ..machine(Duration::from_secs(3600)) };
    let outcome = run(&vm, &machine, vec![script(&here().join("selftests.sh"), "CYCLES=5\n")], Some(runner));
    // The kernel complains, as it should: many of its tests load schedulers that do wrong.
    let [script] = &outcome.scripts[..] else { panic!("{:?} {}", outcome.cut_short, outcome.kernel_log) };
    println!("{}", script.output);
    assert_eq!(script.status, Some(0), "{}", outcome.kernel_log);
}

/// Runs only on a host whose kernel has no sched_ext, so that the test can never attach a scheduler to the host.
#[test]
fn a_kernel_without_sched_ext_is_an_error() {
    if Path::new("/sys/kernel/sched_ext").exists() {
        eprintln!("skipped: this kernel has sched_ext");
        return;
    }
    let file = here().join("any.kdl");
    let output = Command::new(env!("CARGO_BIN_EXE_hls"))
        .args(["run", "--engine", "kernel", "--for", "1ms"])
        .arg(file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("hls doctor says what this takes"), "{said}");
}
