//! The product without a command line: the text of a hierarchy file in, the answer out. Does no IO.
//!
//! [`check`] and [`simulate`] answer as `hls check` and `hls run` do, as plain data: each message with its place, what
//! is promised, what a run gave, the verdict, its exit code. Other languages use these, too (`examples/wasm.rs`
//! makes a module of WebAssembly of them).
//!
//! ```
//! let text = r#"fixed-priority { thread "film" priority=1 guarantee="RESBH 10ms 33ms"; }"#;
//! let check = hls_facade::check(text, &Default::default());
//! assert_eq!(check.exit_code, 1, "fixed priority gives no hard reservation: {}", check.verdict);
//! ```
//!
//! The commands and the experiments need more than plain data. They stand on the same steps: [`Checked`] derives,
//! [`observer`] watches a run, and [`Judge`] gives the verdict on its result.

mod answer;
mod checked;
mod judge;
mod simulated;

pub use answer::{Check, Message, Promised, Run, Severity, Task};
pub use checked::{Checked, Verdict, kept, left_out, made_up, observer};
pub use judge::Judge;
pub use simulated::{needs_processes, run};

use hls_calculus::Rules;
use hls_units::Nanos;

/// The length of a run if nothing says otherwise.
pub const DEFAULT_LENGTH: Nanos = Nanos::from_secs(10);

/// What decides the answer beside the text.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of CPUs if the text does not state it.
    pub cpus: u16,
    /// How guarantees are derived.
    pub rules: Rules,
    /// What threads do where the text does not say: the text of an rt-app file.
    pub workload: Option<String>,
    /// The length of a run; `None`: what the workload says, else [`DEFAULT_LENGTH`].
    pub length: Option<Nanos>,
    /// Seed of everything random in a run.
    pub seed: u64,
    /// By how much a promise may be missed before it counts as broken.
    pub slack: Nanos,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cpus: 1,
            rules: Rules::default(),
            workload: None,
            length: None,
            seed: 0,
            slack: Nanos::ZERO,
        }
    }
}

/// Derives what the hierarchy of `text` promises, as `hls check` does. Policies that the text loads are unknown here.
pub fn check(text: &str, options: &Options) -> Check {
    answer::check(text, options)
}

/// Checks the hierarchy of `text` and runs it in the simulator, as `hls run` does.
pub fn simulate(text: &str, options: &Options) -> Run {
    answer::simulate(text, options)
}
