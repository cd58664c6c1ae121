//! `hls guarantee`: what a guarantee promises, what follows from it, and how it is misread.
//!
//! Relies on the calculus for all numbers, and puts these into words. A number that is not round is rounded to the
//! disadvantage of a reader that relies on it, as the calculus does in its own texts.

mod picture;
mod words;

use crate::exit::{Error, Verdict};
use crate::output::{output, paragraph};
use hls_calculus::{Guarantee, Kind, Rational, implies, rewrite, share_floor, time_ceil, time_floor};
use hls_hierarchy::{Diagnostic, Severity, Source};
use hls_units::is_hidden;
use std::io::{self, Write};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes: 0, 1 where --need is not implied, 2 bad usage or input,
3 the system failed.";

/// Arguments of `hls guarantee`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
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

/// Runs the command.
pub fn guarantee(args: &GuaranteeArgs) -> Result<Verdict, Error> {
    let have = parse("GUARANTEE", &args.guarantee)?;
    let need = args.need.as_ref().map(|need| parse("--need", need)).transpose()?;
    if let Some(path) = &args.svg {
        picture::write(path, &have, need.as_ref())?;
    }
    let mut out = output();
    let verdict = match &need {
        Some(need) => compare(&mut out, &have, need)?,
        None => describe(&mut out, &have)?,
    };
    if let Some(path) = &args.svg {
        writeln!(out, "\npicture: {} (open it in a browser)", path.display())?;
    }
    out.flush()?;
    Ok(verdict)
}

/// Reads the guarantee that an argument gives.
fn parse(argument: &str, text: &str) -> Result<Guarantee, Error> {
    Guarantee::parse(text).map_err(|error| {
        let on_one_line = |text: String| text.replace(is_hidden, " ");
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            span: error.offset..error.offset + error.len,
            message: "the guarantee".into(),
            found: on_one_line(error.found),
            expected: on_one_line(error.expected),
            help: None,
            first: None,
        };
        Error::Wrong(Source::new(argument, text.as_bytes()), vec![diagnostic])
    })
}

/// Whether one guarantee implies another, and why.
fn compare(out: &mut impl Write, have: &Guarantee, need: &Guarantee) -> io::Result<Verdict> {
    match implies(have, need) {
        Ok(derivation) => {
            writeln!(out, "yes: {have} gives {need}\n")?;
            derivation.render().lines().try_for_each(|line| writeln!(out, "    {line}"))?;
            Ok(Verdict::Kept)
        }
        Err(refusal) => {
            writeln!(out, "NO: {have} does not give {need}: {refusal}")?;
            Ok(Verdict::Violated)
        }
    }
}

/// Writes everything about one guarantee.
fn describe(out: &mut impl Write, have: &Guarantee) -> io::Result<Verdict> {
    writeln!(out, "{have}\n")?;
    paragraph(out, "  ", &words::promise(have))?;
    write_request(out, have)?;
    write_windows(out, have)?;
    write_rewrites(out, have)?;
    let warnings = words::warnings(have);
    if !warnings.is_empty() {
        writeln!(out, "\n  Take care:")?;
    }
    warnings.iter().try_for_each(|warning| paragraph(out, "  - ", warning))?;
    Ok(Verdict::Kept)
}

/// The windows in which the guarantee is easiest to understand, shortest first, each with what it is.
fn windows(have: &Guarantee) -> Vec<(Rational, &'static str)> {
    let times = |length: &Rational, count: u32| length * Rational::from_integer(count.into());
    let Some(blackout) = have.blackout().filter(|blackout| *blackout > Rational::default()) else {
        return Vec::new();
    };
    let mut windows = vec![(blackout.clone(), "nothing is certain up to here")];
    match have {
        Guarantee::Reservation { amount, period, .. } | Guarantee::Edp { amount, period, .. } => {
            windows.extend([
                (blackout + amount, "the first that has the whole amount for certain"),
                (period.clone(), "one period"),
                (times(period, 2), "two periods"),
                (times(period, 10), "ten periods"),
            ]);
        }
        Guarantee::Mpr { amount, period, cpus } => {
            let served = blackout + amount / Rational::from_integer((*cpus).into());
            windows.extend([
                (served, "the first that has the whole amount for certain"),
                (period.clone(), "one period"),
                (times(period, 2), "two periods"),
                (times(period, 10), "ten periods"),
            ]);
        }
        _ => windows.extend([2, 10].map(|count| (times(&blackout, count), ""))),
    }
    windows.sort_by(|(one, _), (other, _)| one.cmp(other));
    // One period of a continuous reservation is also the first that is served, which says more.
    windows.dedup_by(|(one, _), (other, _)| one == other);
    windows
}

/// The least that a request in its turn has, by the time since it began.
fn write_request(out: &mut impl Write, have: &Guarantee) -> io::Result<()> {
    let Guarantee::Job { period, .. } = have else { return Ok(()) };
    writeln!(out, "\n  From its wake-up on, a request that comes in its turn has had, or is done:\n")?;
    writeln!(out, "    {:>10}  {:>10}", "after", "at least")?;
    for (since, time) in have.request_corners(period).iter().skip(1) {
        writeln!(out, "    {:>10}  {:>10}", time_ceil(since), time_floor(time))?;
    }
    Ok(())
}

fn write_windows(out: &mut impl Write, have: &Guarantee) -> io::Result<()> {
    let windows = windows(have);
    if !windows.is_empty() {
        let limit = |text: String| if have.is_hard() { format!("  {text:>10}") } else { String::new() };
        let all = if matches!(have, Guarantee::Mpr { .. }) { "all of them want" } else { "it wants" };
        writeln!(out, "\n  In any window in which {all} the CPU all the time:\n")?;
        writeln!(out, "    {:>10}  {:>10}{}", "window", "at least", limit("at most".into()))?;
        for (window, what) in windows {
            let (least, most) = (time_floor(&have.sbf(&window)), limit(time_ceil(&have.ubf(&window))));
            writeln!(
                out,
                "{}",
                format!("    {:>10}  {least:>10}{most}  {what}", time_ceil(&window)).trim_end()
            )?;
        }
    }
    let share = share_floor(&have.rate());
    let share = match &share[..] {
        "0" => "nothing for certain",
        "1" => "all of a CPU",
        share if matches!(have, Guarantee::Mpr { .. }) => &format!("{share} of a CPU together"),
        share => &format!("{share} of a CPU"),
    };
    let most = if have.is_hard() { "" } else { "; there is no upper limit" };
    writeln!(out, "\n  In the long run: {share}{most}.")
}

fn write_rewrites(out: &mut impl Write, have: &Guarantee) -> io::Result<()> {
    let others = Kind::EVERY.into_iter().filter(|kind| *kind != have.kind());
    let rewrites: Vec<_> = others.filter_map(|kind| rewrite(have, kind)).collect();
    if !rewrites.is_empty() {
        writeln!(out, "\n  It implies:\n")?;
    }
    for (weaker, rule) in rewrites {
        writeln!(out, "    {:<28}  {rule}", weaker.rounded_for_people())?;
    }
    words::chosen(have).map_or(Ok(()), |words| paragraph(out, "    ", &words))
}
