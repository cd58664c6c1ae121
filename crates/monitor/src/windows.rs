//! The supply monitor: the least and the most CPU time that one VP got in any window of given lengths, and whether that
//! is what it was promised.
//!
//! A guarantee speaks only of windows in which the VP wants the CPU all the time, that is of windows between a request
//! and the release after it; the *least* is taken over these. A hard guarantee also bounds the supply from above; the
//! *most* is taken over windows of at most that length between a request and the release, since what bounds a window
//! bounds its parts. Across a sleep there is no bound: a sleeper's reservation begins a new period when it wakes up.
//!
//! **Stolen time.** Interrupts, threads of higher classes and the host take time from CPUs, which no scheduler can give
//! away. The stolen time of a window is the time for which the VP did not compute because its CPU had been taken while
//! it was granted, or for which it waited while any CPU was taken: the VPs before it in line were held up too. A window
//! that got too little, but enough with what was stolen in it, is not the hierarchy's fault. That is so only for what
//! is stolen beyond what the promise takes into account (interrupts that the file declares): else a promise that was
//! derived in spite of them would be excused by them. Stolen time never excuses that a VP got too much.
//!
//! **Slack.** Real timers go off late. What is missing, or too much, by no more than the slack is counted apart.
//!
//! All of it, up to an instant, is a piecewise linear function of that instant (`curve.rs`). So, for windows of one
//! length, the supply takes its extremes where the window starts or ends at a bend, at a request or at a release. The
//! monitor keeps the recent bends in a queue and looks at those windows only: amortised constant time for each bend and
//! watched length, and memory for the bends within the longest window, up to a bound. Exact: integers only. (Where a
//! promise takes stolen time into account and more than that is stolen, what cannot be explained may be largest between
//! two bends; then a little less is seen.) Relies on changes being reported in time order; time that runs backwards is
//! taken as standing still.

pub use crate::breach::{Breach, Missed, Window};
use crate::curve::{Bend, Curve, Has};
use crate::judge::{Episodes, Judge, Level};
use crate::requests::{RequestTest, Requests};
use crate::result::{Counts, RequestsResult, WindowResult};
use hls_units::Nanos;

/// A request that has not been released.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    since: Nanos,
    /// The supply up to then.
    supply: Nanos,
    /// What had been stolen from the VP up to then.
    stolen: Nanos,
}

/// One watched length of windows.
#[derive(Clone, Debug)]
struct Watch {
    window: Window,
    /// The number of the first bend that the tail of the newest window has not reached.
    next_bend: u64,
    /// No window begins before this: the bends before it are forgotten.
    floor: Bend,
    /// The least supply, and what was stolen in that window.
    least: Option<(Nanos, Nanos)>,
    most: Nanos,
    /// The most that was missing in a window and not stolen.
    missing: Nanos,
    short: Episodes,
    over: Episodes,
}

impl Watch {
    fn new(window: Window) -> Watch {
        let (short, over) = Default::default();
        let (least, most, missing, floor) = Default::default();
        Watch { window, next_bend: 0, floor, least, most, missing, short, over }
    }

    /// No window begins before the newest bend of `curve` any more.
    fn begin_at_newest(&mut self, curve: &Curve) {
        (self.next_bend, self.floor) = (curve.newest(), curve.last());
    }

    /// Moves the head of the window from the newest bend of `curve` to `at`, and judges the windows on the way that
    /// have their tail at a bend, and the one that has its head at `at`.
    fn advance(&mut self, curve: &Curve, at: Nanos, wanted: Option<Wanted>, judge: &mut Judge) {
        let length = self.window.length;
        let last = curve.last();
        let Watch { floor, .. } = *self;
        let begins = wanted.map(|Wanted { since: at, supply, stolen }| match at < floor.at {
            true => floor,
            false => Bend { at, supply, stolen, has: Has::Nothing },
        });
        let is_wanted = |tail: Nanos| begins.is_some_and(|begins| begins.at <= tail);
        while let Some(bend) = curve.get(self.next_bend)
            && at.saturating_sub(bend.at) >= length
        {
            if is_wanted(bend.at) {
                self.judge(bend, last.until(bend.at + length), true, judge);
            }
            self.next_bend += 1;
        }
        let Some(begins) = begins else { return };
        let tail = at.saturating_sub(length);
        let head = last.until(at);
        if at >= length && begins.at <= tail {
            let tail_bend = self.next_bend.checked_sub(1).and_then(|number| curve.get(number));
            self.judge(tail_bend.unwrap_or_default().until(tail), head, true, judge);
        } else {
            self.judge(begins, head, false, judge);
        }
    }

    /// Holds what the VP got between two instants, where it wanted the CPU all the time between them, against the
    /// promise: against the upper limit, and, where that is a whole window, against the lower one.
    fn judge(&mut self, tail: Bend, head: Bend, is_whole: bool, judge: &mut Judge) {
        let got = head.supply.saturating_sub(tail.supply);
        let stolen = head.stolen.saturating_sub(tail.stolen);
        let breach = |what| Breach { from: tail.at, to: head.at, got, stolen, what };
        self.most = self.most.max(got);
        let excess = self.window.allowed.map_or(Nanos::ZERO, |allowed| got.saturating_sub(allowed));
        if self.over.add(judge.level(excess)) {
            judge.breaches.push(breach(Missed::Excess(self.window)));
        }
        if !is_whole {
            return;
        }
        if self.least.is_none_or(|(least, _)| got < least) {
            self.least = Some((got, stolen));
        }
        let too_little = self.window.promised.saturating_sub(got);
        let missing = too_little.saturating_sub(stolen.saturating_sub(self.window.accounted));
        self.missing = self.missing.max(missing);
        let level = judge.level_short(missing, too_little > Nanos::ZERO);
        if level == Level::Broken {
            judge.short_until = head.at;
        }
        if self.short.add(level) {
            judge.breaches.push(breach(Missed::Window(self.window)));
        }
    }

    fn result(&self, slack: Nanos) -> WindowResult {
        let Window { length, promised, allowed, accounted: _ } = self.window;
        let (least, stolen) = self.least.unzip();
        let (most, missing, stolen) = (self.most, self.missing, stolen.unwrap_or_default());
        WindowResult { window: length, promised, least, stolen, missing, allowed, most, slack }
    }
}

/// The supply monitor of one VP.
#[derive(Clone, Debug)]
pub struct Monitor {
    watches: Vec<Watch>,
    requests: Option<Requests>,
    curve: Curve,
    wanted: Option<Wanted>,
    /// What was stolen while the VP waited for a CPU, since the newest bend: disjoint, in order.
    pending: Vec<(Nanos, Nanos)>,
    judge: Judge,
}

/// When more stretches of stolen time are pending than this, they become bends.
const MAX_PENDING: usize = 1_000;

/// The most bends that are kept for one VP (2 MiB). Windows with more bends are not judged.
const MOST_BENDS: usize = 1 << 16;

impl Monitor {
    /// Watches windows of the given lengths from `at` on, when the VP neither runs nor wants to; what is missing or too
    /// much by at most `slack` breaks no promise.
    pub fn new(windows: Vec<Window>, at: Nanos, slack: Nanos) -> Monitor {
        Monitor {
            watches: windows.into_iter().map(Watch::new).collect(),
            requests: None,
            curve: Curve::new(at),
            wanted: None,
            pending: Vec::new(),
            judge: Judge { slack, ..Judge::default() },
        }
    }

    /// Also judges each request, of a promise that begins at `at`.
    #[must_use]
    pub fn with_requests(mut self, test: Option<RequestTest>, at: Nanos, before: Nanos) -> Monitor {
        self.requests = test.map(|test| Requests::new(test, at, before));
        self
    }

    /// Another slack from now on.
    pub fn set_slack(&mut self, slack: Nanos) {
        self.judge.slack = slack;
    }

    /// The VP begins to want the CPU. No effect where it does already.
    pub fn request(&mut self, at: Nanos) {
        if self.wanted.is_none() {
            self.bend(at, self.curve.last().has);
            let Bend { at: since, supply, stolen, .. } = self.curve.last();
            self.wanted = Some(Wanted { since, supply, stolen });
            // No window spans a sleep.
            self.curve.drop_below(self.curve.newest());
            for watch in &mut self.watches {
                watch.begin_at_newest(&self.curve);
                watch.short.begin_anew();
                watch.over.begin_anew();
            }
        }
        if let Some(requests) = &mut self.requests {
            let now = self.curve.last().until(at.max(self.curve.last().at));
            requests.begin(now.at, (now.supply, now.stolen), self.judge.slack);
        }
    }

    /// The VP starts running, and wants the CPU even if no request said so: the beginning of a real run may be missing.
    pub fn grant(&mut self, at: Nanos) {
        self.request(at);
        self.settle(at);
        self.bend(at, Has::Cpu);
    }

    /// The VP stops running, and still wants the CPU.
    pub fn revoke(&mut self, at: Nanos) {
        self.request(at);
        self.settle(at);
        self.bend(at, Has::Nothing);
    }

    /// The VP does not want the CPU any more, whether it was running or not.
    pub fn release(&mut self, at: Nanos) {
        self.settle(at);
        self.bend(at, Has::Nothing);
        self.wanted = None;
        if let Some(requests) = &mut self.requests {
            requests.end(self.curve.last().at);
        }
    }

    /// As [`Monitor::release`], and another thread may have the VP from then on.
    pub fn leave(&mut self, at: Nanos) {
        self.release(at);
        if let Some(requests) = &mut self.requests {
            requests.hand_over(self.curve.last().at);
        }
    }

    /// Records between `from` and `to` were lost. What the VP does is not known until the next call of another method
    /// tells it; nothing is judged until then.
    pub fn lose_track(&mut self, from: Nanos, to: Nanos) {
        self.settle(from);
        self.bend(from, Has::Nothing);
        self.wanted = None;
        self.pending.clear();
        if let Some(requests) = &mut self.requests {
            requests.lose_track(to);
        }
    }

    /// A CPU was taken for `length` until `at`: the CPU on which the VP runs, or any CPU while the VP waits for one. If
    /// the VP changed its state after `at - length`, the part before that change is not seen.
    pub fn steal(&mut self, at: Nanos, length: Nanos) {
        if length == Nanos::ZERO {
            return;
        }
        let mut from = at.saturating_sub(length);
        if self.curve.last().has == Has::Cpu {
            self.bend(from, Has::Stolen);
            self.bend(at, Has::Cpu);
        } else if self.wanted.is_some() {
            // Several CPUs may be taken at once, and each is reported when it is given back.
            let mut to = at;
            while let Some((begin, end)) = self.pending.pop_if(|(_, end)| *end >= from) {
                (from, to) = (from.min(begin), to.max(end));
            }
            self.pending.push((from, to));
            if self.pending.len() > MAX_PENDING {
                self.settle(at);
            }
        }
    }

    /// All changes that follow are later than `at`. Judges windows up to then in which the VP waits for a CPU; those in
    /// which it runs are judged when it stops.
    pub fn advance(&mut self, at: Nanos) {
        if self.wanted.is_some() && self.curve.last().has != Has::Cpu {
            self.settle(at);
            self.bend(at, Has::Nothing);
        }
    }

    /// The windows in which a promise broke since the last call: the first window of each episode.
    pub fn take_breaches(&mut self) -> Vec<Breach> {
        std::mem::take(&mut self.judge.breaches)
    }

    /// The end of the latest window that got too little; 0: none did.
    pub fn short_until(&self) -> Nanos {
        self.judge.short_until
    }

    /// What was stolen from the VP so far, as far as is known.
    pub fn stolen(&self) -> Nanos {
        let pending = self.pending.iter().map(|(from, to)| to.saturating_sub(*from));
        pending.fold(self.curve.last().stolen, Nanos::saturating_add)
    }

    /// How often windows got too little or too much so far.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for Watch { short, over, .. } in &self.watches {
            counts.short += short.broken;
            counts.over += over.broken;
            counts.late += short.late + over.late;
            counts.stolen += short.stolen;
        }
        if let Some(Requests { episodes, .. }) = &self.requests {
            counts.short += episodes.broken;
            counts.late += episodes.late;
            counts.stolen += episodes.stolen;
        }
        counts
    }

    /// What was seen for each watched length up to `end`.
    pub fn finish(&mut self, end: Nanos) -> Vec<WindowResult> {
        self.settle(end);
        self.bend(end, Has::Nothing);
        self.watches.iter().map(|watch| watch.result(self.judge.slack)).collect()
    }

    /// What was seen of the requests so far, where they are judged.
    pub fn requests(&self) -> Option<RequestsResult> {
        self.requests.as_ref().map(|requests| requests.result(self.judge.slack))
    }

    /// Makes bends of what was stolen up to `at` while the VP waited.
    fn settle(&mut self, at: Nanos) {
        for (from, to) in std::mem::take(&mut self.pending) {
            if from < at {
                self.bend(from, Has::Stolen);
                self.bend(to.min(at), Has::Nothing);
            }
            if to > at {
                self.pending.push((from.max(at), to));
            }
        }
    }

    /// Moves every window on to `at` and adds a bend there.
    fn bend(&mut self, at: Nanos, has: Has) {
        let at = at.max(self.curve.last().at);
        if at == self.curve.last().at {
            // The windows were judged up to here.
            self.judge_request(at, has);
            return self.curve.turn(has);
        }
        let mut oldest = u64::MAX;
        for watch in &mut self.watches {
            watch.advance(&self.curve, at, self.wanted, &mut self.judge);
            oldest = oldest.min(watch.next_bend);
        }
        self.judge_request(at, has);
        self.curve.push(at, has);
        // The bend before the tail tells what the VP has at the tail.
        self.curve.drop_below(oldest.saturating_sub(1));
        if self.curve.len() > MOST_BENDS {
            let holds = |watch: &&mut Watch| watch.next_bend == oldest;
            self.watches.iter_mut().filter(holds).for_each(|watch| watch.begin_at_newest(&self.curve));
        }
    }

    /// Moves the request on to `at`, from where the VP has `next`.
    fn judge_request(&mut self, at: Nanos, next: Has) {
        let Monitor { requests: Some(requests), curve, judge, .. } = self else { return };
        let last = curve.last();
        let had = |at| {
            let Bend { supply, stolen, .. } = last.until(at);
            (supply, stolen)
        };
        requests.advance((last.at, at), (last.has, next), judge, had);
    }
}

#[cfg(test)]
#[path = "../tests/requests/player.rs"]
mod player;

#[cfg(test)]
mod tests {
    use super::player::Unit::{self, *};
    use super::player::play_units;
    use super::*;
    use crate::result::Verdict;
    use proptest::prelude::*;

    /// Windows of that length; the promise takes no stolen time into account.
    fn window(length: u64, promised: u64) -> Window {
        Window { length: Nanos(length), promised: Nanos(promised), ..Window::default() }
    }

    /// Plays `units` to a monitor of windows of the given lengths, with `promised` for each, and counts the shortfalls,
    /// stolen or not.
    fn watch(units: &[Unit], lengths: &[u64], promised: u64) -> (Vec<WindowResult>, u64) {
        let windows = lengths.iter().map(|&length| window(length, promised)).collect();
        let (found, counts) = play(units, Monitor::new(windows, Nanos::ZERO, Nanos::ZERO));
        (found, counts.short + counts.stolen)
    }

    fn play(units: &[Unit], mut monitor: Monitor) -> (Vec<WindowResult>, Counts) {
        play_units(units, &mut monitor);
        let found = monitor.finish(Nanos(units.len() as u64));
        (found, monitor.counts())
    }

    fn supply(units: &[Unit]) -> u64 {
        units.iter().filter(|&&unit| unit == Runs).count() as u64
    }

    /// The least supply of the windows of that length on the grid in which the VP wants the CPU throughout.
    fn least_of_all(units: &[Unit], length: usize) -> Option<Nanos> {
        let wanted = units.windows(length).filter(|window| !window.contains(&Asleep));
        wanted.map(|window| Nanos(supply(window))).min()
    }

    /// The greatest supply of the windows of at most that length in which the VP wants the CPU throughout.
    fn most_of_all(units: &[Unit], length: usize) -> Nanos {
        let of_length = |length| units.windows(length).filter(|window| !window.contains(&Asleep));
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
        let units = [Runs, Runs, Asleep, Asleep, Asleep, Runs, Runs, Runs, Asleep, Asleep];
        let (found, shortfalls) = watch(&units, &[3], 3);
        assert_eq!((found[0].least, shortfalls), (Some(Nanos(3)), 0));
    }

    /// A VP that is promised something in windows of hours, and switches all the time, costs a bounded amount of
    /// memory; shorter windows are judged as before.
    #[test]
    fn memory_is_bounded_where_a_window_has_very_many_bends() {
        let windows = vec![window(1_000, 600), window(u64::MAX / 4, 1), window(u64::MAX / 2, 1)];
        let mut monitor = Monitor::new(windows, Nanos::ZERO, Nanos::ZERO);
        let switches = 2 * MOST_BENDS as u64;
        for round in 0..switches {
            monitor.grant(Nanos(round * 100));
            monitor.revoke(Nanos(round * 100 + 50));
            assert!(monitor.curve.len() <= MOST_BENDS + 2, "{} in round {round}", monitor.curve.len());
        }
        let found = monitor.finish(Nanos(switches * 100));
        let least: Vec<_> = found.iter().map(|result| result.least).collect();
        assert_eq!(least, [Some(Nanos(500)), None, None]);
        assert_eq!(monitor.counts().short, 1, "one episode of windows of 1000 with 500");
    }

    /// What a thread did before it slept costs nothing.
    #[test]
    fn bends_before_a_sleep_are_forgotten() {
        let mut monitor = Monitor::new(vec![window(1_000_000, 1)], Nanos::ZERO, Nanos::ZERO);
        for round in 0..1_000 {
            monitor.grant(Nanos(round * 100));
            monitor.release(Nanos(round * 100 + 50));
        }
        assert!(monitor.curve.len() <= 4, "{}", monitor.curve.len());
    }

    #[test]
    fn each_shortfall_counts_once() {
        let units = [Ready, Ready, Ready, Runs, Runs, Runs, Ready, Ready, Ready, Ready, Asleep, Ready, Ready];
        let (_, shortfalls) = watch(&units, &[2], 1);
        assert_eq!(shortfalls, 3, "at the start, after the run, and after the second request");
    }

    #[test]
    fn stolen_time_is_no_supply() {
        let (found, shortfalls) = watch(&[Runs, Stolen, Stolen, Runs], &[2], 1);
        assert_eq!((found[0].least, shortfalls), (Some(Nanos(0)), 1));
    }

    /// What each window lacks, stolen time apart.
    fn missing_most(units: &[Unit], length: usize, promised: u64) -> Nanos {
        let stolen = |window: &[Unit]| window.iter().filter(|&&unit| unit == Stolen).count() as u64;
        let wanted = units.windows(length).filter(|window| !window.contains(&Asleep));
        Nanos(wanted.map(|w| promised.saturating_sub(supply(w) + stolen(w))).max().unwrap_or(0))
    }

    #[test]
    fn stolen_time_explains_what_is_missing_up_to_its_length() {
        let of = |units: &[Unit], accounted| {
            let window = Window { accounted: Nanos(accounted), ..window(4, 3) };
            play(units, Monitor::new(vec![window], Nanos::ZERO, Nanos::ZERO))
        };
        let (found, counts) = of(&[Runs, Stolen, Stolen, Runs], 0);
        assert_eq!(counts, Counts { stolen: 1, ..Counts::default() });
        assert_eq!((found[0].least, found[0].stolen, found[0].missing), (Some(Nanos(2)), Nanos(2), Nanos(0)));
        // One unit is not explained by what was stolen, or is promised in spite of it.
        for (units, accounted) in [([Runs, Stolen, Ready, Ready], 0), ([Runs, Stolen, Stolen, Runs], 2)] {
            let (found, counts) = of(&units, accounted);
            assert_eq!((counts, found[0].missing), (Counts { short: 1, ..Counts::default() }, Nanos(1)));
        }
    }

    #[test]
    fn what_is_stolen_from_others_delays_a_vp_that_waits() {
        let mut monitor = Monitor::new(vec![window(10, 6)], Nanos::ZERO, Nanos::ZERO);
        monitor.request(Nanos(0));
        // Two CPUs are taken at once for a while: from 1 to 5 in all.
        monitor.steal(Nanos(4), Nanos(2));
        monitor.steal(Nanos(5), Nanos(4));
        assert_eq!(monitor.stolen(), Nanos(4));
        monitor.grant(Nanos(8));
        monitor.revoke(Nanos(10));
        assert_eq!(monitor.counts(), Counts { stolen: 1, ..Counts::default() });
        monitor.release(Nanos(12));
        assert_eq!(monitor.counts(), Counts { short: 1, ..Counts::default() }, "the windows from 1 on");
        let breaches = monitor.take_breaches();
        let breach = Breach {
            from: Nanos(2),
            to: Nanos(12),
            got: Nanos(2),
            stolen: Nanos(3),
            what: Missed::Window(window(10, 6)),
        };
        assert_eq!((breaches, monitor.take_breaches()), (vec![breach], vec![]));
    }

    #[test]
    fn a_vp_that_runs_wants_to() {
        for begin in [Monitor::grant, Monitor::revoke] {
            let mut monitor = Monitor::new(vec![window(10, 10)], Nanos::ZERO, Nanos::ZERO);
            begin(&mut monitor, Nanos(5));
            assert_eq!(monitor.finish(Nanos(14))[0].least, None);
            assert!(monitor.finish(Nanos(15))[0].least.is_some());
        }
    }

    #[test]
    fn slack_is_counted_apart_below_and_above() {
        let window = Window { allowed: Some(Nanos(4)), ..window(6, 3) };
        let of = |units: &[Unit], slack| {
            let (found, counts) = play(units, Monitor::new(vec![window], Nanos::ZERO, Nanos(slack)));
            (counts, found[0].verdict())
        };
        let (late, over) = ([Ready, Ready, Ready, Ready, Runs, Runs], [Runs; 6]);
        let none = Counts::default();
        assert_eq!(of(&late, 1), (Counts { late: 1, ..none }, Verdict::Late));
        assert_eq!(of(&late, 0), (Counts { short: 1, ..none }, Verdict::Short));
        assert_eq!(of(&over, 2), (Counts { late: 1, ..none }, Verdict::Late));
        assert_eq!(of(&over, 1), (Counts { over: 1, ..none }, Verdict::Over));
    }

    #[test]
    fn a_vp_that_starves_is_noticed_while_it_waits() {
        let mut monitor = Monitor::new(vec![window(10, 6)], Nanos(100), Nanos::ZERO);
        monitor.request(Nanos(100));
        monitor.advance(Nanos(109));
        assert_eq!(monitor.take_breaches(), []);
        monitor.advance(Nanos(110));
        assert_eq!(monitor.take_breaches().len(), 1);
        monitor.advance(Nanos(130));
        assert_eq!((monitor.take_breaches(), monitor.counts().short), (vec![], 1), "it goes on");
    }

    #[test]
    fn memory_is_bounded_while_time_is_stolen_again_and_again() {
        let mut monitor = Monitor::new(vec![window(100, 6)], Nanos::ZERO, Nanos::ZERO);
        monitor.request(Nanos(0));
        (1..100_000).for_each(|at| monitor.steal(Nanos(3 * at), Nanos(1)));
        assert!(monitor.pending.len() <= MAX_PENDING, "{}", monitor.pending.len());
        assert_eq!((monitor.stolen(), monitor.counts().short), (Nanos(99_999), 0));
    }

    #[test]
    fn time_that_runs_backwards_stands_still() {
        let mut monitor = Monitor::new(vec![window(5, 0)], Nanos::ZERO, Nanos::ZERO);
        monitor.request(Nanos(10));
        monitor.grant(Nanos(3));
        monitor.steal(Nanos(4), Nanos(9));
        let found = monitor.finish(Nanos(20));
        assert_eq!((found[0].least, found[0].most), (Some(Nanos(5)), Nanos(5)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn agrees_with_every_window_looked_at(
            stretches in prop::collection::vec(
                (prop::sample::select(vec![Asleep, Ready, Runs, Stolen]), 1usize..7),
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
                prop_assert_eq!(result.missing, missing_most(&units, result.window.0 as usize, promised));
                prop_assert_eq!(result.most, most_of_all(&units, result.window.0 as usize));
                is_any_short |= least.is_some_and(|least| least.0 < promised);
            }
            prop_assert_eq!(shortfalls > 0, is_any_short);
        }
    }
}
