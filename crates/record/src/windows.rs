//! The supply monitor: the least and the most CPU time that one VP got in any window of given lengths.
//!
//! A guarantee speaks only of windows in which the VP wants the CPU all the time, that is of windows between a request
//! and the release after it; the *least* is taken over those. A hard guarantee also bounds the supply from above; the
//! *most* is taken over windows of at most that length between a request and the release, since what bounds a window
//! bounds its parts. Across a sleep there is no bound: a sleeper's reservation begins a new period when it wakes up.
//!
//! The supply up to an instant is a piecewise linear function of it, which bends only where the VP starts or stops
//! running. So, for windows of one length, the supply takes its extremes where the window starts or ends at a bend, at
//! a request or at a release. The monitor keeps the recent bends in a queue and looks at those windows only:
//! amortised constant time for each bend and watched length, and memory for the bends within the longest window.
//! Exact: integers only. Relies on being told of changes in time order; time that runs backwards is taken as standing
//! still.

use crate::result::WindowResult;
use hls_units::Nanos;
use std::collections::VecDeque;

/// A length of windows to be watched and what is promised for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Length of the windows.
    pub length: Nanos,
    /// The least CPU time that such a window must get while the VP wants the CPU: sbf(length), rounded down.
    pub promised: Nanos,
    /// The most that it may get: ubf(length), rounded up; `None` where the guarantee is soft.
    pub allowed: Option<Nanos>,
}

/// A point where the supply may bend.
#[derive(Clone, Copy, Debug, Default)]
struct Bend {
    at: Nanos,
    /// The supply up to `at`.
    supply: Nanos,
    /// Whether the VP runs from here to the next bend.
    runs: bool,
}

impl Bend {
    /// The supply up to `at`, which lies between this bend and the next.
    fn supply_until(self, at: Nanos) -> Nanos {
        if self.runs { self.supply + at.saturating_sub(self.at) } else { self.supply }
    }
}

/// The recent part of the supply function. Bends are numbered from the start of the run.
#[derive(Clone, Debug)]
struct Curve {
    /// Never empty.
    bends: VecDeque<Bend>,
    /// How many bends have been dropped from the front.
    dropped: u64,
}

impl Curve {
    fn new() -> Curve {
        Curve { bends: VecDeque::from([Bend::default()]), dropped: 0 }
    }

    /// The bend of that number, unless it is yet to come.
    fn get(&self, number: u64) -> Option<Bend> {
        let index = usize::try_from(number.checked_sub(self.dropped)?).ok()?;
        self.bends.get(index).copied()
    }

    /// The newest bend.
    fn last(&self) -> Bend {
        self.bends.back().copied().unwrap_or_default()
    }

    /// Forgets the bends below that number, but never the newest.
    fn drop_below(&mut self, number: u64) {
        while self.dropped < number && self.bends.len() > 1 {
            self.bends.pop_front();
            self.dropped += 1;
        }
    }
}

/// A request that has not been released.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    since: Nanos,
    /// The supply up to then.
    supply: Nanos,
}

/// One watched length.
#[derive(Clone, Debug)]
struct Watch {
    window: Window,
    /// The number of the first bend that the tail of the newest window has not reached.
    next_bend: u64,
    least: Option<Nanos>,
    most: Nanos,
    /// Whether the newest window judged fell short.
    is_short: bool,
    shortfalls: u64,
}

impl Watch {
    fn new(window: Window) -> Watch {
        Watch { window, next_bend: 0, least: None, most: Nanos::ZERO, is_short: false, shortfalls: 0 }
    }

    /// Moves the head of the window from the newest bend of `curve` to `at`, and judges the windows on the way whose
    /// tail is at a bend, and the one whose head is at `at`.
    fn advance(&mut self, curve: &Curve, at: Nanos, wanted: Option<Wanted>) {
        let length = self.window.length;
        let last = curve.last();
        let is_wanted = |tail: Nanos| wanted.is_some_and(|wanted| wanted.since <= tail);
        while let Some(bend) = curve.get(self.next_bend)
            && at.saturating_sub(bend.at) >= length
        {
            let head = bend.at + length;
            self.judge(last.supply_until(head).saturating_sub(bend.supply), is_wanted(bend.at));
            self.next_bend += 1;
        }
        let head_supply = last.supply_until(at);
        let tail = at.saturating_sub(length);
        let tail_bend = self.next_bend.checked_sub(1).and_then(|number| curve.get(number));
        let tail_supply = tail_bend.map_or(Nanos::ZERO, |bend| bend.supply_until(tail));
        self.judge(head_supply.saturating_sub(tail_supply), at >= length && is_wanted(tail));
        if let Some(wanted) = wanted {
            self.most = self.most.max(head_supply.saturating_sub(tail_supply.max(wanted.supply)));
        }
    }

    /// Takes the supply of a window into account; `is_wanted`: the VP wanted the CPU all through it.
    fn judge(&mut self, supply: Nanos, is_wanted: bool) {
        if is_wanted {
            self.most = self.most.max(supply);
            self.least = Some(self.least.map_or(supply, |least| least.min(supply)));
            let is_short = supply < self.window.promised;
            self.shortfalls += u64::from(is_short && !self.is_short);
            self.is_short = is_short;
        }
    }

    fn result(self) -> WindowResult {
        let Window { length, promised, allowed } = self.window;
        WindowResult { window: length, promised, least: self.least, allowed, most: self.most }
    }
}

/// The supply monitor of one VP. Starts at time 0 with a VP that neither runs nor wants to.
#[derive(Clone, Debug)]
pub struct Monitor {
    watches: Vec<Watch>,
    curve: Curve,
    wanted: Option<Wanted>,
}

impl Monitor {
    /// Watches windows of the given lengths.
    pub fn new(windows: Vec<Window>) -> Monitor {
        Monitor { watches: windows.into_iter().map(Watch::new).collect(), curve: Curve::new(), wanted: None }
    }

    /// The VP begins to want the CPU. No effect where it does already.
    pub fn request(&mut self, at: Nanos) {
        if self.wanted.is_none() {
            self.bend(at, self.curve.last().runs);
            let Bend { at: since, supply, .. } = self.curve.last();
            self.wanted = Some(Wanted { since, supply });
            self.watches.iter_mut().for_each(|watch| watch.is_short = false);
        }
    }

    /// The VP starts running.
    pub fn grant(&mut self, at: Nanos) {
        self.bend(at, true);
    }

    /// The VP stops running, and still wants the CPU if it did before.
    pub fn revoke(&mut self, at: Nanos) {
        self.bend(at, false);
    }

    /// The VP does not want the CPU any more, whether it was running or not.
    pub fn release(&mut self, at: Nanos) {
        self.bend(at, false);
        self.wanted = None;
    }

    /// The CPU was taken for `length` until `at` while the VP was running. All that was told before happened no later
    /// than `at - length`.
    pub fn steal(&mut self, at: Nanos, length: Nanos) {
        self.revoke(at.saturating_sub(length));
        self.grant(at);
    }

    /// Ends the run and tells what was seen for each watched length, and the number of shortfalls: of times when the
    /// windows of one length began to get less than promised.
    pub fn finish(mut self, end: Nanos) -> (Vec<WindowResult>, u64) {
        self.bend(end, false);
        let shortfalls = self.watches.iter().map(|watch| watch.shortfalls).sum();
        (self.watches.into_iter().map(Watch::result).collect(), shortfalls)
    }

    /// Moves every window on to `at` and adds a bend there.
    fn bend(&mut self, at: Nanos, runs: bool) {
        let at = at.max(self.curve.last().at);
        let mut oldest = u64::MAX;
        for watch in &mut self.watches {
            watch.advance(&self.curve, at, self.wanted);
            oldest = oldest.min(watch.next_bend);
        }
        let supply = self.curve.last().supply_until(at);
        self.curve.bends.push_back(Bend { at, supply, runs });
        // The bend before the tail tells whether the VP runs at the tail.
        self.curve.drop_below(oldest.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the VP does in one unit of time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Unit {
        Waits,
        Ready,
        Runs,
        /// The CPU is stolen while the VP runs.
        Stolen,
    }
    use Unit::*;

    /// Plays `units` to a monitor of windows of the given lengths, with `promised` for each.
    fn watch(units: &[Unit], lengths: &[u64], promised: u64) -> (Vec<WindowResult>, u64) {
        let window = |&length| Window { length: Nanos(length), promised: Nanos(promised), allowed: None };
        let mut monitor = Monitor::new(lengths.iter().map(window).collect());
        let mut before = Waits;
        let mut stolen = 0;
        for (at, &unit) in (0..).map(Nanos).zip(units) {
            if before == Stolen && unit != Stolen {
                monitor.steal(at, Nanos(stolen));
                stolen = 0;
            }
            let (had, has) = (matches!(before, Runs | Stolen), matches!(unit, Runs | Stolen));
            match (before, unit) {
                (Waits, Waits) => {}
                (Waits, _) => monitor.request(at),
                (_, Waits) => monitor.release(at),
                _ if had && !has => monitor.revoke(at),
                _ => {}
            }
            if has && !had {
                monitor.grant(at);
            }
            stolen += u64::from(unit == Stolen);
            before = unit;
        }
        let end = Nanos(units.len() as u64);
        if before == Stolen {
            monitor.steal(end, Nanos(stolen));
        }
        monitor.finish(end)
    }

    fn supply(units: &[Unit]) -> u64 {
        units.iter().filter(|&&unit| unit == Runs).count() as u64
    }

    /// The least supply of the windows of that length on the grid in which the VP wants the CPU throughout.
    fn least_of_all(units: &[Unit], length: usize) -> Option<Nanos> {
        let wanted = units.windows(length).filter(|window| !window.contains(&Waits));
        wanted.map(|window| Nanos(supply(window))).min()
    }

    /// The greatest supply of the windows of at most that length in which the VP wants the CPU throughout.
    fn most_of_all(units: &[Unit], length: usize) -> Nanos {
        let of_length = |length| units.windows(length).filter(|window| !window.contains(&Waits));
        Nanos((1..=length).flat_map(of_length).map(supply).max().unwrap_or(0))
    }

    #[test]
    fn the_least_is_found_between_two_runs_and_at_a_release() {
        let units = [Runs, Runs, Ready, Ready, Ready, Runs, Runs, Runs, Ready, Ready];
        let (found, _) = watch(&units, &[4, 10, 11], 0);
        assert_eq!((found[0].least, found[0].most), (Some(Nanos(1)), Nanos(3)));
        assert_eq!((found[1].least, found[1].most), (Some(Nanos(5)), Nanos(5)));
        assert_eq!((found[2].least, found[2].most), (None, Nanos(5)), "longer than the run");
    }

    #[test]
    fn windows_in_which_the_vp_waits_promise_nothing() {
        let units = [Runs, Runs, Waits, Waits, Waits, Runs, Runs, Runs, Waits, Waits];
        let (found, shortfalls) = watch(&units, &[3], 3);
        assert_eq!((found[0].least, shortfalls), (Some(Nanos(3)), 0));
    }

    #[test]
    fn each_shortfall_counts_once() {
        let units = [Ready, Ready, Ready, Runs, Runs, Runs, Ready, Ready, Ready, Ready, Waits, Ready, Ready];
        let (_, shortfalls) = watch(&units, &[2], 1);
        assert_eq!(shortfalls, 3, "at the start, after the run, and after the second request");
    }

    #[test]
    fn stolen_time_is_no_supply() {
        let (found, shortfalls) = watch(&[Runs, Stolen, Stolen, Runs], &[2], 1);
        assert_eq!((found[0].least, shortfalls), (Some(Nanos(0)), 1));
    }

    #[test]
    fn time_that_runs_backwards_stands_still() {
        let mut monitor = Monitor::new(vec![Window { length: Nanos(5), promised: Nanos(0), allowed: None }]);
        monitor.request(Nanos(10));
        monitor.grant(Nanos(3));
        monitor.steal(Nanos(4), Nanos(9));
        let (found, _) = monitor.finish(Nanos(20));
        assert_eq!((found[0].least, found[0].most), (Some(Nanos(5)), Nanos(5)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn agrees_with_every_window_looked_at(
            stretches in prop::collection::vec(
                (prop::sample::select(vec![Waits, Ready, Runs, Stolen]), 1usize..7),
                0..14,
            ),
            lengths in prop::collection::vec(1u64..25, 1..4),
            promised in 0u64..6,
        ) {
            let units: Vec<Unit> = stretches.iter().flat_map(|&(unit, n)| std::iter::repeat_n(unit, n)).collect();
            let (found, shortfalls) = watch(&units, &lengths, promised);
            let mut is_any_short = false;
            for result in found {
                let least = least_of_all(&units, result.window.0 as usize);
                prop_assert_eq!(result.least, least);
                prop_assert_eq!(result.most, most_of_all(&units, result.window.0 as usize));
                is_any_short |= least.is_some_and(|least| least.0 < promised);
            }
            prop_assert_eq!(shortfalls > 0, is_any_short);
        }
    }
}
