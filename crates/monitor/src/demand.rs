//! Whether a thread wants no more CPU time than its file says, if the response times of other threads were derived from
//! that.
//!
//! A job of the thread is ready when its virtual processor (VP) wakes up, or when the VP goes on beyond the time of the
//! job before. For each job the earliest possible release is remembered: that leaves the most room for the next one.

use crate::event::{ObservedVp, What};
use hls_units::Nanos;

/// What a thread is expected to want at most: jobs of a sporadic task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The VP of the thread.
    pub vp: ObservedVp,
    /// The most CPU time of a job.
    pub run: Nanos,
    /// The least distance of two releases.
    pub every: Nanos,
    /// How long after its release a job becomes ready at the latest.
    pub jitter: Nanos,
}

/// A thread wanted more than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// What was expected.
    pub expected: Expected,
    /// When it was exceeded for the first time.
    pub at: Nanos,
    /// How.
    pub by: Excess,
}

/// In which way a thread wanted more than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It woke up this long after the earliest possible release of the job before.
    Soon(Nanos),
    /// It had this much CPU time for one job, and no more was due.
    Long(Nanos),
}

/// Watches one thread.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    expected: Expected,
    /// The earliest possible release of the latest job; `None` where none is known.
    release: Option<Nanos>,
    /// The most CPU time that the VP may have had when that job is done; `None` while the VP sleeps, or is not known to
    /// be awake.
    done_at: Option<Nanos>,
    pub(crate) exceeded: Option<Exceeded>,
}

impl Demand {
    pub(crate) fn new(expected: Expected) -> Demand {
        Demand { expected, release: None, done_at: None, exceeded: None }
    }

    /// Something has happened to the VP, which has had `ran` of CPU time so far. A wake-up may be too soon by `slack`,
    /// and a job too long by `slack`.
    pub(crate) fn note(&mut self, at: Nanos, ran: Nanos, what: What, slack: Nanos) {
        match what {
            What::Request => self.wake(at, ran, slack),
            What::Revoke => self.stop(at, ran, slack),
            What::Release | What::Leave => {
                self.stop(at, ran, slack);
                self.sleep();
            }
            _ => {}
        }
    }

    /// The VP wakes up.
    fn wake(&mut self, at: Nanos, ran: Nanos, slack: Nanos) {
        let Expected { run, every, jitter, .. } = self.expected;
        let earliest = at.saturating_sub(jitter);
        if let Some(before) = self.release
            && before.saturating_add(every) > at.saturating_add(slack)
        {
            self.exceed(at, Excess::Soon(at.saturating_sub(before)));
        }
        self.release =
            Some(self.release.map_or(earliest, |before| earliest.max(before.saturating_add(every))));
        self.done_at = Some(ran.saturating_add(run));
    }

    /// The VP loses its CPU, on which it has run without a break.
    fn stop(&mut self, at: Nanos, ran: Nanos, slack: Nanos) {
        let Expected { run, every, .. } = self.expected;
        while let (Some(release), Some(done_at)) = (self.release, self.done_at)
            && done_at.saturating_add(slack) < ran
        {
            let next = release.saturating_add(every);
            let was_done = at.saturating_sub(ran.saturating_sub(done_at));
            if next > was_done {
                let beyond = next.min(at).saturating_sub(was_done);
                self.exceed(at, Excess::Long(run.saturating_add(beyond)));
                return self.sleep();
            }
            (self.release, self.done_at) = (Some(next), Some(done_at.saturating_add(run)));
        }
    }

    /// The VP sleeps.
    fn sleep(&mut self) {
        self.done_at = None;
    }

    /// What the VP does is not known until it wakes up again.
    pub(crate) fn lose_track(&mut self) {
        (self.release, self.done_at) = (None, None);
    }

    fn exceed(&mut self, at: Nanos, by: Excess) {
        let expected = self.expected;
        self.exceeded.get_or_insert(Exceeded { expected, at, by });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs of 2 every 10, ready up to 3 late. At each wake-up the VP wakes at `at`, and then runs for `had` without a
    /// break, up to `until`.
    fn watch(wakes: &[(u64, u64, u64)]) -> Option<Excess> {
        let expected = Expected { vp: ObservedVp(1), run: Nanos(2), every: Nanos(10), jitter: Nanos(3) };
        let (mut demand, mut ran) = (Demand::new(expected), 0);
        for &(at, had, until) in wakes {
            demand.wake(Nanos(at), Nanos(ran), Nanos::ZERO);
            ran += had;
            demand.stop(Nanos(until), Nanos(ran), Nanos::ZERO);
            demand.sleep();
        }
        demand.exceeded.map(|exceeded| exceeded.by)
    }

    #[test]
    fn a_thread_that_wants_what_is_expected_exceeds_nothing() {
        assert_eq!(watch(&[(0, 2, 2), (10, 1, 11), (20, 2, 25)]), None);
        // Released at 10 and 20, ready at 13 and 20.
        assert_eq!(watch(&[(0, 2, 2), (13, 2, 15), (20, 2, 22)]), None);
    }

    #[test]
    fn a_wake_up_may_be_too_soon() {
        assert_eq!(watch(&[(0, 1, 1), (6, 1, 7)]), Some(Excess::Soon(Nanos(6))));
        // The second job, ready at 10, was released at 10 at the earliest; so 19 is too soon for the third.
        assert_eq!(watch(&[(3, 2, 5), (10, 2, 12), (19, 2, 21)]), Some(Excess::Soon(Nanos(9))));
    }

    #[test]
    fn a_job_may_be_too_long() {
        assert_eq!(watch(&[(0, 3, 3)]), Some(Excess::Long(Nanos(3))));
        // It had waited: what it had beyond 2 was the next job's, which was released at 10.
        assert_eq!(watch(&[(0, 4, 12)]), None);
        assert_eq!(watch(&[(0, 5, 12)]), Some(Excess::Long(Nanos(3))));
    }
}
