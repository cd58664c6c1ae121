//! `hls ctl`: looks at the hierarchy that runs on this machine, or changes it (HLS thesis, section 10.2).

mod tree;

use crate::args::{CtlArgs, Parameter, Request};
use crate::exit::{Error, Verdict, say};
use crate::output::output;
use hls_control::{Client, ClientError, Demoted, Grant, Promotion, Texts, this_thread};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use tree::write_status;

/// Runs the command.
pub fn ctl(args: &CtlArgs) -> Result<Verdict, Error> {
    let CtlArgs { socket, request } = args;
    let checked = request.thread().map_or(Ok(0), number);
    verdict(
        checked
            .and_then(|_| Client::connect_to(socket))
            .and_then(|mut hls| ask(&mut hls, request, number, &mut output())),
    )
}

/// Reads the TID of a thread of this machine.
fn number(text: &str) -> Result<u32, ClientError> {
    let number = text.parse().ok().filter(|number| *number != 0);
    number.ok_or_else(|| bad(format!("found `{text}`, expected the number of a thread")))
}

/// The error of a request that is wrong by itself: the running hierarchy is not asked.
pub fn bad(reason: String) -> ClientError {
    ClientError::Request { error: "BadValue".into(), reason }
}

/// The verdict of the command by the outcome of its request; prints the reason where the request was refused.
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

/// Sends a request to the running hierarchy, and writes the answer. `number` gives the TID for the text that names a
/// thread.
pub fn ask(
    hls: &mut Client,
    request: &Request,
    number: impl Fn(&str) -> Result<u32, ClientError>,
    out: &mut impl Write,
) -> Result<(), ClientError> {
    match request {
        Request::Status { json: true } => {
            serde_json::to_writer_pretty(&mut *out, &hls.status()?).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Request::Status { json: false } => write_status(out, &hls.status()?)?,
        Request::Create { policy, name, below, parameters } => {
            let granted = hls.create(policy, name, below, &texts(parameters)?)?;
            writeln!(out, "created `{name}` below `{below}`, which promises it {}", granted.guarantee)?;
        }
        Request::Destroy { name } => {
            hls.destroy(name)?;
            writeln!(out, "destroyed `{name}`")?;
        }
        Request::Move { thread, to, parameters } => {
            write_grant(out, thread, &hls.move_thread(number(thread)?, to, &texts(parameters)?)?)?;
        }
        Request::Reserve { thread, guarantee, below } => {
            write_grant(out, thread, &hls.reserve(number(thread)?, guarantee, below.as_deref())?)?;
        }
        Request::Release { thread } => {
            hls.release(number(thread)?)?;
            writeln!(out, "thread {thread} is below the default scheduler, which promises it NULL")?;
        }
        Request::Promote { name, below, parameters, command } => {
            promote(hls, (name, below), &texts(parameters)?, command)?;
        }
        Request::Demote { name } => {
            let Demoted { moved, destroyed } = hls.demote(name)?;
            let threads = if moved == 1 { "1 thread is" } else { &format!("{moved} threads are") };
            writeln!(out, "destroyed `{}`; {threads} elsewhere now", destroyed.join("`, `"))?;
        }
        Request::Grant { name, thread, parameters } => {
            let (urgency, slot) = urgency_and_slot(&texts(parameters)?)?;
            write_grant(out, thread, &hls.grant(name, number(thread)?, urgency, slot)?)?;
        }
        Request::Revoke { thread } => write_grant(out, thread, &hls.revoke(number(thread)?)?)?,
        Request::Suspend { thread, by } => {
            let by = hls.suspend(number(thread)?, by.as_deref())?;
            writeln!(out, "thread {thread} is suspended by `{by}`")?;
        }
        Request::Resume { thread } => {
            let by = hls.resume(number(thread)?)?;
            writeln!(out, "thread {thread} is no longer suspended by `{by}`")?;
        }
        Request::Message { thread, parameter: (name, value) } => {
            write_grant(out, thread, &hls.message(number(thread)?, name, value)?)?;
        }
    }
    Ok(out.flush()?)
}

/// Becomes a command; its main thread is the agent of a new scheduler of this name below another. Returns only if that
/// fails; then the scheduler goes with this process.
fn promote(
    hls: &mut Client,
    (name, below): (&str, &str),
    parameters: &Texts,
    command: &[String],
) -> Result<(), ClientError> {
    let [program, arguments @ ..] = command else { return Err(bad("found no command".into())) };
    let Promotion { width, pages, .. } = hls.promote(name, below, this_thread(), parameters)?;
    let environment = pages.inherited(name, width)?;
    let error = Command::new(program).args(arguments).envs(environment).exec();
    Err(bad(format!("cannot start `{program}`: {error}")))
}

/// The urgency and the slot of a child, where they are given.
fn urgency_and_slot(texts: &Texts) -> Result<(Option<u64>, Option<u64>), ClientError> {
    let known = ["urgency", "slot"];
    if let Some(unknown) = texts.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(bad(format!("found the parameter `{unknown}`, expected `urgency` or `slot`")));
    }
    let [urgency, slot] = known.map(|name| {
        let wrong = |text: &String| bad(format!("found `{name}={text}`, expected a whole number"));
        texts.get(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    });
    Ok((urgency?, slot?))
}

/// The parameters by name, each given once.
fn texts(parameters: &[Parameter]) -> Result<Texts, ClientError> {
    let mut texts = Texts::new();
    for (name, value) in parameters {
        if let Some(first) = texts.insert(name.clone(), value.clone()) {
            return Err(bad(format!("found `{name}={first}` and `{name}={value}`, expected one of them")));
        }
    }
    Ok(texts)
}

fn write_grant(out: &mut impl Write, thread: &str, granted: &Grant) -> io::Result<()> {
    let Grant { scheduler, guarantee } = granted;
    writeln!(out, "thread {thread} is below `{scheduler}`, which promises it {guarantee}")
}
