//! Which threads of the machine there are, and which place in the hierarchy each has: a thread of the file by its rule,
//! else the default scheduler.
//!
//! Relies on the arena for who there is. A thread is known by its VP and that VP's generation, so that a later thread
//! with the same TID, or the same VP, is never taken for it.

use super::Notice;
use super::engine::Engine;
use crate::domain::{CHANGED_CGROUP, CHANGED_NAME, Changed, ThreadEntry};
use crate::proc;
use hls_core::{Call, CoreError, CoreScheduler, CoreVp, Op, Params};
use hls_hierarchy::model::Child;
use hls_monitor::event::{ObservedVp, What};
use hls_plan::assign::{Assignment, Assignments, Instance, RealThread, Successor};
use hls_plan::{ChangeableEngine, Plan, PlannedThreads, vp_params};
use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;

/// So many threads are looked at before other work is done. Each may take two reads of `/proc`.
const MOST_AT_ONCE: usize = 64;

/// A thread of the machine that is known to have a VP.
#[derive(Clone, Debug)]
struct Known {
    core_vp: CoreVp,
    generation: u32,
    tgid: u32,
    /// What `/proc` said of it, where a rule might match it.
    described: Option<proc::Described>,
}

/// The threads of the machine, and the rules by which they get their places.
pub struct Threads {
    assignments: Assignments,
    /// Whether any thread of the file has a rule that matches threads of the machine.
    has_rules: bool,
    /// By TID.
    known: HashMap<u32, Known>,
    /// The TIDs of the known threads, by VP.
    tids: HashMap<CoreVp, u32>,
    /// TIDs of threads that a request has moved: no rule moves them any more.
    moved: HashSet<u32>,
    /// TIDs of threads whose cgroup has changed, and that were not looked at yet.
    to_describe: VecDeque<u32>,
    /// How many forks had been refused, and how many processes had moved without a first thread, when that was last
    /// looked at.
    refused: u32,
    unnamed_moves: u32,
}

impl Threads {
    /// None yet, and the rules of the plan.
    pub fn new(plan: &Plan) -> Threads {
        Threads {
            assignments: Assignments::new(plan),
            has_rules: plan.hierarchy.threads.iter().any(|thread| thread.who.is_some()),
            known: HashMap::new(),
            tids: HashMap::new(),
            moved: HashSet::new(),
            to_describe: VecDeque::new(),
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

    /// All TIDs, in rising order.
    pub fn tids(&self) -> Vec<u32> {
        let mut tids: Vec<u32> = self.known.keys().copied().collect();
        tids.sort_unstable();
        tids
    }

    fn of_process(&self, tgid: u32) -> impl Iterator<Item = u32> {
        self.known.iter().filter(move |(_, known)| known.tgid == tgid).map(|(&tid, _)| tid)
    }

    /// The known thread with this VP, unless the VP has this thread still.
    fn replaced_by(&self, core_vp: CoreVp, now: &ThreadEntry) -> Option<u32> {
        let tid = *self.tids.get(&core_vp)?;
        let generation = self.known.get(&tid)?.generation;
        (now.pid == 0 || generation != now.generation).then_some(tid)
    }
}

impl Engine {
    /// Looks at what has happened to threads, as far as there is time for it at once; whether there is more to look at.
    pub(crate) fn look_at_threads(&mut self) -> bool {
        let (changed, mut is_behind) = self.built.core.take_changes(MOST_AT_ONCE);
        let mut changed: Vec<(Changed, ThreadEntry)> =
            changed.into_iter().map(|changed| (changed, self.built.core.thread(changed.vp))).collect();
        for (Changed { vp, .. }, entry) in &changed {
            if let Some(tid) = self.threads.replaced_by(*vp, entry) {
                self.forget(tid);
            }
        }
        // Threads that have come get their places in the order in which they were made, or nearly so.
        changed.sort_by_key(|(_, entry)| entry.pid);
        changed
            .iter()
            .filter(|(_, entry)| entry.pid != 0)
            .for_each(|(changed, entry)| self.look_at(*changed, entry));
        self.look_at_counts();
        for _ in 0..MOST_AT_ONCE {
            let Some(tid) = self.threads.to_describe.pop_front() else { break };
            self.describe(tid);
            self.assign(tid);
        }
        is_behind |= !self.threads.to_describe.is_empty();
        is_behind
    }

    /// Looks at what has happened to a thread that lives.
    fn look_at(&mut self, Changed { vp, changes }: Changed, entry: &ThreadEntry) {
        let ThreadEntry { pid: tid, tgid, generation, .. } = *entry;
        let is_new = self
            .threads
            .known
            .get(&tid)
            .is_none_or(|known| known.generation != generation || known.core_vp != vp);
        if is_new {
            self.threads.known.insert(tid, Known { core_vp: vp, generation, tgid, described: None });
            self.threads.tids.insert(vp, tid);
            self.describe(tid);
        }
        if changes & CHANGED_CGROUP != 0 {
            let of_process: Vec<u32> = self.threads.of_process(tgid).collect();
            self.threads.to_describe.extend(of_process);
        }
        if changes & CHANGED_NAME != 0
            && let Some(described) =
                self.threads.known.get_mut(&tid).and_then(|known| known.described.as_mut())
        {
            described.comm = entry.comm();
        }
        self.assign(tid);
    }

    /// Looks at what the kernel only counts.
    fn look_at_counts(&mut self) {
        let (refused, tgid) = self.built.core.refused();
        if mem::replace(&mut self.threads.refused, refused) != refused {
            self.notices.push(Notice::NoRoom { tgid });
        }
        let moves = self.built.core.unnamed_moves();
        if mem::replace(&mut self.threads.unnamed_moves, moves) != moves {
            let all = self.threads.tids();
            self.threads.to_describe = all.into();
        }
    }

    /// A thread has ended.
    fn forget(&mut self, tid: u32) {
        let Some(Known { core_vp, .. }) = self.threads.known.remove(&tid) else { return };
        self.threads.moved.remove(&tid);
        self.threads.tids.remove(&core_vp);
        self.unwatch(core_vp);
        let successor = self.threads.assignments.exit(tid);
        self.succeed(successor);
    }

    /// Reads what `/proc` says of a thread, where a rule might match it.
    fn describe(&mut self, tid: u32) {
        if self.threads.has_rules
            && let Some(known) = self.threads.known.get_mut(&tid)
        {
            known.described = proc::describe(known.tgid, tid);
        }
    }

    /// Puts a thread where the rules of the file want it now.
    fn assign(&mut self, tid: u32) {
        let Threads { assignments, known, moved, .. } = &mut self.threads;
        let Some(Known { tgid, described: Some(described), .. }) = known.get(&tid) else { return };
        if moved.contains(&tid) {
            return;
        }
        let before = assignments.assignment(tid).unwrap_or(Assignment::Default);
        let (assignment, successor) = assignments.update(&RealThread {
            tid,
            tgid: *tgid,
            parent: described.parent,
            comm: &described.comm,
            cgroup: &described.cgroup,
        });
        if assignment != before {
            match assignment {
                Assignment::Instance(instance) => self.place_instance(tid, instance),
                _ => self.place_in_default(tid),
            }
            match assignment {
                Assignment::Conflict(one, other) => {
                    self.notices.push(Notice::Conflict { tid, nodes: (one, other) });
                }
                Assignment::Full(node) => self.notices.push(Notice::Full { tid, node }),
                Assignment::Instance(_) | Assignment::Default => {}
            }
        }
        self.succeed(successor);
    }

    fn succeed(&mut self, successor: Option<Successor>) {
        if let Some(Successor { tid, instance }) = successor {
            self.place_instance(tid, instance);
        }
    }

    fn place_instance(&mut self, tid: u32, Instance { node, instance }: Instance) {
        let is_of =
            |group: &&PlannedThreads| self.plan.hierarchy.edge(group.edge).child == Child::Thread(node);
        if let Some(vp) = self.plan.groups.iter().find(is_of).map(|group| group.first_vp.plus(instance)) {
            // A thread that ended meanwhile has no place; its end will be seen.
            let _ = self.place(tid, vp);
        }
    }

    /// Makes a thread of the machine the thread of the plan with this VP, or, where that VP is closed, a thread of the
    /// default scheduler.
    ///
    /// # Errors
    /// The thread is not known (any more), or the core refuses.
    pub fn place(&mut self, tid: u32, vp: ObservedVp) -> Result<(), CoreError> {
        if self.closed.contains(&vp) {
            self.place_in_default(tid);
            return Ok(());
        }
        let group = self.plan.groups.iter().find(|group| group.vps().any(|of_group| of_group == vp));
        let edge = self.plan.hierarchy.edge(group.ok_or(CoreError::NotFound)?.edge);
        let parent = edge.parent.ok_or(CoreError::NotFound)?;
        let to = (self.built.schedulers[parent], vp_params(&self.plan.hierarchy, edge));
        let core_vp = self.move_below(tid, to)?;
        self.unwatch(core_vp);
        self.add_record(vp, What::Arrive);
        self.watch(core_vp, tid, vp)
    }

    fn place_in_default(&mut self, tid: u32) {
        // A thread that ended needs no place.
        if let Ok(core_vp) = self.move_below(tid, self.default) {
            self.unwatch(core_vp);
        }
    }

    /// Puts a thread where a request wants it; from now on no rule moves it.
    pub(crate) fn place_by_request(
        &mut self,
        tid: u32,
        to: (CoreScheduler, Params),
    ) -> Result<(), CoreError> {
        let core_vp = self.move_below(tid, to)?;
        self.unwatch(core_vp);
        self.threads.moved.insert(tid);
        let successor = self.threads.assignments.exit(tid);
        self.succeed(successor);
        Ok(())
    }

    fn move_below(&mut self, tid: u32, (to, params): (CoreScheduler, Params)) -> Result<CoreVp, CoreError> {
        self.call_about(tid, Op::Move, Call { b: to.0, params: params.0, ..Call::default() })
    }

    /// Makes the call about a thread's VP, if that is still the thread's; which VP that is.
    pub(crate) fn call_about(&mut self, tid: u32, op: Op, call: Call) -> Result<CoreVp, CoreError> {
        let (core_vp, generation) = self.threads.vp(tid).ok_or(CoreError::NotFound)?;
        self.make(op, Call { a: core_vp.0, generation, ..call }).map(|()| core_vp)
    }
}
