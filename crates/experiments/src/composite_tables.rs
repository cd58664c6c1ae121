//! Measures what stands beside Tables II to IV of G. Parmer and R. West, ACM TECS 13(1s), 2013: what a system call, a
//! switch of threads, an event and a lock cost, by policies in the kernel and by a scheduler in a process of its own.
//!
//! Relies on the test machine, where instructions are counted, on `composite_tables.sh` to measure there, and on the
//! program `tables` of the experiment's folder. Rows that need no hls are measured on this machine, too.

use crate::boot::{ExactVm, compiled, root, script_with_hls};
use hls_vm::Guest;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The name of the experiment and of its folder.
pub const NAME: &str = "composite-tables";

/// A row: the paper's table and name for it, its cycles, and our row, or why there is none.
type Row = (&'static str, &'static str, u64, Result<&'static str, &'static str>);

const ROWS: [Row; 19] = [
    ("II", "user to kernel and back", 166, Ok("system-call")),
    ("II", "twice", 312, Ok("two-system-calls")),
    ("II", "RPC between two address spaces", 1110, Err("no program can switch address spaces alone")),
    ("III", "null system call", 502, Ok("system-call")),
    ("III", "thread switch in the same process", 1903, Ok("fifo-yield")),
    ("III", "RPC between 2 processes by pipes", 15367, Ok("pipe")),
    ("III", "signal to the current thread, and back", 4377, Ok("signal")),
    ("III", "lock and release by futex, uncontended", 411, Ok("mutex")),
    ("IV", "RPC between components", 1629, Err("threads of Linux do not go to other processes")),
    ("IV", "kernel thread switch", 529, Ok("kernel-switch")),
    ("IV", "thread switch with scheduler", 688, Ok("user-switch-urgencies")),
    ("IV", "thread switch with scheduler and accounting", 976, Ok("user-switch-blocking")),
    ("IV", "brand made, upcall not at once", 391, Ok("user-event-later")),
    ("IV", "brand made, upcall at once", 3442, Ok("user-event-at-once")),
    ("IV", "upcall dispatch latency", 1768, Ok("user-dispatch")),
    ("IV", "upcall ends and executes a pending event", 804, Ok("pending-event")),
    ("IV", "upcall at once, with scheduler invocations", 9410, Ok("user-event-agent")),
    ("IV", "upcall dispatch latency, with scheduler", 5468, Ok("user-dispatch-agent")),
    ("IV", "scheduler lock and release, uncontended", 26, Ok("user-lock")),
];

/// Further rows of ours, for which the paper has none.
const OURS: [&str; 6] =
    ["user-switch-agent", "kernel-yield", "user-yield", "user-switch-to", "fifo-pipe", "event-unheard"];

/// An aim: what is measured, in instructions or in percent, and the most that it is to be.
type Aim = (&'static str, fn(&Measured) -> Option<u64>, u64);

const AIMS: [Aim; 4] = [
    ("a switch by urgencies, over one by a policy in the kernel", |m| m.over("user-switch-urgencies"), 450),
    ("by the thread that blocks", |m| m.over("user-switch-blocking"), 600),
    ("by the agent", |m| m.over("user-switch-agent"), 4_500),
    ("an upcall at once, in percent of one with the agent asked", Measured::upcall_percent, 60),
];

/// What was measured: each row in instructions, and in nanoseconds of this machine where it needs no hls.
pub struct Measured(Vec<(&'static str, u64, Option<u64>)>);

/// All rows of ours, each once.
fn rows() -> Vec<&'static str> {
    let mut rows: Vec<&str> = ROWS.iter().filter_map(|row| row.3.ok()).chain(OURS).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn needs_hls(row: &str) -> bool {
    row.starts_with("user-") || row.starts_with("kernel-")
}

/// Measures all rows, with this `hls`.
///
/// # Errors
/// Why they could not be measured, and what the kernel complained about.
pub fn measure(vm: &ExactVm, hls: &Path, folder: &Path) -> Result<Measured, Vec<String>> {
    let work = tempfile::tempdir().map_err(|error| vec![format!("a folder for work: {error}")])?;
    let source = format!("experiments/{NAME}/tables.c");
    let tables = compiled(&root(), &source, work.path()).map_err(|error| vec![error])?;
    let (with, without): (Vec<&str>, Vec<&str>) = rows().into_iter().partition(|row| needs_hls(row));
    let variables = format!("WITHOUT='{}' WITH='{}'", without.join(" "), with.join(" "));
    let script = script_with_hls(NAME, &variables, include_str!("composite_tables.sh"));
    let guest = Guest {
        scripts: vec![script],
        programs: vec![hls.to_owned(), tables.clone()],
        files: vec![(folder.join("tables.kdl"), "/usr/tables/tables.kdl".into())],
    };
    let outcome = vm.run(&guest, "")?;
    let printed: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    let measured = rows().into_iter().map(|row| {
        let here = if needs_hls(row) { None } else { Some(on_this_machine(&tables, row)?) };
        Ok((row, read(&printed, row)?, here))
    });
    measured.collect::<Result<_, String>>().map(Measured).map_err(|error| vec![error])
}

/// Reads the figure of a row in what the guest printed.
fn read(printed: &str, row: &str) -> Result<u64, String> {
    let line = printed.lines().find_map(|line| line.strip_prefix(&format!("row {row} ")));
    let figure = line.and_then(|figure| figure.trim().parse().ok());
    figure.ok_or_else(|| format!("found {line:?} for the row {row}, expected a number"))
}

/// The nanoseconds that a row takes on this machine.
fn on_this_machine(tables: &Path, row: &str) -> Result<u64, String> {
    let output =
        Command::new(tables).args([row, "nanoseconds"]).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| {
        format!(
            "tables {row}: found `{text}`, expected a number: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

impl Measured {
    fn instructions(&self, row: &str) -> Option<u64> {
        self.0.iter().find(|(name, ..)| *name == row).map(|(_, instructions, _)| *instructions)
    }

    /// What a switch costs more than one by a policy in the kernel.
    fn over(&self, row: &str) -> Option<u64> {
        Some(self.instructions(row)?.saturating_sub(self.instructions("kernel-switch")?))
    }

    fn upcall_percent(&self) -> Option<u64> {
        Some(
            (100 * self.instructions("user-event-at-once")?).div_ceil(self.instructions("user-event-agent")?),
        )
    }

    fn figures(&self, row: &str) -> (String, String) {
        let found = self.0.iter().find(|(name, ..)| *name == row);
        let here = found.and_then(|(_, _, here)| *here);
        let text = |figure: Option<u64>| figure.map_or("-".to_owned(), |figure| figure.to_string());
        (text(found.map(|(_, instructions, _)| *instructions)), text(here))
    }

    /// The table; `about` describes the test machine.
    pub fn csv(&self, about: &str) -> String {
        let mut csv =
            format!("# {about}\ntable, row, paper (cycles), ours, instructions, this machine (ns)\n");
        for (table, what, cycles, ours) in ROWS {
            let (row, (instructions, here)) = match ours {
                Ok(row) => (row, self.figures(row)),
                Err(why) => (why, ("-".to_owned(), "-".to_owned())),
            };
            let _ = writeln!(csv, "{table}, \"{what}\", {cycles}, {row}, {instructions}, {here}");
        }
        for row in OURS {
            let (instructions, here) = self.figures(row);
            let _ = writeln!(csv, "-, \"\", -, {row}, {instructions}, {here}");
        }
        csv
    }

    /// The aims, a line each: what was measured, and whether that is what was aimed at.
    pub fn aims(&self) -> String {
        let mut text = String::new();
        for (what, figure, most) in AIMS {
            let figure = figure(self);
            let verdict = if figure.is_some_and(|figure| figure <= most) { "reached" } else { "MISSED" };
            let figure = figure.map_or("-".to_owned(), |figure| figure.to_string());
            let _ = writeln!(text, "{what}: {figure}, aim {most}: {verdict}");
        }
        text
    }
}
