//! The quantities that can be measured in a run. Each is one variant and one line of `Measure::EVERY`.

use crate::decimal::Decimal;
use crate::run::Outcome;
use hls_calculus::Mode;
use hls_monitor::result::{ThreadResult, Verdict, WindowResult};
use hls_units::Nanos;
use std::fmt;

/// A quantity that can be measured in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CPU time, as a percentage of one CPU.
    Share,
    /// CPU time, as a percentage of what all threads of the file had.
    Part,
    /// Frames finished a second.
    Fps,
    /// Deadlines missed.
    Misses,
    /// Deadlines missed, as a percentage of the jobs that were done; 100 at most.
    Missed,
    /// Time from the release of a job to its end, in microseconds: half of the jobs took no longer.
    ResponseP50,
    /// Time from the release of a job to its end, in microseconds: 99 in 100 jobs took no longer.
    ResponseP99,
    /// The longest time from the release of a job to its end, in microseconds.
    ResponseWorst,
    /// Time from the end of a thread's wait to its next instruction, in microseconds: half of the wake-ups took no
    /// longer.
    WakeP50,
    /// Time from the end of a thread's wait to its next instruction, in microseconds: 99 in 100 wake-ups took no
    /// longer.
    WakeP99,
    /// The longest time from the end of a thread's wait to its next instruction, in microseconds.
    WakeWorst,
    /// CPU time beyond the budget of a hard reservation, in microseconds: 99 in 100 periods had no more.
    OverrunP99,
    /// The most CPU time beyond the budget of a hard reservation in any period, in microseconds.
    OverrunWorst,
    /// The number of lengths of windows, over all guarantees, that were tested and kept in every window.
    Kept,
    /// The number of lengths of windows, over all guarantees, of which a window had less than promised or more than
    /// allowed.
    Broken,
    /// The guarantee on every VP, by the tight bounds; several in file order, joined by ` + `.
    Guarantee,
    /// The guarantee on every VP, by the bounds of the paper; several in file order, joined by ` + `.
    GuaranteeInPaper,
}

/// A value that was measured or is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(Decimal),
    /// A guarantee.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => f.pad(text),
        }
    }
}

impl Measure {
    /// Every measure with its name in a table.
    const EVERY: [(Measure, &str); 17] = [
        (Measure::Share, "share"),
        (Measure::Part, "part"),
        (Measure::Fps, "fps"),
        (Measure::Misses, "misses"),
        (Measure::Missed, "missed"),
        (Measure::ResponseP50, "response p50"),
        (Measure::ResponseP99, "response p99"),
        (Measure::ResponseWorst, "response worst"),
        (Measure::WakeP50, "wake-up p50"),
        (Measure::WakeP99, "wake-up p99"),
        (Measure::WakeWorst, "wake-up worst"),
        (Measure::OverrunP99, "overrun p99"),
        (Measure::OverrunWorst, "overrun worst"),
        (Measure::Kept, "kept"),
        (Measure::Broken, "broken"),
        (Measure::Guarantee, "guarantee"),
        (Measure::GuaranteeInPaper, "guarantee (paper mode)"),
    ];

    /// The measure of that name.
    pub fn parse(name: &str) -> Option<Measure> {
        Measure::EVERY.iter().find(|(_, known)| *known == name).map(|(measure, _)| *measure)
    }

    /// The name of the measure in a table.
    pub fn name(self) -> &'static str {
        Measure::EVERY.iter().find(|(measure, _)| *measure == self).map_or("", |(_, name)| name)
    }

    /// The names of all measures, for a message.
    pub fn names() -> String {
        Measure::EVERY.map(|(_, name)| format!("`{name}`")).join(", ")
    }

    /// Whether the values of the measure are texts, not numbers.
    pub fn is_text(self) -> bool {
        matches!(self, Measure::Guarantee | Measure::GuaranteeInPaper)
    }

    /// Whether the measure is about a thread's wake-ups.
    pub fn is_of_wake_ups(self) -> bool {
        matches!(self, Measure::WakeP50 | Measure::WakeP99 | Measure::WakeWorst)
    }

    /// Whether the measure is about the budget of a thread: then the CPU time of the thread has to be traced.
    pub fn is_of_budget(self) -> bool {
        matches!(self, Measure::OverrunP99 | Measure::OverrunWorst)
    }

    /// Takes the measure of the thread (all its instances together) or scheduler named `of`; `*`: of all.
    ///
    /// # Errors
    /// When no thread or scheduler of that name can be measured so.
    pub fn take(self, outcome: &Outcome, of: &str) -> Result<Value, String> {
        let windows = outcome.result.guarantees.iter().filter(|result| outcome.names(result.vp, of));
        let count = |is_counted: fn(Verdict) -> bool| {
            let windows = windows.clone().flat_map(|result| &result.windows).map(WindowResult::verdict);
            Value::Number(Decimal::whole(windows.filter(|verdict| is_counted(*verdict)).count() as u64))
        };
        let overruns = &outcome.overruns;
        let absent = || format!("found nothing called `{of}` that has a {}", self.name());
        let value = match self {
            Measure::OverrunP99 | Measure::OverrunWorst if overruns.is_empty() => return Err(absent()),
            Measure::Kept | Measure::Broken if windows.clone().next().is_none() => return Err(absent()),
            Measure::OverrunP99 => micros(overruns[(overruns.len() - 1) * 99 / 100]),
            Measure::OverrunWorst => micros(overruns[overruns.len() - 1]),
            Measure::Kept => count(|verdict| verdict == Verdict::Kept),
            Measure::Broken => count(Verdict::is_broken),
            Measure::Guarantee => Value::Text(outcome.guarantees(of, Mode::Tight)),
            Measure::GuaranteeInPaper => Value::Text(outcome.guarantees(of, Mode::Paper)),
            _ => return self.take_of_threads(outcome, of).ok_or_else(absent),
        };
        Ok(value)
    }

    /// Takes a measure of threads, together; `None` where there is none that can be measured so.
    fn take_of_threads(self, outcome: &Outcome, of: &str) -> Option<Value> {
        let length = outcome.result.length.0;
        let threads = outcome.result.threads.iter().filter(|thread| outcome.names(thread.vp, of));
        threads.clone().next()?;
        let sum = |quantity: fn(&ThreadResult) -> u64| threads.clone().map(quantity).sum::<u64>();
        let worst = |time: fn(&ThreadResult) -> Nanos| threads.clone().map(time).max().map(micros);
        let jobs = sum(|thread| thread.response.count);
        let ran = sum(|thread| thread.ran.0);
        let value = match self {
            Measure::Share => percent(ran, length),
            Measure::Part => {
                let all = outcome.result.threads.iter().map(|thread| thread.ran.0).sum::<u64>();
                return (all > 0).then(|| percent(ran, all));
            }
            Measure::Fps => {
                Value::Number(Decimal::ratio_nearest(sum(|thread| thread.frames) * 1_000_000_000, length))
            }
            Measure::Misses => Value::Number(Decimal::whole(sum(|thread| thread.misses))),
            Measure::Missed => {
                let misses = sum(|thread| thread.misses);
                return (jobs > 0).then(|| percent(misses.min(jobs), jobs));
            }
            Measure::ResponseP50 | Measure::ResponseP99 | Measure::ResponseWorst if jobs == 0 => return None,
            Measure::ResponseP50 => return worst(|thread| thread.response.p50),
            Measure::ResponseP99 => return worst(|thread| thread.response.p99),
            Measure::ResponseWorst => return worst(|thread| thread.response.worst),
            Measure::WakeP50 => return worst(|thread| thread.wake_latency.p50),
            Measure::WakeP99 => return worst(|thread| thread.wake_latency.p99),
            Measure::WakeWorst => return worst(|thread| thread.wake_latency.worst),
            _ => return None,
        };
        Some(value)
    }
}

fn percent(part: u64, whole: u64) -> Value {
    Value::Number(Decimal::ratio_nearest(part * 100, whole))
}

fn micros(time: Nanos) -> Value {
    Value::Number(Decimal::ratio_nearest(time.0, 1_000))
}
