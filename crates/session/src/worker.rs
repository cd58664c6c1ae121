//! The processes that a session starts from its own program: what is to be scheduled otherwise than the session itself,
//! or must end with it, is done by others.
//!
//! Relies on the program to have the hidden commands whose names are here, each of which calls its function.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The command that is a run in the kernel, which a keeper has started: [`crate::Keeper`].
#[cfg(feature = "kernel")]
pub const RUN: &str = "kept-run";

/// The command that is the process of a workload's threads: [`serve_threads`].
pub const THREADS: &str = "load-threads";

/// The command that is the process which builds policies: [`crate::serve_policies`].
#[cfg(feature = "kernel")]
pub const POLICIES: &str = "prepare-policies";

/// The command that becomes a command of the hierarchy file, whose words follow it: [`crate::start_command`].
#[cfg(feature = "kernel")]
pub const START: &str = "start";

/// This program once more, with one of these commands.
pub(crate) fn process(command: &str) -> Command {
    let mut process = Command::new("/proc/self/exe");
    process.arg0("hls").arg(command);
    process
}

/// Is the process of a workload's threads, to its end.
///
/// # Errors
/// When its answer does not reach whoever started it.
pub fn serve_threads() -> io::Result<()> {
    hls_real_threads::serve()
}
