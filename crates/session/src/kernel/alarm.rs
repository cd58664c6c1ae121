//! Reports what goes wrong while a run goes on: a few lines a second of each kind, and how many were left out.
//!
//! Relies on being called regularly. The result has all broken promises.

use crate::console::Console;
use hls_monitor::observe::Observer;
use hls_report::broken::broken_in_words;
use hls_units::Nanos;
use std::fmt::Display;

/// The most lines of a kind per second.
const LINES: u32 = 5;

/// Lines of one kind, in the current second of the run.
#[derive(Default)]
struct Lines {
    second: u64,
    said: u32,
    held_back: u64,
}

impl Lines {
    /// It is `now`. Returns how many lines were left out in an earlier second, once.
    fn advance(&mut self, now: Nanos) -> u64 {
        let second = now.0 / Nanos::from_secs(1).0;
        if second == self.second {
            return 0;
        }
        (self.second, self.said) = (second, 0);
        std::mem::take(&mut self.held_back)
    }

    fn say(&mut self, line: &dyn Display, console: &dyn Console) {
        if self.said == LINES {
            self.held_back += 1;
        } else {
            self.said += 1;
            console.say(line);
        }
    }
}

/// What is reported in the current second of the run.
#[derive(Default)]
pub struct Alarm {
    broken: Lines,
    notes: Lines,
}

impl Alarm {
    /// Reports the promises that broke since the last call.
    pub fn raise(&mut self, observer: &mut Observer, now: Nanos, console: &dyn Console) {
        report_missing_promises(self.broken.advance(now), console);
        for broken in observer.take_breaches() {
            self.broken.say(&broken_in_words(observer.topology(), &broken), console);
        }
    }

    /// Reports notes, which users without rights may cause.
    pub fn note(&mut self, notes: impl Iterator<Item = impl Display>, now: Nanos, console: &dyn Console) {
        report_missing_notes(self.notes.advance(now), console);
        notes.for_each(|note| self.notes.say(&format_args!("note: {note}"), console));
    }

    /// Reports how many lines were left out.
    pub fn end(&mut self, console: &dyn Console) {
        report_missing_promises(std::mem::take(&mut self.broken.held_back), console);
        report_missing_notes(std::mem::take(&mut self.notes.held_back), console);
    }
}

fn report_missing_promises(count: u64, console: &dyn Console) {
    if count > 0 {
        console.say(&format_args!("promises broke {count} more times; the result has them all"));
    }
}

fn report_missing_notes(count: u64, console: &dyn Console) {
    if count > 0 {
        console.say(&format_args!(
            "note: {count} more notes about threads, processes and records were left out"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Said(Mutex<Vec<String>>);

    impl Console for Said {
        fn say(&self, text: &dyn Display) {
            self.0.lock().unwrap().push(text.to_string());
        }
    }

    #[test]
    fn a_flood_of_notes_makes_a_few_lines_a_second() {
        let (mut alarm, said) = (Alarm::default(), Said::default());
        for look in 0..100 {
            alarm.note(0..10, Nanos::from_millis(look * 20), &said);
        }
        alarm.end(&said);
        let lines = said.0.into_inner().unwrap();
        let notes = 2 * LINES as usize;
        assert_eq!(lines.len(), notes + 2, "{lines:#?}");
        assert!(lines.iter().filter(|line| line.contains(" 495 more ")).count() == 2, "{lines:#?}");
    }
}
