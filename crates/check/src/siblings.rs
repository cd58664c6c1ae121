//! Response times of threads below a fixed priority that hold if no thread there wants more than its file says.
//!
//! The calculus promises a thread nothing where another thread of the same priority or a higher one may compute for
//! ever (HLS section 5.1). If all such threads are `periodic`, the analysis of response times gives a bound for each,
//! as for tasks that one thread serves. It is no promise: a run watches whether each thread wants as little as its file
//! says ([`hls_monitor::demand`]), and holds itself only to bounds that rest on threads that do.
//!
//! Threads of equal priority run in the order in which they woke up: each counts all the others as above it.

use crate::derived::Derived;
use crate::tasks::calculus_task;
use hls_calculus as calculus;
use hls_calculus::tasks::{Order, Task, TaskSet, Verdict};
use hls_monitor::demand::Expected;
use hls_monitor::event::ObservedVp;
use hls_plan::Plan;
use std::collections::BTreeMap;

/// The most threads of one priority or a higher one for which bounds are known: with more, the analysis takes long.
const MOST_SIBLINGS: usize = 64;

/// What is certain of a thread's task if some threads want no more than their file says.
pub(crate) struct BesideSiblings {
    pub verdict: Verdict,
    /// The threads with what they want at most, the thread itself among them.
    pub resting_on: Vec<Expected>,
}

impl Derived {
    /// What is certain of the only task of a thread beside its siblings; `None` where nothing is. `index`: its edge of
    /// the graph.
    pub(crate) fn beside_siblings(&self, plan: &Plan, index: usize) -> Option<BesideSiblings> {
        let edges = &self.input.graph.edges;
        let parent = edges[index].parent?;
        if plan.hierarchy.schedulers[parent].policy.name != "fixed-priority" {
            return None;
        }
        let priority = priority(&edges[index]);
        let is_above = |other: &usize| {
            edges[*other].parent == Some(parent) && self::priority(&edges[*other]) >= priority
        };
        let mut above: Vec<usize> = (0..edges.len()).filter(is_above).take(MOST_SIBLINGS + 1).collect();
        if above.len() > MOST_SIBLINGS {
            return None;
        }
        // The thread itself comes last.
        above.sort_by_key(|other| *other == index);
        let tasks = above.iter().map(|other| self.only_task(plan, *other)).collect::<Option<Vec<_>>>()?;
        let (resting_on, tasks) = tasks.into_iter().unzip();
        let set = TaskSet { order: Order::FixedPriority, tasks };
        let verdict = set.verdict_of_last(&self.held_by(parent)?);
        Some(BesideSiblings { verdict, resting_on })
    }

    /// What a thread with one task, which may use every CPU, wants at most: for the run, and for the calculus.
    fn only_task(&self, plan: &Plan, index: usize) -> Option<(Expected, Task)> {
        let origin = self.input.origins[index];
        let group = plan.groups.iter().find(|group| group.edge == origin.edge)?;
        let served = group.program.tasks()?;
        let [task] = &served.tasks[..] else { return None };
        let vp = group.first_vp.plus(origin.instance);
        let expected = Expected { vp, run: task.run.max, every: task.every, jitter: task.jitter.max };
        (!self.input.graph.edges[index].pinned).then(|| (expected, calculus_task(task)))
    }

    /// What the threads on which bounds rest are expected to want at most.
    pub fn expected(&self, plan: &Plan) -> Vec<Expected> {
        let of_threads = self.tasks(plan).into_iter().flat_map(|tasks| tasks.resting_on);
        let by_vp: BTreeMap<ObservedVp, Expected> =
            of_threads.map(|expected| (expected.vp, expected)).collect();
        by_vp.into_values().collect()
    }
}

fn priority(edge: &calculus::Edge) -> Option<u64> {
    edge.params.iter().find(|(name, _)| name == "priority").map(|(_, value)| *value)
}
