//! Runs the threads of a plan as plain Linux threads under the system's scheduler: the baseline for comparison with a
//! hierarchy. Relies on the process of the threads (`hls_real_threads`); schedules nothing itself.

use crate::console::{Console, Error};
use crate::worker;
use hls_monitor::event::ObservedVp;
use hls_monitor::observe::Observer;
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_real_threads::{Outcome, ThreadEnd, ThreadProcess};
use hls_units::Nanos;
use std::collections::HashMap;

/// The records of the threads are read at least once in this time.
const PATIENCE: Nanos = Nanos::from_millis(50);

/// Has the threads of a plan run for `length`. Returns what each of them got. Schedulers, shares and guarantees have
/// no effect.
///
/// # Errors
/// The system's.
pub fn baseline(plan: &Plan, seed: u64, length: Nanos, console: &dyn Console) -> Result<RunResult, Error> {
    let mut load = ThreadProcess::start(worker::process(worker::THREADS), plan, seed)?;
    let mut observer = Observer::new(plan.topology.clone(), Vec::new());
    load.go(length);
    while load.elapsed() < length && !load.is_over() {
        for (vp, _) in load.arrivals(PATIENCE.min(length.saturating_sub(load.elapsed())))? {
            load.admit(vp);
        }
        load.events(&mut |record| observer.observe(record));
    }
    let outcome = load.finish(&mut |record| observer.observe(record))?;
    if outcome.lost > 0 {
        console.say(&format_args!(
            "note: {} jobs, misses and the like came too fast to be counted",
            outcome.lost
        ));
    }
    let mut result = observer.finish(length);
    (result.engine, result.seed) = ("linux".into(), seed);
    complete(&mut result, &outcome);
    Ok(result)
}

/// Fills in what the threads and the kernel have counted. The schedulers of the file had no part in it.
fn complete(result: &mut RunResult, outcome: &Outcome) {
    result.schedulers.clear();
    outcome.complete(result);
    let ends: HashMap<ObservedVp, &ThreadEnd> = outcome.threads.iter().map(|end| (end.vp, end)).collect();
    for thread in &mut result.threads {
        let Some(end) = ends.get(&thread.vp) else { continue };
        (thread.ran, thread.activations) = (end.ran, end.activations);
        (thread.preemptions, thread.migrations) = (end.preemptions, end.migrations);
    }
    let ran = outcome.threads.iter().map(|end| end.ran).fold(Nanos::ZERO, Nanos::saturating_add);
    result.idle = result.idle.saturating_sub(ran);
    result.switches = outcome.threads.iter().map(|end| end.switches).sum();
}
