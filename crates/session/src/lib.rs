//! A session: one run of a hierarchy from its beginning to its result, whichever engine carries it out.
//!
//! [`run`] takes a plan whose promises have been derived, has the simulator or the kernel carry it out, answers the
//! requests that change it meanwhile, holds what happens against the promises, and writes the files that are asked
//! for. [`baseline()`] runs the same threads under the system's own scheduler. What the user should know at once goes
//! to a [`Console`]; nothing here parses arguments or prints.
//!
//! ```text
//!  hls ctl ─► socket ─► Manager ─┐ (channel, kernel engine only)
//!  script ────────────► Manager ─┴─► changes ─► the engine's core
//!                                        │
//!              records of the engine ─► RunRegistry ─► Observer, files
//! ```

mod baseline;
mod changes;
mod console;
#[cfg(feature = "kernel")]
mod kernel;
mod listeners;
mod policies;
mod registry;
mod simulated;
mod simulation;
pub mod worker;

pub use baseline::baseline;
pub use console::{Console, Error};
pub use listeners::Files;
pub use policies::{LoadedPolicies, builder, in_memory, open};
pub use simulation::ScriptedChange;

use hls_calculus::Rules;
use hls_monitor::result::RunResult;
use hls_plan::{Derived, Plan};
use hls_units::Nanos;
use std::path::Path;
use std::sync::Arc;

/// What is run.
pub struct Subject<'a> {
    /// The hierarchy and its threads, numbered.
    pub plan: Plan,
    /// The promises to them.
    pub derived: &'a Derived,
    /// The policies that its file loads.
    pub policies: &'a LoadedPolicies,
}

/// What carries a run out.
pub enum Engine<'a> {
    /// The simulator: needs nothing, and repeats itself exactly.
    Simulator {
        /// How long to run.
        length: Nanos,
        /// Changes that are asked for meanwhile, in order of time; `None`: the hierarchy stays as it is.
        script: Option<Vec<ScriptedChange<'a>>>,
        /// Is told how many parts of how many are done.
        progress: &'a mut dyn FnMut(u64, u64),
    },
    /// The Linux kernel, by sched_ext: all threads of this machine.
    Kernel {
        /// How long to run; `None`: until Ctrl-C.
        length: Option<Nanos>,
        /// Where requests are answered.
        socket: &'a Path,
    },
}

/// How to run, in either engine.
pub struct Options<'a> {
    /// How the promises were derived, and those of requests are.
    pub rules: Rules,
    /// Seed of everything random.
    pub seed: u64,
    /// Check every invariant of the core, in the simulator after every event.
    pub paranoid: bool,
    /// How much a promise may be missed by before it counts as broken.
    pub slack: Nanos,
    /// What is written of the run.
    pub files: &'a Files,
}

/// What came of a run.
pub struct Outcome {
    /// What everybody got, held against what was promised.
    pub result: RunResult,
    /// How many changes of the script were refused.
    pub refused: usize,
}

/// Carries a run out, and writes its files.
///
/// # Errors
/// [`Error::Input`] where the hierarchy, its workload or its policies are to blame, [`Error::System`] for all else.
pub fn run(
    subject: Subject,
    engine: Engine,
    options: &Options,
    console: &Arc<dyn Console>,
) -> Result<Outcome, Error> {
    match engine {
        Engine::Simulator { length, script, progress } => {
            simulation::simulate(subject, length, script, progress, options, console)
        }
        #[cfg(feature = "kernel")]
        Engine::Kernel { length, socket } => kernel::schedule(subject, length, socket, options, console)
            .map(|result| Outcome { result, refused: 0 }),
        #[cfg(not(feature = "kernel"))]
        Engine::Kernel { .. } => Err(Error::Input(
            "this hls was built without the kernel engine; `cargo build --release -p hls-cli` builds it"
                .into(),
        )),
    }
}
