//! How long requests take at a small HTTP server that serves paying ones first, under four schedulers of its threads:
//! the fair class of Linux, a reservation with turns, a policy that is loaded into the kernel, a scheduler in its own
//! process.
//!
//! Relies on the test machine, on `composite_server.sh` to measure there, and on the program `server` of the
//! experiment's folder.

use crate::boot::{ExactVm, builds, compiled, root, script_with_hls};
use hls_vm::Guest;
use std::fmt::Write as _;
use std::path::Path;

/// The name of the experiment and of its folder.
pub const NAME: &str = "composite-server";

const SECONDS: u64 = 10;
/// Threads that compute all the time beside the server.
const HOGS: u64 = 4;

/// What schedules the server: its name in the guest, and in the table.
const VARIANTS: [(&str, &str); 4] = [
    ("fair", "the fair class of Linux"),
    ("reserved", "a reservation, turns of 1 ms"),
    ("told", "a reservation, the loaded policy `ranks`"),
    ("own", "a reservation, a scheduler of its own"),
];
const KINDS: [&str; 2] = ["paid", "free"];

/// How many requests of a kind were answered, and of their times half, 99 in 100, 999 in 1000 and the longest, in
/// microseconds.
type Times = [u64; 5];

/// The times of each variant and kind.
pub struct Measured(Vec<(&'static str, &'static str, Times)>);

/// Measures all variants, with this `hls`.
///
/// # Errors
/// Why they could not be measured, and what the kernel complained about.
pub fn measure(vm: &ExactVm, hls: &Path, folder: &Path) -> Result<Measured, Vec<String>> {
    let work = tempfile::tempdir().map_err(|error| vec![format!("a folder for work: {error}")])?;
    let guest = guest(hls, folder, work.path()).map_err(|error| vec![error])?;
    let outcome = vm.run(&guest, "")?;
    let printed: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    let rows = VARIANTS.iter().flat_map(|variant| KINDS.map(|kind| (variant, kind)));
    let row = |(variant, kind): (&(&str, &'static str), &'static str)| {
        Ok((variant.1, kind, read(&printed, variant.0, kind)?))
    };
    rows.map(row).collect::<Result<_, String>>().map(Measured).map_err(|error| vec![error])
}

fn guest(hls: &Path, folder: &Path, work: &Path) -> Result<Guest, String> {
    let root = root();
    let (source, policy) = (format!("experiments/{NAME}/server.c"), root.join("examples/policies/ranks.c"));
    let variables = format!("SECONDS_EACH={SECONDS} HOGS={HOGS}");
    let script = script_with_hls(NAME, &variables, include_str!("composite_server.sh"));
    let file = |name: &str| (folder.join(name), format!("/usr/server/{name}"));
    Ok(Guest {
        scripts: vec![script],
        programs: vec![hls.to_owned(), compiled(&root, &source, work)?],
        files: vec![
            file("server.kdl"),
            file("told.kdl"),
            (policy.clone(), "/usr/server/ranks.c".into()),
            builds([&*policy], work)?,
        ],
    })
}

/// Reads the times of a row in what the guest printed.
fn read(printed: &str, variant: &str, kind: &str) -> Result<Times, String> {
    let begin = format!("times {variant} {kind} ");
    let line = printed.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
    let numbers: Vec<u64> = line.split(' ').map_while(|number| number.parse().ok()).collect();
    numbers.try_into().map_err(|_| format!("found `{begin}{line}`, expected a count and four times"))
}

impl Measured {
    /// The table; `about` describes the machine.
    pub fn csv(&self, about: &str) -> String {
        let mut csv =
            format!("# {about}, microseconds\nscheduled by, requests, answered, p50, p99, p999, worst\n");
        for (variant, kind, times) in &self.0 {
            let times = times.map(|time| time.to_string()).join(", ");
            let _ = writeln!(csv, "\"{variant}\", {kind}, {times}");
        }
        csv
    }
}
