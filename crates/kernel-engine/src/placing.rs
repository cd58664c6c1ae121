//! Gives each thread of the machine its place in the hierarchy: by the rule of a thread of the file, or else in the
//! default scheduler. Relies on the arena for the existing threads.

use super::Notice;
use super::engine::Engine;
use crate::descriptions::{Waiting, cpu_time, monotonic};
use crate::domain::{CHANGED_CGROUP, CHANGED_NAME, CHANGED_WEIGHT, Changed, ThreadEntry};
use crate::proc;
use crate::threads::{Known, Threads};
use hls_core::pages::number_child;
use hls_core::{About, CoreError, CoreScheduler, CoreVp, Params};
use hls_engine::{ChangeableEngine, vp_params};
use hls_hierarchy::model::Child;
use hls_monitor::event::{ObservedVp, What};
use hls_plan::PlannedThreads;
use hls_plan::assign::{Assignment, Instance, RealThread, Successor};
use hls_units::Nanos;
use std::mem;
use std::time::Duration;

/// How many threads are described again at each look.
const DESCRIBED_AGAIN: usize = 2;

/// The user number in the queue for descriptions after a move of an unnamed process; no user has it.
const NOBODY: u32 = u32::MAX;

/// How many threads a poll looks at before it looks at the time.
const LOOKED_AT_ONCE: usize = 8;
/// The most threads that one poll weighs anew.
const WEIGHED_AT_ONCE: usize = 32;
/// The CPU time after which a poll looks at no further thread, since requests wait meanwhile. Each thread may take two
/// reads of `/proc`.
const LONGEST_AT_ONCE: Duration = Duration::from_millis(1);

impl Engine {
    /// Looks at the changes of threads, as far as time allows now. Returns whether there is more to look at.
    pub(crate) fn look_at_threads(&mut self) -> bool {
        let until = cpu_time() + LONGEST_AT_ONCE;
        let mut is_behind = true;
        while is_behind && cpu_time() < until {
            is_behind = self.look_at_some();
        }
        self.look_at_counts();
        is_behind |= self.describe_those_that_wait(until);
        is_behind |= self.weigh_threads();
        self.look_again();
        self.let_places_rest();
        is_behind
    }

    /// Looks at the changes of some threads. Returns whether there are more.
    fn look_at_some(&mut self) -> bool {
        let (changed, are_there_more) = self.built.core.take_changes(LOOKED_AT_ONCE);
        let mut changed: Vec<(Changed, ThreadEntry)> =
            changed.into_iter().map(|changed| (changed, self.built.core.thread(changed.vp))).collect();
        for (Changed { vp, .. }, entry) in &changed {
            if let Some(tid) = self.threads.replaced_by(*vp, entry) {
                self.forget(tid);
            }
        }
        // New threads get their places roughly in the order in which they were created.
        changed.sort_by_key(|(_, entry)| entry.pid);
        changed
            .iter()
            .filter(|(_, entry)| entry.pid != 0)
            .for_each(|(changed, entry)| self.look_at(*changed, entry));
        are_there_more
    }

    /// Looks early at threads that have come since the last look and for which `is_such` is true; returns their TIDs.
    /// Other changes of these threads are looked at later, in their turn.
    pub(crate) fn look_at_new_threads(&mut self, is_such: impl Fn(&ThreadEntry) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        for vp in self.built.core.changed() {
            let entry = self.built.core.thread(vp);
            if entry.pid == 0 || !is_such(&entry) {
                continue;
            }
            if let Some(tid) = self.threads.replaced_by(vp, &entry) {
                self.forget(tid);
            }
            self.look_at(Changed { vp, changes: 0 }, &entry);
            found.push(entry.pid);
        }
        found
    }

    /// Puts threads that wait for a description where the rules want them: one, and more until this thread of `hls` has
    /// used that CPU time. Returns whether more could be described at once.
    fn describe_those_that_wait(&mut self, until: Duration) -> bool {
        loop {
            if !self.threads.budget.is_left() {
                return false;
            }
            let Some((user, item)) = self.threads.to_describe.take() else { return false };
            self.spend_on(|it| match item {
                Waiting::Thread(tid) => it.assign_anew(tid),
                Waiting::Process(tgid) => {
                    let of_process: Vec<u32> = it.threads.of_process(tgid).collect();
                    let to_describe = &mut it.threads.to_describe;
                    of_process.into_iter().for_each(|tid| to_describe.add(user, Waiting::Thread(tid)));
                }
            });
            if cpu_time() >= until {
                return !self.threads.to_describe.is_empty();
            }
        }
    }

    /// Does work that is charged to the budget for descriptions.
    fn spend_on(&mut self, work: impl FnOnce(&mut Engine)) {
        let begun = cpu_time();
        work(self);
        self.threads.budget.spend(cpu_time().saturating_sub(begun));
    }

    /// Describes some threads again, in turn. The kernel skips our program for a rename on a CPU where another thread
    /// was preempted inside that program: so a change of a name may have been missed.
    fn look_again(&mut self) {
        if self.threads.has_rules && self.threads.budget.is_left() {
            self.spend_on(|it| {
                for tid in it.threads.next_to_describe(DESCRIBED_AGAIN) {
                    it.assign_anew(tid);
                }
            });
        }
    }

    /// Weighs anew the threads of cgroups with changed weights, as far as time allows now. Returns whether there are
    /// more.
    fn weigh_threads(&mut self) -> bool {
        let core = &self.built.core;
        let (changed, seen) = (core.weights_changed(), |vp| core.weights_seen(vp));
        let next = self.weighing.next(changed, &self.threads.known, seen, WEIGHED_AT_ONCE);
        next.into_iter().for_each(|(vp, generation)| self.weigh(vp, generation));
        self.weighing.is_needed()
    }

    fn weigh(&mut self, vp: CoreVp, generation: u32) {
        // If the kernel does not do this, the run is ending: the next poll says why.
        let _ = self.built.core.weigh(vp, generation);
    }

    /// Looks at the changes of a living thread.
    fn look_at(&mut self, Changed { vp, changes }: Changed, entry: &ThreadEntry) {
        let ThreadEntry { pid: tid, tgid, generation, .. } = *entry;
        let is_new = self
            .threads
            .known
            .get(&tid)
            .is_none_or(|known| known.generation != generation || known.core_vp != vp);
        if is_new {
            // The end of an earlier thread with this TID, on another VP, may not have been looked at yet.
            self.forget(tid);
            self.threads.known.insert(tid, Known { core_vp: vp, generation, tgid, described: None });
            self.threads.tids.insert(vp, tid);
            self.describe_later(tid, Waiting::Thread(tid));
            self.weighing.look_at(entry.weights_seen);
        }
        if changes & CHANGED_WEIGHT != 0 {
            self.weigh(vp, generation);
        }
        if changes & CHANGED_CGROUP != 0 && self.threads.has_rules_about_cgroups {
            self.describe_later(tid, Waiting::Process(tgid));
        }
        if changes & CHANGED_NAME != 0
            && let Some(described) =
                self.threads.known.get_mut(&tid).and_then(|known| known.described.as_mut())
        {
            described.comm = entry.comm().to_vec();
        }
        self.assign(tid);
    }

    /// Looks at events that the kernel only counts.
    fn look_at_counts(&mut self) {
        let (refused, tgid) = self.built.core.refused();
        if mem::replace(&mut self.threads.refused, refused) != refused {
            self.notices.push(Notice::NoRoom { tgid });
        }
        let moves = self.built.core.unnamed_moves();
        let have_moved = mem::replace(&mut self.threads.unnamed_moves, moves) != moves;
        if have_moved && self.threads.has_rules_about_cgroups {
            let Threads { known, to_describe, .. } = &mut self.threads;
            known.keys().for_each(|&tid| to_describe.add(NOBODY, Waiting::Thread(tid)));
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

    /// A scheduler has this VP now. The thread that had it has ended, but its end may not have been looked at yet; if
    /// it were looked at later, the scheduler would lose its number.
    pub(crate) fn forget_thread_of(&mut self, core_vp: CoreVp) {
        if let Some(&tid) = self.threads.tids.get(&core_vp) {
            self.forget(tid);
        }
    }

    /// Reads what `/proc` says of a thread, if a rule might match it. A thread that is being forked is not there yet:
    /// then later.
    fn describe(&mut self, tid: u32) {
        if self.threads.has_rules
            && let Some(known) = self.threads.known.get(&tid)
        {
            let now = proc::describe(known.tgid, tid, self.threads.has_rules_about_cgroups);
            if now.is_none() {
                self.describe_later(tid, Waiting::Thread(tid));
            }
            self.threads.note_description(tid, now);
        }
    }

    /// Queues a description for this thread's user, if a rule might match.
    fn describe_later(&mut self, tid: u32, item: Waiting) {
        if self.threads.has_rules && !self.threads.to_describe.has(item) {
            self.spend_on(|it| it.threads.to_describe.add(proc::user(tid), item));
        }
    }

    /// Puts a thread where the rules of the file want it, after reading `/proc` again.
    pub(crate) fn assign_anew(&mut self, tid: u32) {
        self.describe(tid);
        self.assign(tid);
    }

    /// Puts a thread where the rules of the file want it now.
    fn assign(&mut self, tid: u32) {
        let Threads { assignments, known, moved, .. } = &mut self.threads;
        let Some(Known { tgid, described: Some(described), .. }) = known.get(&tid) else { return };
        let Some(cgroup) = &described.cgroup else { return };
        if moved.contains(&tid) {
            return;
        }
        let before = assignments.assignment(tid).unwrap_or(Assignment::Default);
        let (assignment, successor) = assignments.update(&RealThread {
            tid,
            tgid: *tgid,
            parent: described.parent,
            comm: &described.comm,
            cgroup,
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
                // A thread for which a place rests has it soon.
                Assignment::Full(node) => {
                    let counts = self.threads.assignments.counts(node);
                    if counts.waiting > counts.resting {
                        self.notices.push(Notice::Full { tid, node });
                    }
                }
                Assignment::Instance(_) | Assignment::Default => {}
            }
        }
        self.succeed(successor);
    }

    /// Begins and ends the rests of places that threads have left.
    fn let_places_rest(&mut self) {
        for successor in self.threads.assignments.pass(monotonic()) {
            self.succeed(Some(successor));
        }
    }

    /// From now on a place of the plan rests for so long whenever its thread has left it.
    pub fn set_rest(&mut self, vp: ObservedVp, length: Nanos) {
        let Some(group) = self.group_of(vp) else { return };
        if let Child::Thread(node) = self.plan.hierarchy.edge(group.edge).child {
            let instance = vp.0 - group.first_vp.0;
            self.threads.assignments.set_rest(Instance { node, instance }, length);
        }
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

    /// Makes a thread of the machine the thread of the plan with this VP, or, if that place is closed, a thread of
    /// the default scheduler.
    ///
    /// # Errors
    /// The thread is not known (any more), or the core refuses.
    pub fn place(&mut self, tid: u32, vp: ObservedVp) -> Result<(), CoreError> {
        if self.closed.contains(&vp) {
            self.place_in_default(tid);
            return Ok(());
        }
        let group = self.group_of(vp).ok_or(CoreError::NotFound)?;
        let edge = self.plan.hierarchy.edge(group.edge);
        let parent = edge.parent.ok_or(CoreError::NotFound)?;
        let mut params = vp_params(&self.plan.hierarchy, edge);
        number_child(self.plan.hierarchy.schedulers[parent].policy, &mut params, tid.into());
        let core_vp = self.move_below(tid, (self.built.schedulers[parent], params))?;
        self.add_record(vp, What::Arrive);
        self.watch(core_vp, tid, vp)
    }

    /// The threads of the plan to which this VP belongs.
    fn group_of(&self, vp: ObservedVp) -> Option<&PlannedThreads> {
        self.plan.groups.iter().find(|group| group.vps().any(|of_group| of_group == vp))
    }

    fn place_in_default(&mut self, tid: u32) {
        // A thread that ended needs no place.
        let _ = self.move_below(tid, self.built.default);
    }

    /// Puts a thread where a request wants it; no rule moves it any more.
    pub(crate) fn place_by_request(
        &mut self,
        tid: u32,
        to: (CoreScheduler, Params),
    ) -> Result<(), CoreError> {
        self.move_below(tid, to)?;
        self.threads.moved.insert(tid);
        let successor = self.threads.assignments.exit(tid);
        self.succeed(successor);
        Ok(())
    }

    /// Attaches a thread below a scheduler. It loses its number at the moment of the move itself: this process may go
    /// on much later, and what the thread gets until then does not count for its old promise.
    fn move_below(&mut self, tid: u32, (to, params): (CoreScheduler, Params)) -> Result<CoreVp, CoreError> {
        let core_vp = self.call_about(tid, About::move_to(to, params))?;
        self.unwatch_from(core_vp, self.built.core.called_at());
        Ok(core_vp)
    }
}
