//! Scripts: changes to make at given times of a simulated run.
//!
//! A line is a change, `2s ctl move drummer --to A`: a time, then the words that one would type behind `hls` to have
//! the change made in a run in the kernel, with a thread's name in the place of its number. `#` begins a comment.
//! Relative paths begin at the script's folder. Every mistake that can be found before the run is printed before it,
//! with its line.

use crate::ctl::{CtlArgs, Request, Wrong, ask, bad, wrong};
use crate::exit::{Error, say};
use crate::input;
use crate::load::{LoadArgs, PolicyText};
use crate::unload::{UnloadArgs, ask_to_unload};
use clap::Parser;
use clap::error::ErrorKind;
use hls_client::Client;
use hls_monitor::event::ObservedVp;
use hls_plan::Plan;
use hls_session::ScriptedChange;
use hls_units::Nanos;
use std::collections::HashMap;
use std::path::Path;

/// A script that was read.
pub struct Script {
    /// The script's changes, in order of time.
    changes: Vec<Change>,
    /// The threads by their names.
    threads: HashMap<String, ObservedVp>,
}

/// A change.
struct Change {
    at: Nanos,
    /// File and line, for messages.
    place: String,
    what: What,
}

/// The words of a line behind the time.
#[derive(Parser)]
enum Words {
    Ctl(CtlArgs),
    Load(LoadArgs),
    Unload(UnloadArgs),
    /// Another command, which changes no hierarchy.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// The kinds of change that a script can ask for.
enum What {
    Ask(Request),
    Load { policy: PolicyText, replace: bool },
    Unload(UnloadArgs),
}

impl Script {
    /// Reads a script for a run of that length; prints all mistakes in the script.
    pub fn read(path: &Path, plan: &Plan, length: Nanos) -> Result<Script, Error> {
        let threads = plan.threads().map(|thread| (thread.name.to_owned(), thread.vp)).collect();
        let text = input::text(path).map_err(Error::Input)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut changes = Vec::new();
        let mut is_good = true;
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}:{number}", path.display());
            let change = change(line, folder).and_then(|change| match change {
                Some((at, _)) if at > length => {
                    Err(format!("found a change at {at}, expected none after the end of the run, {length}"))
                }
                Some((_, What::Ask(ref request))) => known(request, &threads).map(|()| change),
                change => Ok(change),
            });
            match change {
                Ok(change) => changes.extend(change.map(|(at, what)| Change { at, place, what })),
                Err(error) => {
                    say(format_args!("{place}: error: {error}"));
                    is_good = false;
                }
            }
        }
        changes.sort_by_key(|change| change.at);
        if is_good { Ok(Script { changes, threads }) } else { Err(Error::Reported) }
    }

    /// The changes in the form in which a session takes them.
    pub fn changes<'s>(&'s self) -> Vec<ScriptedChange<'s>> {
        let scripted = |change: &'s Change| ScriptedChange {
            at: change.at,
            ask: Box::new(|hls, is_there| self.ask_for(change, hls, is_there)),
        };
        self.changes.iter().map(scripted).collect()
    }

    /// Makes the request of a change to the session, and prints the outcome. Returns whether the change was granted.
    fn ask_for(
        &self,
        change: &Change,
        hls: &mut Client,
        is_there: &dyn Fn(ObservedVp) -> bool,
    ) -> Result<bool, hls_session::Error> {
        let thread = |name: &str| {
            let found = self.threads.get(name).copied().filter(|vp| is_there(*vp));
            // The simulator's threads have the numbers of their VPs for TIDs.
            found
                .map(|vp| vp.0)
                .ok_or_else(|| bad(format!("found that `{name}` is not there, expected a living thread")))
        };
        let mut out = Vec::new();
        let done = match &change.what {
            What::Ask(request) => ask(hls, request, thread, &mut out),
            What::Load { policy, replace } => policy.load(hls, *replace, &mut out).map(drop),
            What::Unload(args) => ask_to_unload(hls, args, &mut out).map(drop),
        };
        let Change { at, place, .. } = change;
        match done {
            Ok(()) => {
                say(format_args!("{at}: {}", String::from_utf8_lossy(&out).trim_end()));
                Ok(true)
            }
            Err(error) => match wrong(&error) {
                Wrong::Promises | Wrong::Request => {
                    say(format_args!("{place}: at {at}: {error}"));
                    Ok(false)
                }
                Wrong::System => Err(hls_session::Error::System(format!("{place}: {error}"))),
            },
        }
    }
}

/// The change that a line asks for, or why the line is wrong; `None` for an empty line.
fn change(line: &str, folder: &Path) -> Result<Option<(Nanos, What)>, String> {
    let words = shlex::split(line).ok_or("found a quote that is not closed, expected its end")?;
    let Some((time, words)) = words.split_first() else { return Ok(None) };
    let at = Nanos::parse(time).map_err(|error| error.to_string())?;
    if words.is_empty() {
        return Err("found no change behind the time, expected `ctl`, `load` or `unload`".into());
    }
    let parsed = Words::try_parse_from(std::iter::once("hls").chain(words.iter().map(String::as_str)));
    let what = match parsed.map_err(|error| why_not(&error, &words.join(" ")))? {
        Words::Ctl(CtlArgs { request: Request::Promote { .. }, .. }) => {
            return Err(
                "found `ctl promote`, expected another change: no process runs in simulated time".into()
            );
        }
        Words::Ctl(CtlArgs { request: Request::Watch { .. }, .. }) => {
            return Err("found `ctl watch`, expected a change".into());
        }
        Words::Ctl(args) => What::Ask(args.request),
        Words::Load(args) => {
            let read = PolicyText::read(&folder.join(&args.file), args.name.as_deref());
            let policy = read.map_err(|error| match error {
                Error::Input(what) | Error::System(what) => what,
                Error::Reported | Error::Wrong(..) => String::new(),
            })?;
            What::Load { policy, replace: args.replace }
        }
        Words::Unload(args) => What::Unload(args),
        Words::Other(words) => {
            return Err(format!("found `{}`, expected `ctl`, `load` or `unload`", words.join(" ")));
        }
    };
    Ok(Some((at, what)))
}

/// The message of the command line's parser, without the usage text that follows it. Where the parser would show a help
/// text instead, there is no message.
fn why_not(error: &clap::Error, words: &str) -> String {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("found `{words}`, expected a change");
    }
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).replace('\n', " ")
}

/// Whether a request is about threads of the hierarchy.
fn known(request: &Request, threads: &HashMap<String, ObservedVp>) -> Result<(), String> {
    match request.thread() {
        Some(name) if !threads.contains_key(name) => {
            Err(format!("found the thread `{name}`, expected one of the hierarchy"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_words_of_a_line_are_consistent() {
        Words::command().debug_assert();
    }
}
