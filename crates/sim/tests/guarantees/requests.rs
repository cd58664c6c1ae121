//! What a run is held against request by request, as `hls run` does it: the monitor's test of requests raises no false
//! alarm where every promise is kept. Relies on the monitor, which is what is tested here; the windows of `held.rs` are
//! the judge of the promises themselves.

use super::held::Breach;
use hls_calculus::Rules;
use hls_check::Derived;
use hls_monitor::event::Record;
use hls_monitor::observe::{Observer, Promise};
use hls_monitor::result::{GuaranteeResult, Verdict};
use hls_plan::Plan;
use hls_units::Nanos;

/// What the requests of runs have shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    /// Promises that say something of each request, and how many of them were tested.
    pub promises: u64,
    pub promises_tested: u64,
    pub requests: u64,
    pub tested: u64,
}

impl Requests {
    /// Adds what another run has shown.
    pub fn add(&mut self, other: Requests) {
        self.promises += other.promises;
        self.promises_tested += other.promises_tested;
        self.requests += other.requests;
        self.tested += other.tested;
    }
}

/// Holds a run against promises as the monitor does.
pub fn observe(plan: &Plan, promises: Vec<Promise>, records: &[Record], length: u64) -> Vec<GuaranteeResult> {
    let mut observer = Observer::new(plan.topology.clone(), promises);
    records.iter().for_each(|record| observer.observe(record));
    observer.finish(Nanos(length)).guarantees
}

fn is_broken_by_requests(result: &GuaranteeResult) -> bool {
    result.requests.is_some_and(|requests| requests.verdict().is_broken())
}

/// Holds the requests of a run against all that is promised by these rules; and the first promise that they break.
pub fn hold(
    plan: &Plan,
    records: &[Record],
    length: u64,
    rules: impl Into<Rules>,
) -> (Requests, Option<Breach>) {
    let promises = Derived::new(plan, rules).promises(plan);
    let results = observe(plan, promises, records, length);
    let mut sum = Requests::default();
    for requests in results.iter().filter_map(|result| result.requests) {
        sum.promises += 1;
        sum.promises_tested += u64::from(requests.verdict() != Verdict::Untested);
        sum.requests += requests.requests;
        sum.tested += requests.tested;
    }
    let broken = results.iter().find(|result| is_broken_by_requests(result));
    let breach = broken.map(|result| {
        let name = plan.topology.child_name(result.vp);
        let GuaranteeResult { guarantee, requests, .. } = result;
        Breach {
            kind: "request",
            to: requests.map_or(length, |requests| requests.worst_at.0),
            text: format!("`{name}` has {guarantee}, and of a request: {requests:?}"),
        }
    });
    (sum, breach)
}
