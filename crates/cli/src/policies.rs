//! `hls policies`: what there is, with parameters, units and defaults.

use crate::exit::{Error, Verdict};
use hls_calculus::schedulers;
use hls_core::{ParamInfo, PolicyInfo, Unit};
use hls_units::Nanos;
use std::io::{Write, stdout};

/// Runs the command.
pub fn policies() -> Result<Verdict, Error> {
    let mut out = stdout().lock();
    for policy in hls_core::policies() {
        describe(&mut out, policy)?;
    }
    Ok(Verdict::Kept)
}

fn describe(out: &mut impl Write, policy: &PolicyInfo) -> Result<(), Error> {
    writeln!(out, "{}", policy.name)?;
    writeln!(out, "    {}", policy.doc)?;
    writeln!(out, "    after {}", policy.source)?;
    if let Some(analysis) = schedulers::find(policy.name) {
        writeln!(out, "    accepts {}; provides {}", analysis.accepts, analysis.provides)?;
    }
    if policy.max_children == 1 {
        writeln!(out, "    schedules one child")?;
    }
    list(out, "of the scheduler", &policy.scheduler_params)?;
    list(out, "of each child", &policy.vp_params)?;
    writeln!(out)?;
    Ok(())
}

fn list(out: &mut impl Write, whose: &str, params: &[ParamInfo]) -> Result<(), Error> {
    for param in params {
        let default =
            param.default.map_or("required".into(), |value| format!("default {}", show(param, value)));
        let range = format!("{} to {}", show(param, param.min), show(param, param.max));
        writeln!(out, "    {:<13} {whose}: {} ({default}; {range})", param.name, param.doc)?;
    }
    Ok(())
}

fn show(param: &ParamInfo, value: u64) -> String {
    match param.unit {
        Unit::Time => Nanos(value).to_string(),
        Unit::Count => value.to_string(),
    }
}
