//! The test machine as the experiments use it: one CPU, whose every instruction takes a fixed time, so that every run
//! gives the same numbers.

use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target};
use hls_vm::{CutShort, Guest, Machine, Outcome, Time, Vm};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The test machine, and what holds for every experiment in it.
pub struct ExactVm<'a> {
    /// The test machine.
    pub vm: &'a Vm,
    /// An instruction takes 2^`shift` ns: at 1 there are 500 million a second, on a CPU of 500 MHz in the thesis.
    pub shift: u32,
    /// How long all of an experiment may take, in time of the host.
    pub limit: Duration,
    /// Where logs and results go; made if need be.
    pub results: PathBuf,
}

impl ExactVm<'_> {
    /// Boots and runs the scripts of the guest, all of which must end with 0. The kernel's command line ends with
    /// `append`.
    ///
    /// # Errors
    /// All that went wrong; what the kernel complained about.
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

/// Of this repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Vassal's sample policy.
pub(crate) fn sample() -> PathBuf {
    root().join("examples/policies/asked_times.c")
}

/// What the guest needs to load these policies, each by itself. It has no compilers, so it gets what those of this
/// machine have made, in the folder `work`.
pub(crate) fn builds<'p>(
    policies: impl IntoIterator<Item = &'p Path>,
    work: &Path,
) -> Result<(PathBuf, String), String> {
    let built = work.join("built");
    let builder = Builder { cache: Some(built.clone()), ..Builder::default() };
    for policy in policies {
        let file = PolicyFile::read(policy).map_err(|error| error.to_string())?;
        for target in [Target::Native, Target::Engine] {
            builder.build(target, &[(*NUMBERS.start(), file.clone())]).map_err(|error| error.to_string())?;
        }
    }
    // In the guest's home, which is /, is where hls looks for builds.
    Ok((built, "/.cache/hls/policies".into()))
}
