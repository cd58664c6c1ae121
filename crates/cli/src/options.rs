//! Options that several commands have, and how their values are read.

use crate::cpus::AskedCpus;
use clap::ValueEnum;
use hls_calculus::{Mode, Rules};
use hls_units::Nanos;
use std::path::PathBuf;

/// A hierarchy file, and for which machine it is read.
#[derive(clap::Args)]
pub struct HierarchyArgs {
    /// The hierarchy file
    pub file: PathBuf,
    /// How many CPUs the machine has; `online`: as many as this one [default: what the file says, else as `online`]
    #[arg(long, value_name = "N", value_parser = AskedCpus::parse, allow_hyphen_values = true)]
    pub cpus: Option<AskedCpus>,
}

/// How guarantees are derived.
#[derive(Clone, Copy, clap::Args)]
pub struct RulesArgs {
    /// Which bounds to derive the promises by
    #[arg(long, value_enum, default_value = "tight")]
    mode: ModeArg,
    /// Promise lower fixed priorities what limited siblings above leave over
    #[arg(long)]
    global: bool,
}

/// Which bounds to use where the paper's are not the best.
#[derive(Clone, Copy, ValueEnum)]
pub enum ModeArg {
    /// The best known bounds
    Tight,
    /// The bounds of the HLS paper, to compare with its numbers
    Paper,
}

impl From<RulesArgs> for Rules {
    fn from(args: RulesArgs) -> Rules {
        let mode = match args.mode {
            ModeArg::Tight => Mode::Tight,
            ModeArg::Paper => Mode::Paper,
        };
        Rules { mode, global: args.global }
    }
}

/// Reads how long a run is.
pub fn time(text: &str) -> Result<Nanos, String> {
    let time = Nanos::parse(text).map_err(|error| error.to_string())?;
    const LONGEST: Nanos = Nanos::from_secs(365 * 24 * 3600);
    match time {
        Nanos::ZERO => Err("found no time at all, expected a time longer than 0".into()),
        time if time > LONGEST => Err(format!("found {time}, expected at most a year")),
        time => Ok(time),
    }
}

/// Reads a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_or_refused() {
        assert_eq!(time("30s"), Ok(Nanos::from_secs(30)));
        for bad in ["0s", "30", "-1s", "400000000h"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
