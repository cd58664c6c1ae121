//! `hls load`: loads a policy into the hierarchy that runs on this machine (Vassal, section 3).

use crate::ctl::verdict;
use crate::exit::{Error, Verdict};
use crate::output::output;
use crate::progress::{Waiting, seconds};
use hls_client::interface::{Load, LoadReply, LoadTimes};
use hls_client::{Client, ClientError, DEFAULT_SOCKET};
use hls_policy_build::PolicyFile;
use hls_units::Nanos;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Arguments of `hls load`.
#[derive(clap::Args)]
pub struct LoadArgs {
    /// The policy's file, in C
    pub file: PathBuf,
    /// The name that it is to have in the hierarchy [default: the name in the file]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Take the place of the policy of that name: its schedulers go on with what they know
    #[arg(long)]
    pub replace: bool,
    /// The socket of the run
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// Runs the command.
pub fn load(args: &LoadArgs) -> Result<Verdict, Error> {
    let policy = PolicyText::read(&args.file, args.name.as_deref())?;
    verdict(Client::connect_to(&args.socket).and_then(|mut hls| {
        let mut out = output();
        let waiting = Waiting::begin(format!("loading `{}`", policy.name));
        let begun = Instant::now();
        let times = policy.load(&mut hls, args.replace, &mut out)?;
        drop(waiting);
        Ok(write_times(&mut out, begun.elapsed(), times)?)
    }))
}

/// A policy that is to be loaded.
pub struct PolicyText {
    name: String,
    path: PathBuf,
    text: String,
}

impl PolicyText {
    /// Reads the file of a policy, which is to be loaded under `name`, or under its own name.
    pub fn read(path: &Path, name: Option<&str>) -> Result<PolicyText, Error> {
        let file = PolicyFile::read(path).map_err(|error| Error::Input(error.to_string()))?;
        let name = name.map_or_else(|| file.name(), str::to_owned);
        Ok(PolicyText { name, path: path.to_owned(), text: file.text().to_owned() })
    }

    /// Has the running hierarchy load the policy, and writes which schedulers have it now. Returns how long that took.
    pub fn load(
        &self,
        hls: &mut Client,
        replace: bool,
        out: &mut impl Write,
    ) -> Result<LoadTimes, ClientError> {
        let (name, path) = (self.name.clone(), self.path.to_string_lossy().into_owned());
        let load = Load { name, path, text: self.text.clone(), replace };
        let LoadReply { policy, kept, given, without, times } = hls.call(&load)?;
        writeln!(out, "loaded `{policy}`")?;
        for scheduler in kept {
            writeln!(out, "`{scheduler}` goes on with it")?;
        }
        for scheduler in given {
            writeln!(out, "`{scheduler}` has it, as if it were new")?;
        }
        for scheduler in without {
            writeln!(out, "it cannot be given back to {scheduler}")?;
        }
        Ok(times)
    }
}

/// Writes how long the user has waited, and then, in a line of its own, what took that long.
pub fn write_times(out: &mut impl Write, waited: Duration, times: LoadTimes) -> io::Result<()> {
    writeln!(out, "done in {}", seconds(waited))?;
    // Nanoseconds do not matter in a time of seconds.
    let rounded = |ns: u64| match ns {
        1_000_000_000.. => Nanos::from_millis(ns / 1_000_000),
        1_000_000.. => Nanos::from_micros(ns / 1000),
        _ => Nanos(ns),
    };
    let [build, verify, publish] = [times.build_ns, times.verify_ns, times.publish_ns].map(rounded);
    writeln!(out, "build {build}, verify {verify}, publish {publish}")?;
    out.flush()
}
