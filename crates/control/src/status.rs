//! The state of a hierarchy for people and programs, as it is sent: names end in the unit, times are in nanoseconds.
//!
//! Relies on the tree for the promises and on the engine for how they were kept. Changes nothing.

use crate::engine::{EngineError, Observed, Readings, RunningEngine, Thread};
use crate::error::Error;
use crate::manager::{Manager, Suspensions};
use crate::tree::{Above, Scheduler, Tree};
use hls_calculus::Guarantee;
use hls_core::CoreVp;
use hls_core::pages::Decided;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The hierarchy, its promises, and how they were kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// How many CPUs the hierarchy has.
    pub cpus: u16,
    /// Time that was stolen from the hierarchy so far, over all CPUs.
    pub stolen_ns: u64,
    /// The longest hold of the hierarchy's lock; none in the simulator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_hold_ns: Option<u64>,
    /// The longest wait of a CPU for that lock; none in the simulator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_wait_ns: Option<u64>,
    /// The schedulers, each after its parents.
    pub schedulers: Vec<SchedulerStatus>,
    /// All threads of the machine.
    pub threads: Vec<ThreadStatus>,
}

/// A scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerStatus {
    /// Its name.
    pub name: String,
    /// The name of its policy.
    pub policy: String,
    /// Its parameters, as a file has them.
    pub parameters: BTreeMap<String, String>,
    /// The user that may change what is below it, if it is not root alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<u32>,
    /// Whether this is the default scheduler, for threads that neither file nor request placed.
    pub default: bool,
    /// Its policy that was disabled, and why; none: it has its own policy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disabled_policy: Option<String>,
    /// How its choices were made so far, if its policy is a process.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided: Option<Decisions>,
    /// Its virtual processors.
    pub processors: Vec<ProcessorStatus>,
}

/// How the choices of a user-level scheduler were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Decisions of the process that took the last event into account, and were followed.
    pub followed: u64,
    /// Decisions that did not take it into account, and were not followed.
    pub stale: u64,
    /// Choices by urgency.
    pub by_urgency: u64,
    /// How often the agent was given a CPU.
    pub by_agent: u64,
    /// CPU time that its agents had, in nanoseconds.
    pub agent_ns: u64,
}

/// A virtual processor of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorStatus {
    /// The scheduler that grants it; none: the machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// The promise, and how it was kept.
    #[serde(flatten)]
    pub supply: Supply,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStatus {
    /// Its number.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// Its name.
    pub comm: String,
    /// The scheduler that it is below.
    pub scheduler: String,
    /// The scheduler that has suspended it, if one has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suspended_by: Option<String>,
    /// The promise, and how it was kept.
    #[serde(flatten)]
    pub supply: Supply,
}

/// What a VP was promised, and what it has had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supply {
    /// The promise, such as `RESBH 5ms 33ms`; `NULL`: none.
    pub guarantee: String,
    /// CPU time that it has had since this promise began; without a promise, since the VP came.
    pub ran_ns: u64,
    /// CPU time that it was promised for the time in which it wanted a CPU.
    pub promised_ns: u64,
    /// Time that was stolen from it.
    pub stolen_ns: u64,
    /// How often the promise was broken.
    pub broken: u64,
}

impl Supply {
    fn new(guarantee: &Guarantee, observed: Option<&Observed>) -> Supply {
        let observed = observed.copied().unwrap_or_default();
        Supply {
            guarantee: guarantee.rounded_for_people(),
            ran_ns: observed.ran.0,
            promised_ns: observed.promised.0,
            stolen_ns: observed.stolen.0,
            broken: observed.broken,
        }
    }
}

/// What a status needs of the manager. The run is asked for the rest after the manager's lock is released.
pub(crate) struct Sketch<R> {
    tree: Tree,
    suspensions: Suspensions,
    reader: R,
}

impl<R: Readings> Sketch<R> {
    /// The status, as of [`Manager::status`]. The tree and the suspensions are as they were when the sketch was made.
    pub(crate) fn status(mut self) -> Result<Status, EngineError> {
        status(&self.tree, &self.suspensions, &mut self.reader)
    }
}

impl<E: RunningEngine> Manager<E> {
    /// What a status needs of this manager; `None`: only the engine itself can be asked for the rest.
    pub(crate) fn sketch(&mut self) -> Result<Option<Sketch<E::Reader>>, Error> {
        let Some(reader) = self.engine.reader() else { return Ok(None) };
        self.sweep()?;
        Ok(Some(Sketch { tree: self.tree.clone(), suspensions: self.suspensions.clone(), reader }))
    }

    /// The hierarchy, its promises and how they were kept.
    ///
    /// # Errors
    /// The run has ended; the system failed.
    pub fn status(&mut self) -> Result<Status, Error> {
        self.sweep()?;
        Ok(status(&self.tree, &self.suspensions, &mut self.engine)?)
    }
}

/// Asks the engine for everything that the tree does not know.
fn status(tree: &Tree, suspensions: &Suspensions, engine: &mut impl Readings) -> Result<Status, EngineError> {
    let threads = engine.threads()?;
    let of_schedulers = tree.all().flat_map(|(_, scheduler)| &scheduler.above).flat_map(|above| &above.vps);
    let vps: Vec<CoreVp> = of_schedulers.copied().chain(threads.iter().map(|thread| thread.key.vp)).collect();
    let observed: ByVp = vps.iter().copied().zip(engine.observed(&vps)?).collect();
    let mut decisions = |scheduler: &Scheduler| {
        let of = |Decided { followed, stale, by_urgency, by_agent, agent_ran }| Decisions {
            followed,
            stale,
            by_urgency,
            by_agent,
            agent_ns: agent_ran.0,
        };
        let has_pages = scheduler.policy.properties.has_pages;
        let decided = if has_pages { engine.decided(scheduler.id)? } else { None };
        Ok::<_, EngineError>(decided.map(of))
    };
    let mut schedulers = Vec::new();
    for at in tree.parents_first() {
        let Some(scheduler) = tree.scheduler(at) else { continue };
        schedulers.push(SchedulerStatus {
            name: scheduler.name.clone(),
            policy: scheduler.policy.name.to_owned(),
            parameters: tree.shown_params(scheduler),
            owner: scheduler.owner,
            default: at == tree.default,
            disabled_policy: scheduler
                .lost
                .as_ref()
                .map(|lost| format!("{}: {}", lost.policy, lost.violation)),
            decided: decisions(scheduler)?,
            processors: scheduler.above.iter().flat_map(|above| processors(tree, above, &observed)).collect(),
        });
    }
    let threads = threads.into_iter().map(|thread| of_thread(tree, suspensions, thread, &observed)).collect();
    let (longest_hold_ns, longest_wait_ns) =
        engine.longest_hold_and_wait()?.map(|(hold, wait)| (hold.0, wait.0)).unzip();
    let stolen_ns = engine.stolen()?.0;
    Ok(Status { cpus: tree.cpus, stolen_ns, longest_hold_ns, longest_wait_ns, schedulers, threads })
}

/// What each VP was promised and received.
type ByVp = HashMap<CoreVp, Observed>;

/// The VPs of an edge.
fn processors(tree: &Tree, above: &Above, observed: &ByVp) -> Vec<ProcessorStatus> {
    let (guarantee, count) = tree.promised(above.edge);
    let parent = above.parent.and_then(|parent| tree.scheduler(parent)).map(|parent| parent.name.clone());
    let one = |(at, vp): (usize, &CoreVp)| {
        let guarantee = if at < count { &guarantee } else { &Guarantee::Null };
        ProcessorStatus { parent: parent.clone(), supply: Supply::new(guarantee, observed.get(vp)) }
    };
    above.vps.iter().enumerate().map(one).collect()
}

fn of_thread(tree: &Tree, suspensions: &Suspensions, thread: Thread, observed: &ByVp) -> ThreadStatus {
    let lease = tree.leases.get(&thread.key.tid).filter(|lease| lease.key == thread.key);
    let edge = lease.map(|lease| lease.edge).or(thread.slot);
    let guarantee = edge.map_or(Guarantee::Null, |edge| tree.promised(edge).0);
    let scheduler = tree.of_core(thread.scheduler).and_then(|at| tree.scheduler(at));
    ThreadStatus {
        thread: thread.key.tid,
        process: thread.pid,
        comm: thread.comm,
        scheduler: scheduler.map_or_else(String::new, |scheduler| scheduler.name.clone()),
        suspended_by: suspensions.get(&thread.key.tid).map(|held| held.by.clone()),
        supply: Supply::new(&guarantee, observed.get(&thread.key.vp)),
    }
}
