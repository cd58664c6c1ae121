//! `hls-fuzz TARGET [FILE...]`: gives a target the contents of each file and says how long each took, or gives it
//! standard input: once, or, where AFL++ runs it, again and again. Ends with status 101 where an input has found a
//! defect, which `scripts/fuzz` tells AFL++.
//!
//! In AFL++'s persistent mode a process takes many inputs: it stops itself after each, and AFL++ has it go on when
//! standard input has the next one. That is all of the protocol that the process itself has to keep; AFL++'s runtime,
//! which `scripts/fuzz` links, does the rest before `main`.

use hls_fuzz::Target;
use rustix::process::{Signal, getpid, kill_process};
use std::io::Read;
use std::process::ExitCode;
use std::{fs, io};

/// AFL++ sets this variable where it continues a process that has stopped.
const PERSISTENT: &str = "__AFL_PERSISTENT";
/// Inputs of a process; then a new one starts, since what policies declare is kept until the process ends.
const INPUTS: usize = 1000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((target, files)) =
        args.split_first().and_then(|(name, files)| Some((Target::find(name)?, files)))
    else {
        let names = Target::ALL.map(Target::name).join(", ");
        eprintln!("hls-fuzz: found {args:?}, expected a target ({names}) and files");
        return ExitCode::from(2);
    };
    let done = if files.is_empty() { from_standard_input(target) } else { from_files(target, files) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hls-fuzz: {error}");
            ExitCode::from(3)
        }
    }
}

fn from_files(target: Target, files: &[String]) -> io::Result<()> {
    for file in files {
        let input =
            fs::read(file).map_err(|error| io::Error::other(format!("cannot read {file}: {error}")))?;
        println!("{file}");
        target.run(&input);
    }
    Ok(())
}

fn from_standard_input(target: Target) -> io::Result<()> {
    let inputs = if std::env::var_os(PERSISTENT).is_some() { INPUTS } else { 1 };
    let mut input = Vec::new();
    for left in (0..inputs).rev() {
        input.clear();
        // Not through a buffer: AFL++ sets the file back to its beginning.
        io::stdin().lock().read_to_end(&mut input)?;
        target.run(&input);
        if left > 0 {
            kill_process(getpid(), Signal::STOP)?;
        }
    }
    Ok(())
}
