//! `hls unload`: unloads a policy from the hierarchy that runs on this machine.

use crate::ctl::verdict;
use crate::exit::{Error, Verdict};
use crate::load::write_times;
use crate::output::output;
use crate::progress::Waiting;
use hls_client::interface::{LoadTimes, Unload, UnloadReply};
use hls_client::{Client, ClientError, DEFAULT_SOCKET};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `hls unload`.
#[derive(clap::Args)]
pub struct UnloadArgs {
    /// The policy's name
    pub name: String,
    /// Move the threads below its schedulers to the default scheduler first, and destroy all schedulers there
    #[arg(long)]
    pub evacuate: bool,
    /// The socket of the run
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// Runs the command.
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
