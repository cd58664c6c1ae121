//! `hls`: checks a hierarchy of schedulers, runs it, changes it while it runs, and shows which promises were kept.
//!
//! Dispatches only. Exit codes: 0 all guarantees hold, 1 one does not, 2 bad usage or input, 3 the system failed.

mod args;
mod baseline;
mod check;
mod completions;
mod cpus;
mod ctl;
mod doctor;
mod exit;
mod explain;
mod fit;
mod guarantee;
mod input;
mod load;
mod man;
mod options;
mod output;
mod periods;
mod policies;
mod policy;
mod policy_file;
mod progress;
mod run;
mod script;
mod tasks;
mod trial;
mod unload;

use args::{Args, Command};
use clap::{CommandFactory, Parser};
use hls_session::worker;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Check(args) => check::check(&args),
        Command::Fit(args) => fit::fit(&args),
        #[cfg(feature = "kernel")]
        Command::Run(args) if args.is_in_kernel() => return exit::of_run(run::keep()),
        Command::Run(args) => run::run(&args),
        #[cfg(feature = "kernel")]
        Command::KeptRun(args) => run::run(&args),
        Command::Ctl(args) => ctl::ctl(&args),
        Command::Guarantee(args) => guarantee::guarantee(&args),
        Command::Load(args) => load::load(&args),
        Command::Unload(args) => unload::unload(&args),
        Command::Baseline(args) => baseline::baseline(&args),
        Command::LoadThreads => kept(worker::serve_threads()),
        Command::TryPolicy(args) => trial::serve(&args),
        #[cfg(feature = "kernel")]
        Command::PreparePolicies => kept(hls_session::serve_policies()),
        #[cfg(feature = "kernel")]
        Command::Start { words } => kept(hls_session::start_command(&words)),
        Command::Policies(args) => policies::policies(&args),
        Command::Policy(args) => policy::policy(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completions(args) => completions::completions(&args, &Args::command()),
        Command::Man(args) => man::man(&args, Args::command()),
    };
    exit::code(outcome)
}

/// The verdict of a command that looks at no guarantee and did not fail.
fn kept<E: Into<exit::Error>>(outcome: Result<(), E>) -> Result<exit::Verdict, exit::Error> {
    outcome.map(|()| exit::Verdict::Kept).map_err(E::into)
}
