//! Explores small worlds; what it prints goes into `docs/internals/small-worlds.md`.

use hls_small_worlds::decision::{self, Decision};
use hls_small_worlds::glue::worlds::{WORLDS, World};
use hls_small_worlds::glue::{Glue, Orders};
use hls_small_worlds::scheduling::hierarchies::{self, Hierarchy};
use hls_small_worlds::scheduling::{calls, explore_all};
use hls_small_worlds::{Bounds, Explored, Memory, Violation, explore};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: hls-small-worlds [core SCHEDULERS LENGTH [PLACE] | glue LENGTH [WORLD] |
                        decision CPUS LENGTH]

Without arguments: the core in all hierarchies of one scheduler and of two, and in some of three, the glue, and a
decision, each with sequences as long as fit into three quarters of an hour on two CPUs.

  core SCHEDULERS LENGTH [PLACE]  sequences of LENGTH events in all hierarchies of SCHEDULERS schedulers, or in the
                                  one at PLACE in the list
  glue LENGTH [WORLD]             sequences of LENGTH events on the two CPUs of the model of the engine's glue, in all
                                  worlds or in the one at place WORLD in the list
  decision CPUS LENGTH            sequences of LENGTH events in the model of a user-level scheduler's decision

Exit status: 0 everything holds, 1 something is broken, 2 usage.";

/// One of this many states with a known key is explored as well.
const TWIN_OF: u64 = 16;

/// What is explored without arguments: the number of schedulers, the number of events, and one of how many hierarchies.
/// With three schedulers there are as many hierarchies as the cube of the policies; the last numbers are primes, so
/// that every policy is in every place of the chosen hierarchies.
const CORE: [(usize, usize, usize); 4] = [(1, 4, 1), (2, 3, 1), (3, 2, 7), (3, 3, 199)];

/// Events of the glue without arguments.
const GLUE: usize = 2;

/// CPUs and events of a user-level scheduler's decision without arguments.
const DECISION: [(usize, usize); 2] = [(1, 6), (2, 4)];

/// After how many hierarchies the progress is reported again.
const PROGRESS: usize = 10_000;

/// At most this many hierarchies in which something is broken are printed.
const SHOWN: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<usize>> = arguments.iter().skip(1).map(|number| number.parse().ok()).collect();
    let holds = match (arguments.first().map(String::as_str), numbers.as_deref()) {
        (None, _) => {
            let core = CORE.map(|(schedulers, length, one_of)| {
                let chosen: Vec<_> = hierarchies::of(schedulers).into_iter().step_by(one_of).collect();
                core(schedulers, length, &chosen)
            });
            let decision = DECISION.map(|(cpus, length)| decision(cpus, length));
            glue(GLUE, &WORLDS) && core.iter().chain(&decision).all(|holds| *holds)
        }
        (Some("core"), Some([schedulers @ 1..=3, length])) => {
            core(*schedulers, *length, &hierarchies::of(*schedulers))
        }
        (Some("core"), Some([schedulers @ 1..=3, length, place])) => {
            core(*schedulers, *length, hierarchies::of(*schedulers).get(*place..=*place).unwrap_or_default())
        }
        (Some("glue"), Some([length])) => glue(*length, &WORLDS),
        (Some("glue"), Some([length, place])) => {
            glue(*length, WORLDS.get(*place..=*place).unwrap_or_default())
        }
        (Some("decision"), Some([cpus @ 1..=2, length])) => decision(*cpus, *length),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    ExitCode::from(u8::from(!holds))
}

/// Explores the core in these hierarchies, and prints what was seen; whether everything holds.
fn core(schedulers: usize, length: usize, chosen: &[Hierarchy]) -> bool {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let outcome = explore_all(chosen, Bounds { length, twin_of: TWIN_OF }, workers, |done| {
        if done.is_multiple_of(PROGRESS) {
            eprintln!("{done} of {} hierarchies of {schedulers} schedulers", chosen.len());
        }
    });
    let seen = counts(&outcome.explored, begin.elapsed());
    println!("core, {schedulers} schedulers, {length} events: {} hierarchies, {seen}", outcome.hierarchies);
    for (at, violation) in outcome.violations.iter().take(SHOWN) {
        print_violation(&chosen[*at], violation);
    }
    if outcome.violations.len() > SHOWN {
        println!("and in {} further hierarchies", outcome.violations.len() - SHOWN);
    }
    outcome.violations.is_empty()
}

fn counts(explored: &Explored, took: Duration) -> String {
    format!(
        "{} sequences, {} states, {} steps, {} twins, {} s",
        explored.sequences,
        explored.states,
        explored.steps,
        explored.twins,
        took.as_secs()
    )
}

fn print_violation(hierarchy: &Hierarchy, violation: &Violation) {
    let start = ["with all threads asleep", "with all threads awake"][violation.start.min(1)];
    let all = hierarchies::of(hierarchy.schedulers.len());
    let place = all.iter().position(|other| other.to_string() == hierarchy.to_string()).unwrap_or_default();
    println!("\nhierarchy {place}, {hierarchy}, {start}:");
    violation.steps.iter().for_each(|step| println!("  {step}"));
    println!("broken: {}\nthe calls of the core:", violation.what);
    calls(hierarchy, violation).iter().for_each(|call| println!("  {call}"));
}

/// Explores the glue in these worlds, and prints what was seen; whether everything holds.
fn glue(length: usize, worlds: &[World]) -> bool {
    let all = worlds.iter().map(|world| glue_in(length + world.longer_by, world));
    all.filter(|holds| !holds).count() == 0
}

fn glue_in(length: usize, world: &World) -> bool {
    let begin = Instant::now();
    let explored = match explored_glue(length, world) {
        Ok(explored) => explored,
        Err(what) => {
            println!("glue, {}: broken before the first event: {what}", world.name);
            return false;
        }
    };
    println!("glue, {}, {length} events: {}", world.name, counts(&explored, begin.elapsed()));
    explored.violation.iter().for_each(print_interleaving);
    explored.violation.is_none()
}

/// Explores a decision of a user-level scheduler, and prints what was seen; whether everything holds.
fn decision(cpus: usize, length: usize) -> bool {
    let begin = Instant::now();
    let explored = match explored_decision(cpus, length) {
        Ok(explored) => explored,
        Err(what) => {
            println!("decision: broken before the first event: {what}");
            return false;
        }
    };
    println!("decision, {cpus} CPUs, {length} events: {}", counts(&explored, begin.elapsed()));
    explored.violation.iter().for_each(print_interleaving);
    explored.violation.is_none()
}

fn explored_decision(cpus: usize, length: usize) -> Result<Explored, String> {
    let mut decision = Decision::new(cpus, decision::Orders::TODAY).map_err(|error| error.to_string())?;
    let starts = decision.starts()?;
    let bounds = Bounds { length, twin_of: TWIN_OF };
    Ok(explore(&mut decision, &mut Memory::default(), &starts, bounds))
}

fn print_interleaving(violation: &Violation) {
    violation.steps.iter().for_each(|step| println!("  {step}"));
    println!("broken: {}", violation.what);
}

/// From one start after the other: to keep the states of all takes too much memory.
fn explored_glue(length: usize, world: &World) -> Result<Explored, String> {
    let mut glue = Glue::new(Orders::TODAY).map_err(|error| error.to_string())?.in_world(world);
    let starts = glue.starts()?;
    let mut all = Explored::default();
    for start in starts.chunks(1) {
        let bounds = Bounds { length, twin_of: TWIN_OF };
        let explored = explore(&mut glue, &mut Memory::default(), start, bounds);
        all.add(&explored);
        all.violation = explored.violation;
        if all.violation.is_some() {
            break;
        }
    }
    Ok(all)
}
