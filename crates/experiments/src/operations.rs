//! Measures Table 10.1 of the thesis on a real kernel: how long requests to a running hierarchy take at user level.
//!
//! Relies on the test machine, and on the program `hls-operations` to measure there.

use crate::boot::ExactVm;
use hls_vm::{Guest, Script};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The name of the experiment and of its folder.
pub const NAME: &str = "table-10.1";
/// How often each operation is done before it is measured.
pub const WARM_UPS: usize = 10;
/// How often each operation is measured.
pub const REPEATS: usize = 50;
/// How often the hierarchy is attached and detached, not counting the first time, which loads programs into memory.
pub const ATTACHES: usize = 10;

/// The operations: the thesis' name for each, its time there in microseconds, and its name in the guest. The engine has
/// all its schedulers in it, so loading and unloading one has no counterpart; the rows have the times to attach and
/// detach the whole hierarchy instead.
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

/// The figures of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The thesis' name for the operation.
    pub operation: &'static str,
    /// The time of the thesis, in microseconds.
    pub paper: &'static str,
    /// The mean of our times, in microseconds, and half the width of its 95% confidence interval.
    pub mean: (f64, f64),
    /// How many calls of the engine's BPF programs the operation needed, and how many microseconds they took together.
    pub kernel: Option<(u64, f64)>,
}

/// Measures all operations on the hierarchy of a file, with these builds of `hls` and `hls-operations`.
///
/// # Errors
/// Why they could not be measured, and what the kernel complained about.
pub fn measure(vm: &ExactVm, programs: [PathBuf; 2], file: &Path) -> Result<Vec<Row>, Vec<String>> {
    let text =
        "#!/bin/sh\nhls-operations /usr/operations.kdl 2>/tmp/errors || { cat /tmp/errors; exit 2; }\n";
    let guest = Guest {
        scripts: vec![Script { name: NAME.into(), text: text.into() }],
        programs: programs.to_vec(),
        files: vec![(file.to_owned(), "/usr/operations.kdl".into())],
    };
    let outcome = vm.run(&guest, "")?;
    let printed: String = outcome.scripts.iter().map(|script| script.output.as_str()).collect();
    read(&printed).map_err(|error| vec![error])
}

/// Reads the figures that `hls-operations` printed in the guest.
fn read(printed: &str) -> Result<Vec<Row>, String> {
    let numbers = |name: &str| -> Option<Vec<u64>> {
        let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
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
    // Student's t for 10 values and for 50.
    let t = if times.len() == ATTACHES { 2.262 } else { 2.010 };
    (mean / 1e3, t * (squares / (count - 1.0) / count).sqrt() / 1e3)
}

/// The rows as a table for people.
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
    fn what_the_guest_printed_is_read() {
        let of = |name: &str| format!("{name} 1000 3000\n");
        let mut printed: String = OPERATIONS.iter().map(|(_, _, name)| of(name)).collect();
        printed += "kernel move 2 4500\n";
        let rows = read(&printed).unwrap();
        assert_eq!(rows[4].mean, (2.0, 2.010));
        assert_eq!((rows[4].kernel, rows[5].kernel), (Some((2, 4.5)), None));
        assert!(
            table(&rows).contains("13.3 ± 0.0215           2.0 ± 2.01       4.5 in 2"),
            "{}",
            table(&rows)
        );
        assert!(read(&printed.replace("move 1000", "move x")).is_err());
    }
}
