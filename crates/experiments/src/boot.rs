//! The test machine as the experiments use it: with one CPU, on which every instruction takes a fixed time, so that
//! every run gives the same numbers.

use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target};
use hls_vm::{CutShort, Guest, Machine, Outcome, Script, Time, Vm};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The test machine with the settings that all experiments on it share.
pub struct ExactVm<'a> {
    /// The test machine.
    pub vm: &'a Vm,
    /// An instruction takes 2^`shift` ns. At 1 there are 500 million a second; the thesis measured a CPU of 500 MHz.
    pub shift: u32,
    /// How long one experiment may take, in time of the host.
    pub limit: Duration,
    /// The folder for logs and results; made if need be.
    pub results: PathBuf,
}

impl ExactVm<'_> {
    /// Boots and runs the scripts of the guest, all of which must exit with 0. The kernel's command line ends with
    /// `append`.
    ///
    /// # Errors
    /// One message for each script that failed, for each complaint of the kernel, and for a run that was cut short.
    pub fn run(&self, guest: &Guest, append: &str) -> Result<Outcome, Vec<String>> {
        let (cpus, time) = (1, Time::Exact { shift: self.shift });
        let (limit, append) = (self.limit, append.to_owned());
        let machine = Machine { cpus, time, append, limit, ..Machine::default() };
        let outcome = self.vm.run_quietly(&machine, guest, &self.results);
        let outcome = outcome.map_err(|error| vec![error.to_string()])?;
        let failed = outcome.scripts.iter().filter(|script| script.status != Some(0));
        let mut errors: Vec<String> =
            failed.map(|script| format!("{}: {}", script.name, script.output.trim())).collect();
        errors.extend(outcome.problems.iter().map(|problem| format!("the kernel complained: {problem}")));
        errors.extend(outcome.cut_short.iter().map(CutShort::to_string));
        if errors.is_empty() { Ok(outcome) } else { Err(errors) }
    }
}

/// The root of this repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a program of one source file into the folder `work`.
pub(crate) fn compiled(root: &Path, source: &str, work: &Path) -> Result<PathBuf, String> {
    let source = root.join(source);
    let program = work.join(source.file_stem().unwrap_or_default());
    let mut gcc = Command::new("gcc");
    gcc.arg("-O2").arg("-I").arg(root.join("include")).arg("-o").arg(&program).arg(source).arg("-lm");
    match gcc.status() {
        Ok(status) if status.success() => Ok(program),
        Ok(status) => Err(format!("gcc failed ({status}); its messages are above")),
        Err(error) => Err(format!("gcc: {error}")),
    }
}

/// A script for a guest that runs hls: these variables, what all such scripts share, and what this one does.
pub(crate) fn script_with_hls(name: &str, variables: &str, text: &str) -> Script {
    let shared = include_str!("run_hls.sh");
    Script { name: name.into(), text: format!("#!/bin/sh\n{variables}\n{shared}{text}") }
}

/// The file of the policy that is like Vassal's sample scheduler.
pub(crate) fn sample() -> PathBuf {
    root().join("examples/policies/asked_times.c")
}

/// Compiles each of these policies for a guest, which has no compilers, and returns the folder of the builds, in
/// `work`, and its place in the guest.
pub(crate) fn builds<'p>(
    policies: impl IntoIterator<Item = &'p Path>,
    work: &Path,
) -> Result<(PathBuf, String), String> {
    let built = work.join("built");
    let builder = Builder { cache: Some(built.clone()), ..Builder::default() };
    for policy in policies {
        let file = PolicyFile::read(policy).map_err(|error| error.to_string())?;
        for target in [Target::Description, Target::Engine] {
            builder.build(target, &[(*NUMBERS.start(), file.clone())]).map_err(|error| error.to_string())?;
        }
    }
    // hls looks for builds here in the home folder, which is / in the guest.
    Ok((built, "/.cache/hls/policies".into()))
}
