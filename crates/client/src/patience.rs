//! How long a client waits for the other end of its connection.
//!
//! A request takes long if many clients ask, or if the kernel verifies an engine first; so a client is patient. But
//! it checks now and then whether the server's process is stopped, as by SIGSTOP, because then no answer comes.
//! Relies on the kernel for the PID of that process. Does not give up on a slow server before the time is out.

use rustix::net::sockopt::socket_peercred;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a client waits for an answer. A user has a fiftieth of a CPU for requests: after a request that took a
/// second, the next waits for most of a minute. The kernel may also have to verify an engine first.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// How long nothing may come from the server before the client checks whether it is stopped.
const LOOK_AFTER: Duration = Duration::from_secs(3);

/// A wait for an answer.
pub(crate) struct Wait<'s> {
    stream: &'s UnixStream,
    patience: Duration,
    begun: Instant,
}

impl Wait<'_> {
    /// Begins to wait on a connection, for at most `patience`.
    pub(crate) fn begin(stream: &UnixStream, patience: Duration) -> io::Result<Wait<'_>> {
        let interval = Some(patience.min(LOOK_AFTER));
        stream.set_read_timeout(interval)?;
        stream.set_write_timeout(interval)?;
        Ok(Wait { stream, patience, begun: Instant::now() })
    }

    /// Handles an error of the connection: nothing is to be done if it says only that some time has passed. When the
    /// wait is over it closes the connection, so that a late answer is not taken for the answer to the next request.
    pub(crate) fn after(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock => self.look().inspect_err(|_| {
                // If this fails, the connection is closed later in any case.
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
            }),
            _ => Err(error),
        }
    }

    fn look(&self) -> io::Result<()> {
        let server = socket_peercred(self.stream).ok().map(|server| server.pid.as_raw_nonzero().get());
        let waited = self.begun.elapsed().as_secs_f64();
        let given_up = |found: String| Err(io::Error::new(io::ErrorKind::TimedOut, found));
        match server {
            Some(pid) if is_stopped(pid) => given_up(format!(
                "found no answer within {waited:.0} s: process {pid}, the server, is stopped; expected it to run"
            )),
            _ if self.begun.elapsed() >= self.patience => given_up(format!(
                "found no answer within {waited:.0} s, expected one; what was asked for may still be done"
            )),
            _ => Ok(()),
        }
    }

    /// Sends all of a message.
    pub(crate) fn send(&self, mut message: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        while !message.is_empty() {
            match stream.write(message) {
                Ok(sent) => message = &message[sent..],
                Err(error) => self.after(error)?,
            }
        }
        Ok(())
    }
}

/// Whether a process is known to be stopped.
fn is_stopped(pid: i32) -> bool {
    let status = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may have any characters.
    let end = status.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    status[end..].starts_with(b") T")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::exchange;
    use std::process::Command;

    #[test]
    fn a_server_that_never_answers_is_given_up() {
        let (client, _server) = UnixStream::pair().unwrap();
        let patience = Duration::from_millis(30);
        let error = exchange(&client, &mut Vec::new(), Some(b"?\0"), patience).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().starts_with("found no answer within 0 s, expected one"), "{error}");
        let next = exchange(&client, &mut Vec::new(), Some(b"?\0"), patience).unwrap_err();
        assert_ne!(next.kind(), io::ErrorKind::TimedOut, "the connection is over");
    }

    #[test]
    fn a_server_that_takes_nothing_in_is_given_up() {
        let (client, _server) = UnixStream::pair().unwrap();
        let error = exchange(&client, &mut Vec::new(), Some(&vec![b' '; 4 << 20]), Duration::from_millis(30));
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_process_that_is_stopped_is_told_from_one_that_runs() {
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = process.id().cast_signed();
        assert!(!is_stopped(pid));
        let stopped = Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
        assert!(stopped.success());
        while !is_stopped(pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(!is_stopped(pid), "it is gone");
    }
}
