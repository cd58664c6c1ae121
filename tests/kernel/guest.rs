//! What a guest of these tests has: `hls`, programs of the tests' own, and engines with the policies that its scripts
//! load. The engines are built before, since a guest has no compilers.

use crate::here;
use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target};
use hls_vm::{Error, Flavour, Guest, Machine, Outcome, Script, Vm};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of the tests' own, by their files.
const OWN: [&str; 22] = [
    "saboteur",
    "mover",
    "crowd",
    "teller",
    "in_kernel",
    "churn",
    "storm",
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
    "merger",
    "asker",
    "grace",
    "hog",
];

/// Boots this flavour of the kernel once and runs the scripts in the guest, which has what they need, and `program`,
/// beside it.
///
/// # Errors
/// The errors of [`Vm::open`] and [`Vm::run`].
pub fn run(
    flavour: Flavour,
    machine: &Machine,
    scripts: Vec<Script>,
    program: Option<PathBuf>,
) -> Result<Outcome, Error> {
    let vm = Vm::open(&cache(), flavour)?;
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
        // In this folder the guest finds what compilers would make.
        (built, "/usr/cache/hls/policies".into()),
    ];
    vm.run_quietly(machine, &Guest { scripts, programs, files }, folder.path())
}

/// Compiles one of the tests' own C programs into the folder. Returns its path.
fn compiled(name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    let status = Command::new("gcc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here().join("../.."))
        .arg(here().join(name).with_extension("c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{name} cannot be compiled");
    program
}

/// The folder in which the test machine's kernel is kept, and programs that were built from its source.
pub fn cache() -> PathBuf {
    here().join("../../.cache/vm")
}

/// Copies the policies of the examples, of the gallery and of these tests, and builds the engines that the scripts
/// load. Returns the folder.
fn built_policies(folder: &Path, scripts: &[Script]) -> PathBuf {
    let (copies, cache) = (folder.join("policies"), folder.join("built"));
    for folder in [&copies, &cache] {
        fs::create_dir(folder).unwrap();
    }
    let sources = ["examples/policies", "crates/policy-build/tests/gallery", "tests/kernel/policies"];
    for source in sources {
        for entry in fs::read_dir(here().join("../..").join(source)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "c") {
                fs::copy(&path, copies.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    for engine in scripts.iter().flat_map(|script| engines(script, &copies)) {
        let (files, literature): (Vec<_>, Vec<_>) = engine.iter().partition(|name| name.ends_with(".c"));
        let literature = literature.into_iter().map(|name| literature_number(name)).collect();
        let builder = Builder { cache: Some(cache.clone()), literature, ..Builder::default() };
        let files = files.into_iter().map(|name| PolicyFile::read(&copies.join(name)).unwrap());
        let policies: Vec<_> = NUMBERS.zip(files).collect();
        for target in [Target::Description, Target::Engine] {
            builder.build(target, &policies).unwrap();
        }
    }
    cache
}

/// The number of a policy of the literature.
fn literature_number(name: &str) -> u8 {
    let found = hls_core::policies().iter().find(|info| info.name == name);
    found.unwrap_or_else(|| panic!("found no policy `{name}`")).id
}

/// The engines that a script loads, each by its policies' files and the names of its policies of the literature: one
/// with each file that the script names, one with all in a line that begins `# Engine: `; the script `gallery` loads
/// each policy of the gallery, and all together, as far as compiler and verifier let them through.
fn engines(script: &Script, policies: &Path) -> Vec<Vec<String>> {
    let stated = script.text.lines().filter_map(|line| line.strip_prefix("# Engine: "));
    let mut engines: Vec<Vec<_>> =
        stated.map(|names| names.split(' ').map(str::to_owned).collect()).collect();
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
