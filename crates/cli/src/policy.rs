//! `hls policy`: begins, tries and builds a policy of one's own.

use crate::exit::{Error, Verdict};
use crate::output::output;
use crate::policy_file::{read, refused};
use crate::trial;
use clap::Subcommand;
use hls_policy_build::{Builder, PolicyFile, Target, Template};
use hls_session::describe;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
A policy is compiled together with the core, by cc for the simulator and by
clang-19 for the kernel. Messages name the lines of its file.

Exit codes: 0, 1 a test has found something, 2 bad usage or a policy that cannot
be built, 3 the system failed, as when a compiler is missing.";

/// Arguments of `hls policy`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct PolicyArgs {
    /// What is done.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// What can be done with a policy of one's own.
#[derive(Subcommand)]
pub enum PolicyCommand {
    /// Write a policy that works, to be changed, and a hierarchy to try it in
    New {
        /// What it is called in hierarchy files, such as asked-times
        name: String,
        /// The folder for the files
        #[arg(long, value_name = "DIR", default_value = ".")]
        to: PathBuf,
    },
    /// Print what a policy must do, and what it may call
    Contract,
    /// Try a policy in hierarchies at random: what breaks, and the least that breaks it
    Test {
        /// The policy, a file of C
        file: PathBuf,
        /// Try it under this name, which may be beside a policy that is built in
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// How many hierarchies, each with its own events
        #[arg(long, value_name = "N", default_value = "300")]
        seeds: u64,
        /// The number of the first
        #[arg(long, value_name = "SEED", default_value = "0")]
        from: u64,
    },
    /// Compile policies for the simulator and for the kernel
    Build {
        /// The policies, a file of C each; a hierarchy that loads these, in this order, finds them in a cache
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Build it under this name, beside another version of it; of one policy only
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// Keep what was built in this folder: under the policy's name, or of several as `policies`
        #[arg(short, long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Keep it by what it was built from, to be found by machines that have no compilers, as
        /// $XDG_CACHE_HOME/hls/policies there
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// The number of the first policy in the core; a run numbers its policies in order, and uses no number twice
        #[arg(long, value_name = "N", default_value = "64")]
        number: u8,
    },
}

/// Runs the command.
pub fn policy(args: &PolicyArgs) -> Result<Verdict, Error> {
    match &args.command {
        PolicyCommand::New { name, to } => new(name, to),
        PolicyCommand::Contract => contract(),
        PolicyCommand::Test { file, name, seeds, from } => trial::test(file, name.as_deref(), *from, *seeds),
        PolicyCommand::Build { files, name, out, cache, number } => {
            let named = named(files, name.as_deref(), *number)?;
            build(&named, out.as_deref(), cache.clone())
        }
    }
}

/// Writes the files of a new policy, and never over a file that exists.
fn new(name: &str, folder: &Path) -> Result<Verdict, Error> {
    let files = Template::new(name).map_err(refused)?.files.map(|(path, text)| (folder.join(path), text));
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(Error::Input(format!("{}: there is a file already", path.display())));
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (path, text) in &files {
        let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(path, error))?;
    }
    let [policy, hierarchy] = files.map(|(path, _)| path.display().to_string());
    let mut out = output();
    writeln!(out, "{policy}: the policy; its comments say what a policy is")?;
    writeln!(out, "{hierarchy}: a hierarchy to try it in")?;
    writeln!(out, "next: hls policy build {policy}")?;
    out.flush()?;
    Ok(Verdict::Kept)
}

/// Prints the headers of the contract for policies, which an installed `hls` has only within itself.
fn contract() -> Result<Verdict, Error> {
    let mut out = output();
    for (path, text) in hls_policy_build::contract() {
        writeln!(out, "/* {path} */\n{text}")?;
    }
    out.flush()?;
    Ok(Verdict::Kept)
}

/// Reads the policies of these files, in order, and numbers them from `first` on.
fn named(files: &[PathBuf], name: Option<&str>, first: u8) -> Result<Vec<(u8, PolicyFile)>, Error> {
    if name.is_some() && files.len() > 1 {
        return Err(Error::Input(format!("found --as and {} policies, expected one", files.len())));
    }
    let numbers = first..=*hls_policy_build::NUMBERS.end();
    if files.len() > numbers.len() {
        let (found, most) = (files.len(), numbers.len());
        return Err(Error::Input(format!(
            "found {found} policies from number {first} on, expected {most} at most"
        )));
    }
    numbers.zip(files).map(|(number, file)| Ok((number, read(file, name)?))).collect()
}

/// Builds policies for the simulator and for the kernel, and keeps the builds if that is asked for.
fn build(
    policies: &[(u8, PolicyFile)],
    folder: Option<&Path>,
    cache: Option<PathBuf>,
) -> Result<Verdict, Error> {
    // The names of several policies together could be longer than a file's name may be.
    let stem = if let [(_, policy)] = policies { policy.identifier() } else { "policies" };
    if let Some(folder) = folder {
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    }
    let builder = Builder { cache, ..Builder::default() };
    let mut out = output();
    // First, because it is quick: this finds mistakes in what no compiler reads.
    describe(&builder, policies).map_err(refused)?;
    for (target, name) in [(Target::Native, "simulator"), (Target::Engine, "kernel")] {
        let built = builder.build(target, policies).map_err(refused)?;
        let (size, took) = (built.bytes.len().div_ceil(1024), built.took.as_secs_f64());
        write!(out, "{name:<9}  {size:>5} KiB  {took:>5.1} s")?;
        if let Some(folder) = folder {
            let path = folder.join(format!("{stem}.{}", target.extension()));
            fs::write(&path, &built.bytes).map_err(|error| failed(&path, error))?;
            write!(out, "  {}", path.display())?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(Verdict::Kept)
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::System(format!("{}: {error}", path.display()))
}
