//! What came of a run: read from what the guest wrote to its serial ports.
//!
//! Does no IO. Whatever a guest writes, also half of it, is read as far as it goes.

use std::fmt;
use std::time::Duration;

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Every script that was begun, in order.
    pub scripts: Vec<ScriptOutcome>,
    /// What the kernel said on its console: warnings and what is worse.
    pub kernel_log: String,
    /// Lines of `kernel_log` that say that something is wrong with the kernel or in it.
    pub problems: Vec<String>,
    /// Why the guest did not come to its end, if it did not.
    pub cut_short: Option<CutShort>,
    /// How long the run took, in time of the host.
    pub wall: Duration,
}

/// What came of one script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutcome {
    /// The script's name.
    pub name: String,
    /// What it printed to its standard output and error.
    pub output: String,
    /// Its exit status, as a shell has it; none when the guest ended before it did.
    pub status: Option<u8>,
}

/// Why a guest did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutShort {
    /// It was ended after this long, its limit.
    Limit(Duration),
    /// It went down before its scripts had ended.
    Down,
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutShort::Limit(limit) => {
                write!(f, "the guest was ended at its limit of {} s", limit.as_secs_f64())
            }
            CutShort::Down => f.write_str("the guest went down before its scripts had ended"),
        }
    }
}

impl Outcome {
    /// Whether the guest came to its end, every script exited with 0, and the kernel did not complain.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let succeeded = self.scripts.iter().all(|script| script.status == Some(0));
        self.cut_short.is_none() && self.problems.is_empty() && succeeded
    }
}

/// Before the name of a script that begins.
pub(crate) const BEGIN: char = '\u{1e}';
/// Before the exit status of a script that has ended.
const END: char = '\u{1f}';

/// The scripts in what came out of the guest.
pub(crate) fn scripts(output: &str) -> Vec<ScriptOutcome> {
    output.split(BEGIN).skip(1).map(script).collect()
}

fn script(record: &str) -> ScriptOutcome {
    let (name, rest) = record.split_once('\n').unwrap_or((record, ""));
    let (output, status) = rest.split_once(END).unwrap_or((rest, ""));
    ScriptOutcome { name: name.to_owned(), output: output.to_owned(), status: status.trim().parse().ok() }
}

/// What to show of a piece of what comes out of the guest, which begins and ends where lines do: names of scripts as
/// headings, if there are several, and no marks.
pub(crate) fn shown(piece: &str, several: bool) -> String {
    let line = |line: &str| match line.strip_prefix(BEGIN) {
        Some(name) if several => format!("== {name}"),
        Some(_) => String::new(),
        None => line.split(END).next().unwrap_or_default().to_owned(),
    };
    piece.split_inclusive('\n').map(line).collect()
}

/// What the kernel says when something is wrong. A scheduler that was put off the machine for an error of its own is
/// no problem of the kernel's, but one that let threads wait is told as a stall.
const COMPLAINTS: [&str; 10] = [
    "WARNING: ",
    "BUG: ",
    "Oops: ",
    "general protection fault",
    "Kernel panic",
    "stall",
    "soft lockup",
    "hard LOCKUP",
    "blocked for more than",
    "UBSAN: ",
];

/// The lines of a kernel log that complain.
pub(crate) fn problems(kernel_log: &str) -> Vec<String> {
    let complains = |line: &&str| COMPLAINTS.iter().any(|complaint| line.contains(complaint));
    kernel_log.lines().filter(complains).map(str::to_owned).collect()
}
