//! `hls load` and `hls unload`: policies of the hierarchy that runs on this machine come and go (Vassal, section 3).

use crate::args::{LoadArgs, UnloadArgs};
use crate::ctl::verdict;
use crate::exit::{Error, Verdict};
use crate::output::output;
use hls_control::{Client, LoadReport, Took};
use hls_module::PolicyFile;
use hls_units::Nanos;
use std::io::{self, Write};

/// Loads a policy.
pub fn load(args: &LoadArgs) -> Result<Verdict, Error> {
    let file = PolicyFile::read(&args.file).map_err(|error| Error::Input(error.to_string()))?;
    let name = args.name.clone().unwrap_or_else(|| file.name());
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Error::Input(format!("cannot read {}: {error}", args.file.display())))?;
    verdict(Client::connect_to(&args.socket).and_then(|mut hls| {
        let LoadReport { policy, kept, took } = hls.load(&name, &args.file, &text, args.replace)?;
        let mut out = output();
        writeln!(out, "loaded `{policy}`")?;
        for scheduler in kept {
            writeln!(out, "`{scheduler}` goes on with it")?;
        }
        Ok(write_times(&mut out, took)?)
    }))
}

/// Unloads a policy.
pub fn unload(args: &UnloadArgs) -> Result<Verdict, Error> {
    verdict(Client::connect_to(&args.socket).and_then(|mut hls| {
        let took = hls.unload(&args.name)?;
        let mut out = output();
        writeln!(out, "unloaded `{}`", args.name)?;
        Ok(write_times(&mut out, took)?)
    }))
}

fn write_times(out: &mut impl Write, took: Took) -> io::Result<()> {
    let [build, verify, publish] = [took.build_ns, took.verify_ns, took.publish_ns].map(Nanos);
    writeln!(out, "build {build}, verify {verify}, publish {publish}")?;
    out.flush()
}
