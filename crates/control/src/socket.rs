//! The listening sockets of a hierarchy: one for everybody, and beside it one for root alone, so that no crowd of
//! users keeps root out.

use hls_client::{MOST_WAITING, path_for_root};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, listen};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How often a wait for clients checks whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Two listening sockets; their files are removed with them.
pub struct Socket {
    everybody: Listener,
    root: Listener,
}

impl Socket {
    /// Makes the socket, to which anyone may connect, root's socket (the path followed by `.root`), and their folder.
    /// A socket that a dead server left behind is replaced.
    ///
    /// # Errors
    /// Another server is alive there, or another file is there, or the system refuses.
    pub fn bind(path: &Path) -> io::Result<Socket> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let everybody = Listener::bind(path, 0o666)?;
        Ok(Socket { everybody, root: Listener::bind(&path_for_root(path), 0o600)? })
    }

    /// The next client, if one comes soon, at the latest after `longest`. Root's clients come first; clients of
    /// everybody's socket are accepted only from `users_from` on.
    pub(crate) fn next_client(
        &self,
        users_from: Instant,
        longest: Duration,
    ) -> io::Result<Option<UnixStream>> {
        let longest = longest.min(STOP_INTERVAL);
        let pause = users_from.saturating_duration_since(Instant::now());
        let both = [&self.root.listener, &self.everybody.listener];
        let (doors, time) =
            if pause.is_zero() { (&both[..], longest) } else { (&both[..1], pause.min(longest)) };
        let mut fds: Vec<PollFd> = doors.iter().map(|door| PollFd::new(*door, PollFlags::IN)).collect();
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let open = fds.iter().position(|fd| !fd.revents().is_empty());
        open.map_or(Ok(None), |door| accept(doors[door]))
    }

    /// A further client of everybody's socket, if one waits.
    pub(crate) fn next_user(&self) -> Option<UnixStream> {
        // An error that lasts comes back with the next client.
        accept(&self.everybody.listener).ok().flatten()
    }
}

fn accept(door: &UnixListener) -> io::Result<Option<UnixStream>> {
    match accept_with(door, SocketFlags::CLOEXEC) {
        Ok(client) => Ok(Some(client.into())),
        // The client has gone again.
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
        // The system or this process has too little for one more; the others go on.
        Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            thread::sleep(Duration::from_millis(100));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    fn bind(path: &Path, mode: u32) -> io::Result<Listener> {
        match UnixStream::connect(path) {
            Ok(_) => {
                let found = format!("found a server on {} already, expected none", path.display());
                return Err(io::Error::new(ErrorKind::AddrInUse, found));
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                if !fs::symlink_metadata(path)?.file_type().is_socket() {
                    let found =
                        format!("found a file at {} that is no socket, expected none", path.display());
                    return Err(io::Error::new(ErrorKind::AlreadyExists, found));
                }
                fs::remove_file(path)?;
            }
            Err(_) => {}
        }
        let listener = Listener { listener: UnixListener::bind(path)?, path: path.to_owned() };
        // Clients, living and dead, queue until they are accepted; a short backlog keeps a client from waiting behind
        // thousands.
        listen(&listener.listener, MOST_WAITING)?;
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        listener.listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // If the file is gone already, nothing is left to do.
        let _ = fs::remove_file(&self.path);
    }
}
