//! The threads of the machine that this process knows, and the rules by which they get places.
//!
//! A thread is identified by its VP and the VP's generation, so that a later thread with the same TID, or the same
//! VP, is never mistaken for it.

use crate::descriptions::{Budget, Descriptions};
use crate::domain::ThreadEntry;
use crate::proc::Described;
use hls_core::CoreVp;
use hls_hierarchy::model::Who;
use hls_plan::Plan;
use hls_plan::assign::Assignments;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A thread of the machine that is known to have a VP.
#[derive(Clone, Debug)]
pub struct Known {
    pub core_vp: CoreVp,
    pub generation: u32,
    pub tgid: u32,
    /// What `/proc` said of it, if a rule might match it.
    pub described: Option<Described>,
}

/// The threads of the machine, and the rules by which they get their places.
pub struct Threads {
    pub assignments: Assignments,
    /// Whether any thread of the file has a rule that matches threads of the machine.
    pub has_rules: bool,
    /// Whether any of these rules is about cgroups. While a process moves threads, reads of a cgroup have to wait.
    pub has_rules_about_cgroups: bool,
    /// By TID.
    pub known: BTreeMap<u32, Known>,
    /// The TIDs of the known threads, by VP.
    pub tids: HashMap<CoreVp, u32>,
    /// TIDs of threads that a request has moved: no rule moves them any more.
    pub moved: HashSet<u32>,
    /// Queued descriptions: again, or because `/proc` did not have the thread yet; and the CPU time for them.
    pub to_describe: Descriptions,
    pub budget: Budget,
    /// The last thread that was described in its turn.
    pub described_last: u32,
    /// The number of refused forks, and of moves of processes without a first thread, at the last look.
    pub refused: u32,
    pub unnamed_moves: u32,
}

impl Threads {
    /// No threads yet, and the rules of the plan.
    pub fn new(plan: &Plan) -> Threads {
        let rules = || plan.hierarchy.threads.iter().filter_map(|thread| thread.who.as_ref());
        Threads {
            assignments: Assignments::new(plan),
            has_rules: rules().next().is_some(),
            has_rules_about_cgroups: rules().any(|who| matches!(who.value, Who::Cgroup(_) | Who::Unit(_))),
            known: BTreeMap::new(),
            tids: HashMap::new(),
            moved: HashSet::new(),
            to_describe: Descriptions::default(),
            budget: Budget::default(),
            described_last: 0,
            refused: 0,
            unnamed_moves: 0,
        }
    }

    /// The engine has started this process for the command of this thread of the file.
    pub fn started(&mut self, node: usize, tgid: u32) {
        self.assignments.start(node, tgid);
    }

    /// The VP of a thread, and its generation.
    pub fn vp(&self, tid: u32) -> Option<(CoreVp, u32)> {
        self.known.get(&tid).map(|known| (known.core_vp, known.generation))
    }

    /// Notes what `/proc` says now of a known thread. If it does not tell the cgroup, the thread keeps its last one;
    /// a new thread gets the cgroup of its process, or else of the parent process.
    pub fn note_description(&mut self, tid: u32, now: Option<Described>) {
        let now = now
            .map(|now| Described { cgroup: now.cgroup.or_else(|| self.last_cgroup(tid, now.parent)), ..now });
        if let Some(known) = self.known.get_mut(&tid) {
            known.described = now;
        }
    }

    /// The last known cgroup of a thread, or else of its process, or else of the parent process.
    fn last_cgroup(&self, tid: u32, parent: u32) -> Option<String> {
        let tgid = self.known.get(&tid)?.tgid;
        [tid, tgid, parent].iter().find_map(|tid| self.known.get(tid)?.described.as_ref()?.cgroup.clone())
    }

    /// The next threads to describe again, at most `most`: in rising order of TIDs, then from the first on.
    pub fn next_to_describe(&mut self, most: usize) -> Vec<u32> {
        let behind = self.known.range(self.described_last + 1..).map(|(&tid, _)| tid);
        let next: Vec<u32> = behind.take(most).collect();
        self.described_last = next.last().copied().unwrap_or(0);
        next
    }

    /// All TIDs, in rising order.
    pub fn tids(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    pub fn of_process(&self, tgid: u32) -> impl Iterator<Item = u32> {
        self.known.iter().filter(move |(_, known)| known.tgid == tgid).map(|(&tid, _)| tid)
    }

    /// The known thread with this VP, if the VP has another thread now.
    pub fn replaced_by(&self, core_vp: CoreVp, now: &ThreadEntry) -> Option<u32> {
        let tid = *self.tids.get(&core_vp)?;
        let generation = self.known.get(&tid)?.generation;
        (now.pid == 0 || generation != now.generation).then_some(tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(known: &[(u32, u32)]) -> Threads {
        let file = br#"time-sharing "TS" default=#true { thread "boxed" cgroup="/system.slice/box" }"#;
        let (hierarchy, _) = hls_hierarchy::read(file).expect("it is valid");
        let mut threads = Threads::new(&Plan::new(hierarchy, &Default::default()).expect("it fits"));
        for &(tid, tgid) in known {
            let known = Known { core_vp: CoreVp(tid), generation: 1, tgid, described: None };
            threads.known.insert(tid, known);
        }
        threads
    }

    fn cgroup_of(threads: &Threads, tid: u32) -> Option<&str> {
        threads.known[&tid].described.as_ref()?.cgroup.as_deref()
    }

    /// A user may make cgroups with paths longer than the kernel reports, and move or create threads there.
    #[test]
    fn a_thread_keeps_its_cgroup_if_the_path_cannot_be_read() {
        let mut threads = threads(&[(7, 7), (8, 7), (9, 9), (10, 10)]);
        let told = |cgroup: Option<&str>, parent: u32| {
            Some(Described { parent, comm: b"x".to_vec(), cgroup: cgroup.map(str::to_owned) })
        };
        threads.note_description(7, told(Some("/system.slice/box"), 1));
        threads.note_description(7, told(None, 1));
        threads.note_description(8, told(None, 1));
        threads.note_description(9, told(None, 7));
        threads.note_description(10, told(None, 11));
        assert_eq!(
            [7, 8, 9, 10].map(|tid| cgroup_of(&threads, tid)),
            [Some("/system.slice/box"), Some("/system.slice/box"), Some("/system.slice/box"), None]
        );
        threads.note_description(7, told(Some("/"), 1));
        assert_eq!(cgroup_of(&threads, 7), Some("/"));
        threads.note_description(7, None);
        assert_eq!(cgroup_of(&threads, 7), None);
    }
}
