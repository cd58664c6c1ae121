//! Promises about single requests (JOB) where it is hardest: below BVT schedulers with other threads that turn their
//! warps on and off by messages at any time, run for ever, or wake up for just as long as their limits are.
//!
//! Hierarchies and workloads come from `draw`. Messages are sent while the time of a run stands still, at instants that
//! are drawn, often where a record was made. Relies on the monitor to judge requests, which its own tests hold against
//! the definition, and looks at every window of the shares that the threads are promised as well.

use super::draw::{self, workload};
use super::held::{Promises, Shift, plan};
use super::kept::cases;
use super::requests::observe;
use super::tree::Case;
use hls_calculus::Mode;
use hls_check::Derived;
use hls_core::{Calls, Params};
use hls_engine::ChangeableEngine;
use hls_monitor::event::{ObservedVp, Record};
use hls_monitor::observe::Promise;
use hls_monitor::result::GuaranteeResult;
use hls_plan::Plan;
use hls_scenario::Value;
use hls_sim::{Options, Simulation};
use hls_units::Nanos;
use oorandom::Rand32;

/// The numbers of BVT's messages.
const MESSAGES: u32 = 2;

/// The promises about single requests, except those to threads that turn their own warps off.
fn jobs(plan: &Plan, toggling: &[ObservedVp]) -> Vec<Promise> {
    let mut promises = Derived::new(plan, Mode::Tight).promises(plan);
    promises.retain(|promise| promise.text.starts_with("JOB") && !toggling.contains(&promise.vp));
    promises
}

/// The threads below BVT schedulers that send messages: those that ask for no JOB, and a few that do.
fn toggling(plan: &Plan, random: &mut Rand32) -> Vec<ObservedVp> {
    let hierarchy = &plan.hierarchy;
    let is_one = |edge: &hls_hierarchy::model::Edge, random: &mut Rand32| {
        let is_below = edge.parent.is_some_and(|parent| hierarchy.schedulers[parent].policy.name == "bvt");
        is_below && random.rand_range(0..100) < if edge.requested.is_some() { 15 } else { 70 }
    };
    let threads = plan.threads();
    threads.filter(|thread| is_one(hierarchy.edge(thread.edge), random)).map(|thread| thread.vp).collect()
}

/// Runs a plan, while these threads send messages.
fn run(plan: &Plan, case: &Case, toggling: &[ObservedVp], random: &mut Rand32) -> Vec<Record> {
    let options = Options { seed: case.seed, ..Options::default() };
    let mut simulation = Simulation::new(plan.clone(), options).expect("a valid hierarchy");
    let mut records: Vec<Record> = Vec::new();
    let mut now = 0;
    while now < case.length {
        let next =
            now + u64::from(random.rand_range(1..if toggling.is_empty() { 100_000 } else { 3_000 })) * 1_000;
        now = next.min(case.length);
        let mut sink = |record: &Record| records.push(*record);
        simulation.run_until(Nanos(now), &mut sink).expect("the run goes on");
        if toggling.is_empty() {
            continue;
        }
        let vp = toggling[random.rand_range(0..toggling.len() as u32) as usize];
        let number = (0..).map(hls_core::CoreVp).take(plan.topology.vps.len() * 2);
        let found = number.filter(|core_vp| simulation.built().number(*core_vp) == vp).last();
        let at = simulation.charge_until_now().expect("the core answers");
        if let Some(core_vp) = found {
            let message = random.rand_range(0..MESSAGES);
            // A thread that has left, or is not there yet, sends nothing.
            let _ = simulation.built().core.tell(core_vp, message, Params::default(), at);
        }
        simulation.settle(&mut sink).expect("the run goes on");
    }
    simulation.end(&mut |record: &Record| records.push(*record));
    records
}

/// What has been tested.
#[derive(Debug, Default)]
struct Tested {
    runs: u64,
    promises: u64,
    requests: u64,
    tested: u64,
    /// Requests in their turn that had the amount no sooner than promised.
    just_in_time: u64,
}

fn late(results: &[GuaranteeResult]) -> Option<&GuaranteeResult> {
    results.iter().find(|result| result.requests.is_some_and(|requests| requests.verdict().is_broken()))
}

#[test]
fn requests_are_done_in_time_whatever_others_do() {
    let mut sum = Tested::default();
    for seed in 0..cases() {
        let case = workload(&draw::jobs(seed), seed);
        let plan = plan(&case).expect("a valid hierarchy");
        let mut random = Rand32::new_inc(seed, 0x10b);
        let toggling = toggling(&plan, &mut random);
        let promises = jobs(&plan, &toggling);
        if promises.is_empty() {
            continue;
        }
        let records = run(&plan, &case, &toggling, &mut random);
        let results = observe(&plan, promises, &records, case.length);
        let late = late(&results);
        assert!(late.is_none(), "seed {seed}, toggling {toggling:?}: {late:?}\n{}", case.kdl());
        let (_, breach) = Promises::derive(&plan, Mode::Tight).hold(&plan, &records, case.length, Shift(0));
        assert!(breach.is_none(), "seed {seed}, toggling {toggling:?}: {breach:?}\n{}", case.kdl());
        sum.runs += 1;
        for requests in results.iter().filter_map(|result| result.requests) {
            sum.promises += 1;
            sum.requests += requests.requests;
            sum.tested += requests.tested;
            sum.just_in_time += u64::from(requests.margin.is_some_and(|margin| margin == Nanos::ZERO));
        }
    }
    println!("{sum:?}");
    assert!(sum.tested * 4 > sum.requests && sum.runs * 4 > cases(), "{sum:?} is hardly a test");
}

/// A BVT that lets threads run warped for 1% less than it says.
fn spoilt(case: &Case) -> Case {
    let mut spoilt = case.clone();
    for (name, value) in
        spoilt.tree.nodes.iter_mut().flat_map(|node| &mut node.above).flat_map(|edge| &mut edge.params)
    {
        match value {
            Value::Time(limit) if *name == "warp-limit" => *limit = *limit * 99 / 100,
            _ => {}
        }
    }
    spoilt
}

#[test]
fn one_percent_less_warp_is_caught() {
    let (mut caught, mut runs) = (0, 0);
    for seed in 0..cases() {
        let case = workload(&draw::jobs(seed), seed);
        let honest = plan(&case).expect("a valid hierarchy");
        let promises = jobs(&honest, &[]);
        if promises.is_empty() {
            continue;
        }
        let cheat = plan(&spoilt(&case)).expect("a valid hierarchy");
        let records = run(&cheat, &case, &[], &mut Rand32::new(seed));
        runs += 1;
        caught += u64::from(late(&observe(&honest, promises, &records, case.length)).is_some());
    }
    println!("a bvt that gives 1% less of a limit is caught in {caught} of {runs} runs per request");
    assert!(caught > 0);
}
