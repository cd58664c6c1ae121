//! The client's end of the socket, or of a manager in this process. Programs and `hls ctl` send their requests with
//! it.
//!
//! ```no_run
//! let mut hls = hls_control::Client::connect()?;
//! hls.reserve(hls_control::this_thread(), "RESBH 5ms 33ms", None)?;
//! # Ok::<(), hls_control::ClientError>(())
//! ```
//!
//! Relies on the server for everything that is decided. The server closes a connection without requests after a
//! minute. A client waits for an answer for at most ten minutes, and only some seconds if the server's process is
//! stopped.

use crate::descriptors::receive_some;
use crate::engine::RunningEngine;
use crate::manager::{Manager, Peer};
use crate::pages::Pages;
use crate::params::Texts;
use crate::patience::{PATIENCE, Wait};
use crate::policies::{LoadReport, PolicyStatus, UnloadReport};
use crate::service::answer;
use crate::socket::{self, DEFAULT_SOCKET};
use crate::status::Status;
use crate::user_level::Demoted;
use crate::varlink::{CONTROL, message};
use hls_core::pages::VERSION;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// The longest reply, in bytes.
const MAX_REPLY: usize = 256 << 20;

/// The calling thread's number.
pub fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// A connection to a running hierarchy.
pub struct Client<'m> {
    exchange: Box<Exchange<'m>>,
}

/// Sends a message with its NUL. Returns the reply without its NUL, and the descriptors that came with it.
type Exchange<'m> = dyn FnMut(&[u8]) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> + 'm;

/// What was granted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Grant {
    /// The scheduler that grants it.
    pub scheduler: String,
    /// What is promised; `NULL`: nothing.
    pub guarantee: String,
}

#[derive(Deserialize)]
struct Suspended {
    by: String,
}

/// A scheduler that now has the named thread as its agent.
#[derive(Debug)]
pub struct Promotion {
    /// The scheduler, and what it is promised.
    pub granted: Grant,
    /// How many CPUs it may have at once.
    pub width: u16,
    /// Its pages.
    pub pages: Pages,
}

/// Why a request was not done. Nothing has changed, with two exceptions: after a failed connection the request may have
/// been done, and a run that has ended has lost everything.
#[derive(Debug)]
pub enum ClientError {
    /// The calculus refuses.
    Refused {
        /// What was needed, and what there is.
        reason: String,
        /// The nearest request that would be granted, if one was found.
        mend: Option<String>,
    },
    /// The request is wrong, or the caller may not make it.
    Request {
        /// The error of the interface, such as `NotFound`.
        error: String,
        /// What was found, and what was expected.
        reason: String,
    },
    /// The run has ended, or is about to, with everything that was granted: as if no hierarchy ran.
    Ended,
    /// The server failed.
    Failed(String),
    /// There is no connection, or the other end does not speak the protocol.
    Connection(io::Error),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Refused { reason, mend: None } => write!(f, "refused: {reason}"),
            ClientError::Refused { reason, mend: Some(mend) } => {
                write!(f, "refused: {reason}\n{mend} would be granted")
            }
            ClientError::Request { reason, .. } | ClientError::Failed(reason) => f.write_str(reason),
            ClientError::Ended => f.write_str("the run has ended"),
            ClientError::Connection(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Connection(error)
    }
}

impl<'m> Client<'m> {
    /// Asks a manager in this process.
    pub fn of<E: RunningEngine>(manager: &'m Mutex<Manager<E>>, who: Peer) -> Client<'m> {
        let exchange = move |message: &[u8]| {
            let answer = answer(manager, who, message.strip_suffix(&[0]).unwrap_or(message));
            let mut reply = answer.message.unwrap_or_default();
            reply.pop();
            Ok((reply, answer.descriptors))
        };
        Client { exchange: Box::new(exchange) }
    }
}

impl Client<'static> {
    /// Connects to the hierarchy that runs on this machine.
    ///
    /// # Errors
    /// None runs.
    pub fn connect() -> Result<Self, ClientError> {
        Client::connect_to(Path::new(DEFAULT_SOCKET))
    }

    /// Connects to a socket.
    ///
    /// # Errors
    /// No server listens there.
    pub fn connect_to(path: &Path) -> Result<Self, ClientError> {
        let stream = socket::connect(path).map_err(|error| {
            let found = format!("found no hierarchy that runs at {} ({error})", path.display());
            io::Error::new(error.kind(), format!("{found}, expected `hls run --engine kernel` to be running"))
        })?;
        let mut received = Vec::new();
        let exchange = move |message: &[u8]| exchange(&stream, &mut received, message, PATIENCE);
        Ok(Client { exchange: Box::new(exchange) })
    }
}

impl Client<'_> {
    /// The hierarchy, its promises, and how they were kept.
    ///
    /// # Errors
    /// The connection's.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.call("Status", json!({}))
    }

    /// Creates a scheduler of a policy below another, with the parameters of both policies, and `width`.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn create(
        &mut self,
        policy: &str,
        name: &str,
        below: &str,
        parameters: &Texts,
    ) -> Result<Grant, ClientError> {
        let parameters = json!({ "policy": policy, "name": name, "below": below, "parameters": parameters });
        self.call("Create", parameters)
    }

    /// Destroys a scheduler that has no children.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn destroy(&mut self, name: &str) -> Result<(), ClientError> {
        self.call("Destroy", json!({ "name": name })).map(|Done {}| ())
    }

    /// Moves a thread below a scheduler.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn move_thread(&mut self, thread: u32, to: &str, parameters: &Texts) -> Result<Grant, ClientError> {
        self.call("Move", json!({ "thread": thread, "to": to, "parameters": parameters }))
    }

    /// Reserves CPU time for a thread, below `below` or else the first scheduler that grants it.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn reserve(
        &mut self,
        thread: u32,
        guarantee: &str,
        below: Option<&str>,
    ) -> Result<Grant, ClientError> {
        self.call("Reserve", json!({ "thread": thread, "guarantee": guarantee, "below": below }))
    }

    /// Moves a thread back to the default scheduler.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn release(&mut self, thread: u32) -> Result<(), ClientError> {
        self.call("Release", json!({ "thread": thread })).map(|Done {}| ())
    }

    /// Sets one parameter of a thread's VP below its scheduler.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn message(&mut self, thread: u32, parameter: &str, value: &str) -> Result<Grant, ClientError> {
        self.call("Message", json!({ "thread": thread, "parameter": parameter, "value": value }))
    }

    /// The policies that a scheduler may have, each with its schedulers.
    ///
    /// # Errors
    /// The connection's.
    pub fn policies(&mut self) -> Result<Vec<PolicyStatus>, ClientError> {
        #[derive(Deserialize)]
        struct Policies {
            policies: Vec<PolicyStatus>,
        }
        self.call("Policies", json!({})).map(|Policies { policies }| policies)
    }

    /// Loads a policy from the content of its file; with `replace`, in place of the loaded policy of that name.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn load(
        &mut self,
        name: &str,
        path: &Path,
        text: &str,
        replace: bool,
    ) -> Result<LoadReport, ClientError> {
        self.call("Load", json!({ "name": name, "path": path, "text": text, "replace": replace }))
    }

    /// Unloads a policy that no scheduler has; with `evacuate`, after its schedulers were emptied and destroyed.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn unload(&mut self, name: &str, evacuate: bool) -> Result<UnloadReport, ClientError> {
        self.call("Unload", json!({ "name": name, "evacuate": evacuate }))
    }

    /// Creates a scheduler below another. Its policy is the process of the thread `agent`; the parameters are the
    /// policies' and `width`.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn promote(
        &mut self,
        name: &str,
        below: &str,
        agent: u32,
        parameters: &Texts,
    ) -> Result<Promotion, ClientError> {
        #[derive(Deserialize)]
        struct Reply {
            scheduler: String,
            guarantee: String,
            #[serde(flatten)]
            shape: Shape,
        }
        let parameters = json!({ "name": name, "below": below, "agent": agent, "parameters": parameters });
        let (Reply { scheduler, guarantee, shape }, descriptors) = self.call_for("Promote", parameters)?;
        let (width, pages) = shape.with(descriptors)?;
        Ok(Promotion { granted: Grant { scheduler, guarantee }, width, pages })
    }

    /// New pages of a user-level scheduler, and how many CPUs the scheduler may have at once.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn pages(&mut self, name: &str) -> Result<(u16, Pages), ClientError> {
        let (shape, descriptors) = self.call_for::<Shape>("Pages", json!({ "name": name }))?;
        shape.with(descriptors)
    }

    /// Ends a user-level scheduler, and all that are below it.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn demote(&mut self, name: &str) -> Result<Demoted, ClientError> {
        self.call("Demote", json!({ "name": name }))
    }

    /// Moves a thread below a user-level scheduler, with this urgency and into this slot if they are given.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn grant(
        &mut self,
        name: &str,
        thread: u32,
        urgency: Option<u64>,
        slot: Option<u64>,
    ) -> Result<Grant, ClientError> {
        let parameters = json!({ "name": name, "thread": thread, "urgency": urgency, "slot": slot });
        self.call("Grant", parameters)
    }

    /// Moves a thread from a user-level scheduler to that scheduler's parent.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn revoke(&mut self, thread: u32) -> Result<Grant, ClientError> {
        self.call("Revoke", json!({ "thread": thread }))
    }

    /// Suspends a thread in the name of a scheduler above it, by default its own scheduler. Returns that scheduler's
    /// name.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn suspend(&mut self, thread: u32, by: Option<&str>) -> Result<String, ClientError> {
        self.call("Suspend", json!({ "thread": thread, "by": by })).map(|Suspended { by }| by)
    }

    /// Resumes a thread that was suspended. Returns the name of the scheduler that held it back.
    ///
    /// # Errors
    /// The error has the reason.
    pub fn resume(&mut self, thread: u32) -> Result<String, ClientError> {
        self.call("Resume", json!({ "thread": thread })).map(|Suspended { by }| by)
    }

    fn call<T: DeserializeOwned>(&mut self, method: &str, parameters: Value) -> Result<T, ClientError> {
        self.call_for(method, parameters).map(|(reply, _)| reply)
    }

    /// The parameters of the reply, and the descriptors that came with it.
    fn call_for<T: DeserializeOwned>(
        &mut self,
        method: &str,
        parameters: Value,
    ) -> Result<(T, Vec<OwnedFd>), ClientError> {
        let call = json!({ "method": format!("{CONTROL}.{method}"), "parameters": parameters });
        let (reply, descriptors) = (self.exchange)(&message(&call))?;
        let reply: Reply = read(&reply)?;
        match reply.error {
            None => Ok((read(reply.parameters.to_string().as_bytes())?, descriptors)),
            Some(error) => Err(refusal(&error, &reply.parameters)),
        }
    }
}

/// Bytes after the reply stay in `received`.
pub(crate) fn exchange(
    stream: &UnixStream,
    received: &mut Vec<u8>,
    message: &[u8],
    patience: Duration,
) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    // A server that refuses the connection says why and closes it; then sending fails, and the reply has the reason.
    let wait = Wait::begin(stream, patience)?;
    let sent = match wait.send(message) {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
        sent => sent,
    };
    let (mut descriptors, mut searched) = (Vec::new(), 0);
    loop {
        if let Some(end) = received[searched..].iter().position(|byte| *byte == 0) {
            let rest = received.split_off(searched + end + 1);
            let mut reply = std::mem::replace(received, rest);
            reply.pop();
            return Ok((reply, descriptors));
        }
        searched = received.len();
        let length = match receive_some(stream, received, &mut descriptors) {
            Ok(length) => length,
            Err(error) => {
                wait.after(error)?;
                continue;
            }
        };
        if length == 0 || searched > MAX_REPLY {
            sent?;
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
        }
    }
}

/// What a process must know of the scheduler to use its pages.
#[derive(Deserialize)]
struct Shape {
    width: u16,
    version: u64,
}

impl Shape {
    /// The width, and the pages by their descriptors.
    fn with(self, descriptors: Vec<OwnedFd>) -> Result<(u16, Pages), ClientError> {
        let found = |found: String, expected: String| {
            let reason = format!("found {found}, expected {expected}");
            ClientError::from(io::Error::new(io::ErrorKind::InvalidData, reason))
        };
        if self.version != VERSION {
            return Err(found(format!("pages of version {}", self.version), VERSION.to_string()));
        }
        let descriptors = <[OwnedFd; 2]>::try_from(descriptors);
        let [kernel, user] = descriptors
            .map_err(|others| found(format!("{} descriptors with a reply", others.len()), "two".into()))?;
        Ok((self.width, Pages { kernel, user }))
    }
}

#[derive(Deserialize)]
struct Reply {
    error: Option<String>,
    #[serde(default)]
    parameters: Value,
}

#[derive(Deserialize)]
struct Done {}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(json).map_err(|error| {
        let reason = format!("found a reply of another form ({error}), expected one of {CONTROL}");
        io::Error::new(io::ErrorKind::InvalidData, reason).into()
    })
}

/// An error reply.
fn refusal(error: &str, parameters: &Value) -> ClientError {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str).map(str::to_owned);
    let reason = text("reason").unwrap_or_else(|| format!("{error} {parameters}"));
    match error.strip_prefix(CONTROL).map(|name| name.trim_start_matches('.')) {
        Some("Refused") => ClientError::Refused { reason, mend: text("mend") },
        Some("Failed") => ClientError::Failed(reason),
        Some("Ended") => ClientError::Ended,
        name => ClientError::Request { error: name.unwrap_or(error).to_owned(), reason },
    }
}
