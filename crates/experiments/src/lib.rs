//! The experiments of the papers, run by the simulator and held against what the papers print.
//!
//! An experiment is a folder of `experiments/`: one hierarchy file for each row of a table, and `expected.csv`, which
//! says what is measured in each, what the paper has, and how far off we may be. [`experiment`] finds and carries them
//! out in the simulator, [`kernel`] those that have a `kernel.csv` on a real kernel; [`expected`] reads what is expected, [`run`] runs a file, [`measure`] takes the numbers, [`chain`] makes the
//! hierarchies of any depth that Figure 10.2 needs. Reads files, writes none.

pub mod chain;
pub mod decimal;
pub mod expected;
pub mod experiment;
pub mod kernel;
pub mod measure;
pub mod run;
mod told;
