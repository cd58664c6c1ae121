//! Measures Vassal's Tables 1 and 2 on a real kernel: what a switch costs when a policy is loaded, and how well a
//! thread keeps the times at which it asks to run, compared with what the kernel itself offers for that.
//!
//! Relies on the test machine, on `vassal.sh` to measure there, and on the programs `pipe` of `crates/bench` and
//! `metronome` of `examples`, which the compiler of this machine builds.

use crate::boot::{ExactVm, builds, compiled, root, sample, script_with_hls};
use hls_vm::Guest;
use std::fmt::Write as _;
use std::path::Path;

/// The name of the experiment and of its folder.
pub const NAME: &str = "vassal";
/// Batches of 100 round trips for a row of the first table: they take three seconds.
const BATCHES: usize = 1000;
/// Ticks of a millisecond for a row of the second table.
const TICKS: usize = 5000;
/// Threads that compute all the time beside the thread that ticks.
const HOGS: usize = 10;

/// The rows and columns of a table of the paper.
struct Form {
    name: &'static str,
    /// The first word of the table's lines in what the guest prints.
    key: &'static str,
    columns: &'static [&'static str],
    rows: &'static [Row],
}

/// A row: its name in the guest, its name in the table, and the numbers of the paper.
type Row = (&'static str, &'static str, &'static str);

const FORMS: [Form; 2] = [
    Form {
        name: "table-1",
        key: "switch",
        columns: &["least", "median", "average"],
        rows: &[
            ("none", "no hls, fair class", "NT rebuilt: 19.95 19.88"),
            ("unused", "hls, nothing loaded", "Vassal: 19.71 19.71"),
            ("loaded", "asked-times loaded, for others", "sample loaded: 21.32 21.17"),
            ("inside", "asked-times loaded, for these", "-"),
            ("none-fifo", "no hls, SCHED_FIFO", "-"),
            ("unused-fifo", "hls, nothing loaded, SCHED_FIFO", "-"),
            ("loaded-fifo", "asked-times loaded, SCHED_FIFO", "-"),
        ],
    },
    Form {
        name: "table-2",
        key: "ticks",
        columns: &["min", "max", "average", "deviation"],
        rows: &[
            ("fair-sleep-alone", "fair class, clock_nanosleep", "-"),
            ("fair-timer-alone", "fair class, timerfd", "NT multimedia timers: 75 1566 996 82"),
            ("fifo-sleep-alone", "SCHED_FIFO, clock_nanosleep", "-"),
            ("fifo-timer-alone", "SCHED_FIFO, timerfd", "-"),
            ("deadline-sleep-alone", "SCHED_DEADLINE, clock_nanosleep", "-"),
            ("time-sharing-sleep-alone", "hls time-sharing, clock_nanosleep", "-"),
            ("asked-alone", "hls asked-times", "sample scheduler: 996 1485 1002 21"),
            ("fair-sleep-hogs", "10 hogs, fair class, clock_nanosleep", "-"),
            ("fair-timer-hogs", "10 hogs, fair class, timerfd", "-"),
            ("fifo-sleep-hogs", "10 hogs, SCHED_FIFO, clock_nanosleep", "-"),
            ("fifo-timer-hogs", "10 hogs, SCHED_FIFO, timerfd", "-"),
            ("deadline-sleep-hogs", "10 hogs, SCHED_DEADLINE, clock_nanosleep", "-"),
            ("time-sharing-sleep-hogs", "10 hogs, hls time-sharing, clock_nanosleep", "-"),
            ("asked-hogs", "10 hogs, hls asked-times", "-"),
        ],
    },
];

/// A table with the times that were measured, in nanoseconds, by row and column.
pub struct Table {
    form: &'static Form,
    rows: Vec<Vec<u64>>,
}

/// Measures both tables on the hierarchy of a folder, with this `hls`.
///
/// # Errors
/// Why they could not be measured, and what the kernel complained about.
pub fn measure(vm: &ExactVm, hls: &Path, folder: &Path) -> Result<Vec<Table>, Vec<String>> {
    let work = tempfile::tempdir().map_err(|error| vec![format!("a folder for work: {error}")])?;
    let guest = guest(hls, folder, work.path()).map_err(|error| vec![error])?;
    let outcome = vm.run(&guest, "")?;
    let printed: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    FORMS.iter().map(|form| read(form, &printed)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

fn guest(hls: &Path, folder: &Path, work: &Path) -> Result<Guest, String> {
    let root = root();
    let pipe = compiled(&root, "crates/bench/src/pipe.c", work)?;
    let metronome = compiled(&root, "examples/metronome.c", work)?;
    let variables = format!("BATCHES={BATCHES} TICKS={TICKS} HOGS={HOGS}");
    let script = script_with_hls(NAME, &variables, include_str!("vassal.sh"));
    Ok(Guest {
        scripts: vec![script],
        programs: vec![hls.to_owned(), pipe, metronome, "chrt".into()],
        files: vec![
            (folder.join("vassal.kdl"), "/usr/vassal/vassal.kdl".into()),
            (sample(), "/usr/vassal/asked_times.c".into()),
            builds([&*sample()], work)?,
        ],
    })
}

/// Reads the times of a table from what the guest printed.
fn read(form: &'static Form, printed: &str) -> Result<Table, String> {
    let row = |&(name, ..): &Row| {
        let begin = format!("{} {name} ", form.key);
        let line = printed.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
        let numbers: Vec<u64> = line.split(' ').map_while(|number| number.parse().ok()).collect();
        let (columns, name) = (form.columns.len(), format!("{begin}{line}"));
        let wrong = || format!("found `{name}`, expected a line of it with {columns} times in nanoseconds");
        if numbers.len() == columns { Ok(numbers) } else { Err(wrong()) }
    };
    Ok(Table { form, rows: form.rows.iter().map(row).collect::<Result<_, _>>()? })
}

impl Table {
    /// The paper's name for the table.
    pub fn name(&self) -> &str {
        self.form.name
    }

    /// The table as the text of a CSV file; `about` describes the machine.
    pub fn csv(&self, about: &str) -> String {
        let mut csv =
            format!("# {about}, microseconds\n{}, {}, paper\n", self.form.key, self.form.columns.join(", "));
        for ((_, what, paper), times) in self.lines() {
            writeln!(csv, "\"{what}\", {}, {paper}", times.join(", ")).expect("a string takes all");
        }
        csv
    }

    /// The table for people.
    pub fn text(&self) -> String {
        let heading = self.form.columns.iter().map(|column| format!(" {column:>10}")).collect::<String>();
        let mut text = format!("\n{NAME}, {}\n  {:<44}{heading}  paper\n", self.form.name, "in us");
        for ((_, what, paper), times) in self.lines() {
            let times = times.iter().map(|time| format!(" {time:>10}")).collect::<String>();
            writeln!(text, "  {what:<44}{times}  {paper}").expect("a string takes all");
        }
        text
    }

    /// The rows, each with its times in microseconds.
    fn lines(&self) -> impl Iterator<Item = (&'static Row, Vec<String>)> {
        let in_us =
            |times: &Vec<u64>| times.iter().map(|time| format!("{:.2}", *time as f64 / 1e3)).collect();
        self.form.rows.iter().zip(self.rows.iter().map(in_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a guest would print, with this number as the first time of each line.
    fn printed(first: u64) -> String {
        let line = |form: &Form, (name, ..): &Row| {
            let rest = " 2500".repeat(form.columns.len() - 1);
            format!("{} {name} {first}{rest}\n", form.key)
        };
        FORMS.iter().flat_map(|form| form.rows.iter().map(move |row| line(form, row))).collect()
    }

    #[test]
    fn what_the_guest_printed_is_read() {
        let tables: Vec<Table> = FORMS.iter().map(|form| read(form, &printed(7)).unwrap()).collect();
        assert_eq!(tables[0].rows.len(), 7);
        assert!(tables.iter().all(|table| table.rows.iter().all(|row| row[..2] == [7, 2500])));
        let csv = tables[0].csv("a machine");
        assert!(csv.contains("\n\"hls, nothing loaded\", 0.01, 2.50, 2.50, Vassal: 19.71 19.71\n"), "{csv}");
        assert!(tables[1].text().contains("       0.01       2.50 "), "{}", tables[1].text());
    }

    #[test]
    fn what_lacks_a_row_or_a_number_is_refused() {
        let of = |printed: &str| read(&FORMS[1], printed).map(drop);
        assert!(of(&printed(7)).is_ok());
        for wrong in ["asked-hogs x", "asked-hogs", "other 7", "asked-hogs 7 7"] {
            let error = of(&printed(7).replace("asked-hogs 7", wrong)).unwrap_err();
            assert!(error.contains("expected a line of it with 4 times"), "{error}");
        }
    }
}
