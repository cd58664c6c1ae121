//! The command line: which commands there are, and the first help, which teaches them. The arguments of a command stand
//! in the command's own file, with its help and its code.

use crate::baseline::BaselineArgs;
use crate::check::CheckArgs;
use crate::completions::CompletionsArgs;
use crate::ctl::CtlArgs;
use crate::doctor::DoctorArgs;
use crate::fit::FitArgs;
use crate::guarantee::GuaranteeArgs;
use crate::load::LoadArgs;
use crate::man::ManArgs;
use crate::policies::PoliciesArgs;
use crate::policy::PolicyArgs;
use crate::run::RunArgs;
use crate::trial::TryPolicyArgs;
use crate::unload::UnloadArgs;
use clap::{Parser, Subcommand};
use hls_session::worker;

/// Hierarchical scheduling for Linux: check, run and explain how threads share the CPUs
#[derive(Parser)]
#[command(name = "hls", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
A hierarchy file says how threads share the CPUs:

    fixed-priority \"FP\" {
        reservation \"RES\" priority=2 {
            thread \"video\" guarantee=\"RESBH 5ms 33ms\" {
                periodic run=\"4ms\" every=\"33ms\"
            }
            join \"J\" guarantee=\"RESBH 10ms 20ms\"
        }
        join \"J\" priority=1
    }
    proportional-share \"PS\" parent=\"J\" quantum=\"10ms\" {
        thread \"editor\" share=1 { bursty run=\"1ms..5ms\" sleep=\"10ms..50ms\" }
        thread \"build\" share=4
    }

What can be asked for and promised:
    ALL              a whole CPU
    RESBH 5ms 33ms   5ms of CPU time in every period of 33ms, and no more
    RESBS 5ms 33ms   the same, but it may be more
    RESCS 5ms 33ms   5ms in every stretch of 33ms, wherever it begins
    PSBE 1/4 10ms    a quarter of every stretch of time, less at most 10ms
    NULL             nothing

First steps:
    hls check examples/figure1.kdl                can every promise be kept?
    hls check examples/figure1.kdl --explain PS   and why?
    hls run examples/figure1.kdl --for 10s        what does each thread get?
    hls guarantee \"RESBH 10ms 33ms\"               what does that promise?
    hls fit examples/control-tasks.kdl            how little would do?
    hls policies                                  what schedulers are there?
    hls doctor                                    can this kernel run them?

Exit codes: 0 every guarantee holds, 1 one does not, 2 bad usage or input,
3 the system failed.";

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Derive the guarantee of every thread and say whether each gets what it needs
    Check(CheckArgs),
    /// Check a hierarchy, run it, and report what was promised and what was delivered
    Run(RunArgs),
    /// Look at the hierarchy that runs on this machine, or change it
    Ctl(CtlArgs),
    /// Load a scheduling policy into the hierarchy that runs on this machine
    Load(LoadArgs),
    /// Unload a policy from the hierarchy that runs on this machine
    Unload(UnloadArgs),
    /// Run the threads of a hierarchy under the system's own scheduler, to compare with
    Baseline(BaselineArgs),
    /// A run in the kernel; `hls run` starts this process itself, and supervises it
    #[cfg(feature = "kernel")]
    #[command(name = worker::RUN, hide = true)]
    KeptRun(RunArgs),
    /// Runs the threads of a run; `hls run` and `hls baseline` start this process themselves
    #[command(name = worker::THREADS, hide = true)]
    LoadThreads,
    /// Tries a policy; `hls policy test` starts this process itself
    #[command(hide = true)]
    TryPolicy(TryPolicyArgs),
    /// Makes an engine with other policies ready; `hls run` starts this process itself
    #[cfg(feature = "kernel")]
    #[command(name = worker::POLICIES, hide = true)]
    PreparePolicies,
    /// Becomes the command of a thread; `hls run` starts this process itself
    #[cfg(feature = "kernel")]
    #[command(name = worker::START, hide = true)]
    Start {
        /// The program and its arguments.
        #[arg(last = true)]
        words: Vec<String>,
    },
    /// Say what a guarantee promises, what follows from it, and how it is misread
    Guarantee(GuaranteeArgs),
    /// Find the least reservations that suffice for the tasks of each thread, and warps for JOB
    Fit(FitArgs),
    /// List the scheduling policies with their parameters, units and defaults
    Policies(PoliciesArgs),
    /// Begin a policy of one's own, or build it
    Policy(PolicyArgs),
    /// Say whether this machine's kernel can run hierarchies, and what to do where it cannot
    Doctor(DoctorArgs),
    /// Print a script by which a shell completes what is typed behind `hls`
    Completions(CompletionsArgs),
    /// Write manual pages, one for each command
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
