//! The keeper: the supervisor process, which the user has started, and which gives the machine back even if the run
//! fails.
//!
//! The keeper holds the descriptors that keep the hierarchy attached, receives signals, and waits. Its one thread
//! never waits for a grant, so it must have next to nothing to do: it serves no client, reads no file, and looks at
//! no thread. A second process of the same program, the *run*, does everything else; its threads are in the
//! hierarchy. The two talk over a socket, which is the standard input of the run:
//!
//! | byte | from | what |
//! |---|---|---|
//! | [`HOLD`] | run | the descriptors with it keep the hierarchy attached |
//! | [`RELEASE`] | run | the run has ended: they are to be closed |
//! | [`DONE`] | keeper | the answer to both |
//! | [`END`] | keeper | a signal has come: the run is to end |
//!
//! If the run does not end in time, or is gone, the keeper detaches the hierarchy itself. When the keeper ends, the
//! kernel closes its descriptors and kills the run.

use crate::console::{Console, Error};
use crate::worker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send, sendmsg, socketpair,
};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGINT, SIGTERM, SIGTSTP};
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The hierarchy of a run that was asked to end is detached after this time at the latest, even if the run goes on.
const PATIENCE: Duration = Duration::from_secs(3);

const HOLD: u8 = b'h';
const RELEASE: u8 = b'r';
const DONE: u8 = b'd';
const END: u8 = b'e';

/// The most descriptors that come with [`HOLD`].
const MOST_DESCRIPTORS: usize = 32;

/// Starts the run with these arguments as a child, and is its keeper until it ends. Returns the exit code of the run.
///
/// # Errors
/// The run cannot be started, or was ended by a signal.
pub fn keep(arguments: impl Iterator<Item = OsString>, console: &dyn Console) -> Result<u8, Error> {
    let signals = signals()?;
    let (own, of_run) = pair(SocketType::SEQPACKET, SocketFlags::empty())?;
    let run = worker::process(worker::RUN).args(arguments).stdin(of_run).spawn()?;
    // If a page had to be read from a disk, the keeper would wait for threads of the hierarchy. If locking its pages
    // is not allowed, it may have to wait.
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE);
    let mut keeper = KeptRun { run, own, attachment: Vec::new(), to_detach_at: None };
    let status = loop {
        if keeper.wait(signals.as_fd())? {
            keeper.hear_signal(&signals, console)?;
        }
        keeper.detach_if_late(console);
        match keeper.hear_run()? {
            Heard::Nothing => {}
            Heard::End => break keeper.run.wait()?,
        }
    };
    let ended = |signal| format!("signal {signal} has ended the run; this machine has its threads back");
    let error = || Error::System(status.signal().map_or("the run has no exit code".into(), ended));
    status.code().map(|code| code as u8).ok_or_else(error)
}

/// A descriptor that is readable when a signal to end the run has come.
fn signals() -> io::Result<OwnedFd> {
    let (signals, sender) = pair(SocketType::STREAM, SocketFlags::NONBLOCK)?;
    // Ctrl-Z is ignored: a stopped keeper would not give the machine back.
    signal_hook::flag::register(SIGTSTP, Arc::default())?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    Ok(signals)
}

fn pair(kind: SocketType, flags: SocketFlags) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind, flags | SocketFlags::CLOEXEC, None)?)
}

/// The keeper's view of the run.
struct KeptRun {
    run: Child,
    /// The keeper's end of the socket.
    own: OwnedFd,
    /// The descriptors that keep the hierarchy attached, closed in this order.
    attachment: Vec<OwnedFd>,
    /// After a signal: when the hierarchy is detached at the latest.
    to_detach_at: Option<Instant>,
}

enum Heard {
    Nothing,
    /// The run is gone.
    End,
}

impl KeptRun {
    /// Waits until there is something to do. Returns whether a signal has come.
    fn wait(&self, signals: BorrowedFd) -> io::Result<bool> {
        let left = self.to_detach_at.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.filter(|_| !self.attachment.is_empty());
        let left = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let mut fds = [
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(self.own.as_fd(), PollFlags::IN),
        ];
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// The first signal asks the run to end, the second one ends it.
    fn hear_signal(&mut self, signals: &OwnedFd, console: &dyn Console) -> io::Result<()> {
        if !matches!(rustix::io::read(signals, &mut [0; 64]), Ok(1..)) {
            return Ok(());
        }
        if self.to_detach_at.is_none() {
            self.to_detach_at = Some(Instant::now() + PATIENCE);
            // A run that is gone, or does not listen, is handled elsewhere.
            let _ = send(&self.own, &[END], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            return Ok(());
        }
        self.attachment.clear();
        console.say(&"note: a second signal: the run is ended, without its report");
        self.run.kill()
    }

    /// Detaches the hierarchy of a run that has not ended in time.
    fn detach_if_late(&mut self, console: &dyn Console) {
        if self.to_detach_at.is_some_and(|at| Instant::now() >= at) && !self.attachment.is_empty() {
            self.attachment.clear();
            let patience = PATIENCE.as_secs();
            console.say(&format_args!(
                "note: the run has not ended {patience} s after it was asked to: this machine has its threads back"
            ));
        }
    }

    /// Does what the run asks for, if it asks for anything.
    fn hear_run(&mut self) -> io::Result<Heard> {
        let Some((byte, descriptors)) = receive(&self.own, RecvFlags::DONTWAIT)? else {
            self.attachment.clear();
            return Ok(Heard::End);
        };
        match byte {
            HOLD => {
                self.attachment = descriptors;
                // The time of a run that was asked to end while it began starts now.
                self.to_detach_at = self.to_detach_at.map(|_| Instant::now() + PATIENCE);
            }
            RELEASE => self.attachment.clear(),
            _ => return Ok(Heard::Nothing),
        }
        // A run that is gone is noticed at the next look.
        let _ = send(&self.own, &[DONE], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        Ok(Heard::Nothing)
    }
}

/// A message, 0 if there is none yet, and its descriptors; `None`: the other process is gone.
fn receive(socket: &OwnedFd, flags: RecvFlags) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags) {
        Ok(received) if received.bytes == 0 => Ok(None),
        Ok(_) => {
            let descriptors = ancillary.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            });
            Ok(Some((byte[0], descriptors.flatten().collect())))
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(Some((0, Vec::new()))),
        Err(Errno::CONNRESET) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The run's view of the keeper.
pub struct Keeper {
    socket: OwnedFd,
    pid: u32,
    has_asked_to_end: Cell<bool>,
}

impl Keeper {
    /// The keeper of this process. Takes standard input, and replaces it by an empty one.
    ///
    /// # Errors
    /// No keeper has started this process.
    pub fn of_this_process() -> Result<Keeper, Error> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        let peer = rustix::net::sockopt::socket_peercred(&socket);
        let not_kept = |_| Error::Input("only `hls run` starts this command".into());
        let peer = peer.map_err(not_kept)?.pid;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
        rustix::thread::set_name(c"hls").map_err(io::Error::from)?;
        // From now on the kernel kills the run when its keeper ends; the keeper may be gone already.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
        if getppid() != Some(peer) {
            return Err(Error::System("the process that keeps the run is gone".into()));
        }
        Ok(Keeper { socket, pid: peer.as_raw_nonzero().get() as u32, has_asked_to_end: Cell::new(false) })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Gives these descriptors to the keeper, which alone holds them then.
    pub fn hold(&self, attachment: Vec<OwnedFd>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<BorrowedFd> = attachment.iter().map(AsFd::as_fd).collect();
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)), "there is room for all");
        sendmsg(&self.socket, &[IoSlice::new(&[HOLD])], &mut ancillary, SendFlags::NOSIGNAL)?;
        self.wait_until_done()
    }

    /// Has the keeper close the descriptors that it holds: the machine is given back.
    pub fn release(&self) -> io::Result<()> {
        send(&self.socket, &[RELEASE], SendFlags::NOSIGNAL)?;
        self.wait_until_done()
    }

    fn wait_until_done(&self) -> io::Result<()> {
        loop {
            match receive(&self.socket, RecvFlags::empty())? {
                Some((DONE, _)) => return Ok(()),
                Some((END, _)) => self.has_asked_to_end.set(true),
                Some(_) => {}
                None => return Err(io::Error::other("the process that keeps the run is gone")),
            }
        }
    }

    /// Whether the run is to end: the keeper says so, or is gone.
    pub fn asks_to_end(&self) -> bool {
        match receive(&self.socket, RecvFlags::DONTWAIT) {
            Ok(Some((0, _))) => {}
            Ok(Some((END, _)) | None) | Err(_) => self.has_asked_to_end.set(true),
            Ok(Some(_)) => {}
        }
        self.has_asked_to_end.get()
    }
}

impl AsFd for Keeper {
    /// Readable when the keeper has sent something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
