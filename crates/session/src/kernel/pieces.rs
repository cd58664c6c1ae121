//! Work in pieces. The kernel runs this process before all threads of the hierarchy, which wait while it works; so a
//! long piece of work is done in short ones, with as much rest in between.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// So long is a piece, and the rest behind it.
const PIECE: Duration = Duration::from_micros(100);

/// Work that is under way.
pub struct Pieces {
    begun: Instant,
}

impl Pieces {
    /// The work begins.
    pub fn begin() -> Pieces {
        Pieces { begun: Instant::now() }
    }

    /// Rests if a piece has been done. To be called between two steps of the work, each much shorter than a piece.
    pub fn rest(&mut self) {
        if self.begun.elapsed() > PIECE {
            sleep(PIECE);
            self.begun = Instant::now();
        }
    }
}
