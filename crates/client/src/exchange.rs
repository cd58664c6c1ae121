//! A connection to the server: a message there, and a reply back, with the descriptors that come with it.

use crate::descriptors::receive_some;
use crate::patience::{PATIENCE, Wait};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default path of the socket.
pub const DEFAULT_SOCKET: &str = "/run/hls/control.sock";
/// The most clients that wait to be accepted; further ones wait in `connect`.
pub const MOST_WAITING: i32 = 64;
/// The longest reply, in bytes.
const MAX_REPLY: usize = 256 << 20;

/// The path of root's socket, beside the socket of this path.
pub fn path_for_root(path: &Path) -> PathBuf {
    let mut path = OsString::from(path);
    path.push(".root");
    path.into()
}

/// Connects to the hierarchy at this path: through root's socket if the caller may use it.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    connect_to(&path_for_root(path)).or_else(|_| connect_to(path))
}

/// `UnixStream::connect` with a timeout: gives up if the backlog stays full.
fn connect_to(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(Errno::AGAIN) => {
            let seconds = PATIENCE.as_secs();
            let found = format!("found no place among {MOST_WAITING} waiting clients within {seconds} s");
            Err(io::Error::new(io::ErrorKind::TimedOut, found))
        }
        connected => Ok(connected.map(|()| socket.into())?),
    }
}

/// Sends a message with its NUL, if there is one. Returns the next reply without its NUL, and the descriptors that came
/// with it; bytes after the reply stay in `received`. Without a message, waits for a reply for any time.
pub(crate) fn exchange(
    stream: &UnixStream,
    received: &mut Vec<u8>,
    message: Option<&[u8]>,
    patience: Duration,
) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    // A server that refuses the connection says why and closes it; then sending fails, and the reply has the reason.
    let wait = Wait::begin(stream, if message.is_some() { patience } else { Duration::MAX })?;
    let sent = match wait.send(message.unwrap_or_default()) {
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
