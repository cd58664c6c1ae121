//! How many packets two tasks deal with when more come than a CPU can bear, for several ways to schedule the work of
//! interrupts: Figures 12 to 15 of G. Parmer and R. West, ACM TECS 13(1s), 2013, in the simulator, with the costs that
//! the paper states, and with real packets on a real kernel. Its four hierarchies are files; the rates of the packets
//! stand here.

use crate::boot::{ExactVm, compiled, root, script_with_hls};
use crate::chart::{Chart, Line};
use crate::run::planned;
use hls_calculus::Mode;
use hls_facade::{Checked, run};
use hls_sim::Options;
use hls_units::Nanos;
use hls_vm::Guest;
use hls_workload::program::{Span, Workload};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// The folder of the experiment.
pub const NAME: &str = "composite-interrupts";

/// How long packets come at each rate.
const LENGTH: Nanos = Nanos::from_secs(1);

/// A hierarchy of the paper's Figure 11: its file, and what it says.
const HIERARCHIES: [(char, &str); 4] =
    [('a', "interrupts first"), ('b', "interrupts by task"), ('c', "one server"), ('d', "two servers")];

/// Packets a second of the two streams.
type Rates = [u64; 2];

/// A figure of the paper: hierarchies, each at these rates.
pub struct Figure {
    /// Its number, and which part of it; as it comes out on a real kernel: with `kernel-` before it.
    pub name: &'static str,
    title: &'static str,
    hierarchies: &'static [usize],
    rates: fn(u64) -> Rates,
    /// The paper has the sum of both tasks in the figure after this one.
    totals: &'static str,
}

/// The figures on a real kernel, of 500 million instructions a second: a fifth of the paper's processor.
pub const ON_KERNEL: [Figure; 2] = [
    Figure {
        name: "kernel-figure-12",
        title: "both streams alike",
        hierarchies: &[0, 1, 2, 3],
        rates: |rate| [rate, rate],
        totals: "kernel-figure-13",
    },
    Figure {
        name: "kernel-figure-14",
        title: "5,000 packets a second for task 1",
        hierarchies: &[2, 3],
        rates: |rate| [5_000, rate],
        totals: "kernel-figure-15",
    },
];

/// The rates there, in packets a second.
const RATES_ON_KERNEL: [u64; 11] =
    [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 14_000, 20_000, 30_000];
/// For how many seconds packets come there at each rate.
const SECONDS_ON_KERNEL: u64 = 2;

/// The figures. What the paper sends to Task 1 in Figure 14 is constant.
pub const FIGURES: [Figure; 3] = [
    Figure {
        name: "figure-12",
        title: "both streams alike",
        hierarchies: &[0, 1, 2, 3],
        rates: |rate| [rate, rate],
        totals: "figure-13",
    },
    Figure {
        name: "figure-14-24100",
        title: "24,100 packets a second for task 1",
        hierarchies: &[2, 3],
        rates: |rate| [24_100, rate],
        totals: "figure-15-24100",
    },
    Figure {
        name: "figure-14-48800",
        title: "48,800 packets a second for task 1",
        hierarchies: &[2, 3],
        rates: |rate| [48_800, rate],
        totals: "figure-15-48800",
    },
];

/// The rates of a figure, in packets a second.
pub fn all_rates() -> impl Iterator<Item = u64> {
    (1..=25).map(|step| step * 10_000)
}

/// The result of one hierarchy at one rate, in packets a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    hierarchy: usize,
    sent: Rates,
    upcalls: u64,
    tasks: Rates,
    /// The part of the CPU, in thousandths, that the interrupts themselves take.
    stolen: u64,
}

/// The head of the table of rows.
pub const HEAD: &str = "hierarchy,sent 1,sent 2,upcalls,task 1,task 2,level 0 (%)";

impl Row {
    /// The row as a line of a table.
    pub fn csv(&self) -> String {
        let Row { hierarchy, sent, upcalls, tasks, stolen } = self;
        let (percent, tenth) = (stolen / 10, stolen % 10);
        let name = HIERARCHIES[*hierarchy].0;
        format!("{name},{},{},{upcalls},{},{},{percent}.{tenth}", sent[0], sent[1], tasks[0], tasks[1])
    }
}

impl Figure {
    /// Runs the hierarchies of the figure at this value of its axis.
    ///
    /// # Errors
    /// Why a hierarchy could not be run.
    pub fn rows_at(&self, folder: &Path, rate: u64, options: &Options) -> Result<Vec<Row>, Vec<String>> {
        let row = |hierarchy: &usize| carry_out(folder, *hierarchy, (self.rates)(rate), options);
        self.hierarchies.iter().map(row).collect()
    }

    /// The hierarchies, each at these values of the figure's axis.
    fn points(&self, rates: impl IntoIterator<Item = u64>) -> Vec<(usize, Rates)> {
        let at = |rate| self.hierarchies.iter().map(move |hierarchy| (*hierarchy, (self.rates)(rate)));
        rates.into_iter().flat_map(at).collect()
    }

    /// The rows of all rates, the hierarchies one after the other.
    ///
    /// # Errors
    /// As [`Figure::rows_at`].
    pub fn rows(&self, folder: &Path, options: &Options) -> Result<Vec<Row>, Vec<String>> {
        let mut rows = Vec::new();
        for rate in all_rates() {
            rows.extend(self.rows_at(folder, rate, options)?);
        }
        rows.sort_by_key(|row| row.hierarchy);
        Ok(rows)
    }

    /// Writes the figure, and the figure of the totals, into the folder: a table and two pictures.
    ///
    /// # Errors
    /// Why a file could not be written.
    pub fn write(&self, folder: &Path, rows: &[Row]) -> io::Result<()> {
        let lines = rows.iter().map(Row::csv);
        let table = std::iter::once(HEAD.to_owned()).chain(lines).fold(String::new(), |mut table, line| {
            let _ = writeln!(table, "{line}");
            table
        });
        std::fs::write(folder.join(format!("{}.csv", self.name)), table)?;
        let of = |hierarchy: usize, count: fn(&Row) -> u64| {
            let of = rows.iter().filter(move |row| row.hierarchy == hierarchy);
            of.map(move |row| (row.sent[1], count(row))).collect::<Vec<_>>()
        };
        let charts: Vec<Chart> = self
            .hierarchies
            .iter()
            .map(|&hierarchy| {
                let (letter, what) = HIERARCHIES[hierarchy];
                Chart {
                    title: format!("({letter}) {what}"),
                    lines: vec![
                        Line { name: "task 1".into(), points: of(hierarchy, |row| row.tasks[0]) },
                        Line { name: "task 2".into(), points: of(hierarchy, |row| row.tasks[1]) },
                    ],
                }
            })
            .collect();
        let total = Chart {
            title: format!("tasks 1 and 2 together, {}", self.title),
            lines: self
                .hierarchies
                .iter()
                .map(|&hierarchy| {
                    let (letter, what) = HIERARCHIES[hierarchy];
                    let points = of(hierarchy, |row| row.tasks.iter().sum());
                    Line { name: format!("({letter}) {what}"), points }
                })
                .collect(),
        };
        let axes = ["packets a second, stream 2", "packets a second dealt with"];
        Chart::draw(&charts, axes, &folder.join(format!("{}.svg", self.name)))?;
        Chart::draw(&[total], axes, &folder.join(format!("{}.svg", self.totals)))
    }
}

/// Runs a hierarchy with packets at these rates.
fn carry_out(folder: &Path, hierarchy: usize, sent: Rates, options: &Options) -> Result<Row, Vec<String>> {
    let file = folder.join(format!("{}.kdl", HIERARCHIES[hierarchy].0));
    let name = file.display().to_string();
    let failed = |error: &dyn std::fmt::Display| vec![format!("{name}: {error}")];
    let text = std::fs::read(&file).map_err(|error| failed(&error))?;
    let mut plan = planned(&name, &text, &Workload::default())?;
    for (interrupt, rate) in plan.hierarchy.machine.interrupts.iter_mut().zip(sent) {
        interrupt.every = distances(rate);
    }
    let checked = Checked::new(plan, Mode::Tight);
    let (result, _) =
        run(&checked, LENGTH, Nanos::ZERO, options, &mut |_| ()).map_err(|error| failed(&error))?;
    let jobs = |is_one: &dyn Fn(&str) -> bool| {
        let threads = result.threads.iter();
        let those = threads.filter(|thread| is_one(result.topology.child_name(thread.vp)));
        those.map(|thread| thread.response.count).sum::<u64>() * 1_000_000_000 / LENGTH.0
    };
    Ok(Row {
        hierarchy,
        sent,
        upcalls: jobs(&|name| name.starts_with("upcall")),
        tasks: [jobs(&|name| name == "task 1"), jobs(&|name| name == "task 2")],
        stolen: result.stolen.0 * 1000 / result.length.0,
    })
}

/// Measures figures on the test machine: the rows of each.
///
/// # Errors
/// Why they could not be measured, and what the kernel complained about.
pub fn measure(
    vm: &ExactVm,
    hls: &Path,
    folder: &Path,
    figures: &[Figure],
) -> Result<Vec<Vec<Row>>, Vec<String>> {
    let work = tempfile::tempdir().map_err(|error| vec![format!("a folder for work: {error}")])?;
    let source = format!("experiments/{NAME}/packets.c");
    let packets = compiled(&root(), &source, work.path()).map_err(|error| vec![error])?;
    let mut points: Vec<(usize, Rates)> = Vec::new();
    for figure in figures {
        points.extend(figure.points(RATES_ON_KERNEL));
    }
    points.sort();
    points.dedup();
    let words: Vec<String> = (points.iter())
        .map(|(hierarchy, rates)| format!("{}:{}:{}", HIERARCHIES[*hierarchy].0, rates[0], rates[1]))
        .collect();
    let variables = format!("SECONDS_EACH={SECONDS_ON_KERNEL} POINTS='{}'", words.join(" "));
    let script = script_with_hls(NAME, &variables, include_str!("interrupts.sh"));
    let file = |(letter, _): &(char, &str)| {
        let name = format!("{letter}.kdl");
        (folder.join(&name), format!("/usr/interrupts/{name}"))
    };
    let guest = Guest {
        scripts: vec![script],
        programs: vec![hls.to_owned(), packets],
        files: HIERARCHIES.iter().map(file).collect(),
    };
    let outcome = vm.run(&guest, "")?;
    let printed: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    let row = |&(hierarchy, sent): &(usize, Rates)| read(&printed, hierarchy, sent);
    let of_figure = |figure: &Figure| {
        let mut points = figure.points(RATES_ON_KERNEL);
        points.sort();
        points.iter().map(row).collect::<Result<Vec<Row>, String>>()
    };
    figures.iter().map(of_figure).collect::<Result<_, _>>().map_err(|error| vec![error])
}

/// Reads a row in what the guest printed.
fn read(printed: &str, hierarchy: usize, sent: Rates) -> Result<Row, String> {
    let begin = format!("ROW {} {} {} ", HIERARCHIES[hierarchy].0, sent[0], sent[1]);
    let line = printed.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
    let numbers: Vec<u64> = line.split(' ').map_while(|number| number.parse().ok()).collect();
    match numbers[..] {
        [upcalls, one, two, stolen, _dropped] => {
            Ok(Row { hierarchy, sent, upcalls, tasks: [one, two], stolen })
        }
        _ => Err(format!("found `{begin}{line}`, expected five numbers after the rates")),
    }
}

/// From one packet to the next at a mean rate: a quarter more or less.
fn distances(rate: u64) -> Span {
    let mean = 1_000_000_000 / rate;
    Span { min: Nanos(mean * 3 / 4), max: Nanos(mean * 5 / 4) }
}
