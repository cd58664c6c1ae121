//! A policy that is loaded and unloaded again and again beside the reservations of the thesis' Table 10.5, on a real
//! kernel: what that takes, how long it holds anybody up, and whether an application misses a deadline for it.
//!
//! Relies on the laboratory, on `load_unload.sh` for what is done there, and on `hls run --json` and what `hls load`
//! says of its time.

use crate::boot::{Laboratory, sample};
use crate::told::Told;
use hls_lab::{Guest, OUT, Script};
use hls_units::Nanos;
use std::fmt::Write as _;
use std::path::Path;

/// The experiment's name, and its folder's.
pub const NAME: &str = "load-unload";
/// So often in each row.
const CYCLES: usize = 500;

/// A hierarchy file, and what is reserved in it.
const ROWS: [(&str, &str); 2] = [("hard", "hard, 11 ticks in 33 ms"), ("soft", "soft, 11 ticks in 33 ms")];

/// The thesis: to load a scheduler, and to unload it, in milliseconds.
const PAPER: (&str, &str) = ("59.7", "57.6");

/// How long the parts of a load or an unload took: to compile, to have the kernel look at it, to take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    build: Nanos,
    verify: Nanos,
    publish: Nanos,
}

/// What came of a row.
pub struct Row {
    what: &'static str,
    cycles: usize,
    frames: u64,
    /// Gaps between frames that were too long, while policies came and went, and alone for as long.
    misses: (u64, u64),
    /// Promises that were broken meanwhile.
    broken: usize,
    /// The first load, for which an engine was made.
    first: Parts,
    /// The longest time to take over, of all loads and of all unloads.
    longest: (Nanos, Nanos),
}

/// Does all rows on the hierarchies of a folder, with this `hls`.
///
/// # Errors
/// All that keeps them from being measured; what the kernel complained about.
pub fn measure(laboratory: &Laboratory, hls: &Path, folder: &Path) -> Result<Vec<Row>, Vec<String>> {
    let work = tempfile::tempdir().map_err(|error| vec![format!("a folder for work: {error}")])?;
    let sample =
        sample("/usr/load-unload-policies/asked_times.c", work.path()).map_err(|error| vec![error])?;
    let rows = ROWS.map(|(file, _)| file).join(" ");
    let text = format!("#!/bin/sh\nROWS='{rows}' CYCLES={CYCLES}\n{}", include_str!("load_unload.sh"));
    let guest = Guest {
        scripts: vec![Script { name: NAME.into(), text }],
        programs: vec![hls.to_owned()],
        files: [vec![(folder.to_owned(), "/usr/load-unload".into())], sample.into()].concat(),
    };
    laboratory.run(&guest, "")?;
    let left = laboratory.results.join(OUT);
    ROWS.iter().map(|row| read(&left, row)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

/// What the guest left of a row.
fn read(left: &Path, &(file, what): &(&str, &'static str)) -> Result<Row, String> {
    let text = |name: &str| {
        let path = left.join(format!("{file}.{name}"));
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let told = |name: &str| {
        serde_json::from_str::<Told>(&text(name)?).map_err(|error| format!("{file}.{name}: {error}"))
    };
    let (busy, alone) = (told("busy.json")?, told("alone.json")?);
    let app = |told: &Told| {
        let app = told.threads.iter().find(|thread| thread.name == "app");
        app.map(|app| (app.frames, app.misses)).ok_or_else(|| format!("{file}: found no thread `app`"))
    };
    let ((frames, misses), (_, misses_alone)) = (app(&busy)?, app(&alone)?);
    let all = |name: &str| {
        let all: Vec<Parts> = text(name)?.lines().map(parts).collect::<Result<_, _>>()?;
        if all.is_empty() {
            Err(format!("{file}.{name}: found no line, expected one for each"))
        } else {
            Ok(all)
        }
    };
    let (loads, unloads) = (all("load")?, all("unload")?);
    let longest = |all: &[Parts]| all.iter().map(|parts| parts.publish).max().unwrap_or_default();
    Ok(Row {
        what,
        cycles: unloads.len(),
        frames,
        misses: (misses, misses_alone),
        broken: busy.guarantees.iter().filter(|guarantee| !guarantee.kept).count(),
        first: loads[0],
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
    /// Whether nothing was missed and no promise was broken.
    pub fn is_kept(&self) -> bool {
        self.misses.0 == 0 && self.broken == 0
    }

    fn numbers(&self) -> [String; 10] {
        let ms = |time: Nanos| format!("{:.3}", time.0 as f64 / 1e6);
        let Parts { build, verify, publish } = self.first;
        [
            self.cycles.to_string(),
            self.frames.to_string(),
            self.misses.0.to_string(),
            self.misses.1.to_string(),
            self.broken.to_string(),
            ms(build),
            ms(verify),
            ms(publish),
            ms(self.longest.0),
            ms(self.longest.1),
        ]
    }
}

const COLUMNS: [&str; 10] = [
    "cycles",
    "frames",
    "misses",
    "misses alone",
    "promises broken",
    "build",
    "verify",
    "publish",
    "longest load",
    "longest unload",
];

/// As a file; `about` says what machine it was.
pub fn csv(rows: &[Row], about: &str) -> String {
    let (load, unload) = PAPER;
    let mut csv = format!(
        "# {about}, milliseconds; thesis: load {load}, unload {unload}\nrow, {}\n",
        COLUMNS.join(", ")
    );
    for row in rows {
        writeln!(csv, "\"{}\", {}", row.what, row.numbers().join(", ")).expect("a string takes all");
    }
    csv
}

/// For people.
pub fn table(rows: &[Row]) -> String {
    let (load, unload) = PAPER;
    let mut text = format!("\n{NAME}, times in ms (thesis: load {load}, unload {unload})\n");
    for row in rows {
        writeln!(text, "  {}", row.what).expect("a string takes all");
        for (column, number) in COLUMNS.iter().zip(row.numbers()) {
            writeln!(text, "    {column:<16}{number:>12}").expect("a string takes all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"length_ns":9,"threads":[{"name":"app","ran_ns":1,"misses":2,"frames":30,"wake_latency":
        {"count":0,"p50_ns":0,"p90_ns":0,"p99_ns":0,"p999_ns":0,"worst_ns":0}}],
        "guarantees":[{"kept":true},{"kept":false}]}"#;

    #[test]
    fn what_the_guest_left_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("hard.busy.json", RUN);
        write("hard.alone.json", &RUN.replace("\"misses\":2", "\"misses\":0"));
        write("hard.load", "build 2ms, verify 3s, publish 250us\nbuild 0s, verify 0s, publish 241.5us\n");
        write("hard.unload", "build 0s, verify 0s, publish 400us\n");
        let row = read(folder.path(), &ROWS[0]).unwrap();
        assert!(!row.is_kept());
        let csv = csv(&[row], "a machine");
        let line = "\"hard, 11 ticks in 33 ms\", 1, 30, 2, 0, 1, 2.000, 3000.000, 0.250, 0.250, 0.400\n";
        assert!(csv.ends_with(line), "{csv}");
        write("hard.unload", "");
        assert!(read(folder.path(), &ROWS[0]).is_err_and(|error| error.contains("found no line")));
        assert!(read(folder.path(), &ROWS[1]).is_err_and(|error| error.contains("soft.busy.json")));
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
