//! Says while a run goes on that a promise breaks: a few lines a second, and how many times were left out.
//!
//! Relies on being called again and again. The result has all of the times.

use crate::console::Console;
use hls_monitor::observe::Observer;
use hls_report::broken::broken_in_words;
use hls_units::Nanos;

/// At most so many lines are said in a second.
const LINES: u32 = 5;

/// How much has been said in the current second of the run.
#[derive(Default)]
pub struct Alarm {
    second: u64,
    said: u32,
    held_back: u64,
}

impl Alarm {
    /// Says which promises broke since the last call.
    pub fn raise(&mut self, observer: &mut Observer, now: Nanos, console: &dyn Console) {
        let second = now.0 / Nanos::from_secs(1).0;
        if second != self.second {
            self.end(console);
            (self.second, self.said) = (second, 0);
        }
        for broken in observer.take_breaches() {
            if self.said == LINES {
                self.held_back += 1;
            } else {
                self.said += 1;
                console.say(&broken_in_words(observer.topology(), &broken));
            }
        }
    }

    /// Says how many times were left out.
    pub fn end(&mut self, console: &dyn Console) {
        if self.held_back > 0 {
            console
                .say(&format_args!("promises broke {} more times; the result has all of it", self.held_back));
        }
        self.held_back = 0;
    }
}
