//! `hls completions`: a script by which a shell completes what is typed behind `hls`.
//!
//! Relies on the definition of the command line that the help comes from, too.

use crate::exit::{Error, Verdict};
use crate::output::output;
use clap::Command;
use clap_complete::{Shell, generate};
use std::io::Write;

const AFTER_HELP: &str = "\
Where the shells look for it:
    hls completions bash >~/.local/share/bash-completion/completions/hls
    hls completions fish >~/.config/fish/completions/hls.fish
    hls completions zsh >_hls     in a folder of $fpath

Exit codes: 0, 2 bad usage, 3 the system failed.";

/// Arguments of `hls completions`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Runs the command.
pub fn completions(args: &CompletionsArgs, command_line: &Command) -> Result<Verdict, Error> {
    let mut script = Vec::new();
    generate(args.shell, &mut shown(command_line), "hls", &mut script);
    let mut out = output();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Verdict::Kept)
}

/// The command line without the commands that `hls` starts itself: a script would have them, though the help has not.
fn shown(command_line: &Command) -> Command {
    let commands = command_line.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("hls").version(env!("CARGO_PKG_VERSION")).subcommands(commands.cloned())
}
