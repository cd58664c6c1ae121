//! The bars of one lane, merged as far as the eye cannot tell them apart.

use hls_units::Nanos;

/// The width of the interval in the picture, in pixels.
pub(super) const PLOT_WIDTH: u64 = 1_200;

/// What a bar says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// That thread has the CPU (lane of a CPU).
    Thread(usize),
    /// The node has a CPU.
    Running,
    /// The node wants a CPU.
    Ready,
    /// The node wants a CPU and may not have it: it has no budget.
    Throttled,
    /// The node wants a CPU and may not have it: it is parked, or held by its process.
    Held,
    /// Interrupts or the host have the CPU.
    Stolen,
    /// Changes too quick to be shown apart.
    Mixed,
}

impl Kind {
    /// That this thread has the CPU.
    pub fn of_thread(thread: Option<usize>) -> Kind {
        thread.map_or(Kind::Mixed, Kind::Thread)
    }
}

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub from: Nanos,
    pub to: Nanos,
    pub kind: Kind,
}

/// The bars of one lane, in time order, all within the interval.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub bars: Vec<Bar>,
    from: Nanos,
    to: Nanos,
    /// The time that half a pixel stands for, rounded up.
    cell: Nanos,
}

impl Lane {
    pub fn new(from: Nanos, to: Nanos) -> Lane {
        let cell = Nanos(to.saturating_sub(from).0.div_ceil(2 * PLOT_WIDTH));
        Lane { bars: Vec::new(), from, to, cell }
    }

    /// Adds a bar after the others. A gap of less than a cell between bars of one kind is closed; bars shorter than a
    /// cell that lie within one become one of kind [`Kind::Mixed`].
    pub fn push(&mut self, from: Nanos, to: Nanos, kind: Kind) {
        let mut bar = Bar { from: from.max(self.from), to: to.min(self.to), kind };
        if bar.from >= bar.to {
            return;
        }
        while let Some(&last) = self.bars.last() {
            let is_alike = last.kind == bar.kind && bar.from.saturating_sub(last.to) < self.cell;
            let is_tiny = bar.to.saturating_sub(last.from) < self.cell;
            if !is_alike && !is_tiny {
                break;
            }
            let kind = if last.kind == bar.kind { bar.kind } else { Kind::Mixed };
            bar = Bar { from: last.from.min(bar.from), to: last.to.max(bar.to), kind };
            self.bars.pop();
        }
        self.bars.push(bar);
    }

    /// Adds a mark to `marks`, unless it is outside the interval or on top of the one before.
    pub fn push_mark(&self, marks: &mut Vec<Nanos>, at: Nanos) {
        let is_covered = marks.last().is_some_and(|last| at.0.abs_diff(last.0) <= 2 * self.cell.0);
        if self.from <= at && at <= self.to && !is_covered {
            marks.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_seen_is_kept() {
        let mut lane = Lane::new(Nanos(100), Nanos(100 + 2_000 * PLOT_WIDTH));
        lane.push(Nanos(0), Nanos(90), Kind::Running);
        lane.push(Nanos(90), Nanos(5_000), Kind::Ready);
        lane.push(Nanos(5_000), Nanos(9_000), Kind::Running);
        lane.push(Nanos(9_999), Nanos(12_000), Kind::Running);
        lane.push(Nanos(14_000), Nanos(16_000), Kind::Running);
        let bar = |from, to, kind| Bar { from: Nanos(from), to: Nanos(to), kind };
        let expected = [
            bar(100, 5_000, Kind::Ready),
            bar(5_000, 12_000, Kind::Running),
            bar(14_000, 16_000, Kind::Running),
        ];
        assert_eq!(lane.bars, expected);
    }

    #[test]
    fn the_bars_are_bounded_by_the_pixels() {
        let mut lane = Lane::new(Nanos(0), Nanos(1_000_000));
        for at in 0..1_000_000 {
            lane.push(Nanos(at), Nanos(at + 1), Kind::Thread(at as usize % 3));
        }
        assert!(lane.bars.len() as u64 <= 4 * PLOT_WIDTH, "{} bars", lane.bars.len());
    }
}
