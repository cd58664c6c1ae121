//! The commands that a hierarchy file has started for its threads. Each is started in two steps: first as a process
//! of this program, so that the engine knows its thread of the file; when the run begins, the process becomes the
//! command. A scheduler's agent gets the scheduler's pages. Relies on [`crate::worker`] for that process.

use super::pages::make_pages;
use crate::console::Error;
use crate::worker;
use hls_client::Pages;
use hls_engine::ChangeableEngine;
use hls_hierarchy::model::{self, Hierarchy, Who};
use hls_kernel_engine::Engine;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Processes that wait to become commands, and processes that have.
pub struct Commands {
    /// Each with its thread of the file, as an index into the hierarchy's threads.
    children: Vec<(usize, Child)>,
}

impl Commands {
    /// Starts the processes.
    pub fn prepare(hierarchy: &Hierarchy, engine: &mut Engine) -> Result<Commands, Error> {
        let mut commands = Commands { children: Vec::new() };
        for (node, thread) in hierarchy.threads.iter().enumerate() {
            let Some(Who::Command(words)) = thread.who.as_ref().map(|who| &who.value) else { continue };
            let mut command = worker::process(worker::START);
            command.arg("--").args(words).stdin(Stdio::piped());
            let pages = hierarchy.scheduler_of_agent(node).map(|at| pages(hierarchy, engine, at));
            let pages = pages.transpose()?;
            if let Some((pages, name, width)) = &pages {
                command.envs(pages.inherited(name, *width)?);
            }
            commands.children.push((node, command.spawn()?));
            // The next process does not inherit them.
            drop(pages);
        }
        Ok(commands)
    }

    /// Calls `started` with the thread of the file and the process of each.
    pub fn each(&self, mut started: impl FnMut(usize, u32)) {
        self.children.iter().for_each(|(node, child)| started(*node, child.id()));
    }

    /// Lets the processes become their commands. The commands' standard input is at its end.
    pub fn go(&mut self) -> io::Result<()> {
        self.children.iter_mut().try_for_each(|(_, child)| match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(b"!"),
            None => Ok(()),
        })
    }

    /// Asks the commands that still run to end.
    pub fn end(&mut self) {
        for (_, child) in &mut self.children {
            if let (Ok(None), Some(pid)) = (child.try_wait(), Pid::from_raw(child.id() as i32)) {
                // It is no error if the command has just ended.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}

/// The pages of a scheduler, with its name, and how many CPUs it may have at once.
fn pages<'h>(
    hierarchy: &'h Hierarchy,
    engine: &mut Engine,
    scheduler: usize,
) -> Result<(Pages, &'h str, u16), Error> {
    let above = hierarchy.edges.iter().filter(|edge| edge.child == model::Child::Scheduler(scheduler));
    let width = above.map(|edge| edge.width).fold(0, u16::saturating_add);
    let in_core = engine.built().schedulers[scheduler];
    let pages = make_pages(engine, in_core).map_err(|error| Error::System(error.to_string()))?;
    Ok((pages, &hierarchy.schedulers[scheduler].name, width))
}

/// Waits for a byte on standard input, then becomes the command.
///
/// # Errors
/// The command cannot be started.
pub fn start_command(words: &[String]) -> Result<(), Error> {
    let [program, arguments @ ..] = words else { return Err(Error::Input("found no command".into())) };
    // No byte: the run has ended before it began.
    if io::stdin().read_exact(&mut [0]).is_err() {
        return Ok(());
    }
    let error = Command::new(program).args(arguments).exec();
    Err(Error::Input(format!("cannot start `{program}`: {error}")))
}
