//! Reads what runs in the guest leave behind: the reports of `hls run --json` and `hls baseline --json`, as far as the
//! experiments need them, and the kernel's trace of a thread's CPU time. Does no IO.

use hls_monitor::result::Percentiles;
use hls_units::Nanos;
use serde::Deserialize;

/// The report of a run.
#[derive(Debug, Deserialize)]
pub(crate) struct RunReport {
    pub length_ns: u64,
    pub threads: Vec<ThreadReport>,
    pub guarantees: Vec<GuaranteeReport>,
}

/// The report's part about a promise.
#[derive(Debug, Deserialize)]
pub(crate) struct GuaranteeReport {
    pub kept: bool,
}

/// The report's part about a thread.
#[derive(Debug, Deserialize)]
pub(crate) struct ThreadReport {
    pub name: String,
    pub ran_ns: u64,
    pub misses: u64,
    pub frames: u64,
    pub wake_latency: LatencyReport,
    pub response: LatencyReport,
}

/// The report's part about a distribution of latencies.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct LatencyReport {
    count: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    worst_ns: u64,
    #[serde(default)]
    worst_is_open: bool,
}

impl From<LatencyReport> for Percentiles {
    fn from(report: LatencyReport) -> Percentiles {
        Percentiles {
            count: report.count,
            p50: Nanos(report.p50_ns),
            p90: Nanos(report.p90_ns),
            p99: Nanos(report.p99_ns),
            p999: Nanos(report.p999_ns),
            worst: Nanos(report.worst_ns),
            worst_is_open: report.worst_is_open,
        }
    }
}

/// The CPU time that a traced thread had in each of its bursts, which are separated by at least `pause` without CPU
/// time. A line of the trace that matters gives an instant, and the thread's CPU time since the line before:
///
/// ```text
///     app-120     [000] d..2.    18.781436: sched_stat_runtime: comm=app pid=120 runtime=11420 [ns]
/// ```
pub(crate) fn bursts(trace: &str, pause: Nanos) -> Vec<Nanos> {
    let mut bursts: Vec<Nanos> = Vec::new();
    let mut before = None;
    for (at, ran) in trace.lines().filter_map(runtime) {
        match bursts.last_mut() {
            Some(burst)
                if before.is_some_and(|before| at.saturating_sub(ran).saturating_sub(before) < pause) =>
            {
                *burst += ran;
            }
            _ => bursts.push(ran),
        }
        before = Some(at);
    }
    bursts
}

/// The instant and the CPU time of a line of the trace; `None` for all other lines.
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
    fn bursts_are_separated_where_the_thread_paused() {
        let trace = "# tracer: nop\n\
            app-7 [000] d.h2.    18.010000: sched_stat_runtime: comm=app pid=7 runtime=4000000 [ns]\n\
            app-7 [000] d..2.    18.016500: sched_stat_runtime: comm=app pid=7 runtime=6000000 [ns]\n\
            app-7 [000] d..2.    18.040000: sched_stat_runtime: comm=app pid=7 runtime=7 [ns]\n";
        assert_eq!(bursts(trace, Nanos::from_millis(10)), [Nanos::from_millis(10), Nanos(7)]);
        assert_eq!(bursts(trace, Nanos::from_micros(500)).len(), 3);
    }

    #[test]
    fn other_lines_are_passed_over() {
        for line in ["", "x", "a: sched_stat_runtime: b", "1.x: sched_stat_runtime: runtime=1 [ns]"] {
            assert_eq!(runtime(line), None, "{line}");
        }
    }
}
