//! The state of a hierarchy for people and programs, as it is sent: names end in the unit, times are in nanoseconds.
//!
//! Relies on the tree for the promises and on the engine for how they were kept. Changes nothing but the number of
//! subscribers: the method `Watch` is here, too, as `changes` knows no manager.

use crate::asked::{Asked, Serve};
use crate::engine::{Counts, EngineError, Observed, Readings, RunningEngine, Thread};
use crate::error::Error;
use crate::manager::{Manager, Suspensions};
use crate::tree::{Above, Tree};
use crate::varlink::Fault;
use hls_calculus::Guarantee;
use hls_client::interface::{self, Decisions, Processor, Status, StatusReply, Watch, WatchReply};
use hls_core::CoreVp;
use hls_core::pages::Decided;
use serde_json::json;
use std::collections::HashMap;

/// What a VP was promised, and what it has had.
struct Supply {
    guarantee: String,
    ran_ns: u64,
    promised_ns: u64,
    stolen_ns: u64,
    broken: u64,
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
pub(crate) struct Sketch {
    tree: Tree,
    suspensions: Suspensions,
    reader: Box<dyn Readings>,
}

impl Sketch {
    /// The status, as of [`Manager::status`]. The tree and the suspensions are as they were when the sketch was made.
    pub(crate) fn status(mut self) -> Result<StatusReply, EngineError> {
        status(&self.tree, &self.suspensions, &mut *self.reader)
    }
}

impl Serve for Status {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<StatusReply, Fault> {
        match asked.with(Manager::sketch)? {
            Some(sketch) => Ok(sketch.status().map_err(Error::from)?),
            None => asked.with(Manager::status),
        }
    }
}

impl Serve for Watch {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<WatchReply, Fault> {
        if !asked.wants_more {
            return Err(Fault::of_service("ExpectedMore", json!({})));
        }
        asked.answer.subscription = Some(asked.with(|it| Ok(it.changes.subscribe()))?);
        Ok(WatchReply { changes: vec![] })
    }
}

impl<E: RunningEngine> Manager<E> {
    /// What a status needs of this manager; `None`: only the engine itself can be asked for the rest.
    pub(crate) fn sketch(&mut self) -> Result<Option<Sketch>, Error> {
        let Some(reader) = self.engine.reader() else { return Ok(None) };
        self.sweep()?;
        Ok(Some(Sketch { tree: self.tree.clone(), suspensions: self.suspensions.clone(), reader }))
    }

    /// The hierarchy, its promises and how they were kept.
    ///
    /// # Errors
    /// The run has ended; the system failed.
    pub fn status(&mut self) -> Result<StatusReply, Error> {
        self.sweep()?;
        Ok(status(&self.tree, &self.suspensions, &mut self.engine)?)
    }
}

/// Asks the engine for everything that the tree does not know.
fn status(
    tree: &Tree,
    suspensions: &Suspensions,
    engine: &mut dyn Readings,
) -> Result<StatusReply, EngineError> {
    let threads = engine.threads()?;
    let of_schedulers = tree.all().flat_map(|(_, scheduler)| &scheduler.above).flat_map(|above| &above.vps);
    let vps: Vec<CoreVp> = of_schedulers.copied().chain(threads.iter().map(|thread| thread.key.vp)).collect();
    let observed: ByVp = vps.iter().copied().zip(engine.observed(&vps)?).collect();
    let Counts { stolen, longest_hold_and_wait, decided } = engine.counts()?;
    let decisions = |&Decided { followed, stale, by_urgency, by_agent, agent_ran }: &Decided| Decisions {
        followed,
        stale,
        by_urgency,
        by_agent,
        agent_ns: agent_ran.0,
    };
    let mut schedulers = Vec::new();
    for at in tree.parents_first() {
        let Some(scheduler) = tree.scheduler(at) else { continue };
        schedulers.push(interface::Scheduler {
            name: scheduler.name.clone(),
            policy: scheduler.policy.name.to_owned(),
            parameters: tree.shown_params(scheduler),
            owner: scheduler.owner,
            default: at == tree.default,
            disabled_policy: scheduler
                .lost
                .as_ref()
                .map(|lost| format!("{}: {}", lost.policy, lost.violation)),
            decided: decided.get(&scheduler.id).map(decisions),
            processors: scheduler.above.iter().flat_map(|above| processors(tree, above, &observed)).collect(),
        });
    }
    let threads = threads.into_iter().map(|thread| of_thread(tree, suspensions, thread, &observed)).collect();
    let (longest_hold_ns, longest_wait_ns) =
        longest_hold_and_wait.map(|(hold, wait)| (hold.0, wait.0)).unzip();
    Ok(StatusReply {
        cpus: tree.cpus,
        stolen_ns: stolen.0,
        longest_hold_ns,
        longest_wait_ns,
        schedulers,
        threads,
    })
}

/// What each VP was promised and received.
type ByVp = HashMap<CoreVp, Observed>;

/// The VPs of an edge.
fn processors(tree: &Tree, above: &Above, observed: &ByVp) -> Vec<Processor> {
    let (guarantee, count) = tree.promised(above.edge);
    let parent = above.parent.and_then(|parent| tree.scheduler(parent)).map(|parent| parent.name.clone());
    let one = |(at, vp): (usize, &CoreVp)| {
        let guarantee = if at < count { &guarantee } else { &Guarantee::Null };
        let Supply { guarantee, ran_ns, promised_ns, stolen_ns, broken } =
            Supply::new(guarantee, observed.get(vp));
        Processor { parent: parent.clone(), guarantee, ran_ns, promised_ns, stolen_ns, broken }
    };
    above.vps.iter().enumerate().map(one).collect()
}

fn of_thread(tree: &Tree, suspensions: &Suspensions, thread: Thread, observed: &ByVp) -> interface::Thread {
    let lease = tree.leases.get(&thread.key.tid).filter(|lease| lease.key == thread.key);
    let edge = lease.map(|lease| lease.edge).or(thread.slot);
    let guarantee = edge.map_or(Guarantee::Null, |edge| tree.promised(edge).0);
    let scheduler = tree.of_core(thread.scheduler).and_then(|at| tree.scheduler(at));
    let Supply { guarantee, ran_ns, promised_ns, stolen_ns, broken } =
        Supply::new(&guarantee, observed.get(&thread.key.vp));
    interface::Thread {
        thread: thread.key.tid,
        process: thread.pid,
        comm: thread.comm,
        scheduler: scheduler.map_or_else(String::new, |scheduler| scheduler.name.clone()),
        suspended_by: suspensions.get(&thread.key.tid).map(|held| held.by.clone()),
        guarantee,
        ran_ns,
        promised_ns,
        stolen_ns,
        broken,
    }
}
