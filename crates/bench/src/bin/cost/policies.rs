//! The cost of an engine by the policies that it has, used or not: what the verifier walks in each program, the loading
//! and the attaching of the engine, and a switch.

use hls_core::limits::FIRST_OPTIONAL;
use hls_policy_build::{Builder, Target};
use hls_vm::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::Lines;

/// A program of an engine, in instructions: what the verifier walked in it, and its length when it had been verified.
#[derive(Clone, Debug, PartialEq)]
struct Program {
    name: String,
    walked: u64,
    length: u64,
}

/// The load of an engine with this number of policies of the literature. All other figures are instructions.
#[derive(Clone, Debug, PartialEq)]
struct Load {
    policies: usize,
    load: u64,
    attach: u64,
    programs: Vec<Program>,
}

/// The same, and what the engine costs once it is loaded.
#[derive(Clone, Debug, PartialEq)]
struct Cost {
    of: Load,
    switch: u64,
    take_over: u64,
}

/// All measurements, in the order in which they were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs(Vec<Cost>);

/// All loads, in the order in which they were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads(Vec<Load>);

/// How many policies of the literature each measured engine has, taken in the order of their numbers.
fn counts() -> [usize; 3] {
    [0, 1, literature().count()]
}

/// The numbers of the policies of the literature.
fn literature() -> impl Iterator<Item = u8> {
    hls_core::policies().iter().map(|info| info.id).filter(|id| *id >= FIRST_OPTIONAL)
}

fn place(policies: usize) -> String {
    format!("/{policies}.bpf.o")
}

/// Builds the engines that are measured; returns the files with their places in the guest.
pub fn engines(work: &Path) -> Result<Vec<(PathBuf, String)>, Error> {
    let build = |policies: usize| {
        let builder = Builder { literature: literature().take(policies).collect(), ..Builder::default() };
        let built = builder.build(Target::Engine, &[]).map_err(|error| Error::Failed(error.to_string()))?;
        let path = work.join(format!("{policies}.bpf.o"));
        std::fs::write(&path, built.bytes)
            .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
        Ok((path, place(policies)))
    };
    counts().into_iter().map(build).collect()
}

/// The script that measures in the guest. For each engine it prints the number of its policies of the literature,
/// and what `load engine` prints with this command.
pub fn script(command: &str) -> String {
    // At first the kernel is still busy with its own boot.
    let mut text = String::from("#!/bin/sh -e\nsleep 5\n");
    for policies in counts() {
        writeln!(text, "echo {policies}\nload engine {} {command}", place(policies))
            .expect("a string takes all");
    }
    text
}

/// Reads what [`script`] prints, an engine at a time.
fn read<'t, T>(text: &'t str, read_one: impl Fn(&str, &mut Lines<'t>) -> Option<T>) -> Result<Vec<T>, Error> {
    let mut lines = text.lines();
    let mut all = vec![];
    while let Some(policies) = lines.next() {
        let one = read_one(policies, &mut lines);
        all.push(one.ok_or_else(|| {
            Error::Failed(format!(
                "found figures of another form than expected, for the engine with `{policies}` policies"
            ))
        })?);
    }
    Ok(all)
}

impl Load {
    /// Reads what follows the number of policies: `LOAD ATTACH`, lines of `PROGRAM WALKED LENGTH`, an empty line.
    fn read(policies: &str, lines: &mut Lines) -> Option<Load> {
        let (load, attach) = lines.next()?.split_once(' ')?;
        let program = |line: &str| {
            let [name, walked, length] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
            Some(Program {
                name: name.to_owned(),
                walked: walked.parse().ok()?,
                length: length.parse().ok()?,
            })
        };
        let programs = lines.take_while(|line| !line.is_empty()).map(program).collect::<Option<_>>()?;
        Some(Load {
            policies: policies.parse().ok()?,
            load: load.parse().ok()?,
            attach: attach.parse().ok()?,
            programs,
        })
    }

    /// What the verifier walked in all programs.
    fn walked(&self) -> u64 {
        self.programs.iter().map(|program| program.walked).sum()
    }

    /// What it walked in the largest program.
    fn largest(&self) -> u64 {
        self.programs.iter().map(|program| program.walked).max().unwrap_or(0)
    }
}

impl Costs {
    /// Reads what [`script`] prints with a command: of each engine its load, a line that begins with what a switch
    /// takes, and what it took to have the same engine take over.
    ///
    /// # Errors
    /// `Failed` where a line has another form.
    pub fn read(text: &str) -> Result<Costs, Error> {
        let cost = |policies: &str, lines: &mut Lines| {
            Some(Cost {
                of: Load::read(policies, lines)?,
                switch: lines.next()?.split(' ').next()?.parse().ok()?,
                take_over: lines.next()?.parse().ok()?,
            })
        };
        Ok(Costs(read(text, cost)?))
    }

    /// The figures as the text of a CSV file.
    pub fn csv(&self, kernel: &str) -> String {
        let mut csv = format!(
            "# Linux {kernel}, instructions: walked by the verifier, of the largest program, and executed\n\
             policies of the literature, verified, largest, load, attach, a switch, take over\n"
        );
        for cost in &self.0 {
            let Cost { of: Load { policies, load, attach, .. }, switch, take_over } = cost;
            let (walked, largest) = (cost.of.walked(), cost.of.largest());
            writeln!(csv, "{policies}, {walked}, {largest}, {load}, {attach}, {switch}, {take_over}")
                .expect("a string takes all");
        }
        csv
    }

    /// The programs as the text of a CSV file: what the verifier walked in each, by the policies of the engine.
    pub fn programs_csv(&self, kernel: &str) -> String {
        let mut csv = format!(
            "# Linux {kernel}, instructions\npolicies of the literature, program, walked, length when verified\n"
        );
        for Cost { of: Load { policies, programs, .. }, .. } in &self.0 {
            for Program { name, walked, length } in programs {
                writeln!(csv, "{policies}, {name}, {walked}, {length}").expect("a string takes all");
            }
        }
        csv
    }

    /// The figures as a table for people.
    pub fn table(&self) -> String {
        let mut table = format!(
            "{:<28} {:>10} {:>10} {:>15} {:>14} {:>9} {:>15}\n",
            "policies of the literature", "verified", "largest", "load", "attach", "a switch", "take over"
        );
        for cost in &self.0 {
            let Cost { of: Load { policies, load, attach, .. }, switch, take_over } = cost;
            let (walked, largest) = (cost.of.walked(), cost.of.largest());
            writeln!(
                table,
                "{policies:<28} {walked:>10} {largest:>10} {load:>15} {attach:>14} {switch:>9} {take_over:>15}"
            )
            .expect("a string takes all");
        }
        table
    }
}

impl Loads {
    /// Reads what [`script`] prints without a command.
    ///
    /// # Errors
    /// `Failed` where a line has another form.
    pub fn read(text: &str) -> Result<Loads, Error> {
        Ok(Loads(read(text, Load::read)?))
    }

    /// In words, each figure that is more than `percent` above the figure of the CSV file `kept`, and each engine that
    /// the file lacks.
    pub fn rises(&self, kept: &str, percent: u64) -> Vec<String> {
        let mut rises = vec![];
        let kept: Vec<Vec<u64>> = kept
            .lines()
            .filter_map(|line| line.split(", ").map(|figure| figure.parse().ok()).collect())
            .collect();
        for load in &self.0 {
            let Some(kept) = kept.iter().find(|kept| kept[0] == load.policies as u64) else {
                rises.push(format!("found no figures of the engine with {} policies", load.policies));
                continue;
            };
            let now = [load.policies as u64, load.walked(), load.largest(), load.load];
            let what = [
                "policies",
                "instructions walked",
                "instructions walked in the largest program",
                "instructions to load",
            ];
            for ((now, kept), what) in now.into_iter().zip(kept).zip(what) {
                if now * 100 > kept * (100 + percent) {
                    rises.push(format!(
                        "with {} policies of the literature: found {now} {what}, expected at most {percent} % more \
                         than {kept}",
                        load.policies
                    ));
                }
            }
        }
        rises
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = concat!(
        "0\n1000 20\nengine_call 70 50\nset_up 3 3\n\n7352 7400 7500\n900\n",
        "7\n2000 20\nset_up 3 3\n\n7352\n1900\n"
    );

    #[test]
    fn text_that_is_not_figures_is_refused() {
        let costs = Costs::read(TEXT).unwrap();
        let csv = costs.csv("7.3");
        assert!(csv.ends_with("0, 73, 70, 1000, 20, 7352, 900\n7, 3, 3, 2000, 20, 7352, 1900\n"), "{csv}");
        assert!(costs.programs_csv("7.3").ends_with("0, set_up, 3, 3\n7, set_up, 3, 3\n"));
        for text in [
            "0\n",
            "0\n1000\n",
            "0\n1000 20\nset_up 3\n\n7352\n9\n",
            "0\n1000 20\n\n7352\n",
            "many\n1000 20\n\n7352\n9\n",
        ] {
            assert!(matches!(Costs::read(text), Err(Error::Failed(_))), "{text}");
        }
    }

    const LOADS: &str = "0\n1000 20\nengine_call 70 50\nset_up 3 3\n\n7\n2000 20\nset_up 3 3\n\n";

    #[test]
    fn a_rise_is_one_beyond_the_percentage() {
        let loads = Loads::read(LOADS).unwrap();
        let kept = |line: &str| {
            format!(
                "# Linux\npolicies, verified, largest, load, attach, a switch\n{line}\n7, 3, 3, 2000, 1, 1\n"
            )
        };
        assert_eq!(loads.rises(&kept("0, 73, 70, 971, 1, 1"), 3), [""; 0]);
        let rises = loads.rises(&kept("0, 70, 70, 970, 1, 1"), 3);
        assert_eq!(rises.len(), 2, "{rises:?}");
        assert_eq!(loads.rises("7, 3, 3, 2000, 1, 1\n", 3).len(), 1);
    }
}
