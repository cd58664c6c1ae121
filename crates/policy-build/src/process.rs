//! Runs a program until it ends or its time is over, and ends all processes that it has started.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often to check whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Runs a command. `None`: it was killed when its time was over.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    let mut group = Group(Some(command.process_group(0).spawn()?));
    loop {
        if let Some(status) = group.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() >= limit {
            return Ok(None);
        }
        sleep(LOOK);
    }
}

/// A program and the processes that it has started. None of them is left, whatever happens.
struct Group(Option<Child>);

impl Group {
    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.0.as_mut().map_or(Ok(None), Child::try_wait)?;
        if status.is_some() {
            // From now on another process may have its number.
            self.0 = None;
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Both fail only if the process has ended.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
        }
    }
}
