//! `hls`: checks a hierarchy of schedulers, runs it, changes it meanwhile, and shows what became of its promises.
//!
//! Dispatches only. Exit codes: 0 all guarantees hold, 1 one does not, 2 bad usage or input, 3 the system failed.

#[cfg(feature = "kernel")]
mod alarm;
mod args;
mod books;
mod check;
#[cfg(feature = "kernel")]
mod commands;
#[cfg(feature = "kernel")]
mod control;
mod cpus;
mod ctl;
mod doctor;
mod exit;
mod explain;
mod fit;
mod guarantee;
mod input;
#[cfg(feature = "kernel")]
mod kernel;
mod listeners;
mod loading;
mod modules;
#[cfg(feature = "kernel")]
mod newer;
mod output;
mod policies;
mod policy;
mod progress;
#[cfg(feature = "kernel")]
mod requests;
mod run;
mod script;
mod simulate;
mod simulated;
mod tasks;
mod trial;
mod verdict;
mod yardstick;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Check(args) => check::check(&args),
        Command::Fit(args) => fit::fit(&args),
        Command::Run(args) => run::run(&args),
        Command::Ctl(args) => ctl::ctl(&args),
        Command::Guarantee(args) => guarantee::guarantee(&args),
        Command::Load(args) => loading::load(&args),
        Command::Unload(args) => loading::unload(&args),
        Command::Yardstick(args) => yardstick::yardstick(&args),
        Command::LoadThreads => yardstick::threads(),
        Command::TryPolicy(args) => trial::serve(&args),
        #[cfg(feature = "kernel")]
        Command::PreparePolicies => newer::serve().map(|()| exit::Verdict::Kept).map_err(exit::Error::from),
        #[cfg(feature = "kernel")]
        Command::Start { words } => commands::start(&words),
        Command::Policies(args) => policies::policies(&args),
        Command::Policy(args) => policy::policy(&args),
        Command::Doctor(args) => doctor::doctor(&args),
    };
    exit::code(outcome)
}
