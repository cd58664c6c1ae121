//! Thesis, Table 10.1, on a real kernel: the time of requests to a running hierarchy, from user level.
//!
//! Relies on the test machine, and on the program `hls-operations` for what is done there.

use crate::boot::ExactVm;
use hls_vm::{Guest, Script};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The experiment's name, and its folder's.
pub const NAME: &str = "table-10.1";
/// So often everything is done before it counts,
pub const WARM_UPS: usize = 10;
/// and so often it counts.
pub const REPEATS: usize = 50;
/// So often the hierarchy is attached and detached, after the first time, which brings what it needs into memory.
pub const ATTACHES: usize = 10;

/// An operation: as the thesis calls it, its time there in microseconds, and our name for it. Loading and unloading a
/// scheduler, which a BPF program cannot be without, has no counterpart; attaching the whole hierarchy is beside it.
const OPERATIONS: [(&str, &str, &str); 10] = [
    ("load scheduler; attach the hierarchy", "59700 ± 553", "attach"),
    ("unload scheduler; detach the hierarchy", "57600 ± 53", "detach"),
    ("create scheduler instance", "25.0 ± 1.63", "create"),
    ("destroy scheduler instance", "18.0 ± 0.0518", "destroy"),
    ("move thread between schedulers", "13.3 ± 0.0215", "move"),
    ("begin CPU reservation (same process)", "15.4 ± 0.0311", "begin-same"),
    ("end CPU reservation (same process)", "13.5 ± 0.0272", "end-same"),
    ("begin CPU reservation (different process)", "36.4 ± 0.0376", "begin-other"),
    ("end CPU reservation (different process)", "35.0 ± 0.0649", "end-other"),
    ("a round trip over the socket alone", "-", "socket"),
];

/// What came of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// As the thesis calls it.
    pub operation: &'static str,
    /// Its time there, in microseconds.
    pub paper: &'static str,
    /// The mean, in microseconds, and half the width of its 95% confidence interval.
    pub mean: (f64, f64),
    /// How many calls of the kernel's program it took, and how many microseconds they were.
    pub kernel: Option<(u64, f64)>,
}

/// Does everything to the hierarchy of a file, with these builds of `hls` and `hls-operations`.
///
/// # Errors
/// All that keeps it from being measured; what the kernel complained about.
pub fn measure(vm: &ExactVm, programs: [PathBuf; 2], file: &Path) -> Result<Vec<Row>, Vec<String>> {
    let text = "#!/bin/sh\nhls-operations /usr/operations.kdl 2>/tmp/said || { cat /tmp/said; exit 2; }\n";
    let guest = Guest {
        scripts: vec![Script { name: NAME.into(), text: text.into() }],
        programs: programs.to_vec(),
        files: vec![(file.to_owned(), "/usr/operations.kdl".into())],
    };
    let outcome = vm.run(&guest, "")?;
    let said: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    read(&said).map_err(|error| vec![error])
}

/// Reads what was told in the guest.
fn read(said: &str) -> Result<Vec<Row>, String> {
    let numbers = |name: &str| -> Option<Vec<u64>> {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.split(' ').map(|number| number.parse().ok()).collect()
    };
    let row = |&(operation, paper, name): &(&'static str, &'static str, &str)| {
        let times =
            numbers(name).ok_or(format!("found no times of `{name}`, expected some in nanoseconds"))?;
        let kernel = match numbers(&format!("kernel {name}")).as_deref() {
            Some(&[count, time]) => Some((count, time as f64 / 1e3)),
            _ => None,
        };
        Ok(Row { operation, paper, mean: mean(&times), kernel })
    };
    OPERATIONS.iter().map(row).collect()
}

/// The mean of times in nanoseconds, in microseconds, and half the width of its 95% confidence interval by Student's t.
fn mean(times: &[u64]) -> (f64, f64) {
    let count = times.len() as f64;
    let mean = times.iter().sum::<u64>() as f64 / count;
    let squares: f64 = times.iter().map(|time| (*time as f64 - mean).powi(2)).sum();
    // For 10 values and for 50, as many as there are.
    let t = if times.len() == ATTACHES { 2.262 } else { 2.010 };
    (mean / 1e3, t * (squares / (count - 1.0) / count).sqrt() / 1e3)
}

/// As a table for people.
pub fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "\n{NAME}\n  {:<42} {:>14} {:>20} {:>14}\n",
        "operation, in us", "paper", "ours", "in the kernel"
    );
    for Row { operation, paper, mean: (mean, half), kernel } in rows {
        let ours = format!("{mean:.1} ± {half:.2}");
        let kernel = kernel.map_or("-".to_owned(), |(count, time)| format!("{time:.1} in {count}"));
        writeln!(table, "  {operation:<42} {paper:>14} {ours:>20} {kernel:>14}").expect("a string takes all");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_read() {
        let of = |name: &str| format!("{name} 1000 3000\n");
        let mut said: String = OPERATIONS.iter().map(|(_, _, name)| of(name)).collect();
        said += "kernel move 2 4500\n";
        let rows = read(&said).unwrap();
        assert_eq!(rows[4].mean, (2.0, 2.010));
        assert_eq!((rows[4].kernel, rows[5].kernel), (Some((2, 4.5)), None));
        assert!(
            table(&rows).contains("13.3 ± 0.0215           2.0 ± 2.01       4.5 in 2"),
            "{}",
            table(&rows)
        );
        assert!(read(&said.replace("move 1000", "move x")).is_err());
    }
}
