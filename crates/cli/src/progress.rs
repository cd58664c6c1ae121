//! On a terminal: the progress of a long run, or what is waited for, and for how long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// The line is redrawn this often: its time is in seconds.
const TICK: Duration = Duration::from_millis(250);

/// Shows what is waited for, and for how long already, on standard error until it is dropped; nothing where standard
/// error is no terminal.
pub struct Waiting(ProgressBar);

impl Waiting {
    /// Begins to wait; `what` is written like "loading the engine".
    pub fn begin(what: String) -> Waiting {
        let style = ProgressStyle::with_template("{msg}: {elapsed}").expect("the template is a constant");
        let bar = ProgressBar::new_spinner().with_style(style).with_message(what);
        bar.enable_steady_tick(TICK);
        Waiting(bar)
    }
}

impl Drop for Waiting {
    /// Removes the line, which messages need.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A time of waiting, such as `4.21 s`.
pub fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// A run that is over within this time shows no progress.
const PATIENCE: Duration = Duration::from_millis(500);

/// A progress bar on standard error; nothing where standard error is no terminal.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    is_shown: bool,
}

impl Default for Progress {
    fn default() -> Progress {
        let style = ProgressStyle::with_template("running [{wide_bar}] {percent:>3}%, {eta} to go");
        let style = style.expect("the template is a constant").progress_chars("=> ");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style);
        Progress { bar, begun: Instant::now(), is_shown: false }
    }
}

impl Progress {
    /// Shows that `part` of `parts` are done.
    pub fn is_at(&mut self, part: u64, parts: u64) {
        if !self.is_shown && self.begun.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.is_shown = true;
        }
        self.bar.set_length(parts);
        self.bar.set_position(part);
    }
}

impl Drop for Progress {
    /// Removes the bar when the run is over or has failed, since messages need the line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
