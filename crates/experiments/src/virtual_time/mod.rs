//! Pictures of borrowed virtual time: the effective virtual time of each virtual processor (VP) of a scheduler of `bvt`
//! against real time, as the figures of the paper draw it (K. J. Duda, D. R. Cheriton, SOSP 1999, section 2).
//!
//! The line of a VP that runs climbs, the more slowly the greater its share; the line of a VP that waits stays where it
//! is, and the VP with the lowest line goes on. Works the virtual times out from the records of a simulated run and the
//! parameters of the VPs in the file; knows nothing of messages that turn warps on and off, or of sleep against a VP's
//! will. Where a CPU changes hands during an interrupt, a line is off by what the interrupt takes.

mod account;
mod draw;
mod find;

use crate::run::planned;
use account::{Account, Virtual};
use hls_monitor::event::{ObservedVp, Record, What};
use hls_sim::{Options, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fs;
use std::path::Path;

/// Runs the hierarchy of a file for `length` from its start, and draws the virtual times below the first scheduler of
/// `bvt` in it.
///
/// # Errors
/// All errors of the file; that the virtual times of its VPs depend on what cannot be drawn; or why the run ended
/// early or the picture could not be written.
pub fn draw(file: &Path, length: Nanos, picture: &Path) -> Result<(), Vec<String>> {
    let name = file.display().to_string();
    let of_file = |error: String| vec![format!("{name}: {error}")];
    let text = fs::read(file).map_err(|error| of_file(error.to_string()))?;
    let plan = planned(&name, &text, &Workload::default())?;
    let borrowers = find::borrowers(&plan).map_err(of_file)?;
    let names = borrowers.iter().map(|one| plan.topology.child_name(one.vp).to_owned()).collect();
    let mut lines = Lines::new(&borrowers);
    let simulated = Simulation::new(plan, Options::default())
        .and_then(|mut run| run.run_until(length, &mut |record| lines.record(record)));
    simulated.map_err(|error| of_file(error.to_string()))?;
    lines.end(length);
    draw::picture(&lines, names, length, picture)
        .map_err(|error| vec![format!("{}: {error}", picture.display())])
}

/// A VP of a scheduler of `bvt`, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Borrower {
    vp: ObservedVp,
    /// Its weight; at least 1.
    share: u64,
    /// The CPU time by which it goes ahead of its turn.
    warp: Nanos,
    /// The CPU time for which it may run warped; zero: any.
    limit: Nanos,
    /// After how long without warp the limit is renewed.
    unwarp: Nanos,
}

/// What a VP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Runs,
    Waits,
    Sleeps,
    /// Its virtual time is set to another.
    Jumps,
}

/// A straight line, from one instant and virtual time to another.
#[derive(Clone, Copy, Debug)]
struct Stroke {
    line: usize,
    kind: Kind,
    from: (Nanos, Virtual),
    to: (Nanos, Virtual),
}

/// A VP, and where its line has come to.
#[derive(Clone, Debug)]
struct Line {
    account: Account,
    at: (Nanos, Virtual),
    /// Whether the VP was ever seen to want the CPU.
    is_there: bool,
}

/// Collects what is to be drawn.
#[derive(Clone, Debug)]
struct Lines {
    lines: Vec<Line>,
    strokes: Vec<Stroke>,
    /// The scheduler's virtual time, and the greatest actual one.
    now: Virtual,
    greatest: Virtual,
}

impl Lines {
    /// Nothing yet of the VPs of one scheduler.
    fn new(borrowers: &[Borrower]) -> Lines {
        let line =
            |&borrower| Line { account: Account::new(borrower), at: (Nanos::ZERO, 0), is_there: false };
        Lines { lines: borrowers.iter().map(line).collect(), strokes: Vec::new(), now: 0, greatest: 0 }
    }

    /// Takes the next record, in time order from the start of the run.
    fn record(&mut self, record: &Record) {
        let Record { at, vp, cpu, what } = *record;
        if let What::Stolen { length } = what {
            return self.steal(cpu, at.saturating_sub(length), at);
        }
        self.change_warps(at);
        let Some(line) = self.lines.iter().position(|line| line.account.borrower().vp == vp) else { return };
        match what {
            What::Request => self.wake(line, at),
            What::Grant => {
                self.draw_to(line, at);
                self.lines[line].account.grant(cpu, at);
            }
            What::Revoke => {
                self.stop(line, at);
                self.lines[line].account.revoke();
                self.draw_to(line, at);
            }
            What::Release | What::Leave => {
                self.stop(line, at);
                self.lines[line].account.release();
                self.draw_to(line, at);
                if self.lines.iter().all(|line| !line.account.wants) {
                    self.advance(at);
                }
            }
            _ => {}
        }
    }

    /// Draws all lines until the end of the run.
    fn end(&mut self, end: Nanos) {
        self.change_warps(end);
        for line in 0..self.lines.len() {
            self.charge(line, end);
        }
    }

    fn wake(&mut self, line: usize, at: Nanos) {
        self.draw_to(line, at);
        self.advance(at);
        let now = self.now;
        let woken = &mut self.lines[line];
        woken.account.wake(at, now);
        if !std::mem::replace(&mut woken.is_there, true) {
            woken.at = (at, woken.account.effective(at));
        }
        self.draw_to(line, at);
    }

    /// The scheduler's virtual time goes on to the least actual one of the VPs that want the CPU; to the greatest of
    /// all where none does.
    fn advance(&mut self, at: Nanos) {
        let wanting = self.lines.iter().filter(|line| line.account.wants);
        let least = wanting.map(|line| line.account.actual(at)).min().unwrap_or(self.greatest);
        self.now = self.now.max(least);
    }

    /// Draws a line until `at`, and charges its VP for it.
    fn charge(&mut self, line: usize, at: Nanos) {
        self.draw_to(line, at);
        let account = &mut self.lines[line].account;
        account.charge(at);
        let actual = account.actual(at);
        self.greatest = self.greatest.max(actual);
        self.draw_to(line, at);
    }

    /// The scheduler is told at `at` what the VP of a line has used.
    fn stop(&mut self, line: usize, at: Nanos) {
        self.charge(line, at);
        if self.lines[line].account.wants {
            // The scheduler's virtual time may have been seen in a run, part of which turned out to be stolen.
            self.now = self.now.min(self.lines[line].account.actual(at));
        }
    }

    /// The bars that end by `at` end, and the warps with limits that are used up by then.
    fn change_warps(&mut self, at: Nanos) {
        for line in 0..self.lines.len() {
            while let Some(due) = self.lines[line].account.next_change().filter(|due| *due <= at) {
                let due = due.max(self.lines[line].at.0);
                self.stop(line, due);
                self.lines[line].account.change(due);
                self.draw_to(line, due);
            }
        }
    }

    /// From `begin` to `end` no VP has that CPU, though one seems to.
    fn steal(&mut self, cpu: u16, begin: Nanos, end: Nanos) {
        self.change_warps(begin);
        for line in 0..self.lines.len() {
            if !self.lines[line].account.runs_on(cpu) {
                continue;
            }
            self.charge(line, begin.max(self.lines[line].at.0));
            self.lines[line].account.forgive(end);
            let effective = self.lines[line].account.effective(end);
            self.stroke(line, Kind::Waits, (end, effective));
        }
    }

    /// Draws a line from where it has come to until `at`, by what its VP does now.
    fn draw_to(&mut self, line: usize, at: Nanos) {
        let Line { account, at: (since, _), is_there } = &self.lines[line];
        if !is_there {
            return;
        }
        let kind = match (account.is_running(), account.wants) {
            _ if *since == at => Kind::Jumps,
            (true, _) => Kind::Runs,
            (false, true) => Kind::Waits,
            (false, false) => Kind::Sleeps,
        };
        let effective = account.effective(at);
        self.stroke(line, kind, (at, effective));
    }

    fn stroke(&mut self, line: usize, kind: Kind, to: (Nanos, Virtual)) {
        let from = std::mem::replace(&mut self.lines[line].at, to);
        match self.strokes.last_mut() {
            _ if from == to => {}
            // Nothing of interest happened in between.
            Some(last) if (last.line, last.kind, last.to) == (line, kind, from) && kind != Kind::Runs => {
                last.to = to;
            }
            _ => self.strokes.push(Stroke { line, kind, from, to }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_plan::Plan;

    const MS: Nanos = Nanos::from_millis(1);

    fn borrower(vp: u32, [share, warp, limit, unwarp]: [u64; 4]) -> Borrower {
        let ms = Nanos::from_millis;
        let vp = ObservedVp(vp);
        Borrower { vp, share, warp: ms(warp), limit: ms(limit), unwarp: ms(unwarp) }
    }

    /// The threads of a file, each with these words in its parameters, below a scheduler with an allowance of 2 ms.
    fn planned(threads: &[([u64; 4], &str)]) -> (Plan, Vec<Borrower>) {
        let thread = |(number, ([share, warp, limit, unwarp], does)): (usize, &([u64; 4], &str))| {
            let limits = format!(r#"warp-limit="{limit}ms" unwarp="{unwarp}ms""#);
            format!(r#"thread "{number}" share={share} warp="{warp}ms" {limits} {{ {does}; }}"#)
        };
        let threads_text: Vec<String> = threads.iter().enumerate().map(thread).collect();
        let text = format!(
            "machine cpus=1\n\
             bvt \"S\" allowance=\"2ms\" {{\n{}\n}}\n",
            threads_text.join("\n")
        );
        let (hierarchy, _) = hls_hierarchy::read(text.as_bytes()).expect(&text);
        let plan = Plan::new(hierarchy, &Workload::default()).expect("nothing is missing");
        let vps = plan.groups.iter().map(|group| group.first_vp.0);
        let borrowers = vps.zip(threads).map(|(vp, (params, _))| borrower(vp, *params)).collect();
        (plan, borrowers)
    }

    /// Asserts that the policy always grants the CPU to the VP with the least effective virtual time by the picture, or
    /// lets a VP that is ahead by less than the allowance go on with another slice.
    fn assert_the_least_runs(threads: &[([u64; 4], &str)], seed: u64) {
        let (plan, borrowers) = planned(threads);
        let mut picture = Lines::new(&borrowers);
        let options = Options { seed, ..Options::default() };
        let mut simulation = Simulation::new(plan, options).expect("it can be built");
        let (mut grants, mut revoked) = (0, None);
        let check = &mut |record: &Record| {
            picture.change_warps(record.at);
            if record.what == What::Revoke {
                revoked = Some((record.vp, record.at));
            }
            if record.what == What::Grant
                && let Some(granted) =
                    picture.lines.iter().find(|line| line.account.borrower().vp == record.vp)
            {
                let wanting = picture.lines.iter().filter(|line| line.account.wants);
                let least = wanting.map(|line| line.account.effective(record.at)).min();
                let ahead = granted.account.effective(record.at) - least.expect("the VP that is granted");
                let goes_on = revoked == Some((record.vp, record.at));
                let allowance = (2 * i128::from(MS.0)) << 8;
                let most = if goes_on { allowance / i128::from(granted.account.borrower().share) } else { 0 };
                assert!(ahead <= most, "{threads:?}: {record:?} is {ahead} ahead, at most {most} expected");
                grants += 1;
            }
            picture.record(record);
        };
        simulation.run_until(Nanos::from_secs(3), check).expect("it runs");
        assert!(grants > 100, "{threads:?}: {grants} grants");
    }

    #[test]
    fn who_is_granted_the_cpu_has_the_least_virtual_time() {
        let (hog, often) = ("cpu-bound", r#"bursty run="100us..3ms" sleep="100us..9ms""#);
        let (long, periodic) =
            (r#"bursty run="5ms..40ms" sleep="1ms..50ms""#, r#"periodic run="3ms" every="17ms""#);
        let cases = [
            [([1, 0, 0, 0], hog), ([3, 0, 0, 0], hog), ([2, 0, 0, 0], often)],
            [([1, 0, 0, 0], hog), ([3, 20, 0, 0], often), ([2, 50, 0, 0], periodic)],
            [([1, 9, 4, 20], hog), ([3, 20, 6, 0], long), ([2, 0, 0, 0], hog)],
            [([1, 9, 4, 20], long), ([7, 30, 2, 5], often), ([2, 40, 3, 9], long)],
            [([2, 9, 1, 3], often), ([3, 30, 2, 30], often), ([1, 0, 0, 0], hog)],
        ];
        for (threads, seed) in cases.iter().flat_map(|threads| (0..5).map(move |seed| (threads, seed))) {
            assert_the_least_runs(threads, seed);
        }
    }

    fn record(at: u64, vp: u32, what: What) -> Record {
        Record { at: Nanos::from_millis(at), vp: ObservedVp(vp), cpu: 0, what }
    }

    #[test]
    fn stolen_time_is_not_charged() {
        let end = Nanos::from_millis(9);
        let mut picture = Lines::new(&[borrower(1, [2, 0, 0, 0])]);
        for (at, what) in [(0, What::Request), (1, What::Grant)] {
            picture.record(&record(at, 1, what));
        }
        picture.record(&record(5, 0, What::Stolen { length: Nanos::from_millis(2) }));
        picture.record(&record(7, 1, What::Revoke));
        assert_eq!(account::nanoseconds_floor(picture.lines[0].account.actual(end), 2), 4_000_000);
        let kinds: Vec<Kind> = picture.strokes.iter().map(|stroke| stroke.kind).collect();
        assert_eq!(kinds, [Kind::Waits, Kind::Runs, Kind::Waits, Kind::Runs]);
    }
}
