//! Response times of threads below a fixed priority that hold if no thread there wants more than its file says.
//!
//! The calculus promises a thread nothing where another thread of the same priority or a higher one may compute for
//! ever (HLS section 5.1). If all such threads are `periodic`, the analysis of response times gives a bound for each,
//! as for tasks that one thread serves. It is no promise: a run watches whether each thread wants as little as its file
//! says ([`hls_monitor::demand`]), and holds itself only to bounds that rest on threads that do.
//!
//! Threads of equal priority run in the order in which they woke up: each counts all the others as above it.

use crate::derived::Derived;
use crate::tasks::task_set;
use hls_calculus as calculus;
use hls_calculus::tasks::{Task, TaskSet, Verdict};
use hls_monitor::demand::Expected;
use hls_monitor::event::ObservedVp;
use hls_plan::Plan;
use std::collections::BTreeMap;

/// The most threads of one priority or a higher one for which bounds are known: with more, the analysis takes long.
const MOST_SIBLINGS: usize = 64;

/// What is certain of a thread's task if some threads want no more than their file says.
pub(crate) struct BesideSiblings {
    pub verdict: Verdict,
    /// The threads, the thread itself among them.
    pub resting_on: Vec<ObservedVp>,
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
        let (resting_on, tasks): (Vec<ObservedVp>, Vec<Task>) = tasks.into_iter().unzip();
        let verdict = TaskSet::verdict_of_lowest(&tasks, &self.held_by(parent)?);
        Some(BesideSiblings { verdict, resting_on })
    }

    /// The only task of a thread that may use every CPU, and its VP.
    fn only_task(&self, plan: &Plan, index: usize) -> Option<(ObservedVp, Task)> {
        let edge = &self.input.graph.edges[index];
        let origin = self.input.origins[index];
        let group = plan.groups.iter().find(|group| group.edge == origin.edge)?;
        let mut tasks = task_set(group.program.tasks()?.as_ref()).tasks;
        let only = tasks.pop().filter(|_| tasks.is_empty() && !edge.pinned)?;
        Some((group.first_vp.plus(origin.instance), only))
    }

    /// What the threads on which bounds rest are expected to want at most.
    pub fn expected(&self, plan: &Plan) -> Vec<Expected> {
        let mut expected = BTreeMap::new();
        for vp in self.tasks(plan).iter().flat_map(|tasks| &tasks.resting_on) {
            let group = plan.groups.iter().find(|group| group.vps().any(|of_group| of_group == *vp));
            let tasks = group.and_then(|group| group.program.tasks());
            if let Some([task]) = tasks.as_ref().map(|tasks| &tasks.tasks[..]) {
                let (run, every, jitter) = (task.run.max, task.every, task.jitter.max);
                expected.insert(*vp, Expected { vp: *vp, run, every, jitter });
            }
        }
        expected.into_values().collect()
    }
}

fn priority(edge: &calculus::Edge) -> Option<u64> {
    edge.params.iter().find(|(name, _)| name == "priority").map(|(_, value)| *value)
}
