//! What runs elsewhere leave behind: the JSON of `hls run` and `hls baseline`, as far as it is measured, and the
//! kernel's trace of a thread's CPU time. Does no IO.

use hls_monitor::result::Percentiles;
use hls_units::Nanos;
use serde::Deserialize;

/// A run.
#[derive(Debug, Deserialize)]
pub(crate) struct Told {
    pub length_ns: u64,
    pub threads: Vec<ToldThread>,
    pub guarantees: Vec<ToldGuarantee>,
}

/// A promise.
#[derive(Debug, Deserialize)]
pub(crate) struct ToldGuarantee {
    pub kept: bool,
}

/// A thread.
#[derive(Debug, Deserialize)]
pub(crate) struct ToldThread {
    pub name: String,
    pub ran_ns: u64,
    pub misses: u64,
    pub frames: u64,
    pub wake_latency: ToldLatency,
}

/// A distribution.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ToldLatency {
    count: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    worst_ns: u64,
}

impl From<ToldLatency> for Percentiles {
    fn from(told: ToldLatency) -> Percentiles {
        Percentiles {
            count: told.count,
            p50: Nanos(told.p50_ns),
            p90: Nanos(told.p90_ns),
            p99: Nanos(told.p99_ns),
            p999: Nanos(told.p999_ns),
            worst: Nanos(told.worst_ns),
        }
    }
}

/// The CPU time that a traced thread had in each piece of a run; pieces are parted where it had none for at least
/// `pause`. A line of the trace that matters says when, and how much since the line before:
///
/// ```text
///     app-120     [000] d..2.    18.781436: sched_stat_runtime: comm=app pid=120 runtime=11420 [ns]
/// ```
pub(crate) fn pieces(trace: &str, pause: Nanos) -> Vec<Nanos> {
    let mut pieces: Vec<Nanos> = Vec::new();
    let mut before = None;
    for (at, ran) in trace.lines().filter_map(runtime) {
        match pieces.last_mut() {
            Some(piece)
                if before.is_some_and(|before| at.saturating_sub(ran).saturating_sub(before) < pause) =>
            {
                *piece += ran;
            }
            _ => pieces.push(ran),
        }
        before = Some(at);
    }
    pieces
}

/// When, and for how long the thread had run.
fn runtime(line: &str) -> Option<(Nanos, Nanos)> {
    let (at, what) = line.split_once(": sched_stat_runtime: ")?;
    let (seconds, micros) = at.rsplit(' ').next()?.split_once('.')?;
    let at = Nanos::from_secs(seconds.parse().ok()?) + Nanos::from_micros(micros.parse().ok()?);
    let ran = what.rsplit_once("runtime=")?.1.strip_suffix(" [ns]")?;
    Some((at, Nanos(ran.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_parted_where_the_thread_paused() {
        let trace = "# tracer: nop\n\
            app-7 [000] d.h2.    18.010000: sched_stat_runtime: comm=app pid=7 runtime=4000000 [ns]\n\
            app-7 [000] d..2.    18.016500: sched_stat_runtime: comm=app pid=7 runtime=6000000 [ns]\n\
            app-7 [000] d..2.    18.040000: sched_stat_runtime: comm=app pid=7 runtime=7 [ns]\n";
        assert_eq!(pieces(trace, Nanos::from_millis(10)), [Nanos::from_millis(10), Nanos(7)]);
        assert_eq!(pieces(trace, Nanos::from_micros(500)).len(), 3);
    }

    #[test]
    fn other_lines_are_none_of_ours() {
        for line in ["", "x", "a: sched_stat_runtime: b", "1.x: sched_stat_runtime: runtime=1 [ns]"] {
            assert_eq!(runtime(line), None, "{line}");
        }
    }
}
