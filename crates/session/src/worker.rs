//! The processes that a session starts from its own program, for work that must be scheduled differently from the
//! session itself, or must end with it.
//!
//! Relies on the program to have the hidden commands named here; each calls its function.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

/// The command of a run in the kernel, started by a keeper: [`crate::Keeper`].
#[cfg(feature = "kernel")]
pub const RUN: &str = "kept-run";

/// The command of the process of a workload's threads: [`serve_threads`].
pub const THREADS: &str = "load-threads";

/// The command of the process that builds policies: [`crate::serve_policies`].
#[cfg(feature = "kernel")]
pub const POLICIES: &str = "prepare-policies";

/// The command that becomes a command of the hierarchy file; the words of the latter follow it:
/// [`crate::start_command`].
#[cfg(feature = "kernel")]
pub const START: &str = "start";

/// Starts this program again, with one of these commands.
pub(crate) fn process(command: &str) -> Command {
    let mut process = Command::new("/proc/self/exe");
    process.arg0("hls").arg(command);
    process
}

/// The CPU time of a process and of its children that have ended; zero if the kernel does not report it.
pub fn cpu_time(process: &Child) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
    // The fields from the third on follow the command's name. The 14th and 15th are user and system time of the
    // process, in hundredths of a second; the next two are the times of its children.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let hundredths: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(hundredths * 10)
}

/// Runs as the process of a workload's threads until it ends.
///
/// # Errors
/// When its answer does not reach its parent.
pub fn serve_threads() -> io::Result<()> {
    hls_real_threads::serve()
}
