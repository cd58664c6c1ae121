//! What a caller says of a run before it begins, and what it gets in the end: the same for both engines.

use crate::agents::AgentPrograms;
use crate::console::Error;
use crate::policies::LoadedPolicies;
use hls_calculus::Rules;
use hls_check::Derived;
use hls_control::Client;
use hls_monitor::event::ObservedVp;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_report::virtual_time::Borrower;
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
        /// Changes that are asked for meanwhile, in order of time; `None`: the hierarchy stays as it is.
        script: Option<Vec<ScriptedChange<'a>>>,
        /// The programs of the agents that the hierarchy names.
        agents: AgentPrograms,
        /// Is called with how many parts of how many are done.
        progress: &'a mut dyn FnMut(u64, u64),
    },
    /// The Linux kernel, by sched_ext: all threads of this machine.
    Kernel {
        /// How long to run; `None`: until Ctrl-C.
        length: Option<Nanos>,
        /// Where requests are answered.
        socket: &'a Path,
        /// Is called when the run has got so far.
        steps: &'a mut dyn FnMut(Step),
        /// Who holds what keeps the hierarchy attached, and hears signals.
        #[cfg(feature = "kernel")]
        keeper: &'a crate::Keeper,
    },
}

/// How far a run in the kernel has got, with the times that its user has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It has the kernel verify and load the engine, which takes seconds.
    Loads,
    /// The hierarchy schedules the machine. To load the engine took `load`, all that came then `attach`.
    Attached {
        /// To load.
        load: Duration,
        /// To attach.
        attach: Duration,
    },
    /// The kernel has its threads back, after so long.
    Detached(Duration),
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

/// The files that a run writes, where they are asked for.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// A trace for Perfetto.
    pub trace: Option<PathBuf>,
    /// The schedule as a picture (SVG), and from when to when that shows the run.
    pub timeline: Option<(PathBuf, Nanos, Nanos)>,
    /// The virtual times of VPs of one scheduler of `bvt` as a picture (SVG), and from when to when.
    pub virtual_time: Option<(PathBuf, Vec<Borrower>, Nanos, Nanos)>,
    /// Every switch as a line of text.
    pub timehist: Option<PathBuf>,
}

/// A change that is asked for at a given time, while that time stands still.
pub struct ScriptedChange<'a> {
    /// When, from the start of the run.
    pub at: Nanos,
    /// Asks for the change by the client that it is given, and returns whether it was granted. The other argument says
    /// whether the thread with a VP of the plan is there.
    pub ask: Box<Ask<'a>>,
}

type Ask<'a> = dyn FnOnce(&mut Client, &dyn Fn(ObservedVp) -> bool) -> Result<bool, Error> + 'a;
