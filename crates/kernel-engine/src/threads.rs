//! Which threads of the machine there are, as far as this process has looked, and the rules by which they get places.
//!
//! A thread is known by its VP and that VP's generation, so that a later thread with the same TID, or the same VP, is
//! never taken for it.

use crate::domain::ThreadEntry;
use crate::proc;
use hls_core::CoreVp;
use hls_plan::Plan;
use hls_plan::assign::Assignments;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A thread of the machine that is known to have a VP.
#[derive(Clone, Debug)]
pub struct Known {
    pub core_vp: CoreVp,
    pub generation: u32,
    pub tgid: u32,
    /// What `/proc` said of it, where a rule might match it.
    pub described: Option<proc::Described>,
}

/// The threads of the machine, and the rules by which they get their places.
pub struct Threads {
    pub assignments: Assignments,
    /// Whether any thread of the file has a rule that matches threads of the machine.
    pub has_rules: bool,
    /// By TID.
    pub known: BTreeMap<u32, Known>,
    /// The TIDs of the known threads, by VP.
    pub tids: HashMap<CoreVp, u32>,
    /// TIDs of threads that a request has moved: no rule moves them any more.
    pub moved: HashSet<u32>,
    /// TIDs of threads that are to be described, anew or since `/proc` did not have them yet.
    pub to_describe: VecDeque<u32>,
    /// The last thread that was described in its turn.
    pub described_last: u32,
    /// How many forks had been refused, and how many processes had moved without a first thread, when that was last
    /// looked at.
    pub refused: u32,
    pub unnamed_moves: u32,
}

impl Threads {
    /// None yet, and the rules of the plan.
    pub fn new(plan: &Plan) -> Threads {
        Threads {
            assignments: Assignments::new(plan),
            has_rules: plan.hierarchy.threads.iter().any(|thread| thread.who.is_some()),
            known: BTreeMap::new(),
            tids: HashMap::new(),
            moved: HashSet::new(),
            to_describe: VecDeque::new(),
            described_last: 0,
            refused: 0,
            unnamed_moves: 0,
        }
    }

    /// The engine has started this process for the command of that thread of the file.
    pub fn started(&mut self, node: usize, tgid: u32) {
        self.assignments.start(node, tgid);
    }

    /// The VP of a thread, and its generation.
    pub fn vp(&self, tid: u32) -> Option<(CoreVp, u32)> {
        self.known.get(&tid).map(|known| (known.core_vp, known.generation))
    }

    /// The threads whose turn it is to be described again, so many at most: in rising order, then from the first on.
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

    /// The known thread with this VP, unless the VP has this thread still.
    pub fn replaced_by(&self, core_vp: CoreVp, now: &ThreadEntry) -> Option<u32> {
        let tid = *self.tids.get(&core_vp)?;
        let generation = self.known.get(&tid)?.generation;
        (now.pid == 0 || generation != now.generation).then_some(tid)
    }
}
