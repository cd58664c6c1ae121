//! Makes a case that fails smaller: takes parts away, and makes numbers round, as long as the case still fails.
//!
//! Greedy, and bounded in the number of tries. Does not know what the failure is.

use super::tree::{Case, HOG, Life, Work};
use hls_scenario::{Edge, Given, Scheduler, Value, What};

/// The greatest number of tries, each of which is a run.
const MAX_TRIES: u32 = 4_000;

/// Makes a case smaller as long as it fails. `fails` returns the length of a run that shows the failure of a case;
/// `None`: the case does not fail.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> Option<u64>) -> Case {
    let mut smallest = case.clone();
    let mut tries = 0;
    loop {
        let simpler = simpler(&smallest).into_iter().find_map(|simpler| {
            tries += 1;
            let length = if tries < MAX_TRIES { fails(&simpler)? } else { return None };
            Some(Case { length: length.min(simpler.length), ..simpler })
        });
        match simpler {
            Some(simpler) => smallest = simpler,
            None => return smallest,
        }
    }
}

/// The next simpler cases: first those from which most is taken away.
fn simpler(case: &Case) -> Vec<Case> {
    let nodes = 0..case.tree.nodes.len();
    let mut cases: Vec<Case> = nodes.clone().skip(1).map(|node| swept(case.without(&[node]))).collect();
    cases.extend(nodes.clone().filter_map(|node| splice(case, node)));
    cases.extend(nodes.clone().flat_map(|node| with_fewer_parents(case, node)));
    for gone in 0..case.interrupts.len() {
        let mut quieter = case.clone();
        quieter.interrupts.remove(gone);
        cases.push(quieter);
    }
    if case.cpus > 1 {
        cases.push(Case { cpus: case.cpus - 1, ..case.clone() });
    }
    for node in nodes {
        let whats: Vec<_> = match &case.tree.nodes[node].what {
            What::Thread(life) => simpler_lives(*life).into_iter().map(What::Thread).collect(),
            What::Scheduler(scheduler) => {
                simpler_schedulers(scheduler).into_iter().map(What::Scheduler).collect()
            }
        };
        cases.extend(whats.into_iter().map(|what| {
            let mut case = case.clone();
            case.tree.nodes[node].what = what;
            case
        }));
        cases.extend(with_simpler_params(case, node));
    }
    cases.retain(|simpler| simpler != case);
    cases
}

/// The case without nodes that have no parent and without schedulers that have no children. The root stays.
fn swept(mut case: Case) -> Case {
    loop {
        let tree = &case.tree;
        let is_idle = |&node: &usize| {
            let is_childless = tree.scheduler(node).is_some() && tree.children(node).is_empty();
            tree.nodes[node].above.is_empty() || is_childless
        };
        let idle: Vec<usize> = (1..tree.nodes.len()).filter(is_idle).collect();
        if idle.is_empty() {
            return case;
        }
        case = case.without(&idle);
    }
}

/// The case with the only child of a scheduler in the place of the scheduler; `None` where there is no such child.
fn splice(case: &Case, node: usize) -> Option<Case> {
    let children = case.tree.children(node);
    let [child] = children[..] else { return None };
    let mut case = case.clone();
    let nodes = &mut case.tree.nodes;
    if nodes[child].above.len() > 1 {
        return None;
    }
    nodes[node].what = nodes[child].what.clone();
    for edge in nodes.iter_mut().flat_map(|node| &mut node.above).filter(|edge| edge.parent == child) {
        edge.parent = node;
    }
    Some(case.without(&[child]))
}

/// The cases without one of a join's parents.
fn with_fewer_parents(case: &Case, node: usize) -> Vec<Case> {
    let above = &case.tree.nodes[node].above;
    let without = |nth: usize| {
        let mut case = case.clone();
        case.tree.nodes[node].above.remove(nth);
        swept(case)
    };
    if above.len() > 1 { (0..above.len()).map(without).collect() } else { Vec::new() }
}

fn simpler_schedulers(scheduler: &Scheduler<'static>) -> Vec<Scheduler<'static>> {
    let mut simpler = vec![Scheduler { width: None, ..scheduler.clone() }];
    let params = simpler_params(&scheduler.params);
    simpler.extend(params.into_iter().map(|params| Scheduler { params, ..scheduler.clone() }));
    simpler
}

/// Rounder times, the roundest first.
fn rounder(time: u64) -> Vec<u64> {
    let units = [1_000_000, 100_000, 10_000, 1_000];
    units
        .iter()
        .flat_map(|unit| [time / unit * unit, time.div_ceil(*unit) * unit])
        .filter(|it| *it != time && *it > 0)
        // Only rounder times, or rounding up and down would go on for ever.
        .filter(|it| trailing_zeros(*it) > trailing_zeros(time))
        .collect()
}

fn trailing_zeros(mut time: u64) -> u32 {
    let mut zeros = 0;
    while time > 0 && time.is_multiple_of(10) {
        time /= 10;
        zeros += 1;
    }
    zeros
}

fn with_simpler_params(case: &Case, node: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (nth, Edge { params, .. }) in case.tree.nodes[node].above.iter().enumerate() {
        cases.extend(simpler_params(params).into_iter().map(|params| {
            let mut case = case.clone();
            case.tree.nodes[node].above[nth].params = params;
            case
        }));
    }
    cases
}

/// The parameters without one of them, or with a rounder or smaller one. A policy may need what is gone: then the
/// reader refuses the file.
fn simpler_params(params: &Given) -> Vec<Given> {
    let without = |gone: usize| {
        let mut fewer = params.clone();
        fewer.remove(gone);
        fewer
    };
    let mut simpler: Vec<Given> = (0..params.len()).map(without).collect();
    for (which, (_, value)) in params.iter().enumerate() {
        let values: Vec<Value> = match *value {
            Value::Time(time) => rounder(time).into_iter().map(Value::Time).collect(),
            Value::Count(count) if count > 1 => vec![Value::Count(1), Value::Count(count / 2)],
            Value::Count(_) | Value::Job(_) => Vec::new(),
        };
        simpler.extend(values.into_iter().map(|value| {
            let mut params = params.clone();
            params[which].1 = value;
            params
        }));
    }
    simpler
}

/// Simpler things for a thread to do: first the simplest, a hog's.
fn simpler_lives(life: Life) -> Vec<Life> {
    let mut lives = vec![HOG];
    lives.push(Life { leave: None, ..life });
    lives.push(Life { arrive: 0, ..life });
    lives.push(Life { cpu: None, ..life });
    lives.extend(rounder(life.arrive).into_iter().map(|arrive| Life { arrive, ..life }));
    lives.extend(life.leave.into_iter().flat_map(rounder).map(|leave| Life { leave: Some(leave), ..life }));
    let works: Vec<Work> = match life.work {
        Work::Hog => Vec::new(),
        Work::Agent { by, cost } => {
            let simpler = std::iter::once(Work::Agent { by: "loops", cost });
            simpler.chain(simpler_ranges(cost).into_iter().map(|cost| Work::Agent { by, cost })).collect()
        }
        Work::Bursty { run, sleep, stall } => {
            let bursty = |run, sleep, stall| Work::Bursty { run, sleep, stall };
            let mut works = vec![bursty(run, sleep, (0, 0))];
            works.extend(simpler_ranges(run).into_iter().map(|run| bursty(run, sleep, stall)));
            works.extend(simpler_ranges(sleep).into_iter().map(|sleep| bursty(run, sleep, stall)));
            works.extend(simpler_ranges(stall).into_iter().map(|stall| bursty(run, sleep, stall)));
            works
        }
        Work::Periodic { run, every, offset, jitter } => {
            let mut works = vec![
                Work::Periodic { run, every, offset, jitter: 0 },
                Work::Periodic { run, every, offset: 0, jitter },
            ];
            let periodic = |run, every, offset| Work::Periodic { run, every, offset, jitter };
            works.extend(simpler_ranges(run).into_iter().map(|run| periodic(run, every, offset)));
            works.extend(rounder(every).into_iter().map(|every| periodic(run, every, offset)));
            works.extend(rounder(offset).into_iter().map(|offset| periodic(run, every, offset)));
            works
        }
    };
    lives.extend(works.into_iter().map(|work| Life { work, ..life }));
    lives.retain(|simpler| *simpler != life);
    lives
}

fn simpler_ranges((min, max): (u64, u64)) -> Vec<(u64, u64)> {
    if min != max {
        return vec![(min, min), (max, max)];
    }
    rounder(min).into_iter().map(|time| (time, time)).collect()
}
