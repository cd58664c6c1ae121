//! The exploration of one hierarchy, and of many on several threads of this process.

use crate::scheduling::hierarchies::Hierarchy;
use crate::scheduling::model::wake_all;
use crate::scheduling::world::{World, WorldState};
use crate::states::{self, Bounds, Explored, Memory, Model, Violation};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the exploration of many hierarchies has seen.
#[derive(Default)]
pub struct Outcome {
    /// Hierarchies that were explored.
    pub hierarchies: u64,
    /// What was seen in all of them.
    pub explored: Explored,
    /// The hierarchies, by their places in the list, in which something is broken, each with a shortest sequence.
    pub violations: Vec<(usize, Violation)>,
}

/// Explores a hierarchy: all sequences of events that begin with all threads asleep, or with all of them awake. The
/// world and the memory may have been used for another hierarchy before.
///
/// # Errors
/// The core has refused the hierarchy.
pub fn explore(
    world: &mut World,
    memory: &mut Memory<WorldState>,
    hierarchy: &Hierarchy,
    bounds: Bounds,
) -> Result<Explored, hls_core::CoreError> {
    world.build(hierarchy)?;
    let asleep = world.state();
    if let Err(what) = wake_all(world) {
        let violation =
            Violation { start: 0, choices: vec![], steps: vec!["all threads wake up".into()], what };
        return Ok(Explored { violation: Some(violation), ..Explored::default() });
    }
    let starts = [asleep, world.state()];
    Ok(states::explore(world, memory, &starts, bounds))
}

/// Explores hierarchies, on `workers` threads of this process. `each` hears of each that was explored.
pub fn explore_all(
    hierarchies: &[Hierarchy],
    bounds: Bounds,
    workers: usize,
    each: impl Fn(usize) + Sync,
) -> Outcome {
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    let work = || {
        let (mut world, mut memory) = (World::empty(), Memory::default());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(hierarchy) = hierarchies.get(at) else { return };
            let explored =
                explore(&mut world, &mut memory, hierarchy, bounds).unwrap_or_else(|error| Explored {
                    violation: Some(Violation {
                        start: 0,
                        choices: vec![],
                        steps: vec![],
                        what: error.to_string(),
                    }),
                    ..Explored::default()
                });
            let mut outcome = outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            outcome.hierarchies += 1;
            outcome.explored.add(&explored);
            outcome.violations.extend(explored.violation.map(|violation| (at, violation)));
            each(outcome.hierarchies as usize);
        }
    };
    std::thread::scope(|scope| (0..workers.max(1)).for_each(|_| drop(scope.spawn(work))));
    let mut outcome = outcome.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    outcome.violations.sort_by_key(|(at, _)| *at);
    outcome
}

/// The calls of the core, from an empty domain on, that lead to what is broken in a hierarchy: a tape, a call in words
/// each.
pub fn calls(hierarchy: &Hierarchy, violation: &Violation) -> Vec<String> {
    let mut world = World::empty();
    world.record();
    if world.build(hierarchy).is_err() {
        return world.take_calls();
    }
    if violation.start > 0 {
        let _broken = wake_all(&mut world);
    }
    for choice in &violation.choices {
        let Some(step) = choice.of(&mut world) else { break };
        let _broken = world.perform(step);
    }
    world.take_calls()
}
