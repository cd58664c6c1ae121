//! Measures how many scheduling events a second the simulator carries out, beside the hold model of a bare event queue.
//!
//! The hold model (D. W. Jones, "An Empirical Comparison of Priority-Queue and Event-Set Implementations", CACM 1986)
//! takes the first event from a queue of constant size and puts one in at a random later time, again and again. That is
//! the least that any discrete-event simulator does. The simulator and the model run in turn, several times, and their
//! medians are compared: times differ from machine to machine, but their ratio hardly does.

use hls_monitor::observe::Observer;
use hls_sim::{Options, Plan, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use oorandom::Rand64;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

const ROUNDS: usize = 7;

fn main() {
    println!("{:>8}  {:>14}  {:>14}  {:>6}", "threads", "hold ops/s", "events/s", "ratio");
    let asked: Vec<u32> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    for threads in if asked.is_empty() { vec![10, 100, 1_000, 10_000] } else { asked } {
        let (mut holds, mut events, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (hold, event) = (hold_rate(threads), event_rate(threads));
            holds.push(hold);
            events.push(event);
            ratios.push(event / hold);
        }
        println!(
            "{threads:>8}  {:>14.0}  {:>14.0}  {:>6.2}",
            median(&mut holds),
            median(&mut events),
            median(&mut ratios)
        );
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Hold operations a second with as many events in the queue as there are threads.
fn hold_rate(threads: u32) -> f64 {
    const OPERATIONS: u64 = 2_000_000;
    let mut random = Rand64::new(1);
    let mut heap: BinaryHeap<Reverse<(u64, u64, u32)>> =
        (0..threads).map(|n| Reverse((random.rand_range(0..1_000_000), u64::from(n), n))).collect();
    let begin = Instant::now();
    for added in 0..OPERATIONS {
        let Reverse((at, _, event)) = heap.pop().expect("the queue keeps its size");
        heap.push(Reverse((at + random.rand_range(0..1_000_000), added, event)));
    }
    OPERATIONS as f64 / begin.elapsed().as_secs_f64()
}

/// Scheduling events a second: two levels of schedulers, one CPU half busy, tracing off, statistics on.
fn event_rate(threads: u32) -> f64 {
    let sleep = u64::from(threads) * 60;
    let text = format!(
        "fixed-priority \"FP\" {{ proportional-share \"PS\" priority=1 {{ thread \"t\" instances={threads} {{ \
         bursty run=\"10us..50us\" sleep=\"{}us..{}us\" }} }} }}",
        sleep / 2,
        sleep * 3 / 2
    );
    let (hierarchy, _) = hls_hierarchy::read(text.as_bytes()).expect("the benchmark's hierarchy is valid");
    let plan = Plan::new(hierarchy, &Workload::default()).expect("the benchmark's hierarchy can be planned");
    let mut observer = Observer::new(plan.topology.clone(), Vec::new());
    let mut simulation = Simulation::new(plan, Options { watched: Some(Vec::new()), ..Options::default() })
        .expect("the benchmark's hierarchy can be built");
    let mut sink = |record: &_| observer.observe(record);
    simulation.run_until(Nanos::from_millis(200), &mut sink).expect("the run does not fail");
    let (before, begin) = (simulation.scheduling_events(), Instant::now());
    simulation.run_until(Nanos::from_secs(20), &mut sink).expect("the run does not fail");
    (simulation.scheduling_events() - before) as f64 / begin.elapsed().as_secs_f64()
}
