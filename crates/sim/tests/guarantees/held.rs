//! The promises to every VP of a plan, and whether a run kept them.
//!
//! Relies on `hls_check::Derived` for the labels and on the records of the run; never on the monitor, which looks at
//! windows of five lengths only.

use super::requests::Requests;
use super::spans::{Span, Window, spans};
use super::supply::{Cap, Supply};
use super::tree::Case;
use hls_calculus::{Guarantee, Label, Rules};
use hls_check::Derived;
use hls_hierarchy::Source;
use hls_hierarchy::model::ModelEdge;
use hls_monitor::event::{ObservedVp, Record, What};
use hls_plan::Plan;
use hls_sim::{Options, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::collections::{BTreeMap, BTreeSet};

/// A promise to one VP.
pub struct Promise {
    vp: ObservedVp,
    /// The policy of the scheduler that gives the promise.
    pub giver: &'static str,
    /// The type of the promise: the name of the guarantee, or of the first of a sum.
    pub kind: &'static str,
    text: String,
    supply: Supply,
    cap: Option<Cap>,
}

/// The promise of ALL to any `count` of an edge's VPs at a time.
pub struct Several {
    vps: Vec<ObservedVp>,
    count: usize,
}

/// All promises of a plan.
#[derive(Default)]
pub struct Promises {
    pub each: Vec<Promise>,
    pub several: Vec<Several>,
    /// How many promises of each type there are; spans and windows are counted in runs.
    tally: Tally,
}

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Breach {
    pub kind: &'static str,
    /// The instant at which the window ended.
    pub to: u64,
    pub text: String,
}

/// How much has been tested.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of VPs with a promise of each type.
    pub kinds: BTreeMap<&'static str, u64>,
    /// The number of promises that say nothing about one VP in finite time, or have numbers that are too large.
    pub skipped: u64,
    pub spans: u64,
    pub windows: u64,
    /// The windows by the policy that gave the promise.
    pub windows_of: BTreeMap<&'static str, u64>,
    pub requests: Requests,
}

impl Tally {
    /// Adds what was tested in another run.
    pub fn add(&mut self, other: &Tally) {
        other.kinds.iter().for_each(|(kind, count)| *self.kinds.entry(kind).or_default() += count);
        self.skipped += other.skipped;
        self.spans += other.spans;
        self.windows += other.windows;
        other
            .windows_of
            .iter()
            .for_each(|(giver, count)| *self.windows_of.entry(giver).or_default() += count);
        self.requests.add(other.requests);
    }
}

/// By how many nanoseconds windows are tested more tightly than promised, to show that the test sees small differences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shift(pub u64);

/// All supplies that a label promises at the same time, each a sum. Nothing else here looks into a label.
fn supplies(label: &Label) -> Vec<Vec<Guarantee>> {
    let beside = label.beside.sums().iter().map(|sum| sum.0.clone());
    std::iter::once(vec![label.absolute()]).chain(beside).collect()
}

/// Reads and plans a hierarchy file.
pub fn read(text: &str) -> Result<Plan, String> {
    let source = Source::new("drawn.kdl", text.as_bytes());
    let lines = |errors: Vec<_>| errors.iter().map(|error| source.line(error)).collect::<Vec<_>>().join("\n");
    let (read, _warnings) = hls_hierarchy::read(text.as_bytes()).map_err(lines)?;
    Plan::new(read, &Workload::default()).map_err(|errors| format!("{errors:?}"))
}

/// Plans a case.
pub fn plan(case: &Case) -> Result<Plan, String> {
    read(&case.kdl())
}

/// Runs a plan for `length` nanoseconds, and returns its records.
pub fn run(plan: &Plan, length: u64, seed: u64) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut sink = |record: &Record| records.push(*record);
    let options = Options { seed, ..Options::default() };
    let mut simulation = Simulation::new(plan.clone(), options).map_err(|failure| failure.to_string())?;
    simulation.run_until(Nanos(length), &mut sink).map_err(|failure| failure.to_string())?;
    simulation.end(&mut sink);
    Ok(records)
}

impl Promises {
    /// All promises that the calculus derives for a plan.
    pub fn derive(plan: &Plan, rules: impl Into<Rules>) -> Promises {
        let derived = Derived::new(plan, rules);
        let label = |edge, instance| {
            let index = derived.input.graph_edge_of(edge, instance).expect("every edge has a label");
            &derived.analysis.labels[index]
        };
        let mut promises = Promises::default();
        for edge in &plan.edges {
            promises.add(plan, edge.edge, &edge.vps, label(edge.edge, 0));
        }
        for thread in plan.threads() {
            promises.add(plan, thread.edge, &[thread.vp], label(thread.edge, thread.instance));
        }
        promises
    }

    fn add(&mut self, plan: &Plan, edge: ModelEdge, vps: &[ObservedVp], label: &Label) {
        let count = usize::from(label.count);
        if label.guarantee == Guarantee::Null {
            return;
        }
        *self.tally.kinds.entry(label.guarantee.kind().name()).or_default() += vps.len() as u64;
        if count < vps.len() {
            match label.guarantee {
                Guarantee::All => self.several.push(Several { vps: vps.to_vec(), count }),
                _ => self.tally.skipped += vps.len() as u64,
            }
            return;
        }
        let hierarchy = &plan.hierarchy;
        let parent = hierarchy.edge(edge).parent;
        let giver = parent.map_or("", |parent| hierarchy.schedulers[parent].policy.name);
        for sum in supplies(label) {
            let Some(supply) = Supply::new(&sum) else {
                self.tally.skipped += vps.len() as u64;
                continue;
            };
            let text = sum.iter().map(Guarantee::to_string).collect::<Vec<_>>().join(" + ");
            let cap = if sum.len() == 1 { Cap::new(&sum[0]) } else { None };
            let kind = sum[0].kind().name();
            let promise = |&vp: &ObservedVp| Promise {
                vp,
                giver,
                kind,
                text: text.clone(),
                supply: supply.clone(),
                cap,
            };
            self.each.extend(vps.iter().map(promise));
        }
    }

    /// The promises that `others` do not have.
    pub fn besides(mut self, others: &Promises) -> Promises {
        let same = |a: &Promise, b: &Promise| (a.vp, &a.text) == (b.vp, &b.text);
        self.each.retain(|promise| !others.each.iter().any(|other| same(promise, other)));
        self.several.clear();
        self.tally = Tally::default();
        self
    }

    /// Tests a run against all promises. Returns what was tested, and the first promise that is broken.
    pub fn hold(
        &self,
        plan: &Plan,
        records: &[Record],
        length: u64,
        Shift(shift): Shift,
    ) -> (Tally, Option<Breach>) {
        let spans = spans(records, plan.topology.vps.len(), length);
        let mut tally = self.tally.clone();
        for promise in &self.each {
            for span in &spans[promise.vp.index()] {
                tally.spans += 1;
                tally.windows += span.windows();
                *tally.windows_of.entry(promise.giver).or_default() += span.windows();
                if let Some((window, text)) = promise.broken_in(span, shift) {
                    let vp = &plan.topology.vps[promise.vp.index()];
                    let text =
                        format!("`{}` below {:?} has {}: {text}", vp.name, promise.giver, promise.text);
                    return (tally, Some(Breach { kind: promise.kind, to: window.to, text }));
                }
            }
        }
        let breach = self.several.iter().find_map(|several| several.broken_in(records));
        (tally, breach)
    }

    /// The types of promises with at least one broken promise.
    pub fn broken_kinds(
        &self,
        plan: &Plan,
        records: &[Record],
        length: u64,
        Shift(shift): Shift,
    ) -> BTreeSet<&'static str> {
        let spans = spans(records, plan.topology.vps.len(), length);
        let is_broken = |promise: &&Promise| {
            spans[promise.vp.index()].iter().any(|span| promise.broken_in(span, shift).is_some())
        };
        self.each.iter().filter(is_broken).map(|promise| promise.kind).collect()
    }
}

impl Promise {
    fn broken_in(&self, span: &Span, shift: u64) -> Option<(Window, String)> {
        let say = |window: Window, is: &str, bound: i128, one: i128| {
            let Window { from, to, received } = window;
            let text = format!(
                "received {} from {} to {}, of {}, {is} {}",
                Nanos(received),
                Nanos(from),
                Nanos(to),
                Nanos(to - from),
                Nanos((bound / one) as u64)
            );
            (window, text)
        };
        if let Some(window) = span.falls_short(&self.supply, shift) {
            let promised = self.supply.least(window.to - window.from + shift);
            return Some(say(window, "but was promised at least", promised, self.supply.one));
        }
        let cap = self.cap?;
        let window = span.exceeds(&cap, shift)?;
        let allowed = cap.most((window.to - window.from).saturating_sub(shift));
        Some(say(window, "but was allowed at most", allowed, cap.one))
    }
}

impl Several {
    /// Of the VPs that want a CPU, `count` must have one, at every instant between two records.
    fn broken_in(&self, records: &[Record]) -> Option<Breach> {
        let mut wants = vec![false; self.vps.len()];
        let mut runs = wants.clone();
        let mut since = 0;
        for record in records {
            let number = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
            let (wanting, running) = (number(&wants), number(&runs));
            if record.at.0 > since && running < wanting.min(self.count) {
                let vps = &self.vps;
                let (from, to) = (Nanos(since), record.at);
                let text = format!(
                    "VPs {vps:?}: ALL on {} of them, but of {wanting} that want a CPU {running} have one from {from} \
                     to {to}",
                    self.count
                );
                return Some(Breach { kind: "ALL of several", to: to.0, text });
            }
            since = record.at.0;
            let Some(place) = self.vps.iter().position(|vp| *vp == record.vp) else { continue };
            (wants[place], runs[place]) = match record.what {
                What::Request => (true, false),
                What::Grant => (true, true),
                What::Revoke => (true, false),
                What::Release | What::Leave => (false, false),
                _ => (wants[place], runs[place]),
            };
        }
        None
    }
}
