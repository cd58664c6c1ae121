//! `hls policy`: begins, tries and builds a policy of one's own.

use crate::args::{PolicyArgs, PolicyCommand};
use crate::exit::{Error, Verdict};
use crate::output::output;
use crate::policy_file::{read, refused};
use crate::trial;
use hls_policy_build::{Builder, PolicyFile, Target, Template};
use hls_session::describe;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
