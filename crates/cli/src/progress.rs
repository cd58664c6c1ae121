//! The progress of a long run, on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

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
