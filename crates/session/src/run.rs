//! The input and the output of a run, the same for both engines.

use crate::agents::AgentPrograms;
use crate::console::Error;
use crate::policies::LoadedPolicies;
use hls_calculus::Rules;
use hls_check::Derived;
use hls_client::Client;
use hls_monitor::event::ObservedVp;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_units::Nanos;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        /// Requests for changes during the run, in order of time; `None`: the hierarchy stays as it is.
        script: Option<Vec<ScriptedChange<'a>>>,
        /// The programs of the agents that the hierarchy names.
        agents: AgentPrograms,
        /// Called with the number of parts done and the number of all parts.
        progress: &'a mut dyn FnMut(u64, u64),
    },
    /// The Linux kernel, by sched_ext: all threads of this machine.
    Kernel {
        /// How long to run; `None`: until Ctrl-C.
        length: Option<Nanos>,
        /// The socket where requests are answered.
        socket: &'a Path,
        /// Called when the run has reached a step.
        steps: &'a mut dyn FnMut(Step),
        /// The supervisor process: holds the attachment of the hierarchy, and receives signals.
        #[cfg(feature = "kernel")]
        keeper: &'a crate::Keeper,
    },
}

/// How far a run in the kernel has got, with the times that its user has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The kernel verifies and loads the engine, which takes seconds.
    Loads,
    /// The hierarchy schedules the machine. Loading the engine took `load`, the steps after it `attach`.
    Attached {
        /// To load.
        load: Duration,
        /// To attach.
        attach: Duration,
    },
    /// The kernel has its threads back, after this time.
    Detached(Duration),
}

/// How to run, in either engine.
pub struct Options<'a> {
    /// How promises are derived, also for requests.
    pub rules: Rules,
    /// Seed of everything random.
    pub seed: u64,
    /// Check every invariant of the core, in the simulator after every event.
    pub paranoid: bool,
    /// How much a promise may be missed by before it counts as broken.
    pub slack: Nanos,
    /// The files to write.
    pub files: &'a Files,
}

/// The outcome of a run.
pub struct Outcome {
    /// What VPs and threads got, compared with their promises.
    pub result: RunResult,
    /// How many changes of the script were refused.
    pub refused: usize,
}

/// The files that a run writes, if they are asked for.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// A trace for Perfetto.
    pub trace: Option<PathBuf>,
    /// The schedule as a picture (SVG), and the start and end of the part of the run that it shows.
    pub timeline: Option<(PathBuf, Nanos, Nanos)>,
    /// Every switch as a line of text.
    pub timehist: Option<PathBuf>,
}

/// A change that is requested at a given simulated time; time stands still meanwhile.
pub struct ScriptedChange<'a> {
    /// When, from the start of the run.
    pub at: Nanos,
    /// Requests the change through the client, and returns whether it was granted. The other argument tells whether
    /// the thread with a VP of the plan exists.
    pub ask: Box<Ask<'a>>,
}

type Ask<'a> = dyn FnOnce(&mut Client, &dyn Fn(ObservedVp) -> bool) -> Result<bool, Error> + 'a;
