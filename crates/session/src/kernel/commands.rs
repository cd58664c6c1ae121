//! The commands that a file has the engine start. Each is started in two steps: its process comes first, so that the
//! engine can be told whose it is, and becomes the command when all is ready.

use crate::{Error, worker};
use hls_hierarchy::model::{Hierarchy, Who};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Processes that wait to become commands, and those that have.
pub struct Commands {
    /// Each with the thread of the file that it is for.
    children: Vec<(usize, Child)>,
}

impl Commands {
    /// Starts the processes.
    pub fn prepare(hierarchy: &Hierarchy) -> io::Result<Commands> {
        let mut commands = Commands { children: Vec::new() };
        for (node, thread) in hierarchy.threads.iter().enumerate() {
            let Some(Who::Command(words)) = thread.who.as_ref().map(|who| &who.value) else { continue };
            let mut command = worker::process(worker::START);
            command.arg("--").args(words).stdin(Stdio::piped());
            commands.children.push((node, command.spawn()?));
        }
        Ok(commands)
    }

    /// Tells of each: the thread of the file and the process.
    pub fn each(&self, mut tell: impl FnMut(usize, u32)) {
        self.children.iter().for_each(|(node, child)| tell(*node, child.id()));
    }

    /// Lets them become their commands. Their standard input is at its end.
    pub fn go(&mut self) -> io::Result<()> {
        self.children.iter_mut().try_for_each(|(_, child)| match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(b"!"),
            None => Ok(()),
        })
    }

    /// Asks those that still run to end; they were started for the run.
    pub fn end(&mut self) {
        for (_, child) in &mut self.children {
            if let (Ok(None), Some(pid)) = (child.try_wait(), Pid::from_raw(child.id() as i32)) {
                // One that has just ended needs no asking.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}

/// Waits for the word, then becomes the command.
///
/// # Errors
/// The command cannot be started.
pub fn start(words: &[String]) -> Result<(), Error> {
    let [program, arguments @ ..] = words else { return Err(Error::Input("found no command".into())) };
    // Where the engine has gone there is nothing to start for.
    if io::stdin().read_exact(&mut [0]).is_err() {
        return Ok(());
    }
    let error = Command::new(program).args(arguments).exec();
    Err(Error::Input(format!("cannot start `{program}`: {error}")))
}
