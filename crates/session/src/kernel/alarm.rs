//! Reports broken promises while a run goes on: a few lines a second, and how many reports were left out.
//!
//! Relies on being called regularly. The result has all broken promises.

use crate::console::Console;
use hls_monitor::observe::Observer;
use hls_report::broken::broken_in_words;
use hls_units::Nanos;

/// The most lines per second.
const LINES: u32 = 5;

/// The reports of the current second of the run.
#[derive(Default)]
pub struct Alarm {
    second: u64,
    said: u32,
    held_back: u64,
}

impl Alarm {
    /// Reports the promises that broke since the last call.
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

    /// Reports how many reports were left out.
    pub fn end(&mut self, console: &dyn Console) {
        if self.held_back > 0 {
            console
                .say(&format_args!("promises broke {} more times; the result has them all", self.held_back));
        }
        self.held_back = 0;
    }
}
