//! How far a virtual processor (VP) may be from what it was promised, and how often it went further.
//!
//! Shared by the test of windows and the test of requests. Knows nothing of either.

use crate::breach::Breach;
use hls_units::Nanos;

/// How one comparison of a promise with what happened came out, the worst last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    #[default]
    Kept,
    /// Too little, and what was stolen explains it.
    Stolen,
    /// Within the slack.
    Late,
    Broken,
}

/// Counts how often things went wrong. Successive comparisons that came out badly count once, as the worst of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Episodes {
    /// The worst of the comparisons since the last one that found the promise kept.
    now: Level,
    pub stolen: u64,
    pub late: u64,
    pub broken: u64,
}

impl Episodes {
    /// Takes the next comparison into account; whether a promise breaks here.
    pub fn add(&mut self, level: Level) -> bool {
        if level == Level::Kept {
            self.now = level;
        }
        if level <= self.now {
            return false;
        }
        if let Some(count) = self.count(self.now) {
            *count -= 1;
        }
        if let Some(count) = self.count(level) {
            *count += 1;
        }
        self.now = level;
        level == Level::Broken
    }

    /// What comes next has nothing to do with what was before.
    pub fn begin_anew(&mut self) {
        self.now = Level::Kept;
    }

    fn count(&mut self, level: Level) -> Option<&mut u64> {
        match level {
            Level::Kept => None,
            Level::Stolen => Some(&mut self.stolen),
            Level::Late => Some(&mut self.late),
            Level::Broken => Some(&mut self.broken),
        }
    }
}

/// By what comparisons are judged, and where promises broke.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judge {
    /// Up to this much missing, or too much, breaks no promise.
    pub slack: Nanos,
    pub breaches: Vec<Breach>,
    /// The latest instant at which the VP was known to have got too little.
    pub short_until: Nanos,
}

impl Judge {
    /// The level of a shortfall or excess of `by`.
    pub fn level(&self, by: Nanos) -> Level {
        match by {
            Nanos::ZERO => Level::Kept,
            by if by <= self.slack => Level::Late,
            _ => Level::Broken,
        }
    }

    /// The level of a shortfall of `missing`; `Stolen` if only the excuse of stolen time makes the shortfall zero.
    pub fn level_short(&self, missing: Nanos, is_excused: bool) -> Level {
        match self.level(missing) {
            Level::Kept if is_excused => Level::Stolen,
            level => level,
        }
    }
}
