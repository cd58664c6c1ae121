//! Loads and unloads a policy again and again beside the reservations of the thesis' Table 10.5, on a real kernel, and
//! measures how long that takes, how long scheduling stands still, and whether an application misses a deadline by it.
//!
//! Relies on the test machine, on `load_unload.sh` to do that there, and on the reports of `hls run --json` and the
//! times that `hls load` prints.

use crate::boot::{ExactVm, builds, sample, script_with_hls};
use crate::report::RunReport;
use hls_units::Nanos;
use hls_vm::{Guest, OUT};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the experiment and of its folder.
pub const NAME: &str = "load-unload";
/// How often the policy is unloaded and loaded again in each row.
const CYCLES: usize = 500;
/// How many different builds of the policy are loaded after that, for each of which a new engine is made.
const BUILDS: usize = 3;

/// The rows: a hierarchy file, and what it reserves for the application.
const ROWS: [(&str, &str); 2] = [("hard", "hard, 11 ticks in 33 ms"), ("soft", "soft, 11 ticks in 33 ms")];

/// The times of the thesis to load a scheduler and to unload it, in milliseconds.
const PAPER: (&str, &str) = ("59.7", "57.6");

/// How long the parts of a load or an unload took: to compile the policy, to have the kernel verify the new engine, to
/// have that engine take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    build: Nanos,
    verify: Nanos,
    publish: Nanos,
}

/// What the application achieved in a run.
#[derive(Clone, Copy)]
struct Frames {
    all: u64,
    /// The number of gaps between frames that were too long.
    missed: u64,
    /// The number of promises of the hierarchy, to any thread, that were broken.
    broken: usize,
}

/// The figures of a row.
pub struct Row {
    what: &'static str,
    /// The run in which the policy is unloaded and loaded again, by engines that exist already.
    cycles: Frames,
    /// A run as long, in which no policy is loaded or unloaded.
    alone: Frames,
    /// The run in which builds of the policy replace each other.
    builds: Frames,
    /// The times to load the first of these builds.
    first: Parts,
    /// The longest time in which an engine took over, of all loads and of all unloads.
    longest: (Nanos, Nanos),
}

/// Measures all rows on the hierarchies of a folder, with this `hls`.
///
/// # Errors
/// Why rows could not be measured, and what the kernel complained about.
pub fn measure(vm: &ExactVm, hls: &Path, folder: &Path) -> Result<Vec<Row>, Vec<String>> {
    let work = tempfile::tempdir().map_err(|error| vec![format!("a folder for work: {error}")])?;
    let guest = guest(hls, folder, work.path()).map_err(|error| vec![error])?;
    vm.run(&guest, "")?;
    let left = vm.results.join(OUT);
    ROWS.iter().map(|row| read(&left, row)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

fn guest(hls: &Path, folder: &Path, work: &Path) -> Result<Guest, String> {
    let versions =
        versions(&work.join("versions")).map_err(|error| format!("builds of the sample: {error}"))?;
    let rows = ROWS.map(|(file, _)| file).join(" ");
    let variables = format!("ROWS='{rows}' CYCLES={CYCLES} BUILDS={BUILDS}");
    let script = script_with_hls(NAME, &variables, include_str!("load_unload.sh"));
    Ok(Guest {
        scripts: vec![script],
        programs: vec![hls.to_owned()],
        files: vec![
            (folder.to_owned(), "/usr/load-unload".into()),
            (work.join("versions"), "/usr/versions".into()),
            builds(versions.iter().map(PathBuf::as_path), work)?,
        ],
    })
}

/// Writes `1/asked_times.c` and so on into a folder: the sample policy, each with another number in a comment, so that
/// each is built anew.
fn versions(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let text = fs::read_to_string(sample())?;
    let write = |build: usize| {
        let file = folder.join(build.to_string()).join("asked_times.c");
        fs::create_dir_all(file.with_file_name(""))?;
        fs::write(&file, format!("{text}\n/* build {build} */\n"))?;
        Ok(file)
    };
    (1..=BUILDS).map(write).collect()
}

/// Reads the figures of a row from the files that the guest left in the folder `left`.
fn read(left: &Path, &(file, what): &(&str, &'static str)) -> Result<Row, String> {
    let text = |name: &str| {
        let path = left.join(format!("{file}.{name}"));
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let frames = |name: &str| {
        let wrong = |what: &dyn std::fmt::Display| format!("{file}.{name}: {what}");
        let report: RunReport = serde_json::from_str(&text(name)?).map_err(|error| wrong(&error))?;
        let app = report.threads.iter().find(|thread| thread.name == "app");
        let app = app.ok_or_else(|| wrong(&"found no thread `app`"))?;
        let broken = report.guarantees.iter().filter(|guarantee| !guarantee.kept).count();
        Ok::<Frames, String>(Frames { all: app.frames, missed: app.misses, broken })
    };
    let all = |name: &str| {
        let all: Vec<Parts> = text(name)?.lines().map(parts).collect::<Result<_, _>>()?;
        if all.is_empty() {
            Err(format!("{file}.{name}: found no line, expected at least one"))
        } else {
            Ok(all)
        }
    };
    let (first, loads, unloads) = (all("builds")?[0], all("load")?, all("unload")?);
    let longest = |all: &[Parts]| all.iter().map(|parts| parts.publish).max().unwrap_or_default();
    Ok(Row {
        what,
        cycles: frames("cycles.json")?,
        alone: frames("alone.json")?,
        builds: frames("builds.json")?,
        first,
        longest: (longest(&loads), longest(&unloads)),
    })
}

/// Reads `build 2ms, verify 3s, publish 1us`.
fn parts(line: &str) -> Result<Parts, String> {
    let mut times = line.split(", ").zip(["build ", "verify ", "publish "]).map(|(part, name)| {
        let time = part.strip_prefix(name).and_then(|time| Nanos::parse(time).ok());
        time.ok_or_else(|| format!("found `{part}` in `{line}`, expected `{name}` and a time"))
    });
    let mut next = || times.next().unwrap_or_else(|| Err(format!("found `{line}`, expected three times")));
    Ok(Parts { build: next()?, verify: next()?, publish: next()? })
}

impl Row {
    /// Whether no promise was broken, and no frame missed in the cycles. Frames that are late while the kernel verifies
    /// a new engine are only counted: the README of the experiment says why there are some.
    pub fn is_kept(&self) -> bool {
        self.cycles.missed == 0 && self.cycles.broken == 0 && self.builds.broken == 0
    }

    fn figures(&self) -> [(&'static str, String); 14] {
        let ms = |time: Nanos| format!("{:.3}", time.0 as f64 / 1e6);
        let Row { cycles, alone, builds, first, longest, .. } = self;
        [
            ("cycles", CYCLES.to_string()),
            ("frames", cycles.all.to_string()),
            ("misses", cycles.missed.to_string()),
            ("promises broken", cycles.broken.to_string()),
            ("misses alone", alone.missed.to_string()),
            ("longest load", ms(longest.0)),
            ("longest unload", ms(longest.1)),
            ("new builds", BUILDS.to_string()),
            ("their frames", builds.all.to_string()),
            ("their misses", builds.missed.to_string()),
            ("their promises broken", builds.broken.to_string()),
            ("build", ms(first.build)),
            ("verify", ms(first.verify)),
            ("publish", ms(first.publish)),
        ]
    }
}

/// The rows as the text of a CSV file; `about` describes the machine.
pub fn csv(rows: &[Row], about: &str) -> String {
    let (load, unload) = PAPER;
    let mut csv = format!("# {about}, milliseconds; thesis: load {load}, unload {unload}\n");
    let columns = rows.first().map(|row| row.figures().map(|(column, _)| column).join(", "));
    writeln!(csv, "row, {}", columns.unwrap_or_default()).expect("a string takes all");
    for row in rows {
        let figures = row.figures().map(|(_, figure)| figure);
        writeln!(csv, "\"{}\", {}", row.what, figures.join(", ")).expect("a string takes all");
    }
    csv
}

/// The rows as a table for people.
pub fn table(rows: &[Row]) -> String {
    let (load, unload) = PAPER;
    let mut text = format!("\n{NAME}, times in ms (thesis: load {load}, unload {unload})\n");
    for row in rows {
        writeln!(text, "  {}", row.what).expect("a string takes all");
        for (column, figure) in row.figures() {
            writeln!(text, "    {column:<22}{figure:>12}").expect("a string takes all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"length_ns":9,"threads":[{"name":"app","ran_ns":1,"misses":2,"frames":30,
        "wake_latency":{"count":0,"p50_ns":0,"p90_ns":0,"p99_ns":0,"p999_ns":0,"worst_ns":0},
        "response":{"count":0,"p50_ns":0,"p90_ns":0,"p99_ns":0,"p999_ns":0,"worst_ns":0}}],
        "guarantees":[{"kept":true},{"kept":false}]}"#;

    #[test]
    fn what_the_guest_left_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("hard.cycles.json", RUN);
        write("hard.alone.json", &RUN.replace("\"misses\":2", "\"misses\":0"));
        write("hard.builds.json", &RUN.replace("\"misses\":2", "\"misses\":1"));
        write("hard.builds", "build 2ms, verify 3s, publish 250us\nbuild 0s, verify 5s, publish 241.5us\n");
        write("hard.load", "build 0s, verify 0s, publish 241.5us\n");
        write("hard.unload", "build 0s, verify 0s, publish 400us\n");
        let row = read(folder.path(), &ROWS[0]).unwrap();
        assert!(!row.is_kept());
        let csv = csv(&[row], "a machine");
        let figures = "500, 30, 2, 1, 0, 0.241, 0.400, 3, 30, 1, 1, 2.000, 3000.000, 0.250";
        assert!(csv.ends_with(&format!("\n\"hard, 11 ticks in 33 ms\", {figures}\n")), "{csv}");
        write("hard.unload", "");
        assert!(read(folder.path(), &ROWS[0]).is_err_and(|error| error.contains("found no line")));
        assert!(read(folder.path(), &ROWS[1]).is_err_and(|error| error.contains("soft.builds")));
    }

    #[test]
    fn a_line_that_is_no_time_is_refused() {
        let times = Parts { build: Nanos(1), verify: Nanos(0), publish: Nanos(5000) };
        assert_eq!(parts("build 1ns, verify 0s, publish 5us"), Ok(times));
        for wrong in ["", "build 1ns, verify 0s", "build 1ns, verify x, publish 5us", "verify 1ns"] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
