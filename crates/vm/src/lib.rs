//! The test machine: boots a Debian kernel with sched_ext in QEMU, runs scripts in it, and brings back what they
//! printed, their exit statuses, the files that they left, and what the kernel complained about.
//!
//! Relies on QEMU, on apt for the kernel, and on a static busybox for the guest. Never changes the machine that it runs
//! on: all that it writes is in the folder of its cache and in the folder of the run.

mod apt;
mod emulator;
mod error;
mod guest;
mod host;
mod kernel;
mod kvm;
mod machine;
mod outcome;
mod run;
mod source;
mod tool;
mod tsc;
mod verdict;

pub use apt::Apt;
pub use error::Error;
pub use guest::{Guest, Script};
pub use kernel::{Flavour, Kernel};
pub use machine::{Accel, Machine, Time};
pub use outcome::{CutShort, Outcome, ScriptOutcome};
pub use verdict::Verdict;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the folder, in the folder of a run, for the files that scripts left in `$OUT`.
pub const OUT: &str = "guest-out";

/// A test machine that is ready to boot.
#[derive(Debug, Clone)]
pub struct Vm {
    kernel: Kernel,
    cache: PathBuf,
}

/// Where the output of the guest is shown while it runs.
pub struct Show<'a> {
    /// What the scripts print.
    pub output: &'a mut dyn Write,
    /// What the kernel prints on its console.
    pub kernel: &'a mut dyn Write,
}

impl Vm {
    /// The test machine with a kernel of this flavour from the folder `cache`, fetched into it now if it is missing.
    ///
    /// # Errors
    /// `Unavailable` with the reason when the test machine cannot run on this machine.
    pub fn open(cache: &Path, flavour: Flavour) -> Result<Vm, Error> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(Error::Unavailable("its kernel and the programs put in are for x86-64".into()));
        }
        if tool::find(Path::new(machine::QEMU)).is_none() {
            let what = machine::QEMU;
            return Err(Error::Unavailable(format!("{what} is missing (Debian's qemu-system-x86)")));
        }
        let cache = std::path::absolute(cache).map_err(error::failed(cache.display()))?;
        Ok(Vm { kernel: Kernel::cached(&cache, flavour)?, cache })
    }

    /// As [`Vm::open`], for a test: when the test machine cannot run here, prints the reason to standard error, which
    /// is shown for tests that pass, too, and returns `None`. In continuous integration (`CI` is set), where that text
    /// is not read, it is an error.
    ///
    /// # Errors
    /// The errors of [`Vm::open`], `Unavailable` only in continuous integration.
    pub fn open_or_skip(cache: &Path, flavour: Flavour) -> Result<Option<Vm>, Error> {
        let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        unless_skipped(Vm::open(cache, flavour), is_ci)
    }

    /// The kernel that the test machine boots.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Unpacks `parts` of the source of the test machine's kernel, folders and files named by their paths in the
    /// source, to the same paths below the folder `to`. Fetches the source each time, which takes minutes.
    ///
    /// # Errors
    /// `Unavailable` or `Failed` when the source cannot be fetched or unpacked.
    pub fn unpack_source(&self, parts: &[&str], to: &Path) -> Result<(), Error> {
        source::unpack(&self.kernel, &self.cache, parts, to)
    }

    /// Boots, runs the scripts of `guest`, and powers off. `folder`, made if need be, then has `kernel.log`,
    /// `output.log` and, in [`OUT`], the files that the scripts left in `$OUT`; files of an earlier run are removed.
    ///
    /// # Errors
    /// `Input` when something cannot be put into the guest, `Failed` when the guest could not be run. A guest that goes
    /// down, or is ended at the limit, is no error but an outcome. With [`Accel::Parallel`] a guest that ends by a
    /// fault of the emulator itself is booted again, a few times at most, with a message on standard error.
    pub fn run(
        &self,
        machine: &Machine,
        guest: &Guest,
        folder: &Path,
        show: &mut Show<'_>,
    ) -> Result<Outcome, Error> {
        let mut machine = machine.clone();
        match machine.time {
            Time::Free(Accel::Auto) if kvm::works(self)? => machine.time = Time::Free(Accel::Kvm),
            Time::Free(Accel::Auto) => machine.time = Time::Free(Accel::Tcg),
            Time::Free(Accel::Parallel) if kvm::works(self)? => machine.time = Time::Free(Accel::Kvm),
            _ => {}
        }
        let is_emulated_at_once = machine.time == Time::Free(Accel::Parallel);
        let mut emulator_faults = Vec::new();
        loop {
            let outcome = run::run(&self.kernel, &machine, guest, folder, show)?;
            match emulator::fault(&outcome.kernel_log).filter(|_| is_emulated_at_once) {
                Some(fault) if emulator_faults.len() < emulator::MOST_BOOTS_AGAIN => {
                    emulator_faults.push(fault);
                    say_that_it_boots_again(&emulator_faults)?;
                }
                ended_by_emulator => return Ok(Outcome { emulator_faults, ended_by_emulator, ..outcome }),
            }
        }
    }

    /// As [`Vm::run`], but shows nothing while the guest runs, except that it is booted again.
    ///
    /// # Errors
    /// As [`Vm::run`].
    pub fn run_quietly(&self, machine: &Machine, guest: &Guest, folder: &Path) -> Result<Outcome, Error> {
        self.run(machine, guest, folder, &mut Show { output: &mut io::sink(), kernel: &mut io::sink() })
    }
}

/// The test machine; `None`, with the reason on standard error, where it is missing and the test may be skipped.
fn unless_skipped(opened: Result<Vm, Error>, is_ci: bool) -> Result<Option<Vm>, Error> {
    match opened {
        Ok(vm) => Ok(Some(vm)),
        Err(error @ Error::Unavailable(_)) if !is_ci => {
            writeln!(io::stderr(), "skipped: {error}").map_err(error::failed("standard error"))?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Says on standard error, which is shown for tests that pass, too, that the emulator has failed once more.
fn say_that_it_boots_again(faults: &[String]) -> Result<(), Error> {
    let (times, most) = (faults.len(), emulator::MOST_BOOTS_AGAIN);
    let fault = faults.last().map_or("", String::as_str);
    writeln!(
        io::stderr(),
        "the emulator failed: {fault}; the guest is booted again ({times} of {most} times)"
    )
    .map_err(error::failed("standard error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_test_machine_is_an_error_only_in_continuous_integration() {
        let missing = || Err(Error::Unavailable("QEMU is missing".into()));
        assert!(matches!(unless_skipped(missing(), false), Ok(None)));
        assert!(matches!(unless_skipped(missing(), true), Err(Error::Unavailable(_))));
        let failed = || Err(Error::Failed("apt".into()));
        assert!(unless_skipped(failed(), false).is_err());
    }
}
