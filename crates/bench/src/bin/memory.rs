//! Measures how many bytes a thread takes in the core, the engine and the statistics together: the difference in
//! resident memory between runs with 65,536 and 1,024 threads, divided by the difference in threads. Linux only: reads
//! /proc/self/statm.

use hls_monitor::observe::Observer;
use hls_sim::{Options, Plan, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::time::Instant;

fn main() {
    let few = resident_after(1_024);
    let many = resident_after(65_536);
    println!("{} bytes a thread", (many - few) / (65_536 - 1_024));
}

/// The resident bytes that a run of a second takes, measured before it is dropped.
fn resident_after(threads: u32) -> u64 {
    let before = resident();
    let text = format!(
        "fixed-priority \"FP\" {{ proportional-share \"PS\" priority=1 {{ thread \"t\" instances={threads} {{ \
         bursty run=\"1us..20us\" sleep=\"500ms..1500ms\" }} }} }}"
    );
    let (hierarchy, _) = hls_hierarchy::read(text.as_bytes()).expect("the benchmark's hierarchy is valid");
    let plan = Plan::new(hierarchy, &Workload::default()).expect("the benchmark's hierarchy can be planned");
    let mut observer = Observer::new(plan.topology.clone(), Vec::new());
    let options = Options { watched: Some(Vec::new()), ..Options::default() };
    let mut simulation = Simulation::new(plan, options).expect("the benchmark's hierarchy can be built");
    let begin = Instant::now();
    simulation
        .run_until(Nanos::from_secs(1), &mut |record| observer.observe(record))
        .expect("the run does not fail");
    println!(
        "{threads} threads: {} scheduling events in {:.2} s",
        simulation.scheduling_events(),
        begin.elapsed().as_secs_f64()
    );
    resident() - before
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc is there on Linux");
    let pages: u64 =
        statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("its second field is a number");
    pages * 4096
}
