//! A session: one run of a hierarchy from its beginning to its result, in either engine.
//!
//! [`run`] takes a plan with its derived promises, has the simulator or the kernel carry it out, answers the requests
//! that change it meanwhile, checks what happens against the promises, and writes the files that are asked for.
//! [`baseline()`] runs the same threads under the system's own scheduler. What the user should know at once goes to a
//! [`Console`]; nothing here parses arguments or prints.
//!
//! ```text
//!  hls ctl ─► socket ─► Manager ─┐ (channel, kernel engine only)
//!  script ────────────► Manager ─┴─► changes ─► the engine's core
//!                                        │
//!              records of the engine ─► RunRegistry ─► Observer, files
//! ```

mod agents;
mod atomic_file;
mod baseline;
mod changes;
mod console;
#[cfg(feature = "kernel")]
mod kernel;
mod listeners;
mod policies;
mod registry;
mod run;
mod simulated;
mod simulation;
pub mod worker;

pub use agents::{AgentPrograms, open_agents, refuse_agents};
pub use atomic_file::AtomicFile;
pub use baseline::baseline;
pub use console::{Console, Error};
#[cfg(feature = "kernel")]
pub use kernel::{Keeper, keep, serve_policies, start_command};
pub use policies::{Described, LoadedPolicies, builder, describe, in_memory, may_run};
pub use run::{Engine, Files, Options, Outcome, ScriptedChange, Step, Subject};

use std::sync::Arc;

/// Carries a run out, and writes its files.
///
/// # Errors
/// [`Error::Input`] if the hierarchy, its workload or its policies are wrong, [`Error::System`] for everything else.
pub fn run(
    subject: Subject,
    engine: Engine,
    options: &Options,
    console: &Arc<dyn Console>,
) -> Result<Outcome, Error> {
    match engine {
        Engine::Simulator { length, script, agents, progress } => {
            simulation::simulate(subject, length, (script, agents), progress, options, console)
        }
        #[cfg(feature = "kernel")]
        Engine::Kernel { length, socket, steps, keeper } => {
            kernel::schedule(subject, length, (socket, keeper, steps), options, console)
                .map(|result| Outcome { result, refused: 0 })
        }
        #[cfg(not(feature = "kernel"))]
        Engine::Kernel { .. } => Err(Error::Input(
            "this hls was built without the kernel engine; `cargo build --release -p hls-cli` builds it"
                .into(),
        )),
    }
}
