//! The progress of a long run, on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A run that is over sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar on standard error; nothing where that is no terminal.
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
    /// So many parts of all are done.
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
    /// The run is over, or has failed: its messages need the line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
