//! The processes that a session starts from its own program: what is to be scheduled otherwise than the session itself,
//! or must end with it, is done by others.
//!
//! Relies on the program to have the hidden commands whose names are here, each of which calls its function.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

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

/// The CPU time that a process has had, with its children that have ended; zero where the kernel does not say it.
pub fn cpu_time(process: &Child) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
    // Behind the command's name: its fields from the third on. Its own time and the kernel's are the 14th and 15th, in
    // hundredths of a second, and then those of its children.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let hundredths: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(hundredths * 10)
}

/// Is the process of a workload's threads, to its end.
///
/// # Errors
/// When its answer does not reach whoever started it.
pub fn serve_threads() -> io::Result<()> {
    hls_real_threads::serve()
}
