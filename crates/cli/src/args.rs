//! The command line, and the help that teaches it.

use crate::cpus::AskedCpus;
use crate::periods::{Periods, periods};
use clap::{Parser, Subcommand, ValueEnum};
use hls_calculus::{Mode, Rules};
use hls_client::DEFAULT_SOCKET;
use hls_report::virtual_time::Borrower;
use hls_session::{Files, worker};
use hls_units::Nanos;
use std::path::PathBuf;

/// Hierarchical scheduling for Linux: check, run and explain how threads share the CPUs
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = AFTER_HELP)]
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

const AFTER_RUN_HELP: &str = "\
A hierarchy that fails the check runs all the same, to show what comes of it.

Time that is stolen from the hierarchy and that the file does not declare breaks
no promise; it is shown, and so is what is missed by no more than the slack.

Exit codes: 0 every guarantee was kept, 1 one was broken or fails the check, or a
change of the script was refused, 2 bad usage or input, 3 the system failed.";

const AFTER_BASELINE_HELP: &str = "\
The baseline to compare a run with: real threads do what the threads of `hls run`
do, with the same random numbers, on as many CPUs, and only the system schedules
them. What the file says of schedulers, shares and guarantees has no effect.

Exit codes: 0, 2 bad usage or input, 3 the system failed.";

const AFTER_CHECK_HELP: &str = "\
Bounds are for an ideal machine, with timers to the nanosecond and switches that
cost nothing; if the file's machine is not ideal, the verdict says so.

Exit codes: 0 every guarantee that is asked for can be given and all tasks are
in time, 1 not, 2 bad usage or input, 3 the system failed.";

const AFTER_CTL_HELP: &str = "\
Parameters are written as in hierarchy files, without the quotes: share=3,
quantum=5ms, guarantee=\"RESBH 5ms 33ms\" (`hls policies` lists them). A thread is
given by its number; the number of a process means its main thread.

Root may do everything. Other users may change what is below the schedulers that
the file says they own, with their own threads.

Exit codes: 0 done, 1 refused because a guarantee would not hold, 2 bad usage or
input, or not yours, 3 the system failed, or no hierarchy runs.";

const AFTER_GUARANTEE_HELP: &str = "\
Exit codes: 0, 1 where --need is not implied, 2 bad usage or input,
3 the system failed.";

const AFTER_FIT_HELP: &str = "\
Amounts are rounded up; with the same period no amount that is smaller by more
than a nanosecond would do. Of several periods it takes the one with the least
share of a CPU, though shorter periods cost more switches.

Below bvt, threads that ask for JOB get warps instead, as section 6 of its paper
has them, but with the debt that it leaves out.

Exit codes: 0 with the least reservations the hierarchy holds, 1 it does not,
2 bad usage or input, 3 the system failed.";

const AFTER_POLICY_HELP: &str = "\
A policy is compiled together with the core, by cc for the simulator and by
clang-19 for the kernel. Messages name the lines of its file.

Exit codes: 0, 1 a test has found something, 2 bad usage or a policy that cannot
be built, 3 the system failed, as when a compiler is missing.";

const AFTER_DOCTOR_HELP: &str = "\
It looks and changes nothing. What it says of rights is about this process: ask
it as the user that is to run a hierarchy.

Exit codes: 0 this kernel can run hierarchies, 1 it cannot, 2 bad usage,
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
}

/// Which bounds to use where the paper's are not the best.
#[derive(Clone, Copy, ValueEnum)]
pub enum ModeArg {
    /// The best known bounds
    Tight,
    /// The bounds of the HLS paper, to compare with its numbers
    Paper,
}

/// How guarantees are derived.
#[derive(Clone, Copy, clap::Args)]
pub struct RulesArgs {
    /// Which bounds to derive the promises by
    #[arg(long, value_enum, default_value = "tight")]
    mode: ModeArg,
    /// Promise lower fixed priorities what limited siblings above leave over
    #[arg(long)]
    global: bool,
}

impl From<RulesArgs> for Rules {
    fn from(args: RulesArgs) -> Rules {
        let mode = match args.mode {
            ModeArg::Tight => Mode::Tight,
            ModeArg::Paper => Mode::Paper,
        };
        Rules { mode, global: args.global }
    }
}

/// For which machine a hierarchy file is read.
#[derive(Clone, Copy, clap::Args)]
pub struct CpusArgs {
    /// How many CPUs the machine has; `online`: as many as this one [default: what the file says, else as `online`]
    #[arg(long, value_name = "N", value_parser = AskedCpus::parse, allow_hyphen_values = true)]
    pub cpus: Option<AskedCpus>,
}

/// Arguments of `hls check`.
#[derive(clap::Args)]
#[command(after_help = AFTER_CHECK_HELP)]
pub struct CheckArgs {
    /// The hierarchy file
    pub file: PathBuf,
    /// For which machine
    #[command(flatten)]
    pub machine: CpusArgs,
    /// Show how the guarantee of this scheduler or thread follows (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub explain: Vec<String>,
    /// Print the answer as JSON, for programs
    #[arg(long, conflicts_with = "explain")]
    pub json: bool,
    /// How guarantees are derived
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Arguments of `hls guarantee`.
#[derive(clap::Args)]
#[command(after_help = AFTER_GUARANTEE_HELP)]
pub struct GuaranteeArgs {
    /// The guarantee, such as "RESBH 10ms 33ms" (`hls --help` lists the types)
    pub guarantee: String,
    /// Say whether it implies this guarantee, and why
    #[arg(long, value_name = "GUARANTEE")]
    pub need: Option<String>,
    /// Write a picture of it (SVG): the CPU time in a window against the window's length
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Arguments of `hls fit`.
#[derive(clap::Args)]
#[command(after_help = AFTER_FIT_HELP)]
pub struct FitArgs {
    /// The hierarchy file
    pub file: PathBuf,
    /// For which machine
    #[command(flatten)]
    pub machine: CpusArgs,
    /// Only for this thread (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub thread: Vec<String>,
    /// The period, such as 5ms, or FROM..TO for every multiple of FROM up to TO [default: each thread's own]
    #[arg(long, value_name = "TIME", value_parser = periods, allow_hyphen_values = true)]
    pub period: Option<Periods>,
    /// How guarantees are derived
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Arguments of `hls policy`.
#[derive(clap::Args)]
#[command(after_help = AFTER_POLICY_HELP)]
pub struct PolicyArgs {
    /// What is done.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// What can be done with a policy of one's own.
#[derive(Subcommand)]
pub enum PolicyCommand {
    /// Write a policy that works, to be changed, and a hierarchy to try it in
    New {
        /// What it is called in hierarchy files, such as asked-times
        name: String,
        /// The folder for the files
        #[arg(long, value_name = "DIR", default_value = ".")]
        to: PathBuf,
    },
    /// Print what a policy must do, and what it may call
    Contract,
    /// Try a policy in hierarchies at random: what breaks, and the least that breaks it
    Test {
        /// The policy, a file of C
        file: PathBuf,
        /// Try it under this name, which may be beside a policy that is built in
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// How many hierarchies, each with its own events
        #[arg(long, value_name = "N", default_value = "300")]
        seeds: u64,
        /// The number of the first
        #[arg(long, value_name = "SEED", default_value = "0")]
        from: u64,
    },
    /// Compile policies for the simulator and for the kernel
    Build {
        /// The policies, a file of C each; a hierarchy that loads these, in this order, finds them in a cache
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Build it under this name, beside another version of it; of one policy only
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// Keep what was built in this folder: under the policy's name, or of several as `policies`
        #[arg(short, long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Keep it by what it was built from, to be found by machines that have no compilers, as
        /// $XDG_CACHE_HOME/hls/policies there
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// The number of the first policy in the core; a run numbers its policies in order, and uses no number twice
        #[arg(long, value_name = "N", default_value = "64")]
        number: u8,
    },
}

/// Arguments of the process in which a policy is tried.
#[derive(clap::Args)]
pub struct TryPolicyArgs {
    /// The policy's native build.
    pub native: PathBuf,
    /// The first seed.
    pub from: u64,
    /// How many seeds are tried.
    pub seeds: u64,
    /// Print each event before it happens.
    #[arg(long)]
    pub print_events: bool,
    /// Let this BPF build decide what happens, too, and compare the decisions.
    #[arg(long)]
    pub replay: Option<PathBuf>,
}

/// Arguments of `hls doctor`.
#[derive(clap::Args)]
#[command(after_help = AFTER_DOCTOR_HELP)]
pub struct DoctorArgs {
    /// Print the findings as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// What carries the schedule out.
#[derive(Clone, Copy, ValueEnum)]
pub enum Engine {
    /// The simulator: needs nothing, and repeats itself exactly
    Sim,
    /// The Linux kernel, by sched_ext: schedules all threads of this machine, the file's threads where the file says,
    /// the rest in the default scheduler; needs root
    Kernel,
}

/// Arguments of `hls run`.
#[derive(clap::Args)]
#[command(after_help = AFTER_RUN_HELP)]
pub struct RunArgs {
    /// The hierarchy file
    pub file: PathBuf,
    /// For which machine
    #[command(flatten)]
    pub machine: CpusArgs,
    /// How long to run, such as 30s or 500ms [default: the workload's duration, else 10s; in the
    /// kernel: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub length: Option<Nanos>,
    /// Seed of everything random: the same seed gives the same run
    #[arg(long, default_value = "0", value_parser = seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// What the threads do, as rt-app's JSON; its tasks are the threads of the same name
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// What carries the schedule out
    #[arg(long, value_enum, default_value = "sim")]
    pub engine: Engine,
    /// How guarantees are derived
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Write a trace for Perfetto (open it at ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write the schedule as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Write the virtual times below the first scheduler of `bvt` in the file as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    pub virtual_time: Option<PathBuf>,
    /// What the pictures show of the run
    #[arg(long, value_name = "FROM..TO", default_value = "0s..200ms", value_parser = interval)]
    pub window: Interval,
    /// Write every switch as a line of text, like `perf sched timehist`
    #[arg(long, value_name = "FILE")]
    pub timehist: Option<PathBuf>,
    /// The most by which a promise may be missed before it counts as broken, such as 50us; misses within it are counted
    /// apart [default: 0s; in the kernel, where timers go off late: 100us]
    #[arg(long, value_name = "TIME", value_parser = Nanos::parse, allow_hyphen_values = true)]
    pub slack: Option<Nanos>,
    /// Check every invariant of the core after every event (slow)
    #[arg(long)]
    pub paranoid: bool,
    /// Changes to make at given times of a simulated run: a line each, a time and then the words behind `hls`, as in
    /// `2s ctl move drummer --to A`; also load and unload
    #[arg(long, value_name = "FILE", conflicts_with = "global")]
    pub script: Option<PathBuf>,
    /// Where `hls ctl` is answered while the hierarchy runs in the kernel
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// By how much a promise may be missed in the kernel before it counts as broken: timers and switches come late there.
const KERNEL_SLACK: Nanos = Nanos::from_micros(100);

impl RunArgs {
    /// Whether the kernel is to carry the schedule out.
    #[cfg(feature = "kernel")]
    pub fn is_in_kernel(&self) -> bool {
        matches!(self.engine, Engine::Kernel)
    }

    /// The slack of the run.
    pub fn slack(&self) -> Nanos {
        self.slack.unwrap_or(match self.engine {
            Engine::Sim => Nanos::ZERO,
            Engine::Kernel => KERNEL_SLACK,
        })
    }

    /// The files that the run is to write; a picture of virtual time is one of `borrowers`.
    pub fn files(&self, borrowers: Vec<Borrower>) -> Files {
        let Interval { from, to } = self.window;
        let timeline = self.timeline.clone().map(|path| (path, from, to));
        let virtual_time = self.virtual_time.clone().map(|path| (path, borrowers, from, to));
        Files { trace: self.trace.clone(), timeline, virtual_time, timehist: self.timehist.clone() }
    }
}

/// Arguments of `hls ctl`.
#[derive(clap::Args)]
#[command(after_help = AFTER_CTL_HELP)]
pub struct CtlArgs {
    /// Where the hierarchy that runs is to be asked
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET, global = true)]
    pub socket: PathBuf,
    /// What is asked.
    #[command(subcommand)]
    pub request: Request,
}

/// What a running hierarchy can be asked.
#[derive(Subcommand)]
pub enum Request {
    /// Show schedulers and threads, what each was promised, and what it has had
    Status {
        /// Print it as JSON instead of a tree
        #[arg(long)]
        json: bool,
    },
    /// Print what changes, as it happens, until the run ends: schedulers, threads that requests move, policies
    Watch {
        /// Print a JSON object for each change
        #[arg(long)]
        json: bool,
    },
    /// Create a scheduler below another
    Create {
        /// Its policy (`hls policies` lists them)
        policy: String,
        /// Its name
        name: String,
        /// The scheduler above it
        #[arg(long, value_name = "SCHEDULER")]
        below: String,
        /// Parameters of its policy and of its parent's, and `width`
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
    },
    /// Destroy a scheduler that has no children
    Destroy {
        /// Its name
        name: String,
    },
    /// Move a thread to another scheduler
    Move {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The scheduler that is to have it
        #[arg(long, value_name = "SCHEDULER")]
        to: String,
        /// Parameters that the policy asks of a thread
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
    },
    /// Reserve CPU time for a thread
    Reserve {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The guarantee, such as "RESBH 5ms 33ms"
        guarantee: String,
        /// The scheduler that is to give it [default: the first that can]
        #[arg(long, value_name = "SCHEDULER")]
        below: Option<String>,
    },
    /// Move a thread back to the default scheduler
    Release {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
    },
    /// Become a command; its main thread decides which thread runs below a new scheduler
    ///
    /// The scheduler has the policy `user-level`, and goes when it is demoted or when the last thread below it has
    /// gone, the command's main thread included. The command finds its pages (include/hls_pages.h) by the environment:
    /// HLS_SCHEDULER is NAME:KERNEL_PAGE:USER_PAGE, the descriptors standing behind the last two colons, and HLS_WIDTH
    /// the CPUs that the scheduler may have at once.
    Promote {
        /// The scheduler's name
        name: String,
        /// The scheduler above it
        #[arg(long, value_name = "SCHEDULER")]
        below: String,
        /// Parameters of its policy and of its parent's, and `width`
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
        /// The command, and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// End a scheduler whose policy is a process, and all that are below it
    Demote {
        /// Its name
        name: String,
    },
    /// Move a thread to a scheduler whose policy is a process
    Grant {
        /// The scheduler
        name: String,
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// `urgency`, and `slot`, where 0 makes the thread the one that decides
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameters: Vec<Parameter>,
    },
    /// Move a thread from a scheduler whose policy is a process to the scheduler above that one
    Revoke {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
    },
    /// Hold a thread back, whatever the schedulers between say
    Suspend {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The scheduler above it that does so; the one right above it, if none is named
        #[arg(long, value_name = "SCHEDULER")]
        by: Option<String>,
    },
    /// Let a suspended thread go on
    Resume {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
    },
    /// Set a parameter of a thread
    Message {
        /// The thread; in a script its name
        #[arg(value_name = "PID|TID")]
        thread: String,
        /// The parameter and its new value
        #[arg(value_name = "PARAM=VALUE", value_parser = parameter)]
        parameter: Parameter,
    },
}

impl Request {
    /// The thread that the request is about.
    pub fn thread(&self) -> Option<&str> {
        match self {
            Request::Move { thread, .. }
            | Request::Reserve { thread, .. }
            | Request::Release { thread }
            | Request::Grant { thread, .. }
            | Request::Revoke { thread }
            | Request::Suspend { thread, .. }
            | Request::Resume { thread }
            | Request::Message { thread, .. } => Some(thread),
            Request::Status { .. }
            | Request::Watch { .. }
            | Request::Create { .. }
            | Request::Destroy { .. }
            | Request::Promote { .. }
            | Request::Demote { .. } => None,
        }
    }
}

/// A parameter and its value.
pub type Parameter = (String, String);

/// Arguments of `hls policies`.
#[derive(clap::Args)]
pub struct PoliciesArgs {
    /// List the policies of the hierarchy that runs on this machine, and the schedulers that use them
    #[arg(long)]
    pub running: bool,
    /// The socket of the run
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// Arguments of `hls load`.
#[derive(clap::Args)]
pub struct LoadArgs {
    /// The policy's file, in C
    pub file: PathBuf,
    /// The name that it is to have in the hierarchy [default: the name in the file]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Take the place of the policy of that name: its schedulers go on with what they know
    #[arg(long)]
    pub replace: bool,
    /// The socket of the run
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// Arguments of `hls unload`.
#[derive(clap::Args)]
pub struct UnloadArgs {
    /// The policy's name
    pub name: String,
    /// Move the threads below its schedulers to the default scheduler first, and destroy all schedulers there
    #[arg(long)]
    pub evacuate: bool,
    /// The socket of the run
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

/// Arguments of `hls baseline`.
#[derive(clap::Args)]
#[command(after_help = AFTER_BASELINE_HELP)]
pub struct BaselineArgs {
    /// The hierarchy file
    pub file: PathBuf,
    /// For which machine
    #[command(flatten)]
    pub machine: CpusArgs,
    /// How long to run, such as 30s or 500ms [default: the workload's duration, else 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub length: Option<Nanos>,
    /// Seed of everything random: the seed of the run to compare with
    #[arg(long, default_value = "0", value_parser = seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// What the threads do, as rt-app's JSON; its tasks are the threads of the same name
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The beginning of the stretch.
    pub from: Nanos,
    /// The end of the stretch, later than its beginning.
    pub to: Nanos,
}

fn time(text: &str) -> Result<Nanos, String> {
    let time = Nanos::parse(text).map_err(|error| error.to_string())?;
    const LONGEST: Nanos = Nanos::from_secs(365 * 24 * 3600);
    match time {
        Nanos::ZERO => Err("found no time at all, expected a time longer than 0".into()),
        time if time > LONGEST => Err(format!("found {time}, expected at most a year")),
        time => Ok(time),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected a whole number from 0 to {}", u64::MAX))
}

fn parameter(text: &str) -> Result<Parameter, String> {
    let expected = || format!("found `{text}`, expected PARAM=VALUE, such as share=3");
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
    Ok((name.to_owned(), value.to_owned()))
}

fn interval(text: &str) -> Result<Interval, String> {
    let expected = "expected FROM..TO, such as 0s..200ms";
    let (from, to) = text.split_once("..").ok_or_else(|| format!("found `{text}`, {expected}"))?;
    let parse = |part| Nanos::parse(part).map_err(|error| error.to_string());
    let (from, to) = (parse(from)?, parse(to)?);
    if from >= to {
        return Err(format!("found an interval from {from} to {to}, {expected}"));
    }
    Ok(Interval { from, to })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn intervals_and_times_are_read_or_refused() {
        let read = interval("1s..1.5s").unwrap();
        assert_eq!(read, Interval { from: Nanos::from_secs(1), to: Nanos::from_millis(1500) });
        for bad in ["", "1s", "2s..1s", "1..2", "1s..1s"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
        assert_eq!(time("30s"), Ok(Nanos::from_secs(30)));
        for bad in ["0s", "30", "-1s", "400000000h"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
