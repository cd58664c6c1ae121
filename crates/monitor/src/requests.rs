//! The test of requests: from each wake-up of a virtual processor (VP) to its next sleep, what it got against the least
//! that its promise implies from that wake-up on.
//!
//! Windows (`windows.rs`) say nothing about a VP that never wants the CPU for long. A request, however short, says
//! something: the CPU time that the VP got in it must have come by when the promise makes it due. Let L(u) be the least
//! service within u of the wake-up, and W(u) what there was. A request that got an amount a is *tested* up to a; its
//! promise is kept if L(u) <= W(u) throughout. For the last piece before the VP sleeps this means that it came by the
//! least u with L(u) >= a. The *margin* is the least time by which any piece came before it was due.
//!
//! ```text
//!                  request                      records are lost
//!     asleep --------------------> judged ------------------------> unknown
//!       ^  ^                         |                               | |
//!       |  +---------- release ------+ <---- request, grant, revoke -+ |
//!       +---------------------------- release -------------------------+
//! ```
//!
//! L depends on the promise: `owed.rs` has it for an amount of CPU time in every period, `lag.rs` for a share, `job.rs`
//! for single requests. Single requests that come too soon are not tested.
//!
//! **Stolen time** counts as received, except what the promise takes into account (interrupts that the file declares).
//! A token bucket measures the latter: it fills at the rate of the declared sources, holds what they may take at once,
//! and stolen time drains it; only stolen time that finds it empty is an excuse. Up to the **slack** may be missing.
//!
//! Constant memory, and constant time for each change of what the VP has. Exact: integers only. Relies on changes in
//! order of time. Never judges whether a VP got too much: that is for the windows.

use crate::breach::{Breach, Missed};
use crate::curve::{Gets, Has};
pub use crate::job::Job;
use crate::job::JobOwed;
use crate::judge::{Episodes, Judge, Level};
use crate::lag::Lag;
pub use crate::lag::Share;
use crate::owed::{Owed, Standing};
pub use crate::owed::{Periodic, Wakes};
use crate::result::RequestsResult;
use hls_units::Nanos;

/// What a promise says of a single request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTest {
    /// The least service from a wake-up on.
    pub rule: RequestRule,
    /// What may be stolen by the sources that the promise takes into account.
    pub accounted: Accounted,
}

/// The least service from a wake-up on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRule {
    /// A share of the CPU, less an error (ALL, PSBE).
    Share(Share),
    /// CPU time in every period (reservations, EDP).
    Periodic(Periodic),
    /// An amount within a response time of each wake-up that is not too soon (JOB).
    Job(Job),
}

/// What declared sources may steal: `burst` at once, and in the long run `per_second` a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounted {
    /// At once, rounded up.
    pub burst: Nanos,
    /// In a second, rounded up.
    pub per_second: Nanos,
}

/// The least service, as it stands.
#[derive(Clone, Debug)]
enum Least {
    Share(Lag),
    Periodic(Owed),
    Job(JobOwed),
}

impl Least {
    /// Whether the present request can still be tested.
    fn is_due(&self) -> bool {
        match self {
            Least::Share(_) | Least::Periodic(_) => true,
            Least::Job(owed) => owed.is_due(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    Judged,
    Unknown,
}

/// Judges the requests of one VP.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    least: Least,
    bucket: Bucket,
    state: State,
    /// When the present request began.
    since: Nanos,
    /// What the VP had had, and what had been stolen from it, when the request began.
    before: (Nanos, Nanos),
    is_tested: bool,
    pub episodes: Episodes,
    result: RequestsResult,
}

impl Requests {
    /// For a promise that begins at `at`, to a VP that has had `before` of CPU time.
    pub fn new(test: RequestTest, at: Nanos, before: Nanos) -> Requests {
        let least = match test.rule {
            RequestRule::Share(share) => Least::Share(Lag::new(share)),
            RequestRule::Periodic(periodic) => Least::Periodic(Owed::new(periodic, at)),
            RequestRule::Job(job) => Least::Job(JobOwed::new(job, at, before)),
        };
        Requests {
            least,
            bucket: Bucket::new(test.accounted, at),
            state: State::Asleep,
            since: at,
            before: (Nanos::ZERO, Nanos::ZERO),
            is_tested: false,
            episodes: Episodes::default(),
            result: RequestsResult::default(),
        }
    }

    /// The VP wants the CPU, from now on or already for some time. No effect if its request is being judged. `had` is
    /// what it has had by `at`, and what was stolen from it.
    pub fn begin(&mut self, at: Nanos, had: (Nanos, Nanos), slack: Nanos) {
        if self.state == State::Judged {
            return;
        }
        (self.state, self.since, self.before, self.is_tested) = (State::Judged, at, had, false);
        self.result.requests += 1;
        self.episodes.begin_anew();
        match &mut self.least {
            Least::Share(lag) => lag.begin(),
            Least::Periodic(owed) => owed.begin(at, slack),
            Least::Job(owed) => owed.begin(at),
        }
    }

    /// From `from` to `to` the VP had `has`, and then it has `next`. `had` is what it has had, and what was stolen from
    /// it, up to an instant in between.
    pub fn advance(
        &mut self,
        (from, to): (Nanos, Nanos),
        (has, next): (Has, Has),
        judge: &mut Judge,
        had: impl Fn(Nanos) -> (Nanos, Nanos),
    ) {
        if self.state != State::Judged {
            return;
        }
        match has {
            Has::Nothing => self.stretch((from, to), Gets::Nothing, judge, &had),
            Has::Cpu => {
                self.is_tested |= from < to && self.least.is_due();
                self.stretch((from, to), Gets::Cpu, judge, &had);
            }
            Has::Stolen => {
                let excused_from = from.saturating_add(self.bucket.take(from, to));
                self.stretch((from, excused_from), Gets::Nothing, judge, &had);
                self.stretch((excused_from, to), Gets::Excuse, judge, &had);
            }
        }
        if has != Has::Cpu && next == Has::Cpu && self.least.is_due() {
            let spare = standing(&self.least, to).spare;
            let spare = Nanos(u64::try_from(spare.max(0)).unwrap_or(u64::MAX));
            self.result.margin = Some(self.result.margin.map_or(spare, |least| least.min(spare)));
        }
    }

    fn stretch(
        &mut self,
        (from, to): (Nanos, Nanos),
        gets: Gets,
        judge: &mut Judge,
        had: &impl Fn(Nanos) -> (Nanos, Nanos),
    ) {
        let Requests { least, result, episodes, is_tested, since, before, .. } = self;
        let mut report = |at: Nanos, standing: Standing| {
            let nanos = |time: i128| Nanos(u64::try_from(time.max(0)).unwrap_or(u64::MAX));
            let (missing, unexcused) = (nanos(standing.missing), nanos(standing.missing_unexcused));
            let level = judge.level_short(missing, unexcused > Nanos::ZERO);
            if level > Level::Kept {
                *is_tested = true;
                result.stolen = result.stolen.max(unexcused.saturating_sub(missing));
            }
            if missing > result.missing {
                (result.missing, result.worst_at) = (missing, *since);
            }
            if level == Level::Broken {
                judge.short_until = at;
            }
            if episodes.add(level) {
                let (got, stolen) = had(at);
                let (got, stolen) = (got.saturating_sub(before.0), stolen.saturating_sub(before.1));
                let what = Missed::InRequest { missing };
                judge.breaches.push(Breach { from: *since, to: at, got, stolen, what });
            }
        };
        match least {
            Least::Share(lag) => lag.advance(to.saturating_sub(from), gets),
            Least::Periodic(owed) => owed.advance(from, to, gets, &mut report),
            Least::Job(owed) => owed.advance(from, to, gets, &mut report),
        }
        if gets != Gets::Cpu {
            report(to, standing(least, to));
        }
    }

    /// The VP does not want the CPU any more.
    pub fn end(&mut self, at: Nanos) {
        self.count();
        match &mut self.least {
            Least::Share(_) => {}
            Least::Periodic(owed) => owed.sleep(at),
            Least::Job(_) if self.state == State::Asleep => {}
            Least::Job(owed) => owed.sleep(at),
        }
        self.state = State::Asleep;
    }

    /// Another thread may have the VP from here on: what it has left of a budget is not known.
    pub fn hand_over(&mut self, at: Nanos) {
        self.end(at);
        if let Least::Periodic(owed) = &mut self.least {
            owed.lose_track(at, true);
        }
    }

    /// Records up to `at` were lost: whether the VP wants the CPU is not known.
    pub fn lose_track(&mut self, at: Nanos) {
        self.count();
        match &mut self.least {
            Least::Share(_) => {}
            Least::Periodic(owed) => owed.lose_track(at, false),
            Least::Job(owed) => owed.lose_track(at),
        }
        self.state = State::Unknown;
    }

    fn count(&mut self) {
        self.result.tested += u64::from(std::mem::take(&mut self.is_tested));
    }

    /// What was seen so far.
    pub fn result(&self, slack: Nanos) -> RequestsResult {
        let tested = self.result.tested + u64::from(self.is_tested);
        RequestsResult { tested, slack, ..self.result }
    }
}

fn standing(least: &Least, at: Nanos) -> Standing {
    match least {
        Least::Share(lag) => lag.standing(),
        Least::Periodic(owed) => owed.standing(i128::from(at.0)),
        Least::Job(owed) => owed.standing(i128::from(at.0)),
    }
}

/// Nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

/// The stolen time that the promise takes into account, as a token bucket.
#[derive(Clone, Debug)]
struct Bucket {
    accounted: Accounted,
    /// How much it holds, in billionths of a nanosecond.
    level: u128,
    at: Nanos,
}

impl Bucket {
    fn new(accounted: Accounted, at: Nanos) -> Bucket {
        Bucket { accounted, level: u128::from(accounted.burst.0) * SECOND, at }
    }

    /// How much of what was stolen from `from` to `to` is taken into account.
    fn take(&mut self, from: Nanos, to: Nanos) -> Nanos {
        let filled = |level: u128, length: Nanos| {
            level.saturating_add(u128::from(length.0) * u128::from(self.accounted.per_second.0))
        };
        let full = u128::from(self.accounted.burst.0) * SECOND;
        let level = filled(self.level, from.saturating_sub(self.at)).min(full);
        let stolen = to.saturating_sub(from);
        let level = filled(level, stolen);
        let taken = level.min(u128::from(stolen.0) * SECOND);
        (self.level, self.at) = ((level - taken).min(full), to.max(self.at));
        Nanos(u64::try_from(taken.div_ceil(SECOND)).unwrap_or(u64::MAX).min(stolen.0))
    }
}
