//! `hls guarantee --svg`: the corners of a guarantee's supply for the report to draw.

use crate::exit::Error;
use hls_calculus::{Corner, Guarantee, Rational, share_floor, time_ceil, time_floor};
use hls_report::supply::{Point, Supply};
use hls_session::AtomicFile;
use hls_units::Nanos;
use std::path::Path;

/// The length of the longest window in the picture of a guarantee that has no period or other length of its own.
const DEFAULT_LENGTH: Nanos = Nanos::from_millis(100);
/// The least and the greatest length of the longest window in a picture; corners are drawn at whole nanoseconds.
const LENGTHS: [Nanos; 2] = [Nanos::from_micros(1), Nanos::from_secs(365 * 24 * 3600)];

/// Writes a picture of a guarantee, and in it, for comparison, the one that is needed.
pub fn write(path: &Path, have: &Guarantee, need: Option<&Guarantee>) -> Result<(), Error> {
    let supply = supply(have, need)?;
    let mut file = AtomicFile::create(path)?;
    supply.write(&mut file)?;
    Ok(file.commit()?)
}

fn supply(have: &Guarantee, need: Option<&Guarantee>) -> Result<Supply, Error> {
    let lengths = [Some(have), need].into_iter().flatten().filter_map(length);
    let longest = lengths.max().map_or(DEFAULT_LENGTH, |longest| nanos(&longest));
    let [least, most] = LENGTHS;
    if !(least..=most).contains(&longest) {
        let long = if longest > most { "long" } else { "short" };
        return Err(Error::Input(format!(
            "--svg: found windows too {long} to be drawn, expected a picture of {least} to {most}"
        )));
    }
    let up_to = Rational::from_integer(longest.0.into());
    let rate = have.rate();
    let least = |of: &Guarantee| match of {
        Guarantee::Job { .. } => points(&of.request_corners(&up_to)),
        _ => points(&of.sbf_corners(&up_to)),
    };
    let shown = need.is_none() && rate != Rational::default() && *have != Guarantee::All;
    let share = shown.then(|| (nanos(&(&rate * &up_to)), format!("{} in the long run", share_floor(&rate))));
    let of_a_group = matches!(have, Guarantee::Mpr { .. });
    Ok(Supply {
        guarantee: have.rounded_for_people(),
        along: if matches!(have, Guarantee::Job { .. }) {
            "time since the request"
        } else {
            "length of the window"
        },
        longest,
        least: least(have),
        most: (have.is_hard() || of_a_group).then(|| points(&have.ubf_corners(&up_to))),
        share,
        needed: need.map(|need| (least(need), format!("needed: {}", need.rounded_for_people()))),
        remarks: remarks(have),
    })
}

/// The longest window that is drawn: four periods, or four times the time in which nothing is certain; for a request
/// one period.
fn length(guarantee: &Guarantee) -> Option<Rational> {
    let length = match guarantee {
        Guarantee::Job { period, .. } => return Some(period.clone()),
        Guarantee::Reservation { period, .. }
        | Guarantee::Edp { period, .. }
        | Guarantee::Mpr { period, .. } => period.clone(),
        _ => guarantee.blackout()?,
    };
    (length != Rational::default()).then(|| length * Rational::from_integer(4.into()))
}

fn points(corners: &[Corner]) -> Vec<Point> {
    corners.iter().map(|(window, time)| (nanos(window), nanos(time))).collect()
}

/// The nearest nanosecond, which no picture tells from the exact time.
fn nanos(time: &Rational) -> Nanos {
    time.round().to_integer().try_into().map_or(Nanos::MAX, Nanos)
}

fn remarks(have: &Guarantee) -> Vec<(Nanos, String)> {
    let nothing =
        |blackout: &Rational| (nanos(blackout), format!("nothing is certain in {}", time_ceil(blackout)));
    let remark = |text: &str| vec![(Nanos::ZERO, text.to_owned())];
    match (have, have.blackout().filter(|blackout| *blackout != Rational::default())) {
        (Guarantee::Reservation { amount, .. } | Guarantee::Edp { amount, .. }, Some(blackout)) => {
            let served = &blackout + amount;
            let certain = format!("{} is certain in every {}", time_floor(amount), time_ceil(&served));
            vec![nothing(&blackout), (nanos(&served), certain)]
        }
        (Guarantee::Job { amount, period, response }, _) => {
            let wait = response - amount;
            let done = format!("it has had {}, or is done", time_floor(amount));
            let next = format!("the next request in its turn comes {} after this one", time_ceil(period));
            let mut remarks = vec![(nanos(&wait), format!("a request may wait for {}", time_ceil(&wait)))];
            remarks.retain(|(wait, _)| *wait > Nanos::ZERO);
            remarks.extend([(nanos(response), done), (Nanos::ZERO, next)]);
            remarks
        }
        (Guarantee::Mpr { cpus, .. }, Some(blackout)) => {
            vec![nothing(&blackout), (Nanos::ZERO, format!("CPU time of {cpus} virtual processors together"))]
        }
        (_, Some(blackout)) => vec![nothing(&blackout)],
        (Guarantee::Resu { .. }, None) => {
            remark("exactly on the dotted line between instants that it tells of; else nothing is certain")
        }
        (Guarantee::Ps { .. }, None) => remark("the dotted line is neared in the end, but nothing says when"),
        (Guarantee::Null, None) => remark("nothing is certain in any window"),
        _ => remark("the whole window, always"),
    }
}
