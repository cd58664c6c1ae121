//! Tests every window of a run against a supply.
//!
//! A guarantee speaks of windows in which the VP requests the CPU all the time, that is of windows within a *span*,
//! from a request to the release after it. Let W(t) be what was received up to t, and look at W(t) - W(s) - sbf(t - s)
//! over all s < t of a span. W and sbf never fall. Where the VP is not served W stands still, so moving s forward, or t
//! forward, to where service begins or ends changes the value in one direction only: it is least for s at the start of
//! a pause and for t at the end of one. Where it is served W rises as fast as time and sbf at most that fast, as the
//! sbf of every guarantee does, PSBE's with its slope s <= 1 included: so it is least for s at the end of the service
//! and for t at its start. Hence s need only be the start of the span or an end of service, and t a start of service or
//! the end of the span: a few thousand windows say it for all. Likewise ubf(t - s) - (W(t) - W(s)) is least for s at
//! starts of service and t at ends.
//!
//! A sum of supplies may rise faster than time. Then the window of least excess can be moved, both ends at once, until
//! one end is where service begins or ends; the other is there too, or where sbf turns flatter, which depends on the
//! length of the window alone. Such windows are tried besides.
//!
//! A hard guarantee is held to its ubf within a span only, as the monitor does (`hls_monitor::windows`): across a sleep
//! there is no such bound, for a sleeper's reservation begins a new period when it wakes up.

use super::supply::{Cap, Line, Supply};
use hls_monitor::event::{ObservedVp, Record, What};

/// A time in which a VP requests the CPU throughout, and when the VP was served in it.
#[derive(Clone, Debug)]
pub struct Span {
    pub from: u64,
    pub to: u64,
    /// The start and end of each service; in order, and none empty.
    pub served: Vec<(u64, u64)>,
}

/// A window that got too little, or too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: u64,
    pub to: u64,
    pub received: u64,
}

/// A point of a span: an instant, and the CPU time that the VP had received in the span up to it.
type Point = (u64, u64);

/// The spans of every VP, in order of time; a span that is open at `end` ends there. Stolen time is no service.
pub fn spans(records: &[Record], vps: usize, end: u64) -> Vec<Vec<Span>> {
    let mut spans = vec![Vec::new(); vps];
    let mut open: Vec<Option<Span>> = vec![None; vps];
    // Since when a VP is served, and by which CPU.
    let mut since: Vec<Option<(u64, u16)>> = vec![None; vps];
    let last =
        |vp: u32| Record { at: hls_units::Nanos(end), vp: ObservedVp(vp), cpu: 0, what: What::Release };
    for record in records.iter().copied().chain((0..vps as u32).map(last)) {
        let (at, vp) = (record.at.0, record.vp.index());
        match record.what {
            What::Request => open[vp] = Some(Span { from: at, to: at, served: Vec::new() }),
            What::Grant => since[vp] = Some((at, record.cpu)),
            What::Stolen { length } => {
                for (since, open) in since.iter_mut().zip(&mut open) {
                    if let (Some((from, cpu)), Some(span)) = (since, open)
                        && *cpu == record.cpu
                    {
                        span.serve(*from, at - length.0);
                        *from = at;
                    }
                }
            }
            What::Revoke | What::Release | What::Leave => {
                if let (Some((from, _)), Some(span)) = (since[vp].take(), &mut open[vp]) {
                    span.serve(from, at);
                }
                if record.what != What::Revoke
                    && let Some(span) = open[vp].take()
                    && span.from < at
                {
                    spans[vp].push(Span { to: at, ..span });
                }
            }
            _ => {}
        }
    }
    spans
}

impl Span {
    /// Adds a service from one instant to another, if there is time between them.
    fn serve(&mut self, from: u64, to: u64) {
        if from < to {
            self.served.push((from, to));
        }
    }

    /// The starts and the ends of the pauses between services, where the span itself begins and ends with one.
    fn around_pauses(&self) -> (Vec<Point>, Vec<Point>) {
        let (mut starts, mut ends) = (vec![(self.from, 0)], Vec::new());
        let mut received = 0;
        for &(from, to) in &self.served {
            ends.push((from, received));
            received += to - from;
            starts.push((to, received));
        }
        ends.push((self.to, received));
        (starts, ends)
    }

    /// The CPU time received up to an instant of the span, by the starts and ends of its pauses.
    fn received(starts: &[Point], ends: &[Point], at: u64) -> u64 {
        let pause = starts.partition_point(|start| start.0 <= at) - 1;
        let (start, end) = (starts[pause], ends[pause]);
        if at <= end.0 { start.1 } else { end.1 + (at - end.0) }
    }

    /// The number of windows that are tested in place of all.
    pub fn windows(&self) -> u64 {
        let pauses = self.served.len() as u64 + 1;
        pauses * (pauses + 1) / 2
    }

    /// A window that received less than `supply` promises to a window that is `shift` longer.
    pub fn falls_short(&self, supply: &Supply, shift: u64) -> Option<Window> {
        let (starts, ends) = self.around_pauses();
        let short = |from: Point, to: Point| {
            let window = Window { from: from.0, to: to.0, received: to.1 - from.1 };
            let promised = supply.least(to.0 - from.0 + shift);
            (i128::from(window.received) * supply.one < promised).then_some(window)
        };
        let critical = critical(&starts, &ends, supply.line(), shift);
        let found = critical
            .into_iter()
            .find_map(|first| ends[first..].iter().find_map(|&end| short(starts[first], end)));
        let at = |at: u64| (at, Span::received(&starts, &ends, at));
        found.or_else(|| {
            let bends = || starts.iter().chain(&ends).map(|point| point.0);
            let window = |from: u64, to: u64| {
                let inside = self.from <= from && from < to && to <= self.to;
                inside.then(|| short(at(from), at(to))).flatten()
            };
            supply.kinks(self.to - self.from).into_iter().find_map(|kink| {
                bends().find_map(|bend| {
                    window(bend, bend + kink).or_else(|| window(bend.checked_sub(kink)?, bend))
                })
            })
        })
    }

    /// A window that received more than `cap` allows to a window that is `shift` shorter.
    pub fn exceeds(&self, cap: &Cap, shift: u64) -> Option<Window> {
        let (mut starts, mut ends) = self.around_pauses();
        starts.remove(0);
        ends.pop();
        (0..ends.len()).find_map(|first| {
            let (from, before) = ends[first];
            starts[first..].iter().find_map(|&(to, after)| {
                let received = after - before;
                let most = cap.most((to - from).saturating_sub(shift));
                (i128::from(received) * cap.one > most).then_some(Window { from, to, received })
            })
        })
    }
}

/// The indices of the starts of windows that receive less than a line through the tops of the supply. All other windows
/// receive enough.
fn critical(starts: &[Point], ends: &[Point], line: Line, shift: u64) -> Vec<usize> {
    let Line { slope, delta, one } = line;
    let excess = |(at, received): Point| i128::from(received) * one - slope * i128::from(at);
    let mut least = i128::MAX;
    let is_critical = |&first: &usize| {
        least = least.min(excess(ends[first]));
        least - excess(starts[first]) < slope * i128::from(shift) - delta
    };
    (0..starts.len()).rev().filter(is_critical).collect()
}
