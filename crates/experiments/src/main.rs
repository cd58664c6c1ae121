//! Runs every experiment and prints its table, what was measured beside what is expected. Exit status as `hls` has it:
//! 0 all rows are within their tolerances, 1 some is not, 2 the experiments are wrong, 3 the system failed.

use hls_core::limits::MAX_DEPTH;
use hls_experiments::chain;
use hls_experiments::experiment::{Experiment, write_table};
use hls_sim::Options;
use std::io::{self, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| "experiments".into());
    match carry_out_all(Path::new(&folder), &mut stdout().lock()) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::from(1),
        Ok(Err(errors)) => {
            errors.iter().for_each(|error| eprintln!("{error}"));
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("hls-experiments: {error}");
            ExitCode::from(3)
        }
    }
}

/// Whether all is within its tolerance.
fn carry_out_all(folder: &Path, out: &mut impl Write) -> io::Result<Result<bool, Vec<String>>> {
    let options = Options::default();
    let experiments = match Experiment::find_all(folder) {
        Ok(experiments) if experiments.is_empty() => {
            return Ok(Err(vec![format!("found no experiment in {}, expected some", folder.display())]));
        }
        Ok(experiments) => experiments,
        Err(errors) => return Ok(Err(errors)),
    };
    let tables =
        experiments.iter().map(|experiment| (experiment.name.as_str(), experiment.carry_out(&options)));
    let depths = (0..).map(|n| 1 << n).take_while(|depth| *depth <= MAX_DEPTH as u32);
    let of_depths =
        std::iter::once_with(|| ("figure-10.2 at other depths", chain::carry_out(depths, &options)));
    let mut is_within = true;
    for (name, findings) in tables.chain(of_depths) {
        match findings {
            Ok(findings) => {
                write_table(out, name, &findings)?;
                is_within &= findings.iter().all(|finding| finding.is_within());
            }
            Err(errors) => return Ok(Err(errors)),
        }
    }
    Ok(Ok(is_within))
}
