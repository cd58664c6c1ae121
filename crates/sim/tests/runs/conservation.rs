//! What must hold of every run, whatever the hierarchy: CPU time neither appears nor disappears, and the records of
//! each VP follow each other as its states allow.

use super::generator::{Drawn, draw};
use super::support::{Run, Stint, carry_out, paranoid, plan, workload};
use hls_core::policies;
use hls_monitor::event::{ObservedVp, What};
use hls_monitor::result::{Child, VpInfo};
use hls_units::Nanos;
use std::collections::BTreeSet;

/// How many hierarchies are drawn; `HLS_SEEDS=4000` makes a campaign of it.
fn cases() -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

const LENGTH: Nanos = Nanos::from_millis(200);

fn simulate(seed: u64, drawn: &Drawn) -> Run {
    let plan = plan(&drawn.hierarchy, &drawn.workload.as_deref().map(workload).unwrap_or_default());
    let plan = plan.unwrap_or_else(|errors| panic!("seed {seed}: {errors:?}\n{}", drawn.hierarchy));
    carry_out(plan, Vec::new(), LENGTH, paranoid(seed))
        .unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{}\n{:?}", drawn.hierarchy, drawn.workload))
}

#[test]
fn random_runs_keep_the_rules() {
    let (mut used, mut granted) = (BTreeSet::new(), 0);
    for seed in 0..cases() {
        let drawn = draw(seed);
        let run = simulate(seed, &drawn);
        used.extend(run.result.topology.schedulers.iter().map(|scheduler| scheduler.policy.clone()));
        granted += run.records.iter().filter(|record| record.what == What::Grant).count();
        let broken = broken_rule(&run);
        assert_eq!(broken, None, "seed {seed}\n{}\n{:?}", drawn.hierarchy, drawn.workload);
    }
    assert_eq!(used.len(), policies().len(), "every policy has been used: {used:?}");
    assert!(granted > 20_000, "{granted} grants are hardly a test");
}

/// The first rule that a run breaks.
fn broken_rule(run: &Run) -> Option<String> {
    broken_life(run).or_else(|| overlap(run)).or_else(|| lost_time(run)).or_else(|| lost_share(run))
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Waiting,
    Ready,
    Running,
}

/// The state of a VP, by its records up to now.
#[derive(Clone, Copy, Debug)]
struct Life {
    state: State,
    /// Since when the VP has been out of budget, if it is.
    throttled: Option<Nanos>,
    /// Whether a process may let it go on, which no record tells.
    has_process: bool,
    has_left: bool,
}

impl Life {
    /// The state after a record; `None` where the record is not allowed in this state.
    fn next(self, at: Nanos, what: What) -> Option<Life> {
        let Life { state, throttled, has_process, has_left } = self;
        let may_happen = match what {
            What::Request => state == State::Waiting,
            What::Grant => state == State::Ready && (throttled.is_none() || has_process),
            What::Revoke => state == State::Running && throttled.is_none_or(|since| since == at),
            What::Release => state != State::Waiting,
            What::Throttle | What::Hold { .. } => {
                state != State::Waiting && (throttled.is_none() || has_process)
            }
            What::Pay { .. } => state == State::Running,
            What::Leave => state == State::Waiting,
            What::Arrive | What::Replenish { .. } | What::JobRelease { .. } => true,
            What::JobDone { .. } | What::JobOpen { .. } | What::Miss { .. } | What::Stolen { .. } => true,
            What::Offline | What::Online | What::Lost | What::PolicyDisabled { .. } => false,
        };
        let state = match what {
            What::Request | What::Revoke => State::Ready,
            What::Grant => State::Running,
            What::Release => State::Waiting,
            _ => state,
        };
        let throttled = match what {
            What::Throttle | What::Hold { .. } => Some(at),
            What::Replenish { .. } | What::Release | What::Grant => None,
            _ => throttled,
        };
        let next = Life { state, throttled, has_left: has_left || what == What::Leave, ..self };
        (may_happen && !has_left).then_some(next)
    }
}

/// The first record that is not allowed: a VP may be requested when it waits, granted when it is ready and has budget,
/// and revoked when it runs; and nothing may happen to a VP that has left.
fn broken_life(run: &Run) -> Option<String> {
    let topology = &run.result.topology;
    let has_process = |vp: &VpInfo| {
        vp.parent.is_some_and(|parent| topology.schedulers[parent.index()].policy == "user-level")
    };
    let unborn =
        |vp| Life { state: State::Waiting, throttled: None, has_process: has_process(vp), has_left: false };
    let mut lives: Vec<Life> = topology.vps.iter().map(unborn).collect();
    for record in run.records.iter().filter(|record| record.vp != ObservedVp::NONE) {
        let life = &mut lives[record.vp.index()];
        let Some(next) = life.next(record.at, record.what) else {
            let name = run.result.topology.child_name(record.vp);
            return Some(format!("{record:?} of `{name}`, which is {life:?}"));
        };
        *life = next;
    }
    None
}

/// The stints of all threads on a CPU, in order of time.
fn stints_on(run: &Run, cpu: u16) -> Vec<Stint> {
    let of_threads = run.plan.threads().flat_map(|thread| run.all_stints(thread.vp));
    let mut stints: Vec<Stint> = of_threads.filter(|stint| stint.0 == cpu && stint.1 < stint.2).collect();
    stints.sort();
    stints
}

/// A CPU that runs two threads at once, or a thread that is on two CPUs at once or on a CPU that it may not use.
fn overlap(run: &Run) -> Option<String> {
    let clash = |stints: &[Stint]| stints.windows(2).any(|pair| pair[0].2 > pair[1].1);
    let cpus = 0..run.result.topology.cpus;
    if let Some(cpu) = cpus.clone().find(|&cpu| clash(&stints_on(run, cpu))) {
        return Some(format!("CPU {cpu} runs two threads"));
    }
    for thread in run.plan.threads() {
        let stints = run.all_stints(thread.vp);
        if clash(&stints) {
            return Some(format!("thread `{}` is on two CPUs", thread.name));
        }
        let group = run.plan.groups.iter().find(|group| group.edge == thread.edge)?;
        let moves = group.program.steps.iter().any(|step| format!("{step:?}").starts_with("SetAffinity"));
        if !moves && stints.iter().any(|stint| group.affinity >> stint.0 & 1 == 0) {
            return Some(format!("thread `{}` is on a CPU that it may not use", thread.name));
        }
    }
    None
}

/// The length of a stint without the time that interrupts took of it.
fn used((cpu, from, to): Stint, stolen: &[Stint]) -> Nanos {
    let of_cpu = stolen.iter().filter(|steal| steal.0 == cpu);
    let overlap = of_cpu.map(|steal| steal.2.min(to).saturating_sub(steal.1.max(from))).sum::<Nanos>();
    to - from - overlap
}

/// A sum that is wrong: CPU time of threads, idle time and stolen time must fill the CPUs, and work and overhead must
/// fill the CPU time of threads.
fn lost_time(run: &Run) -> Option<String> {
    let stolen = run.stolen();
    let mut idle = Nanos::ZERO;
    for cpu in 0..run.result.topology.cpus {
        let mut last = Nanos::ZERO;
        for (_, from, to) in stints_on(run, cpu).into_iter().chain([(cpu, LENGTH, LENGTH)]) {
            idle += used((cpu, last, from), &stolen);
            last = to;
        }
    }
    let sum_stolen: Nanos = stolen.iter().map(|&(_, from, to)| to - from).sum();
    let whole = Nanos(LENGTH.0 * u64::from(run.result.topology.cpus));
    let found = (run.result.idle, run.result.stolen, run.ran() + run.result.idle + run.result.stolen);
    if found != (idle, sum_stolen, whole) {
        return Some(format!("idle, stolen, all: found {found:?}, expected {:?}", (idle, sum_stolen, whole)));
    }
    if run.ran() != run.work() + run.result.overhead {
        return Some(format!("ran {}, work {}, overhead {}", run.ran(), run.work(), run.result.overhead));
    }
    let wrong = run.result.threads.iter().find(|thread| thread.work > thread.ran);
    wrong.map(|thread| format!("VP {} worked more than it ran", thread.vp.0))
}

/// A scheduler that did not run for as long as all its children together, by the records, the observer and the core.
fn lost_share(run: &Run) -> Option<String> {
    let (topology, stolen) = (&run.result.topology, run.stolen());
    let ran = |vp| run.all_stints(vp).into_iter().map(|stint| used(stint, &stolen)).sum::<Nanos>();
    let of_vps: Vec<Nanos> = (0..topology.vps.len()).map(ObservedVp::at).map(ran).collect();
    for scheduler in &run.result.schedulers {
        let infos = || topology.vps.iter().zip(&of_vps);
        let own: Nanos = infos()
            .filter(|(info, _)| info.child == Child::Scheduler(scheduler.scheduler))
            .map(|(_, &ran)| ran)
            .sum();
        let below: Nanos =
            infos().filter(|(info, _)| info.parent == Some(scheduler.scheduler)).map(|(_, &ran)| ran).sum();
        if (own, own) != (below, scheduler.ran) {
            let name = &topology.schedulers[scheduler.scheduler.index()].name;
            return Some(format!("`{name}`: VPs {own}, children {below}, core {}", scheduler.ran));
        }
    }
    let wrong = run.result.threads.iter().find(|thread| thread.ran != of_vps[thread.vp.index()]);
    wrong.map(|thread| {
        format!("thread VP {}: {}, by the records {}", thread.vp.0, thread.ran, of_vps[thread.vp.index()])
    })
}
