//! `hls policies`: the scheduling policies, with parameters, units, defaults and messages.

use crate::ctl::verdict;
use crate::exit::{Error, Verdict};
use crate::output::{output, paragraph};
use hls_calculus::schedulers;
use hls_client::interface::{Policies, Policy};
use hls_client::{Client, DEFAULT_SOCKET};
use hls_core::{ParamInfo, PolicyInfo, Unit};
use hls_units::Nanos;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

/// Runs the command.
pub fn policies(args: &PoliciesArgs) -> Result<Verdict, Error> {
    if args.running { running(&args.socket) } else { known() }
}

/// Prints the policies of the hierarchy that runs: where each comes from, and which schedulers use it.
fn running(socket: &Path) -> Result<Verdict, Error> {
    verdict(Client::connect_to(socket).and_then(|mut hls| {
        let policies = hls.call(&Policies {})?.policies;
        let width = policies.iter().map(|policy| policy.name.len()).max().unwrap_or(0);
        let mut out = output();
        for Policy { name, file, schedulers, .. } in policies {
            let file = file.unwrap_or_else(|| "built in".into());
            let users = if schedulers.is_empty() { "-".into() } else { schedulers.join(", ") };
            writeln!(out, "{name:<width$}  {users}  ({file})")?;
        }
        Ok(out.flush()?)
    }))
}

/// Prints the policies that files may name without loading them.
fn known() -> Result<Verdict, Error> {
    let mut out = output();
    for policy in hls_hierarchy::policies() {
        describe(&mut out, policy)?;
    }
    let closing = "In a file times stand in quotes, with a unit (ns, us, ms, s, min, h): quantum=\"5ms\". \
        What a child has, such as its priority, stands on the child.";
    paragraph(&mut out, "", closing)?;
    out.flush()?;
    Ok(Verdict::Kept)
}

fn describe(out: &mut impl Write, policy: &PolicyInfo) -> io::Result<()> {
    writeln!(out, "{}", policy.name)?;
    paragraph(out, "  ", policy.doc)?;
    paragraph(out, "  source    ", policy.source)?;
    if let Some(analysis) = schedulers::find(policy.name) {
        paragraph(out, "  accepts   ", analysis.accepts)?;
        paragraph(out, "  provides  ", analysis.provides)?;
    }
    if policy.max_children == 1 {
        paragraph(out, "  children  ", "one")?;
    }
    list(out, "of the scheduler", &policy.scheduler_params)?;
    list(out, "of each child", &policy.vp_params)?;
    for (number, message) in policy.messages.iter().enumerate() {
        paragraph(out, &format!("  message {number}  {}: ", message.name), message.doc)?;
        list(out, "with", &message.fields)?;
    }
    writeln!(out)
}

fn list(out: &mut impl Write, title: &str, params: &[ParamInfo]) -> io::Result<()> {
    if !params.is_empty() {
        writeln!(out, "  {title:<16}  {:<8}  range", "default")?;
    }
    for param in params {
        let value = param.default.map_or("required".into(), |value| show(param, value));
        let range = format!("{} to {}", show(param, param.min), show(param, param.max));
        paragraph(out, &format!("    {:<14}  {value:<8}  {range:<13}  ", param.name), param.doc)?;
    }
    Ok(())
}

/// A value as a hierarchy file has it, but without the quotes.
fn show(param: &ParamInfo, value: u64) -> String {
    match param.unit {
        Unit::Time => Nanos(value).to_string(),
        Unit::Count => value.to_string(),
    }
}
