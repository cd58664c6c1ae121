//! The clients: which users may connect, how much they may send, and for how long. Each client has a thread
//! (`attendants.rs`), so that none waits for another.
//!
//! Relies on the kernel for the peers' credentials. A request is carried out once all of it has arrived, even if its
//! sender is gone by then; a client that stalls or sends too much loses its connection and nothing else.

use crate::allowance::{Allowance, Turn, pause_after, thread_time};
use crate::attendants::{Attendants, Next};
use crate::changes::Subscription;
use crate::engine::RunningEngine;
use crate::manager::{Manager, Peer};
use crate::people::People;
use crate::service::answer_in_turn;
use crate::socket::Socket;
use crate::varlink::{Fault, reply};
use hls_client::interface::{Failure, WatchReply};
use hls_client::{MAX_REQUEST, send_with};
use hls_engine::Turns;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{RecvFlags, recv};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::CStr;
use std::io::{self, ErrorKind, Read, Write};
use std::iter;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The most connections of users that are open at once; one more closes one of them. Root's are not counted.
const MAX_CLIENTS: usize = 64;
/// The most connections that one user may have open; a user may have several numbers.
const MAX_CLIENTS_OF_A_USER: usize = 8;
/// The time within which a request that has begun must arrive whole, and a client must read a reply.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection on which nothing comes for this time is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The most connections of users that are accepted at once, after the first one.
const FURTHER_AT_ONCE: usize = 7;
/// The door's pause after connections is this many times as long as a user's pause after a request that took as much
/// CPU time.
const PAUSES: u32 = 2;
/// How often the server looks whether a subscriber is still there.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the server looks for promoted schedulers without threads.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Serves clients until `stop`, or until the listener fails. When it returns, no request is under way any more.
///
/// # Errors
/// The listener's errors; a request that panicked, after which the state of the hierarchy is unknown.
pub fn serve<E: RunningEngine + Send>(
    socket: &Socket,
    manager: &Mutex<Manager<E>>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let clients = Clients::default();
    let allowance = &Allowance::new();
    let attendants = &Attendants::new();
    let mut door = Door::new();
    let mut sweep_at = Instant::now();
    let changes = manager.lock().unwrap_or_else(PoisonError::into_inner).changes.clone();
    thread::scope(|scope| {
        let staff = Staff { scope, attendants, manager, allowance };
        staff.hire(true);
        staff.hire(false);
        let let_in = |person: u32, stream: UnixStream| {
            // A client that has gone meanwhile is not let in.
            let Ok(client) = clients.admit(person, stream) else { return };
            let is_root = client.peer.is_root();
            attendants.add(client, is_root);
        };
        let result = loop {
            if stop.load(Ordering::Relaxed) {
                break Ok(());
            }
            if manager.is_poisoned() {
                break Err(io::Error::other("a request to the control socket was not finished"));
            }
            let begun = thread_time();
            // While root is answered, the door is shut for users.
            let shut_until = allowance.roots_until().filter(|until| *until > Instant::now());
            let (users_from, longest) = match shut_until {
                None => (door.open_from, door.longest_wait()),
                Some(until) => (door.open_from.max(until), Duration::MAX),
            };
            let mut has_come = false;
            match socket.next_client(users_from, longest) {
                Ok(Some(stream)) if is_root(&stream) => let_in(Peer::ROOT.uid, stream),
                Ok(Some(stream)) => {
                    has_come = true;
                    let others = iter::from_fn(|| socket.next_user()).take(FURTHER_AT_ONCE);
                    iter::once(stream).chain(others).for_each(|stream| match is_root(&stream) {
                        true => let_in(Peer::ROOT.uid, stream),
                        false => door.receive(stream, &clients),
                    });
                }
                Ok(None) if shut_until.is_some() => {}
                Ok(None) => {
                    // If a request has the manager, that request does the same.
                    manager.try_lock().iter_mut().for_each(|manager| match sweep_at <= Instant::now() {
                        true => {
                            // If the run has ended, the next request is told so.
                            let _ = manager.tidy();
                            sweep_at = Instant::now() + SWEEP_INTERVAL;
                        }
                        false => manager.note_disabled_policies(),
                    });
                }
                Err(error) => break Err(error),
            }
            let has_let_in = shut_until.is_none() && door.let_one_in(let_in);
            if has_come || has_let_in {
                door.shut_after(thread_time().saturating_sub(begun));
            }
        };
        allowance.stop();
        attendants.stop();
        changes.stop();
        clients.end_all();
        result
    })
}

/// What a thread that attends to clients needs, also to make another such thread.
struct Staff<'scope, 'env, 'c, E> {
    scope: &'scope thread::Scope<'scope, 'env>,
    attendants: &'env Attendants<Client<'c>>,
    manager: &'env Mutex<Manager<E>>,
    allowance: &'env Allowance,
}

impl<E> Clone for Staff<'_, '_, '_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Staff<'_, '_, '_, E> {}

impl<E: RunningEngine + Send> Staff<'_, '_, '_, E> {
    /// Makes a thread that attends to root alone, or to anybody. If no thread can be made, clients wait for the
    /// existing ones.
    fn hire(self, of_root_alone: bool) {
        let thread = thread::Builder::new().name("hls-client".into());
        let _ = thread.spawn_scoped(self.scope, move || {
            while let Some(Next { client, is_last }) = self.attendants.next(of_root_alone) {
                if is_last {
                    self.hire(false);
                }
                // How a connection ended is of no interest to anyone else; a panic is seen by `serve`.
                let _ =
                    panic::catch_unwind(AssertUnwindSafe(|| attend(&client, self.manager, self.allowance)));
                drop(client);
            }
        });
    }
}

fn is_root(stream: &UnixStream) -> bool {
    matches!(socket_peercred(stream), Ok(peer) if peer.uid.is_root())
}

/// Users' connections before they are let in. Accepting a connection is cheap, letting it in is not: so accepted
/// connections wait, and the users take turns. Both together have about 1 % of a CPU.
struct Door {
    people: People,
    waiting: Turns<UnixStream>,
    /// When the next connections of users may be accepted, and the next one let in.
    open_from: Instant,
}

impl Door {
    fn new() -> Door {
        Door { people: People::read(), waiting: Turns::default(), open_from: Instant::now() }
    }

    /// How long the door may be left alone.
    fn longest_wait(&self) -> Duration {
        match self.waiting.is_empty() {
            true => Duration::MAX,
            false => self.open_from.saturating_duration_since(Instant::now()),
        }
    }

    /// A user's connection was accepted: it waits to be let in, unless the user has gone again or has too many
    /// connections.
    fn receive(&mut self, stream: UnixStream, clients: &Clients) {
        let Ok(peer) = socket_peercred(&stream) else { return };
        if has_gone(&stream) {
            return;
        }
        let person = self.people.person(peer.uid.as_raw());
        if clients.count_of(person) + self.waiting.count_of(person) < MAX_CLIENTS_OF_A_USER {
            self.waiting.add(person, stream);
        } else {
            // A client that does not take the answer gets none.
            let _ = refuse(&stream);
        }
    }

    /// Lets in the next client that is still there, if it is time for that. Returns whether there was work to do.
    fn let_one_in(&mut self, let_in: impl Fn(u32, UnixStream)) -> bool {
        if self.waiting.is_empty() || Instant::now() < self.open_from {
            return false;
        }
        while let Some((person, stream)) = self.waiting.take() {
            if !has_gone(&stream) {
                let_in(person, stream);
                break;
            }
        }
        true
    }

    /// Closes the door after users' connections have taken this CPU time, the system's work around the wait included.
    fn shut_after(&mut self, used: Duration) {
        self.open_from = Instant::now() + PAUSES * pause_after(used);
    }
}

/// Whether nothing more will come from the client.
fn has_gone(stream: &UnixStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match recv(stream, &mut [0; 1], flags) {
        Ok((read, _)) => read == 0,
        Err(error) => error != Errno::AGAIN && error != Errno::INTR,
    }
}

/// Tells a client that its user has too many connections.
fn refuse(stream: &UnixStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let reason = format!("found {MAX_CLIENTS_OF_A_USER} connections of the user, expected fewer");
    (&mut &*stream).write_all(&Fault::from(Failure::InUse { reason }).message())
}

/// The connections that are open.
#[derive(Default)]
struct Clients {
    /// By number. A connection that was closed to make room is no longer here, though its thread may still run.
    open: Mutex<HashMap<u64, Open>>,
    numbers: AtomicU64,
}

struct Open {
    /// Its user; root's connections are not counted.
    person: u32,
    /// When something last came.
    used_at: Instant,
    stream: UnixStream,
}

/// A connection, which is forgotten when it is dropped.
struct Client<'c> {
    clients: &'c Clients,
    number: u64,
    person: u32,
    peer: Peer,
    stream: UnixStream,
}

impl Clients {
    fn list(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_of(&self, person: u32) -> usize {
        self.list().values().filter(|open| open.person == person).count()
    }

    /// Lets a client in. If there are too many, closes another connection.
    fn admit(&self, person: u32, stream: UnixStream) -> io::Result<Client<'_>> {
        stream.set_nonblocking(false)?;
        let peer = Peer { uid: socket_peercred(&stream)?.uid.as_raw() };
        let mut open = self.list();
        if peer != Peer::ROOT
            && let Some(number) = to_close(&open)
            && let Some(Open { stream, .. }) = open.remove(&number)
        {
            // One that is closed already needs no more.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Open { person, used_at: Instant::now(), stream: stream.try_clone()? });
        Ok(Client { clients: self, number, person, peer, stream })
    }

    /// Something came from a client.
    fn note_use(&self, number: u64) {
        if let Some(open) = self.list().get_mut(&number) {
            open.used_at = Instant::now();
        }
    }

    /// Closes all connections; clients do not wait any longer.
    fn end_all(&self) {
        for Open { stream, .. } in self.list().values() {
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

/// The connection that makes room for a new one when the limit is reached: of the user with the most connections, the
/// one that has been idle longest.
fn to_close(open: &HashMap<u64, Open>) -> Option<u64> {
    let of_users = || open.iter().filter(|(_, open)| open.person != Peer::ROOT.uid);
    if of_users().count() < MAX_CLIENTS {
        return None;
    }
    let mut counts: HashMap<u32, usize> = HashMap::new();
    of_users().for_each(|(_, open)| *counts.entry(open.person).or_default() += 1);
    let rank = |open: &Open| (counts[&open.person], Reverse(open.used_at));
    of_users().max_by_key(|(number, open)| (rank(open), Reverse(**number))).map(|(number, _)| *number)
}

/// Answers a client until it goes, or is closed.
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
        client.clients.note_use(client.number);
        let answer = |turn: Option<&Turn>| answer_in_turn(manager, (client.peer, turn), &message);
        // The turn ends before the answer is sent: a client that does not read it delays no other client.
        let answer = if client.peer.is_root() {
            let _first = allowance.root();
            answer(None)
        } else {
            let Some(turn) = allowance.turn(client.person) else { return Ok(()) };
            answer(Some(&turn))
        };
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
        if let Some(subscription) = answer.subscription {
            return keep_informed(client, subscription, allowance);
        }
        if answer.close {
            return Ok(());
        }
    }
}

/// Sends a subscriber the changes as they come, until it goes. A user pays for the CPU time as for requests.
fn keep_informed(client: &Client, mut subscription: Subscription, allowance: &Allowance) -> io::Result<()> {
    while let Some(changes) = subscription.next(LOOK_INTERVAL) {
        if changes.is_empty() {
            if has_gone(&client.stream) {
                break;
            }
            continue;
        }
        let message = || reply(&serde_json::json!(WatchReply { changes }), true);
        let message = if client.peer.is_root() {
            message()
        } else {
            let Some(_turn) = allowance.turn(client.person) else { break };
            message()
        };
        send(&client.stream, &message)?;
    }
    Ok(())
}

/// What came from a client.
enum Received {
    /// A message without its NUL.
    Message(Vec<u8>),
    /// The client will send nothing more.
    End,
    /// A message that is too long or too late.
    Bad(String),
}

/// Waits for the next message. Bytes after it stay in `received`.
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

    /// Another user gets a connection even if many users together have all of them.
    #[test]
    fn nobody_is_kept_out() {
        let (stream, _other) = UnixStream::pair().unwrap();
        let now = Instant::now();
        let opened = |number: u64, person: u32, seconds_ago: u64| {
            let used_at = now - Duration::from_secs(seconds_ago);
            (number, Open { person, used_at, stream: stream.try_clone().unwrap() })
        };
        let mut open: HashMap<u64, Open> = (0..62).map(|at| opened(at, 1000 + at as u32, 100 + at)).collect();
        open.extend([opened(62, 7, 1)]);
        assert_eq!(to_close(&open), None);
        open.extend((100..200).map(|at| opened(at, Peer::ROOT.uid, 1000)));
        assert_eq!(to_close(&open), None, "root's are not counted");
        open.extend([opened(63, 8, 1)]);
        assert_eq!(to_close(&open), Some(61), "each user has one: the least recently used");
        open.extend([opened(64, 7, 2)]);
        assert_eq!(to_close(&open), Some(64), "the user with two");
    }

    #[test]
    fn a_client_that_has_gone_is_noticed() {
        let (stream, other) = UnixStream::pair().unwrap();
        assert!(!has_gone(&stream));
        (&other).write_all(b"x").unwrap();
        drop(other);
        assert!(!has_gone(&stream), "something came before");
        let (stream, other) = UnixStream::pair().unwrap();
        drop(other);
        assert!(has_gone(&stream));
    }
}
