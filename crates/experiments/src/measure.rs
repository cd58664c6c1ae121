//! What can be measured in a run. A measure is one variant and one line of `Measure::EVERY`.

use crate::decimal::Decimal;
use crate::run::Outcome;
use hls_calculus::Mode;
use hls_record::result::{ThreadResult, Verdict, WindowResult};
use std::fmt;

/// A quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CPU time, as a percentage of one CPU.
    Share,
    /// Frames finished a second.
    Fps,
    /// Deadlines missed.
    Misses,
    /// Lengths of windows, over all guarantees, that were put to the test and had what was promised.
    Kept,
    /// Lengths of windows, over all guarantees, in which some had less than promised or more than allowed.
    Broken,
    /// The guarantee on every VP, by the tight bounds; where there are several, in file order, parted by ` + `.
    Guarantee,
    /// The same by the bounds as the paper has them.
    GuaranteeInPaper,
}

/// What was measured.
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
    const EVERY: [(Measure, &str); 7] = [
        (Measure::Share, "share"),
        (Measure::Fps, "fps"),
        (Measure::Misses, "misses"),
        (Measure::Kept, "kept"),
        (Measure::Broken, "broken"),
        (Measure::Guarantee, "guarantee"),
        (Measure::GuaranteeInPaper, "guarantee (paper mode)"),
    ];

    /// The measure of that name.
    pub fn parse(name: &str) -> Option<Measure> {
        Measure::EVERY.iter().find(|(_, known)| *known == name).map(|(measure, _)| *measure)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Measure::EVERY.iter().find(|(measure, _)| *measure == self).map_or("", |(_, name)| name)
    }

    /// All names, for a message.
    pub fn names() -> String {
        Measure::EVERY.map(|(_, name)| format!("`{name}`")).join(", ")
    }

    /// Whether it gives a text, not a number.
    pub fn is_text(self) -> bool {
        matches!(self, Measure::Guarantee | Measure::GuaranteeInPaper)
    }

    /// Takes the measure of a thread (of all its instances together) or a scheduler; `*`: of all.
    ///
    /// # Errors
    /// When there is nothing of that name that could be measured.
    pub fn take(self, outcome: &Outcome, of: &str) -> Result<Value, String> {
        let length = outcome.result.length.0;
        let threads = outcome.result.threads.iter().filter(|thread| outcome.names(thread.vp, of));
        let sum = |quantity: fn(&ThreadResult) -> u64| threads.clone().map(quantity).sum::<u64>();
        let windows = outcome.result.guarantees.iter().filter(|result| outcome.names(result.vp, of));
        let count = |is_counted: fn(Verdict) -> bool| {
            let windows = windows.clone().flat_map(|result| &result.windows).map(WindowResult::verdict);
            Value::Number(Decimal::whole(windows.filter(|verdict| is_counted(*verdict)).count() as u64))
        };
        let absent = || Err(format!("found nothing called `{of}` that has a {}", self.name()));
        let value = match self {
            Measure::Share | Measure::Fps | Measure::Misses if threads.clone().next().is_none() => {
                return absent();
            }
            Measure::Share => Value::Number(Decimal::ratio_nearest(sum(|thread| thread.ran.0) * 100, length)),
            Measure::Fps => {
                Value::Number(Decimal::ratio_nearest(sum(|thread| thread.frames) * 1_000_000_000, length))
            }
            Measure::Misses => Value::Number(Decimal::whole(sum(|thread| thread.misses))),
            Measure::Kept | Measure::Broken if windows.clone().next().is_none() => return absent(),
            Measure::Kept => count(|verdict| verdict == Verdict::Kept),
            Measure::Broken => count(Verdict::is_broken),
            Measure::Guarantee => Value::Text(outcome.guarantees(of, Mode::Tight)),
            Measure::GuaranteeInPaper => Value::Text(outcome.guarantees(of, Mode::Paper)),
        };
        Ok(value)
    }
}
