//! What the policies cost that an engine has and nobody uses: what the verifier walks, how long it takes to load the
//! engine and to attach it, and a switch.

use crate::PIPE;
use hls_core::limits::FIRST_OPTIONAL;
use hls_vm::Error;
use std::fmt::Write as _;

/// One measurement, of an engine that has so many of the policies that can be left out. All figures are instructions.
#[derive(Clone, Debug, PartialEq)]
struct Cost {
    policies: usize,
    verified: u64,
    load: u64,
    attach: u64,
    switch: u64,
}

/// All measurements, in the order in which they were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs(Vec<Cost>);

/// The script that measures in the guest. Each line of its output is `POLICIES VERIFIED LOAD ATTACH SWITCH`.
pub fn script() -> String {
    let all = hls_core::policies().iter().filter(|info| info.id >= FIRST_OPTIONAL).count();
    // At first the kernel is still busy with its own boot. `load` says more of itself than `pipe` does, which adds the
    // median and the average to the least figure.
    let mut text = String::from("#!/bin/sh -e\nsleep 5\n");
    for policies in [0, 7, all] {
        writeln!(text, "found=$(load named {policies} {PIPE})\nset -- $found\necho {policies} $1 $2 $3 $4")
            .expect("a string takes all");
    }
    text
}

impl Costs {
    /// Reads lines of `POLICIES VERIFIED LOAD ATTACH SWITCH`.
    ///
    /// # Errors
    /// `Failed` with the first line that has another form.
    pub fn read(text: &str) -> Result<Costs, Error> {
        let read = |line: &str| {
            let [policies, verified, load, attach, switch] =
                line.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
            Some(Cost {
                policies: policies.parse().ok()?,
                verified: verified.parse().ok()?,
                load: load.parse().ok()?,
                attach: attach.parse().ok()?,
                switch: switch.parse().ok()?,
            })
        };
        let wrong = |line| Error::Failed(format!("found `{line}`, expected a line of five figures"));
        text.lines().map(|line| read(line).ok_or_else(|| wrong(line))).collect::<Result<_, _>>().map(Costs)
    }

    /// The figures as the text of a CSV file.
    pub fn csv(&self, kernel: &str) -> String {
        let mut csv = format!(
            "# Linux {kernel}, instructions: walked by the verifier, and executed\n\
             policies of the literature, verified, load, attach, a switch\n"
        );
        for Cost { policies, verified, load, attach, switch } in &self.0 {
            writeln!(csv, "{policies}, {verified}, {load}, {attach}, {switch}").expect("a string takes all");
        }
        csv
    }

    /// The figures as a table for people.
    pub fn table(&self) -> String {
        let mut table = format!(
            "{:<28} {:>10} {:>15} {:>14} {:>9}\n",
            "policies of the literature", "verified", "load", "attach", "a switch"
        );
        for Cost { policies, verified, load, attach, switch } in &self.0 {
            writeln!(table, "{policies:<28} {verified:>10} {load:>15} {attach:>14} {switch:>9}")
                .expect("a string takes all");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_figure_is_refused() {
        assert!(Costs::read("0 1 2 3 4\n7 5 6 7 8\n").is_ok());
        for line in ["", "0 1 2 3", "0 1 2 3 4 5", "0 1 2 3 many"] {
            assert!(matches!(Costs::read(&format!("{line}\n")), Err(Error::Failed(_))), "{line}");
        }
    }
}
