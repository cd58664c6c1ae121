//! The experiments of the papers, run by the simulator or on a real kernel, and compared with what the papers print.
//!
//! An experiment is a folder of `experiments/`: one hierarchy file for each row of a table, and `expected.csv`, which
//! says what is measured in each, what the paper has, and how far from that we may be; `kernel.csv` says the same for a
//! real kernel. [`experiment`] finds them and carries them out in the simulator, [`kernel`] in the test machine
//! ([`boot`]); [`expected`] reads what is expected, [`run`] runs a file, [`measure`] takes the numbers, [`chain`] makes
//! the hierarchies of any depth that Figure 10.2 needs. Other experiments are not tables of rows in files: Table 10.1
//! ([`operations`]), Vassal's tables ([`vassal`]), policies that are loaded and unloaded ([`load_unload`]), policies
//! beside each other ([`shares`], [`policies`]), deadlines ([`deadlines`]), virtual times ([`virtual_time`]), and
//! processes with policies that do harm ([`isolation`]). Reads files, and writes pictures and what the test machine
//! brings back.

pub mod boot;
pub mod chain;
mod chart;
pub mod composite_server;
pub mod composite_tables;
pub mod deadlines;
pub mod decimal;
pub mod expected;
pub mod experiment;
pub mod files;
pub mod finding;
pub mod interrupts;
pub mod isolation;
pub mod kernel;
pub mod load_unload;
pub mod measure;
pub mod operations;
pub mod policies;
mod report;
pub mod run;
pub mod shares;
pub mod vassal;
pub mod virtual_time;
