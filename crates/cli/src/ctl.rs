//! `hls ctl`: looks at the hierarchy that runs on this machine, or changes it (HLS thesis, section 10.2).

mod tree;

use crate::args::{CtlArgs, Parameter, Request};
use crate::exit::{Error, Verdict, say};
use crate::output::output;
use hls_control::{Client, ClientError, Grant, Texts};
use std::io::{self, Write};
use tree::write_status;

/// Runs the command.
pub fn ctl(args: &CtlArgs) -> Result<Verdict, Error> {
    verdict(Client::connect_to(&args.socket).and_then(|hls| ask(hls, &args.request)))
}

/// What came of a request.
pub fn verdict(outcome: Result<(), ClientError>) -> Result<Verdict, Error> {
    match outcome {
        Ok(()) => Ok(Verdict::Kept),
        Err(error @ ClientError::Refused { .. }) => {
            say(format_args!("hls: {error}"));
            Ok(Verdict::Violated)
        }
        Err(ClientError::Request { reason, .. }) => Err(Error::Input(reason)),
        Err(error) => Err(Error::System(error.to_string())),
    }
}

fn ask(mut hls: Client, request: &Request) -> Result<(), ClientError> {
    let mut out = output();
    match request {
        Request::Status { json: true } => {
            serde_json::to_writer_pretty(&mut out, &hls.status()?).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Request::Status { json: false } => write_status(&mut out, &hls.status()?)?,
        Request::Create { policy, name, below, parameters } => {
            let granted = hls.create(policy, name, below, &texts(parameters)?)?;
            writeln!(out, "created `{name}` below `{below}`, which promises it {}", granted.guarantee)?;
        }
        Request::Destroy { name } => {
            hls.destroy(name)?;
            writeln!(out, "destroyed `{name}`")?;
        }
        Request::Move { thread, to, parameters } => {
            write_grant(&mut out, *thread, &hls.move_thread(*thread, to, &texts(parameters)?)?)?;
        }
        Request::Reserve { thread, guarantee, below } => {
            write_grant(&mut out, *thread, &hls.reserve(*thread, guarantee, below.as_deref())?)?;
        }
        Request::Release { thread } => {
            hls.release(*thread)?;
            writeln!(out, "thread {thread} is below the default scheduler, which promises it NULL")?;
        }
        Request::Message { thread, parameter: (name, value) } => {
            write_grant(&mut out, *thread, &hls.message(*thread, name, value)?)?;
        }
    }
    Ok(out.flush()?)
}

/// The parameters by name, each given once.
fn texts(parameters: &[Parameter]) -> Result<Texts, ClientError> {
    let mut texts = Texts::new();
    for (name, value) in parameters {
        if let Some(first) = texts.insert(name.clone(), value.clone()) {
            let reason = format!("found `{name}={first}` and `{name}={value}`, expected one of them");
            return Err(ClientError::Request { error: "BadValue".into(), reason });
        }
    }
    Ok(texts)
}

fn write_grant(out: &mut impl Write, thread: u32, granted: &Grant) -> io::Result<()> {
    let Grant { scheduler, guarantee } = granted;
    writeln!(out, "thread {thread} is below `{scheduler}`, which promises it {guarantee}")
}
