//! `hls doctor`: can this machine's kernel run hierarchies, and what to do where it cannot?

use crate::exit::{Error, Verdict};
use crate::output::{output, paragraph};
use hls_kernel_engine::doctor::{self, Facts, Finding};
use hls_report::ascii::write_indented;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

const AFTER_HELP: &str = "\
It looks and changes nothing. What it says of rights is about this process: ask
it as the user that is to run a hierarchy.

Exit codes: 0 this kernel can run hierarchies, 1 it cannot, 2 bad usage,
3 the system failed.";

/// Arguments of `hls doctor`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct DoctorArgs {
    /// Print the findings as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// The version of the JSON's format: one more after each change that breaks its readers.
const FORMAT: u32 = 1;

/// The findings for programs.
#[derive(Serialize)]
struct JsonDoctor<'f> {
    /// Always [`FORMAT`].
    format: u32,
    can_run: bool,
    findings: &'f [Finding],
}

/// Runs the command.
pub fn doctor(args: &DoctorArgs) -> Result<Verdict, Error> {
    let mut findings = doctor::judge(&Facts::gather(Path::new("/")));
    findings.push(compilers());
    let can_run = doctor::can_run(&findings);
    let mut out = output();
    if args.json {
        let json = JsonDoctor { format: FORMAT, can_run, findings: &findings };
        write_indented(&mut out, &json)?;
    } else {
        describe(&mut out, &findings)?;
    }
    out.flush()?;
    Ok(if can_run { Verdict::Kept } else { Verdict::Violated })
}

/// Whether the compilers of loaded policies can be confined. A hierarchy runs without that all the same.
fn compilers() -> Finding {
    let what = "compilers";
    let warning = |found: String| Finding {
        what,
        verdict: doctor::Verdict::Warning,
        found,
        advice: Some("boot a kernel with Landlock, or load only policies that you trust".into()),
    };
    match hls_policy_build::exposed() {
        Ok(exposed) if exposed.is_empty() => {
            let found = "read no file of the caller while they build a policy".into();
            Finding { what, verdict: doctor::Verdict::Good, found, advice: None }
        }
        Ok(exposed) => {
            warning(format!("cannot be kept from {} while they build a policy", exposed.join(" and ")))
        }
        Err(error) => warning(format!("cannot be confined, so no policy can be built: {error}")),
    }
}

fn describe(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    for Finding { what, verdict, found, advice } in findings {
        let mark = match verdict {
            doctor::Verdict::Good => "good",
            doctor::Verdict::Warning => "warning",
            doctor::Verdict::Blocks => "BLOCKS",
        };
        paragraph(out, &format!("{mark:<7}  {what:<width$}  "), found)?;
        if let Some(advice) = advice {
            paragraph(out, &format!("{:<7}  {:<width$}  -> ", "", ""), advice)?;
        }
    }
    writeln!(out)?;
    match findings.iter().filter(|finding| finding.verdict == doctor::Verdict::Blocks).count() {
        0 => writeln!(out, "this kernel can run hierarchies: hls run FILE --engine kernel"),
        1 => writeln!(out, "this kernel cannot run hierarchies: one thing is in the way"),
        count => writeln!(out, "this kernel cannot run hierarchies: {count} things are in the way"),
    }
}
