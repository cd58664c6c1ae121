//! The kernel engine's part of a session: the run itself (`run`), the socket where requests come in (`server`), and
//! engines with other policies (`next_engine`). Builds only with the feature `kernel`.

mod alarm;
mod backlog;
mod checks;
mod commands;
mod devices;
mod keeper;
mod next_engine;
mod owners;
mod pages;
mod run;
mod server;
mod users;

pub use commands::start_command;
pub use keeper::{Keeper, keep};
pub use next_engine::serve as serve_policies;

use crate::console::{Console, Error};
use crate::listeners::Listeners;
use crate::run::{Options, Step, Subject};
use hls_facade::observer;
use hls_monitor::result::RunResult;
use hls_units::Nanos;
use run::Run;
use server::Server;
use signal_hook::consts::{SIGINT, SIGTERM, SIGTSTP};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The longest time between two polls of the engine. A prime number of milliseconds, so that polls are never in step
/// with the periods of threads.
const LONGEST: Duration = Duration::from_millis(97);

/// Has the hierarchy schedule this machine for `length`, or until the keeper asks for the end, and writes the files
/// that are asked for.
pub fn schedule(
    subject: Subject,
    length: Option<Nanos>,
    (socket, keeper, steps): (&Path, &Keeper, &mut dyn FnMut(Step)),
    options: &Options,
    console: &Arc<dyn Console>,
) -> Result<RunResult, Error> {
    // A terminal sends its signals to both processes; only the keeper acts on them.
    for signal in [SIGINT, SIGTERM, SIGTSTP] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let owners = owners::owners(&subject.plan.hierarchy)?;
    let topology = subject.plan.topology.clone();
    let Subject { derived, plan, .. } = &subject;
    let observer = observer(plan, derived, options.slack);
    let listeners = Listeners::new(options.files, &topology, observer)?;
    let mut run = Run::attach(&subject, options, listeners, (keeper, steps), console)?;
    let server = Server::start(socket, &mut run, (&subject, owners), options.rules, console.clone())?;
    run.begin(length)?;
    let answer = |run: &mut Run| server.as_ref().is_some_and(|server| server.answer(run));
    let end = loop {
        let now = run.poll(answer)?;
        if keeper.asks_to_end() || length.is_some_and(|length| now >= length) {
            break now;
        }
        let left = length.map_or(LONGEST, |length| Duration::from_nanos((length - now).0)).min(LONGEST);
        run.rest(server.as_ref().map(AsFd::as_fd), answer, left)?;
    };
    server.into_iter().for_each(Server::end);
    run.finish(end, steps)
}
