//! The clients: who may connect, how much, how long. One thread a client, so that none waits for another.
//!
//! Relies on the kernel for the peers' credentials. A request is carried out when all of it is here, whole, whatever
//! becomes of its sender; a client that stalls or sends too much loses its connection and nothing else.

use crate::allowance::{Allowance, pause_after, thread_time};
use crate::descriptors::send_with;
use crate::engine::RunningEngine;
use crate::manager::{Manager, Peer};
use crate::service::answer;
use crate::socket::Socket;
use crate::varlink::{Fault, MAX_REQUEST};
use rustix::net::sockopt::socket_peercred;
use serde_json::json;
use std::collections::HashMap;
use std::ffi::CStr;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So many users' connections are open at once; root's are not counted.
const MAX_CLIENTS: usize = 64;
/// And so many of one user.
const MAX_CLIENTS_OF_A_USER: usize = 8;
/// A request that has begun is here within this time, and a reply is taken.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection on which nothing comes is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Schedulers that go with their last thread are looked for that often.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Serves clients until `stop`, or until the listener fails. When it returns, no request is under way any more.
///
/// # Errors
/// Those of the listener; a request that panicked, after which nobody knows what the hierarchy is.
pub fn serve<E: RunningEngine + Send>(
    socket: &Socket,
    manager: &Mutex<Manager<E>>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let clients = Clients::default();
    let allowance = &Allowance::new();
    // When the next user may come in.
    let mut users_from = Instant::now();
    let mut sweep_at = Instant::now();
    thread::scope(|scope| {
        let result = loop {
            if stop.load(Ordering::Relaxed) {
                break Ok(());
            }
            if manager.is_poisoned() {
                break Err(io::Error::other("a request to the control socket was not finished"));
            }
            let stream = match socket.next_client(users_from) {
                Ok(Some(stream)) => stream,
                Ok(None) => {
                    // A manager that is busy with a request does the same by itself.
                    manager.try_lock().iter_mut().for_each(|manager| match sweep_at <= Instant::now() {
                        true => {
                            // That the run has ended is said to whoever asks next.
                            let _ = manager.tidy();
                            sweep_at = Instant::now() + SWEEP_INTERVAL;
                        }
                        false => manager.note_disabled_policies(),
                    });
                    continue;
                }
                Err(error) => break Err(error),
            };
            let begun = thread_time();
            let is_of_user = !matches!(socket_peercred(&stream), Ok(peer) if peer.uid.is_root());
            if let Ok(client) = clients.admit(stream) {
                // Where no thread can be had, the client is dropped, and with it its connection.
                let _ = thread::Builder::new().spawn_scoped(scope, move || {
                    // How a connection ended is of no interest to anyone else; a panic is seen by the loop above.
                    let _ = panic::catch_unwind(AssertUnwindSafe(|| attend(&client, manager, allowance)));
                });
            }
            if is_of_user {
                users_from = Instant::now() + pause_after(thread_time().saturating_sub(begun));
            }
        };
        clients.end_all();
        result
    })
}

/// The connections that are open.
#[derive(Default)]
struct Clients {
    open: Mutex<HashMap<u64, (Peer, UnixStream)>>,
}

/// A connection, which is forgotten when it is dropped.
struct Client<'c> {
    clients: &'c Clients,
    number: u64,
    peer: Peer,
    stream: UnixStream,
}

impl Clients {
    fn list(&self) -> MutexGuard<'_, HashMap<u64, (Peer, UnixStream)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a client in, unless there are too many.
    fn admit(&self, stream: UnixStream) -> io::Result<Client<'_>> {
        stream.set_nonblocking(false)?;
        let peer = Peer { uid: socket_peercred(&stream)?.uid.as_raw() };
        let mut open = self.list();
        if !has_room(open.values().map(|(peer, _)| *peer), peer) {
            drop(open);
            let reason = format!(
                "found too many connections, expected at most {MAX_CLIENTS_OF_A_USER} of a user, {MAX_CLIENTS} of all"
            );
            send(&stream, &Fault::of_control("InUse", json!({ "reason": reason })).message())?;
            return Err(io::Error::other(reason));
        }
        let number = open.keys().max().map_or(0, |last| last + 1);
        open.insert(number, (peer, stream.try_clone()?));
        Ok(Client { clients: self, number, peer, stream })
    }

    /// Ends what clients wait for.
    fn end_all(&self) {
        for (_, stream) in self.list().values() {
            // One that is closed already needs no more.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.clients.list().remove(&self.number);
    }
}

/// Whether one client more may be there beside those that are.
fn has_room(open: impl Iterator<Item = Peer>, peer: Peer) -> bool {
    let (own, others): (Vec<Peer>, Vec<Peer>) =
        open.filter(|other| *other != Peer::ROOT).partition(|other| *other == peer);
    peer == Peer::ROOT || (own.len() < MAX_CLIENTS_OF_A_USER && own.len() + others.len() < MAX_CLIENTS)
}

/// Answers a client until it goes, or has to.
fn attend<E: RunningEngine>(
    client: &Client,
    manager: &Mutex<Manager<E>>,
    allowance: &Allowance,
) -> io::Result<()> {
    let mut received = Vec::new();
    loop {
        let message = match receive(&client.stream, &mut received)? {
            Received::Message(message) => message,
            Received::End => return Ok(()),
            Received::Bad(reason) => return send(&client.stream, &Fault::malformed(&reason).message()),
        };
        let turn = (client.peer != Peer::ROOT).then(|| allowance.turn());
        let answer = answer(manager, client.peer, &message);
        // A client that does not read its answer keeps nobody waiting.
        drop(turn);
        if let Some(message) = answer.message {
            let rest = match &answer.descriptors[..] {
                [] => &message[..],
                descriptors => {
                    client.stream.set_write_timeout(Some(MESSAGE_TIMEOUT))?;
                    send_with(&client.stream, &message, descriptors)?
                }
            };
            send(&client.stream, rest)?;
        }
        if answer.close {
            return Ok(());
        }
    }
}

/// What came from a client.
enum Received {
    /// A message without its NUL.
    Message(Vec<u8>),
    /// It has nothing more to say.
    End,
    /// Something that cannot be waited for.
    Bad(String),
}

/// Waits for the next message. What came behind it stays in `received`.
fn receive(mut stream: &UnixStream, received: &mut Vec<u8>) -> io::Result<Received> {
    let begun = Instant::now();
    // A request has begun with its first byte; before, the connection is idle.
    let mut deadline = begun + if received.is_empty() { IDLE_TIMEOUT } else { MESSAGE_TIMEOUT };
    let mut searched = 0;
    loop {
        // Not byte by byte: a policy's text is long.
        if let Ok(last) = CStr::from_bytes_until_nul(&received[searched..]) {
            let rest = received.split_off(searched + last.count_bytes() + 1);
            let mut message = std::mem::replace(received, rest);
            message.pop();
            return Ok(Received::Message(message));
        }
        searched = received.len();
        if searched >= MAX_REQUEST {
            return Ok(Received::Bad(format!(
                "found more than {MAX_REQUEST} bytes, expected a shorter message"
            )));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let reason = format!("found no end of a message within {MESSAGE_TIMEOUT:?}, expected a NUL");
            return Ok(if searched == 0 { Received::End } else { Received::Bad(reason) });
        }
        stream.set_read_timeout(Some(left))?;
        let mut chunk = [0; 4096];
        let room = chunk.len().min(MAX_REQUEST - searched);
        match stream.read(&mut chunk[..room]) {
            Ok(0) => return Ok(Received::End),
            Ok(length) => {
                if searched == 0 {
                    deadline = Instant::now() + MESSAGE_TIMEOUT;
                }
                received.extend_from_slice(&chunk[..length]);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends a message, if the client takes it in time.
fn send(mut stream: &UnixStream, message: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    let mut rest = message;
    while !rest.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(rest) {
            Ok(length) => rest = &rest[length..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether to look at the clock and try again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_keeps_others_out() {
        let users = |uids: std::ops::Range<u32>, each: usize| {
            uids.flat_map(move |uid| std::iter::repeat_n(Peer { uid }, each))
        };
        let alice = Peer { uid: 1 };
        assert!(has_room(users(1..2, MAX_CLIENTS_OF_A_USER - 1), alice));
        assert!(!has_room(users(1..2, MAX_CLIENTS_OF_A_USER), alice));
        assert!(has_room(users(2..9, MAX_CLIENTS_OF_A_USER), alice));
        assert!(!has_room(users(2..10, MAX_CLIENTS_OF_A_USER), alice));
        assert!(has_room(users(0..1, MAX_CLIENTS), alice), "root's are not counted");
        assert!(has_room(users(0..10, MAX_CLIENTS_OF_A_USER), Peer::ROOT));
    }
}
