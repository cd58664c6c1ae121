//! The client: calls methods over a socket, or of a server in this process.
//!
//! Relies on the server for everything that is decided. The server closes a connection without requests after a
//! minute. A client waits for an answer for at most ten minutes, and only some seconds if the server's process is
//! stopped.

use crate::exchange::{DEFAULT_SOCKET, connect, exchange};
use crate::interface::{Failure, Method};
use crate::pages::Pages;
use crate::patience::PATIENCE;
use crate::varlink::{CONTROL, message};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::{fmt, io};

/// The calling thread's number.
pub fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// A connection to a running hierarchy.
pub struct Client<'s> {
    exchange: Box<Exchange<'s>>,
}

/// Sends a message with its NUL, if there is one. Returns the next reply without its NUL, and the descriptors that came
/// with it.
type Exchange<'s> = dyn FnMut(Option<&[u8]>) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> + Send + 's;

/// Why a request was not done. Nothing has changed, with two exceptions: after a failed connection the request may have
/// been done, and a run that has ended has lost everything.
#[derive(Debug)]
pub enum ClientError {
    /// The server's answer is an error.
    Failure(Failure),
    /// The server does not take the call: it may be of another version.
    Protocol {
        /// The error of the protocol, such as `org.varlink.service.MethodNotFound`.
        error: String,
        /// Its parameters.
        parameters: String,
    },
    /// There is no connection, or the other end does not speak the protocol.
    Connection(io::Error),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Failure(Failure::Refused { reason, mend: None }) => write!(f, "refused: {reason}"),
            ClientError::Failure(Failure::Refused { reason, mend: Some(mend) }) => {
                write!(f, "refused: {reason}\n{mend} would be granted")
            }
            ClientError::Failure(failure) => f.write_str(failure.reason()),
            ClientError::Protocol { error, parameters } => write!(f, "{error} {parameters}"),
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

impl<'s> Client<'s> {
    /// Asks a server to which `exchange` leads: it sends the message with its NUL that it gets, if it gets one, and
    /// returns the next reply without its NUL, and the descriptors that come with it.
    pub fn of(
        exchange: impl FnMut(Option<&[u8]>) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> + Send + 's,
    ) -> Client<'s> {
        Client { exchange: Box::new(exchange) }
    }

    /// Subscribes to what the server sends in reply to a method, such as [`Watch`](crate::interface::Watch): the
    /// replies as they come, until the connection ends or is dropped.
    pub fn subscribe<M: Method>(self, call: &M) -> Replies<'s, M> {
        let call = json!({ "method": name_of::<M>(), "parameters": call, "more": true });
        Replies { exchange: self.exchange, call: Some(message(&call)), is_over: false, of: PhantomData }
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
        let stream = connect(path).map_err(|error| {
            let found = format!("found no hierarchy that runs at {} ({error})", path.display());
            io::Error::new(error.kind(), format!("{found}, expected `hls run --engine kernel` to be running"))
        })?;
        let mut received = Vec::new();
        Ok(Client::of(move |message| exchange(&stream, &mut received, message, PATIENCE)))
    }
}

impl Client<'_> {
    /// Calls a method.
    ///
    /// # Errors
    /// The server refuses, with the reason, or is not there.
    pub fn call<M: Method>(&mut self, call: &M) -> Result<M::Reply, ClientError> {
        self.call_for_descriptors(call).map(|(reply, _)| reply)
    }

    /// Calls a method that hands over descriptors, and returns them with the reply.
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub fn call_for_descriptors<M: Method>(
        &mut self,
        call: &M,
    ) -> Result<(M::Reply, Vec<OwnedFd>), ClientError> {
        let call = json!({ "method": name_of::<M>(), "parameters": call });
        let (reply, descriptors) = (self.exchange)(Some(&message(&call)))?;
        Ok((read(&reply)?.0, descriptors))
    }

    /// Calls a method that hands over the pages of a scheduler: [`Promote`](crate::interface::Promote) or
    /// [`Pages`](crate::interface::Pages).
    ///
    /// # Errors
    /// Those of [`Client::call`].
    pub fn call_for_pages<M: Method>(&mut self, call: &M) -> Result<(M::Reply, Pages), ClientError> {
        let (reply, descriptors) = self.call_for_descriptors(call)?;
        let [kernel, user] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|others| {
            let found = format!("found {} descriptors with a reply, expected two", others.len());
            io::Error::new(io::ErrorKind::InvalidData, found)
        })?;
        Ok((reply, Pages { kernel, user }))
    }
}

/// The replies to a method to which a client has subscribed; an error is the last one.
pub struct Replies<'s, M> {
    exchange: Box<Exchange<'s>>,
    /// The call, until it is sent.
    call: Option<Vec<u8>>,
    is_over: bool,
    of: PhantomData<M>,
}

impl<M: Method> Iterator for Replies<'_, M> {
    type Item = Result<M::Reply, ClientError>;

    /// Waits for the next reply.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let received = (self.exchange)(self.call.take().as_deref());
        let reply = received.map_err(ClientError::from).and_then(|(reply, _)| read(&reply));
        self.is_over = !matches!(reply, Ok((_, true)));
        Some(reply.map(|(reply, _)| reply))
    }
}

/// The error that an error reply stands for.
fn refusal(error: String, reply: Value) -> ClientError {
    let parameters = reply.get("parameters").unwrap_or(&Value::Null).to_string();
    serde_json::from_value(reply).map_or(ClientError::Protocol { error, parameters }, ClientError::Failure)
}

/// The parameters of a reply, and whether another reply follows.
fn read<T: DeserializeOwned>(reply: &[u8]) -> Result<(T, bool), ClientError> {
    let mut reply: Value = serde_json::from_slice(reply).map_err(of_another_form)?;
    if let Some(error) = reply.get("error").and_then(Value::as_str).map(str::to_owned) {
        return Err(refusal(error, reply));
    }
    let continues = reply.get("continues").and_then(Value::as_bool).unwrap_or(false);
    let parameters = reply.get_mut("parameters").map_or_else(|| json!({}), Value::take);
    Ok((serde_json::from_value(parameters).map_err(of_another_form)?, continues))
}

fn name_of<M: Method>() -> String {
    format!("{CONTROL}.{}", M::NAME)
}

fn of_another_form(error: serde_json::Error) -> ClientError {
    let reason = format!("found a reply of another form ({error}), expected one of {CONTROL}");
    io::Error::new(io::ErrorKind::InvalidData, reason).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{Release, Reserve, Status, StatusReply};

    /// A client of a server that gives this answer.
    fn answered(answer: &str) -> Client<'_> {
        Client::of(|_| Ok((answer.as_bytes().to_vec(), Vec::new())))
    }

    #[test]
    fn a_call_is_sent_as_the_interface_states_it() {
        let mut sent = Vec::new();
        let mut hls = Client::of(|message| {
            sent = message.unwrap_or_default().to_vec();
            Ok((br#"{"parameters":{"scheduler":"RES","guarantee":"RESBH 1ms 9ms"}}"#.to_vec(), Vec::new()))
        });
        let reserve = Reserve { thread: 7, guarantee: "RESBH 1ms 9ms".into(), below: None };
        let reply = hls.call(&reserve).unwrap();
        assert_eq!((&reply.scheduler[..], &reply.guarantee[..]), ("RES", "RESBH 1ms 9ms"));
        drop(hls);
        let expected =
            r#"{"method":"hls.Control.Reserve","parameters":{"guarantee":"RESBH 1ms 9ms","thread":7}}"#;
        assert_eq!(String::from_utf8(sent).unwrap(), format!("{expected}\0"));
    }

    #[test]
    fn errors_of_the_interface_and_of_the_protocol_differ() {
        let refused =
            r#"{"error":"hls.Control.Refused","parameters":{"reason":"too much","mend":"RESBH 1ms 9ms"}}"#;
        let error = answered(refused).call(&Release { thread: 7 }).unwrap_err();
        assert_eq!(error.to_string(), "refused: too much\nRESBH 1ms 9ms would be granted");
        let unknown =
            r#"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"hls.Control.Release"}}"#;
        let error = answered(unknown).call(&Release { thread: 7 }).unwrap_err();
        assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
        let error = answered("{}").call(&Status {}).unwrap_err();
        assert!(error.to_string().starts_with("found a reply of another form"), "{error}");
    }

    /// A member that may be absent is absent, and not null, and is read either way.
    #[test]
    fn what_may_be_absent_is() {
        let status = StatusReply {
            cpus: 2,
            stolen_ns: 3,
            longest_hold_ns: None,
            longest_wait_ns: None,
            schedulers: vec![],
            threads: vec![],
        };
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(text, r#"{"cpus":2,"stolen_ns":3,"schedulers":[],"threads":[]}"#);
        let with_null = text.replace("\"schedulers\"", "\"longest_hold_ns\":null,\"schedulers\"");
        assert_eq!(serde_json::from_str::<StatusReply>(&with_null).unwrap(), status);
    }
}
