//! Draws the virtual times of a simulated run, as the figures of the BVT paper do. Exit status, as of `hls`: 2 the file
//! cannot be drawn.

use clap::Parser;
use hls_experiments::virtual_time;
use hls_units::Nanos;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a hierarchy in the simulator, and draw the virtual times below its first scheduler of `bvt`.
#[derive(Parser)]
#[command(name = "virtual-time", version)]
struct Args {
    /// The hierarchy file
    file: PathBuf,
    /// How long to run
    #[arg(long = "for", value_name = "TIME", value_parser = Nanos::parse)]
    length: Nanos,
    /// The picture (SVG) to write
    picture: PathBuf,
}

fn main() -> ExitCode {
    let Args { file, length, picture } = Args::parse();
    match virtual_time::draw(&file, length, &picture) {
        Ok(()) => ExitCode::SUCCESS,
        Err(errors) => {
            errors.iter().for_each(|error| eprintln!("{error}"));
            ExitCode::from(2)
        }
    }
}
