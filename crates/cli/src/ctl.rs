//! `hls ctl`: looks at the hierarchy that runs on this machine, or changes it (HLS thesis, section 10.2).

mod tree;
mod watch;

use crate::exit::{Error, Verdict, say};
use crate::output::output;
use clap::Subcommand;
use hls_client::interface::{
    Create, CreateReply, Demote, DemoteReply, Destroy, Failure, Grant, Message, Move, Promote, PromoteReply,
    Release, Reserve, Resume, Revoke, Status, Suspend,
};
use hls_client::{Client, ClientError, DEFAULT_SOCKET, Texts, this_thread};
use hls_core::pages::VERSION;
use hls_report::ascii::write_indented;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use tree::write_status;
use watch::watch;

const AFTER_HELP: &str = "\
Parameters are written as in hierarchy files, without the quotes: share=3,
quantum=5ms, guarantee=\"RESBH 5ms 33ms\" (`hls policies` lists them). A thread is
given by its number; the number of a process means its main thread.

Root may do everything. Other users may change what is below the schedulers that
the file says they own, with their own threads.

Exit codes: 0 done, 1 refused because a guarantee would not hold, 2 bad usage or
input, or not yours, 3 the system failed, or no hierarchy runs.";

/// Arguments of `hls ctl`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct CtlArgs {
    /// Where the hierarchy that runs is to be asked
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET, global = true)]
    pub socket: PathBuf,
    /// What is asked.
    #[command(subcommand)]
    pub request: Request,
}

/// What a running hierarchy can be asked.
#[derive(Subcommand)]
pub enum Request {
    /// Show schedulers and threads, what each was promised, and what it has had
    Status {
        /// Print it as JSON instead of a tree
        #[arg(long)]
        json: bool,
    },
    /// Print what changes, as it happens, until the run ends: schedulers, threads that requests move, policies
    Watch {
        /// Print a JSON object for each change
        #[arg(long)]
        json: bool,
    },
    /// Create a scheduler below another
    Create {
        /// Its policy (`hls policies` lists them)
        policy: String,
        /// Its name
        name: String,
        /// The scheduler above it
        #[arg(long, value_name = "SCHEDULER")]
        below: String,
        /// Parameters of its policy and of its parent's, and `width`
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
    },
    /// Destroy a scheduler that has no children
    Destroy {
        /// Its name
        name: String,
    },
    /// Move a thread to another scheduler
    Move {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The scheduler that is to have it
        #[arg(long, value_name = "SCHEDULER")]
        to: String,
        /// Parameters that the policy asks of a thread
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
    },
    /// Reserve CPU time for a thread
    Reserve {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The guarantee, such as "RESBH 5ms 33ms"
        guarantee: String,
        /// The scheduler that is to give it [default: the first that can]
        #[arg(long, value_name = "SCHEDULER")]
        below: Option<String>,
    },
    /// Move a thread back to the default scheduler
    Release {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
    },
    /// Become a command; its main thread decides which thread runs below a new scheduler
    ///
    /// The scheduler has the policy `user-level`, and goes when it is demoted or when the last thread below it has
    /// gone, the command's main thread included. The command finds its pages (include/hls_pages.h) by the environment:
    /// HLS_SCHEDULER is NAME:KERNEL_PAGE:USER_PAGE, the descriptors standing behind the last two colons, and HLS_WIDTH
    /// the CPUs that the scheduler may have at once.
    Promote {
        /// The scheduler's name
        name: String,
        /// The scheduler above it
        #[arg(long, value_name = "SCHEDULER")]
        below: String,
        /// Parameters of its policy and of its parent's, and `width`
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
        /// The command, and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// End a user-level scheduler, and all schedulers below it
    Demote {
        /// Its name
        name: String,
    },
    /// Move a thread to a user-level scheduler
    Grant {
        /// The scheduler
        name: String,
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// `urgency`, and `slot`, where 0 makes the thread the one that decides
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
    },
    /// Move a thread from a user-level scheduler to the scheduler above it
    Revoke {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
    },
    /// Hold a thread back, whatever the schedulers between say
    Suspend {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The scheduler above it that does so; the one right above it, if none is named
        #[arg(long, value_name = "SCHEDULER")]
        by: Option<String>,
    },
    /// Let a suspended thread go on
    Resume {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
    },
    /// Set a parameter of a thread
    Message {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The parameter and its new value
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameter: Parameter,
    },
}

impl Request {
    /// The thread that the request is about.
    pub fn thread(&self) -> Option<&str> {
        match self {
            Request::Move { thread, .. }
            | Request::Reserve { thread, .. }
            | Request::Release { thread }
            | Request::Grant { thread, .. }
            | Request::Revoke { thread }
            | Request::Suspend { thread, .. }
            | Request::Resume { thread }
            | Request::Message { thread, .. } => Some(thread),
            Request::Status { .. }
            | Request::Watch { .. }
            | Request::Create { .. }
            | Request::Destroy { .. }
            | Request::Promote { .. }
            | Request::Demote { .. } => None,
        }
    }
}

/// A parameter and its value.
pub type Parameter = (String, String);

fn parameter(text: &str) -> Result<Parameter, String> {
    let expected = || format!("found `{text}`, expected PARAM=VALUE, such as share=3");
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs the command.
pub fn ctl(args: &CtlArgs) -> Result<Verdict, Error> {
    let CtlArgs { socket, request } = args;
    if let Request::Watch { json } = request {
        let watched = Client::connect_to(socket).and_then(|hls| watch(hls, *json, &mut output()));
        return verdict(watched);
    }
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
    ClientError::Failure(Failure::BadValue { reason })
}

/// The verdict of the command by the outcome of its request; prints the reason where the request was refused.
pub fn verdict(outcome: Result<(), ClientError>) -> Result<Verdict, Error> {
    match outcome {
        Ok(()) => Ok(Verdict::Kept),
        Err(error) => match wrong(&error) {
            Wrong::Promises => {
                say(format_args!("hls: {error}"));
                Ok(Verdict::Violated)
            }
            Wrong::Request => Err(Error::Input(error.to_string())),
            Wrong::System => Err(Error::System(error.to_string())),
        },
    }
}

/// What is wrong where a request was not done.
pub enum Wrong {
    /// A promise would not hold.
    Promises,
    /// The request, or the caller may not make it.
    Request,
    /// The system, or the run has ended.
    System,
}

/// What an error of a request says is wrong.
pub fn wrong(error: &ClientError) -> Wrong {
    match error {
        ClientError::Failure(Failure::Refused { .. }) => Wrong::Promises,
        ClientError::Failure(Failure::Ended { .. } | Failure::Failed { .. }) | ClientError::Connection(_) => {
            Wrong::System
        }
        ClientError::Failure(_) | ClientError::Protocol { .. } => Wrong::Request,
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
        Request::Watch { .. } => return Err(bad("found `watch`, expected a request with one answer".into())),
        Request::Status { json: true } => write_indented(out, &hls.call(&Status {})?)?,
        Request::Status { json: false } => write_status(out, &hls.call(&Status {})?)?,
        Request::Create { policy, name, below, parameters } => {
            let [policy, new, above] = [policy, name, below].map(String::clone);
            let create = Create { policy, name: new, below: above, parameters: texts(parameters)? };
            let CreateReply { guarantee, .. } = hls.call(&create)?;
            writeln!(out, "created `{name}` below `{below}`, which promises it {guarantee}")?;
        }
        Request::Destroy { name } => {
            hls.call(&Destroy { name: name.clone() })?;
            writeln!(out, "destroyed `{name}`")?;
        }
        Request::Move { thread, to, parameters } => {
            let (number, to) = (number(thread)?, to.clone());
            let moved = Move { thread: number, to, parameters: texts(parameters)? };
            write_grant(out, thread, &hls.call(&moved)?)?;
        }
        Request::Reserve { thread, guarantee, below } => {
            let (number, guarantee, below) = (number(thread)?, guarantee.clone(), below.clone());
            write_grant(out, thread, &hls.call(&Reserve { thread: number, guarantee, below })?)?;
        }
        Request::Release { thread } => {
            hls.call(&Release { thread: number(thread)? })?;
            writeln!(out, "thread {thread} is below the default scheduler, which promises it NULL")?;
        }
        Request::Promote { name, below, parameters, command } => {
            promote(hls, (name, below), &texts(parameters)?, command)?;
        }
        Request::Demote { name } => {
            let DemoteReply { moved, destroyed } = hls.call(&Demote { name: name.clone() })?;
            let threads = if moved == 1 { "1 thread is" } else { &format!("{moved} threads are") };
            writeln!(out, "destroyed `{}`; {threads} elsewhere now", destroyed.join("`, `"))?;
        }
        Request::Grant { name, thread, parameters } => {
            let (urgency, slot) = urgency_and_slot(&texts(parameters)?)?;
            let grant = Grant { name: name.clone(), thread: number(thread)?, urgency, slot };
            write_grant(out, thread, &hls.call(&grant)?)?;
        }
        Request::Revoke { thread } => {
            write_grant(out, thread, &hls.call(&Revoke { thread: number(thread)? })?)?;
        }
        Request::Suspend { thread, by } => {
            let by = hls.call(&Suspend { thread: number(thread)?, by: by.clone() })?.by;
            writeln!(out, "thread {thread} is suspended by `{by}`")?;
        }
        Request::Resume { thread } => {
            let by = hls.call(&Resume { thread: number(thread)? })?.by;
            writeln!(out, "thread {thread} is no longer suspended by `{by}`")?;
        }
        Request::Message { thread, parameter: (name, value) } => {
            let (parameter, value) = (name.clone(), value.clone());
            let message = Message { thread: number(thread)?, parameter, value };
            write_grant(out, thread, &hls.call(&message)?)?;
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
    let (agent, parameters) = (this_thread(), parameters.clone());
    let promote = Promote { name: name.into(), below: below.into(), agent, parameters };
    let (PromoteReply { width, version, .. }, pages) = hls.call_for_pages(&promote)?;
    if version != VERSION {
        return Err(bad(format!("found pages of version {version}, expected {VERSION}")));
    }
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

fn write_grant(out: &mut impl Write, thread: &str, granted: &CreateReply) -> io::Result<()> {
    let CreateReply { scheduler, guarantee } = granted;
    writeln!(out, "thread {thread} is below `{scheduler}`, which promises it {guarantee}")
}
