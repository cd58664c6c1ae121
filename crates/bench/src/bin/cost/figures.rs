//! The figures: reads them from the guest's output, compares them with the goals, and writes them as tables.

use hls_vm::Error;
use std::fmt::Write as _;

/// Where in the hierarchy the two threads that take turns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Both are below the last scheduler of one chain.
    OneLeaf,
    /// Each is at the end of a chain of its own; the chains meet in the first scheduler.
    TwoBranches,
}

impl Place {
    /// The name of the place in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Place::OneLeaf => "one-leaf",
            Place::TwoBranches => "two-branches",
        }
    }
}

/// One measurement: the instructions of a switch.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    scheduler: String,
    place: Place,
    depth: u32,
    instructions: u64,
}

/// All measurements, in the order in which they were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures(Vec<Figure>);

/// Whether the figures reach a goal.
pub struct Verdict {
    /// The goal, and what was measured.
    pub text: String,
    /// Whether the goal is reached.
    pub kept: bool,
}

/// The goal for a policy at depth 1: its cost, at most, in percent of the cost of scx_simple.
const MAX_PERCENT: u64 = 105;
/// The goal for a loaded policy: its cost, at most, in percent of its cost when it is built in.
const MAX_PERCENT_LOADED: u64 = 108;
/// The goal for each further level: its cost in instructions, at most.
const MAX_A_LEVEL: f64 = 250.0;

impl Figures {
    /// Reads lines of `SCHEDULER PLACE DEPTH INSTRUCTIONS`.
    ///
    /// # Errors
    /// `Failed` with the first line that has another form.
    pub fn read(text: &str) -> Result<Figures, Error> {
        let read = |line: &str| {
            let [scheduler, place, depth, instructions] =
                line.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
            let place =
                [Place::OneLeaf, Place::TwoBranches].into_iter().find(|known| known.name() == place)?;
            let (depth, instructions) = (depth.parse().ok()?, instructions.parse().ok()?);
            Some(Figure { scheduler: scheduler.to_owned(), place, depth, instructions })
        };
        let wrong = |line| Error::Failed(format!("found `{line}`, expected a line of figures"));
        text.lines().map(|line| read(line).ok_or_else(|| wrong(line))).collect::<Result<_, _>>().map(Figures)
    }

    /// The figures as the text of a CSV file.
    pub fn csv(&self, kernel: &str) -> String {
        let mut csv = format!(
            "# Linux {kernel}, instructions of one switch\nscheduler, threads, depth, instructions\n"
        );
        for Figure { scheduler, place, depth, instructions } in &self.0 {
            writeln!(csv, "{scheduler}, {}, {depth}, {instructions}", place.name())
                .expect("a string takes all");
        }
        csv
    }

    /// The figures as a table for people, with a line for each scheduler and place and a column for each depth, and
    /// with the goals below.
    pub fn table(&self) -> String {
        let mut depths: Vec<u32> = self.0.iter().map(|figure| figure.depth).collect();
        depths.sort_unstable();
        depths.dedup();
        let mut table = format!("{:<20} {:<12}", "instructions", "depth");
        let columns = depths.iter().map(|depth| format!(" {depth:>7}"));
        table.extend(columns.chain([format!(" {:>8}\n", "a level")]));
        for (scheduler, place) in self.lines() {
            write!(table, "{scheduler:<20} {:<12}", place.name()).expect("a string takes all");
            for &depth in &depths {
                let found = self.at(scheduler, place, depth);
                table += &found.map_or(" ".repeat(8), |instructions| format!(" {instructions:>7}"));
            }
            let slope = self.slope(scheduler, place).map(|slope| format!(" {slope:>8.0}"));
            table += &(slope.unwrap_or_default() + "\n");
        }
        for verdict in self.verdicts() {
            let kept = if verdict.kept { "kept" } else { "MISSED" };
            writeln!(table, "{kept}: {}", verdict.text).expect("a string takes all");
        }
        table
    }

    /// The goals for each of our policies, with their verdicts; none where scx_simple was not measured.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let Some(simple) = self.at("scx_simple", Place::OneLeaf, 1) else { return vec![] };
        let ours = self.lines().into_iter().filter(|(scheduler, _)| crate::POLICIES.contains(scheduler));
        let mut verdicts = vec![];
        for (scheduler, place) in ours {
            let first = self.at(scheduler, place, 1).unwrap_or(u64::MAX);
            let slope = self.slope(scheduler, place).unwrap_or(f64::INFINITY);
            let ratio = first as f64 / simple as f64;
            verdicts.push(Verdict {
                text: format!(
                    "{scheduler}, {}: depth 1 costs {ratio:.3} times scx_simple, expected at most 1.05",
                    place.name()
                ),
                kept: first.saturating_mul(100) <= simple.saturating_mul(MAX_PERCENT),
            });
            verdicts.push(Verdict {
                text: format!(
                    "{scheduler}, {}: a level costs {slope:.0}, expected at most {MAX_A_LEVEL}",
                    place.name()
                ),
                kept: slope <= MAX_A_LEVEL,
            });
        }
        verdicts.extend(crate::POLICIES.iter().filter_map(|policy| self.of_loaded(policy)));
        verdicts
    }

    /// The verdict on the cost of a loaded policy, at the depth where it exceeds the cost of the built-in one most.
    fn of_loaded(&self, policy: &str) -> Option<Verdict> {
        let loaded = format!("{}{policy}", crate::LOADED);
        let pair = |depth: &u32| {
            let at = |scheduler| self.at(scheduler, Place::TwoBranches, *depth);
            Some((at(&loaded)?, at(policy)?, *depth))
        };
        let ratio = |(loaded, built_in, _): &(u64, u64, u32)| *loaded as f64 / *built_in as f64;
        let pairs = crate::DEPTHS.iter().filter_map(pair);
        let worst = pairs.max_by(|one, other| ratio(one).total_cmp(&ratio(other)))?;
        let (loaded, built_in, depth) = worst;
        Some(Verdict {
            text: format!(
                "{policy}: loaded, a switch costs {:.3} times as much as built in, at worst, at depth \
                 {depth}, expected at most 1.08",
                ratio(&worst)
            ),
            kept: loaded.saturating_mul(100) <= built_in.saturating_mul(MAX_PERCENT_LOADED),
        })
    }

    /// The schedulers and places of the table's lines, in the order in which they were measured.
    fn lines(&self) -> Vec<(&str, Place)> {
        let mut lines = vec![];
        for figure in &self.0 {
            let line = (figure.scheduler.as_str(), figure.place);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    fn at(&self, scheduler: &str, place: Place, depth: u32) -> Option<u64> {
        let is_it = |f: &&Figure| f.scheduler == scheduler && f.place == place && f.depth == depth;
        self.0.iter().find(is_it).map(|figure| figure.instructions)
    }

    /// The instructions of a further level, by least squares; `None` where fewer than two depths were measured.
    fn slope(&self, scheduler: &str, place: Place) -> Option<f64> {
        let mine = self.0.iter().filter(|figure| figure.scheduler == scheduler && figure.place == place);
        let points: Vec<(f64, f64)> =
            mine.map(|figure| (f64::from(figure.depth), figure.instructions as f64)).collect();
        let count = points.len() as f64;
        let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (x, y) = (x / count, y / count);
        let across: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let along: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        (points.len() > 1 && along > 0.0).then(|| across / along)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "scx_simple one-leaf 1 1000\nfixed-priority one-leaf 1 1050\nfixed-priority one-leaf 2 1300\n\
                        fixed-priority two-branches 1 1051\nfixed-priority two-branches 2 1302\n";

    #[test]
    fn a_goal_that_is_just_reached_is_kept_and_one_just_missed_is_missed() {
        let kept: Vec<bool> =
            Figures::read(TEXT).unwrap().verdicts().iter().map(|verdict| verdict.kept).collect();
        assert_eq!(kept, [true, true, false, false]);
    }

    #[test]
    fn the_slope_is_by_least_squares() {
        let figures =
            Figures::read("fair one-leaf 1 10\nfair one-leaf 2 30\nfair one-leaf 4 50\nx one-leaf 1 1\n")
                .unwrap();
        let slope = figures.slope("fair", Place::OneLeaf).unwrap();
        assert!((slope - 90.0 / 7.0).abs() < 1e-9, "{slope}");
        assert_eq!(figures.slope("x", Place::OneLeaf), None);
    }

    #[test]
    fn a_line_that_is_no_figure_is_refused() {
        for line in ["", "fair one-leaf 1", "fair nowhere 1 1", "fair one-leaf 1 many", "fair one-leaf 1 1 1"]
        {
            assert!(matches!(Figures::read(&format!("{line}\n")), Err(Error::Failed(_))), "{line}");
        }
    }
}
