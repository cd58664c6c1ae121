//! `hls load` and `hls unload`: load a policy into the hierarchy that runs on this machine, or unload one (Vassal,
//! section 3).

use crate::args::{LoadArgs, UnloadArgs};
use crate::ctl::verdict;
use crate::exit::{Error, Verdict};
use crate::output::output;
use crate::progress::{Waiting, seconds};
use hls_client::interface::{Load, LoadReply, LoadTimes, Unload, UnloadReply};
use hls_client::{Client, ClientError};
use hls_policy_build::PolicyFile;
use hls_units::Nanos;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Loads a policy.
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

/// Unloads a policy.
pub fn unload(args: &UnloadArgs) -> Result<Verdict, Error> {
    verdict(Client::connect_to(&args.socket).and_then(|mut hls| {
        let mut out = output();
        let waiting = Waiting::begin(format!("unloading `{}`", args.name));
        let begun = Instant::now();
        let times = ask_to_unload(&mut hls, args, &mut out)?;
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

/// Has a policy unloaded, and writes that it was; how long it took.
pub fn ask_to_unload(
    hls: &mut Client,
    args: &UnloadArgs,
    out: &mut impl Write,
) -> Result<LoadTimes, ClientError> {
    let unload = Unload { name: args.name.clone(), evacuate: args.evacuate };
    let UnloadReply { moved, destroyed, times } = hls.call(&unload)?;
    if moved > 0 {
        let threads = if moved == 1 { "1 thread is" } else { &format!("{moved} threads are") };
        writeln!(out, "{threads} below the default scheduler now")?;
    }
    for scheduler in destroyed {
        writeln!(out, "destroyed `{scheduler}`")?;
    }
    writeln!(out, "unloaded `{}`", args.name)?;
    Ok(times)
}

/// Writes how long the user has waited, and then, in a line of its own, what took that long.
fn write_times(out: &mut impl Write, waited: Duration, times: LoadTimes) -> io::Result<()> {
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
