//! The outcome of a run, read from what the guest wrote to its serial ports.
//!
//! Does no IO. Output that breaks off anywhere is read as far as it goes.

use std::fmt;
use std::time::Duration;

/// The outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The outcome of every script that the guest began, in order.
    pub scripts: Vec<ScriptOutcome>,
    /// What the kernel printed on its console: warnings and errors.
    pub kernel_log: String,
    /// The lines of `kernel_log` in which the kernel complains about itself.
    pub problems: Vec<String>,
    /// Why the guest did not run all its scripts to their ends and send their files, if it did not.
    pub cut_short: Option<CutShort>,
    /// The emulator's own faults for which the guest was booted again before it came to this outcome.
    pub emulator_faults: Vec<String>,
    /// The emulator's own fault that ended the last boot, too.
    pub ended_by_emulator: Option<String>,
    /// How long the emulator waited for a processor of the host, if that was too long for the guest and nothing had
    /// failed before.
    pub waited: Option<Duration>,
    /// How long the run took, in time of the host, from the last boot on.
    pub wall: Duration,
}

/// The outcome of one script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutcome {
    /// The script's name.
    pub name: String,
    /// What the script printed to its standard output and error.
    pub output: String,
    /// The exit status of the script, as a shell has it; `None` when the guest ended before the script did.
    pub status: Option<u8>,
    /// How long the script took, in time of the guest; `None` when the guest ended before the script did.
    pub guest: Option<Duration>,
    /// How long it took in time of the host, to some hundredths of a second.
    pub wall: Duration,
}

/// Why a guest did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutShort {
    /// The guest was ended at this limit.
    Limit(Duration),
    /// The guest went down before its scripts had ended and their files had been sent.
    Down,
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutShort::Limit(limit) => {
                write!(f, "the guest was ended at its limit of {} s", limit.as_secs_f64())
            }
            CutShort::Down => f.write_str("the guest went down before it had come to its end"),
        }
    }
}

impl Outcome {
    /// Whether the guest ran to its end, every script exited with 0, and the kernel did not complain.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let succeeded = self.scripts.iter().all(|script| script.status == Some(0));
        self.cut_short.is_none() && self.problems.is_empty() && succeeded
    }
}

/// The mark before the name of a script that begins.
pub(crate) const BEGIN: char = '\u{1e}';
/// The mark before the exit status of a script that has ended.
const END: char = '\u{1f}';
/// The mark after all scripts and after the files that they left.
const DONE: char = '\u{1d}';

/// Whether the guest ran to its end, by what it printed.
pub(crate) fn finished(output: &str) -> bool {
    output.contains(DONE)
}

/// The outcomes of the scripts, from what the guest printed; `begun` has when each began, and when the guest ended, in
/// time of the host.
pub(crate) fn scripts(output: &str, begun: &[Duration]) -> Vec<ScriptOutcome> {
    let walls = begun.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let walls = walls.chain(std::iter::repeat(Duration::ZERO));
    output.split(BEGIN).skip(1).zip(walls).map(|(record, wall)| script(record, wall)).collect()
}

/// How many scripts have begun, by what the guest printed.
pub(crate) fn begun(output: &str) -> usize {
    output.matches(BEGIN).count()
}

fn script(record: &str, wall: Duration) -> ScriptOutcome {
    let (name, rest) = record.split_once('\n').unwrap_or((record, ""));
    let (output, end) = rest.split_once(END).unwrap_or((rest, ""));
    let mut end = end.lines().next().unwrap_or_default().split(' ');
    let status = end.next().and_then(|word| word.parse().ok());
    let mut seconds = || end.next().and_then(|word| word.parse().ok());
    let guest =
        seconds().zip(seconds()).map(|(from, to): (f64, f64)| Duration::from_secs_f64((to - from).max(0.0)));
    ScriptOutcome { name: name.to_owned(), output: output.to_owned(), status, guest, wall }
}

/// What to show of some lines that the guest printed: the names of scripts become headings, if there are several
/// scripts, and marks are left out.
pub(crate) fn shown(piece: &str, several: bool) -> String {
    let line = |line: &str| match (line.strip_prefix(BEGIN), line.split_once(END)) {
        (Some(name), _) if several => format!("== {name}"),
        (Some(_), _) => String::new(),
        (None, Some((last, _))) if several && !last.is_empty() => format!("{last}\n"),
        (None, Some((last, _))) => last.to_owned(),
        (None, None) => line.to_owned(),
    };
    piece.replace(DONE, "").split_inclusive('\n').map(line).collect()
}

/// What a line of the kernel's log contains when something is wrong with the kernel. An ejected scheduler is none of
/// these, unless the kernel ejected it because it let threads wait, which the kernel calls a stall.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &str, output: &str, status: Option<u8>) -> ScriptOutcome {
        let (name, output) = (name.into(), output.into());
        ScriptOutcome { name, output, status, guest: None, wall: Duration::ZERO }
    }

    /// The scripts of an output, without the times of the host.
    fn scripts(output: &str) -> Vec<ScriptOutcome> {
        super::scripts(output, &[])
    }

    #[test]
    fn scripts_are_told_apart_and_have_their_statuses_and_times() {
        let output = "\u{1e}one\nsays\nthis\u{1f}0 2.50 4.00\n\u{1e}two\n\u{1f}7 4.00 4.25\n\u{1d}";
        assert!(finished(output));
        assert_eq!(begun(output), 2);
        let read = super::scripts(output, &[1, 5, 6].map(Duration::from_secs));
        let of = |ended, guest, wall| ScriptOutcome {
            guest: Some(Duration::from_millis(guest)),
            wall: Duration::from_secs(wall),
            ..ended
        };
        let one = of(ended("one", "says\nthis", Some(0)), 1500, 4);
        assert_eq!(read, [one, of(ended("two", "", Some(7)), 250, 1)]);
    }

    #[test]
    fn what_was_cut_off_is_read_as_far_as_it_goes() {
        assert!(!finished("\u{1e}one\nsays\u{1f}0\n"));
        assert_eq!(scripts(""), []);
        assert_eq!(scripts("\u{1e}on"), [ended("on", "", None)]);
        assert_eq!(scripts("\u{1e}one\nsays"), [ended("one", "says", None)]);
        assert_eq!(scripts("\u{1e}one\nsays\u{1f}"), [ended("one", "says", None)]);
    }

    #[test]
    fn what_is_shown_has_no_marks() {
        let piece = "\u{1e}one\nsays\nthis\u{1f}0\n\u{1e}two\n\u{1d}";
        assert_eq!(shown(piece, false), "says\nthis");
        assert_eq!(shown(piece, true), "== one\nsays\nthis\n== two\n");
    }

    #[test]
    fn complaints_of_the_kernel_are_found_and_other_lines_are_not() {
        let log = "[    1.0] hls-vm: one\n\
                   [    2.0] WARNING: kernel/sched/ext.c:1 at x\n\
                   [    3.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n\
                   [    4.0] sched_ext: BPF scheduler \"x\" disabled (unregistered from user space)\n";
        let found = problems(log);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("WARNING") && found[1].contains("stalls"));
    }
}
