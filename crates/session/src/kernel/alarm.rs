//! Says at once that a promise breaks, while the run goes on: a few lines a second, and how many were not
//! said.
//!
//! Relies on being asked again and again. The tables and the JSON of the result have all of it.

use crate::Console;
use hls_monitor::observe::Observer;
use hls_report::broken::broken_in_words;
use hls_units::Nanos;

/// No more lines are said in a second.
const LINES: u32 = 5;

/// What has been said lately.
#[derive(Default)]
pub struct Alarm {
    second: u64,
    said: u32,
    held_back: u64,
}

impl Alarm {
    /// Says what broke since the last time.
    pub fn raise(&mut self, observer: &mut Observer, now: Nanos, console: &dyn Console) {
        let second = now.0 / Nanos::from_secs(1).0;
        if second != self.second {
            self.end(console);
            (self.second, self.said) = (second, 0);
        }
        for broken in observer.take_broken() {
            if self.said == LINES {
                self.held_back += 1;
            } else {
                self.said += 1;
                console.say(&broken_in_words(observer.topology(), &broken));
            }
        }
    }

    /// Says how many times were not said.
    pub fn end(&mut self, console: &dyn Console) {
        if self.held_back > 0 {
            console
                .say(&format_args!("promises broke {} more times; the result has all of it", self.held_back));
        }
        self.held_back = 0;
    }
}
