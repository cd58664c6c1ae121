//! The verdict that a run allows: the guest held, it failed, or its machine could not work, which says nothing about
//! what was tested.
//!
//! Does no IO. What comes first in the kernel's log counts: a clock that deviated before anything failed may have made
//! it fail, one that deviated afterwards has not.

use crate::emulator::FAILED;
use crate::{CutShort, Error, Outcome, outcome};

/// What a run says about the thing that was tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The guest ran to its end, every script exited with 0, and the kernel did not complain.
    Held,
    /// Something that was tested failed: what.
    Failed(String),
    /// The machine could not work, so that neither can be said: why.
    NoVerdict(String),
}

/// What the kernel says when its clock is unreliable: it deviates from another clock, or the kernel could not measure
/// the frequency of the processor's counter.
const CLOCK: [&str; 4] = [
    "as unstable because the skew is too large",
    "Marking TSC unstable",
    "calibration failed",
    "calibration deviates",
];

impl Outcome {
    /// The verdict of the run.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.verdict_by_the_guest(), self.waited) {
            (Verdict::Failed(why), Some(wait)) => {
                let wait = wait.as_secs();
                Verdict::NoVerdict(format!("the host let the emulator wait for {wait} s; then: {why}"))
            }
            (verdict, _) => verdict,
        }
    }

    /// The verdict by the outcome of the guest, however long the host let the emulator wait.
    fn verdict_by_the_guest(&self) -> Verdict {
        if let Some(fault) = &self.ended_by_emulator {
            return Verdict::NoVerdict(format!("the emulator failed each time: {fault}"));
        }
        if let Some(line) = clock_fault(&self.kernel_log) {
            return Verdict::NoVerdict(format!("the guest's clock deviates: {line}"));
        }
        let failed = self.scripts.iter().find(|script| script.status.is_some_and(|status| status != 0));
        match (self.problems.first(), failed, self.cut_short) {
            (Some(problem), ..) => Verdict::Failed(format!("the kernel complained: {problem}")),
            (None, Some(script), _) => {
                let status = script.status.unwrap_or_default();
                Verdict::Failed(format!("{} exited with {status}", script.name))
            }
            (None, None, Some(limit @ CutShort::Limit(_))) => Verdict::NoVerdict(limit.to_string()),
            (None, None, Some(CutShort::Down)) => Verdict::Failed(CutShort::Down.to_string()),
            (None, None, None) => Verdict::Held,
        }
    }
}

impl Error {
    /// The verdict where a run has no outcome: a wrong script or file for the guest is a failure.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Error::Input(_) => Verdict::Failed(self.to_string()),
            Error::Unavailable(_) | Error::Failed(_) => Verdict::NoVerdict(self.to_string()),
        }
    }
}

/// Whether something has failed by what is in the kernel's log so far.
pub(crate) fn has_failed(kernel_log: &str) -> bool {
    FAILED.iter().any(|failure| kernel_log.contains(failure)) || !outcome::problems(kernel_log).is_empty()
}

/// The line in which the kernel says that its clock deviates, unless something had failed before.
fn clock_fault(kernel_log: &str) -> Option<&str> {
    let line = kernel_log.lines().find(|line| CLOCK.iter().any(|words| line.contains(words)))?;
    let before = kernel_log.split(line).next()?;
    (!has_failed(before)).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScriptOutcome;
    use std::fs;
    use std::time::Duration;

    /// A run in which the kernel printed this console, with one script of this status.
    fn run(console: &str, status: Option<u8>, cut_short: Option<CutShort>) -> Outcome {
        let path = format!("{}/tests/console/{console}.log", env!("CARGO_MANIFEST_DIR"));
        let kernel_log = fs::read_to_string(path).unwrap();
        let (output, guest, wall) = (String::new(), None, Duration::ZERO);
        Outcome {
            scripts: vec![ScriptOutcome { name: "a.sh".into(), output, status, guest, wall }],
            problems: outcome::problems(&kernel_log),
            kernel_log,
            cut_short,
            emulator_faults: vec![],
            ended_by_emulator: None,
            waited: None,
            wall,
        }
    }

    const LIMIT: Option<CutShort> = Some(CutShort::Limit(Duration::from_secs(9)));

    fn failed(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Failed(_))
    }

    fn is_none(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::NoVerdict(_))
    }

    #[test]
    fn what_ran_to_its_end_held_or_failed() {
        assert_eq!(run("quiet", Some(0), None).verdict(), Verdict::Held);
        assert_eq!(run("quiet", Some(7), None).verdict(), Verdict::Failed("a.sh exited with 7".into()));
        for console in ["ours/ejection", "ours/lost-thread"] {
            assert!(failed(&run(console, Some(1), None).verdict()), "{console}");
        }
        let complaint = run("ours/warning", Some(0), None).verdict();
        assert!(matches!(&complaint, Verdict::Failed(why) if why.contains("WARNING: ")), "{complaint:?}");
    }

    #[test]
    fn a_limit_is_no_verdict_unless_something_had_failed() {
        assert!(is_none(&run("quiet", None, LIMIT).verdict()));
        assert!(failed(&run("quiet", Some(1), LIMIT).verdict()));
        assert!(failed(&run("ours/warning", None, LIMIT).verdict()));
    }

    #[test]
    fn a_guest_that_goes_down_by_itself_failed() {
        assert!(failed(&run("quiet", None, Some(CutShort::Down)).verdict()));
    }

    #[test]
    fn a_fault_of_the_emulator_that_stays_is_no_verdict() {
        let run = run("emulator/boot", None, Some(CutShort::Down));
        assert!(failed(&run.verdict()));
        let ended_by_emulator = crate::emulator::fault(&run.kernel_log);
        assert!(is_none(&Outcome { ended_by_emulator, ..run }.verdict()));
    }

    #[test]
    fn a_clock_that_deviates_is_no_verdict_whatever_came_of_it() {
        for console in ["clock/skew", "clock/calibration"] {
            for status in [Some(0), Some(1)] {
                let verdict = run(console, status, None).verdict();
                assert!(is_none(&verdict), "{console}: {verdict:?}");
            }
        }
        let verdict = run("clock/after-a-failure", Some(1), None).verdict();
        assert!(failed(&verdict), "{verdict:?}");
    }

    #[test]
    fn a_failure_behind_a_stall_of_the_host_is_no_verdict_and_a_success_stays_one() {
        let stalled = |outcome| Outcome { waited: Some(Duration::from_secs(18)), ..outcome }.verdict();
        for console in ["quiet", "ours/ejection", "ours/lost-thread", "ours/warning"] {
            let verdict = stalled(run(console, Some(1), None));
            assert!(
                matches!(&verdict, Verdict::NoVerdict(why) if why.contains("for 18 s; then: ")),
                "{verdict:?}"
            );
        }
        assert_eq!(stalled(run("quiet", Some(0), None)), Verdict::Held);
    }

    #[test]
    fn a_log_tells_whether_something_has_failed() {
        let has_failed = |console| has_failed(&run(console, None, None).kernel_log);
        assert!(["ours/ejection", "ours/lost-thread", "ours/warning"].into_iter().all(has_failed));
        assert!(!has_failed("quiet"));
    }

    #[test]
    fn a_machine_that_cannot_work_is_no_verdict_and_a_wrong_file_is_a_failure() {
        assert!(is_none(&Error::Unavailable("QEMU is missing".into()).verdict()));
        assert!(is_none(&Error::Failed("QEMU failed: killed".into()).verdict()));
        assert!(failed(&Error::Input("no such file".into()).verdict()));
    }
}
