//! Empties and destroys schedulers together with all schedulers below them: moves their threads elsewhere, and
//! destroys the schedulers from the bottom up.
//!
//! If a step fails, the earlier steps stay done: every step leaves a sound hierarchy. Relies on the engine to put no
//! thread into a closed place of the file.

use crate::engine::{HierarchyChange, Promisee, RunningEngine, Thread};
use crate::error::{Error, refused};
use crate::manager::{Manager, Peer};
use crate::operations::MOST_STEPS_OF_A_USER;
use crate::tree::{Lease, Scheduler, Slot, Tree};
use hls_calculus::{GraphEdge, Guarantee, Work};
use hls_client::interface::DemoteReply;
use hls_core::CoreScheduler;
use hls_engine::ThreadKey;
use hls_units::Nanos;
use std::collections::{BTreeSet, HashSet};

/// How many times newly arrived threads are moved before the request fails.
const ROUNDS: usize = 100;
/// How many times the calculus is asked, at most, which of the threads that lose their scheduler another one accepts.
const MOST_QUESTIONS: usize = 32;

/// What an evacuation has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evacuated {
    /// How many places of the hierarchy file were closed.
    places: u64,
    /// How many threads were moved.
    pub(crate) threads: u64,
    /// The scheduler that is demoted in parts, in the core.
    pub(crate) of: Option<CoreScheduler>,
    /// The schedulers that were destroyed.
    pub(crate) schedulers: Vec<String>,
}

impl Evacuated {
    /// What a demotion has done.
    pub(crate) fn reply(&self) -> DemoteReply {
        DemoteReply { moved: self.threads, destroyed: self.schedulers.clone() }
    }

    /// The error of a step that failed after this was done.
    pub(crate) fn before(&self, error: Error) -> Error {
        let mut done = Vec::new();
        if self.places > 0 {
            done.push(format!("closed {} of the hierarchy file", count(self.places, "place")));
        }
        if self.threads > 0 {
            done.push(format!("moved {}", count(self.threads, "thread")));
        }
        done.extend(self.schedulers.iter().map(|name| format!("destroyed `{name}`")));
        if done.is_empty() {
            return error;
        }
        let with_done = |reason| format!("{reason}; before this, the request {}", done.join(" and "));
        match error {
            Error::Failed(reason) => Error::Failed(with_done(reason)),
            Error::InUse(reason) => Error::InUse(with_done(reason)),
            Error::Denied(reason) => Error::Denied(with_done(reason)),
            Error::NotFound(reason) => Error::NotFound(with_done(reason)),
            error => error,
        }
    }
}

fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl<E: RunningEngine> Manager<E> {
    /// Empties the schedulers of the policy of this number, and destroys them.
    pub(crate) fn evacuate(&mut self, policy: u8) -> Result<Evacuated, Error> {
        let doomed = doomed(&self.tree, |_, scheduler| scheduler.policy.id == policy)?;
        let mut done = Evacuated::default();
        self.remove(&doomed, self.tree.default, &mut done).map_err(|error| done.before(error))?;
        Ok(done)
    }

    /// Moves the threads below these schedulers (parents first) to `to`, or to the default scheduler if `to` does not
    /// accept them with default parameters; then destroys the schedulers.
    pub(crate) fn remove(&mut self, doomed: &[usize], to: usize, done: &mut Evacuated) -> Result<(), Error> {
        self.close_places(doomed, &mut done.places)?;
        let placed = self.placed(doomed);
        self.move_out(doomed, &placed, to, &mut done.threads)?;
        let mut left = doomed.to_vec();
        let mut rounds = 0..ROUNDS;
        while let Some(&at) = left.last() {
            let name = self.tree.scheduler(at).map(|scheduler| scheduler.name.clone());
            match self.take_down(at) {
                // It has threads that no request has placed, or new ones: threads may come at any time until the
                // scheduler is destroyed.
                Err(Error::InUse(_)) if rounds.next().is_some() => {
                    let all = self.listed(&left)?;
                    self.move_out(&left, &all, to, &mut done.threads)?;
                    self.end_leases()?;
                }
                destroyed => {
                    destroyed?;
                    done.schedulers.extend(name);
                    left.pop();
                }
            }
        }
        Ok(())
    }

    /// Closes the places of the file below these schedulers: no thread takes them any more, and their promises end.
    /// Counts them.
    fn close_places(&mut self, schedulers: &[usize], count: &mut u64) -> Result<(), Error> {
        let mut tree = self.tree.clone();
        tree.slots.retain(|_, slot| !schedulers.contains(&slot.scheduler));
        let closed: Vec<GraphEdge> =
            self.tree.slots.keys().filter(|place| !tree.slots.contains_key(place)).copied().collect();
        let ended: Vec<usize> = closed.iter().map(|place| place.0).collect();
        tree.admission.end_threads(&ended).map_err(refused)?;
        for place in closed {
            self.engine.promise(Promisee::Place(place), &Guarantee::Null, Nanos::ZERO);
            self.engine.change(HierarchyChange::ClosePlace { place })?;
            *count += 1;
        }
        self.commit(tree);
        Ok(())
    }

    /// The threads below these schedulers that requests have placed there.
    pub(crate) fn placed(&self, schedulers: &[usize]) -> Vec<ThreadKey> {
        let leases = self.tree.leases.values();
        leases.filter(|lease| schedulers.contains(&lease.slot.scheduler)).map(|lease| lease.key).collect()
    }

    /// All threads below these schedulers. To find them takes long, as all threads of the machine are listed.
    fn listed(&mut self, schedulers: &[usize]) -> Result<Vec<ThreadKey>, Error> {
        let ids = self.in_core(schedulers);
        let all = self.engine.threads()?.into_iter();
        Ok(all.filter(|thread| ids.contains(&thread.scheduler)).map(|thread| thread.key).collect())
    }

    /// The core's numbers of these schedulers.
    fn in_core(&self, schedulers: &[usize]) -> HashSet<CoreScheduler> {
        schedulers.iter().filter_map(|at| Some(self.tree.scheduler(*at)?.id)).collect()
    }

    /// Moves those of the given threads that are below these schedulers to another one, or to the default scheduler,
    /// and counts them.
    pub(crate) fn move_out(
        &mut self,
        from: &[usize],
        given: &[ThreadKey],
        to: usize,
        moved: &mut u64,
    ) -> Result<(), Error> {
        let ids = self.in_core(from);
        let mut threads = Vec::new();
        for key in given {
            // It may have ended, and another thread may have its number; or it is elsewhere.
            let thread = self.engine.thread(key.tid)?;
            threads.extend(thread.filter(|it| it.key == *key && ids.contains(&it.scheduler)));
        }
        self.place_together(&threads, to, moved)
    }

    /// Puts threads below a scheduler with default parameters, and those that it does not accept into the default
    /// scheduler. Counts them. The tree changes once, however many they are; after an error it has those that were
    /// moved before.
    fn place_together(&mut self, threads: &[Thread], to: usize, moved: &mut u64) -> Result<(), Error> {
        let mut tree = self.tree.clone();
        let slot = self.slot_with_presets(to);
        let edges = slot.as_ref().map_or_else(Vec::new, |slot| admit_together(&mut tree, threads, slot));
        let mut unused: BTreeSet<GraphEdge> = edges.iter().copied().flatten().collect();
        let mut placed: Vec<(u32, Option<GraphEdge>)> = Vec::new();
        let mut ended = Vec::new();
        let mut outcome = Ok(());
        for (at, thread) in threads.iter().enumerate() {
            let edge = edges.get(at).copied().flatten();
            let tid = thread.key.tid;
            match self.carry_with_presets(thread, slot.as_ref().filter(|_| edge.is_some())) {
                Ok(is_there) => placed.push((tid, edge.filter(|_| is_there))),
                // The thread has ended.
                Err(Error::NotFound(_)) => continue,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
            // The move has ended the old promise to the thread, even if the new promise is the same.
            let old = self.tree.leases.remove(&tid);
            ended.extend(tree.leases.remove(&tid).map(|old| old.edge.0));
            if let (Some((_, Some(edge))), Some(slot)) = (placed.last(), &slot) {
                unused.remove(edge);
                let placer = old.map_or(Peer::ROOT.uid, |old| old.placer);
                tree.leases.insert(tid, Lease { key: thread.key, edge: *edge, slot: slot.clone(), placer });
            }
        }
        *moved += placed.len() as u64;
        ended.extend(unused.into_iter().map(|edge| edge.0));
        tree.admission.end_threads(&ended).map_err(refused)?;
        self.commit(tree);
        placed.into_iter().for_each(|(tid, edge)| self.note_place(tid, edge.map(|edge| (to, edge))));
        outcome
    }

    /// Has the engine move a thread into this place, or else into the default scheduler. Returns whether it is in this
    /// place.
    fn carry_with_presets(&mut self, thread: &Thread, slot: Option<&Slot>) -> Result<bool, Error> {
        match slot.map(|slot| self.carry(thread, slot)) {
            None | Some(Err(Error::InUse(_) | Error::BadValue(_))) => {
                self.carry(thread, &self.default_slot()).map(|()| false)
            }
            Some(carried) => carried.map(|()| true),
        }
    }
}

/// Asks the calculus for a place for each of these threads; `None` for those that it refuses. It is asked for all at
/// once, then for halves of those that it refuses, and not for ever: a question is as much work as there are children.
fn admit_together(tree: &mut Tree, threads: &[Thread], slot: &Slot) -> Vec<Option<GraphEdge>> {
    let mut admitted = vec![None; threads.len()];
    let mut open = vec![(0, threads.len())];
    let work = Work::of(MOST_STEPS_OF_A_USER);
    for _ in 0..MOST_QUESTIONS {
        let Some((from, to)) = open.pop() else { break };
        let edges: Vec<_> = threads[from..to].iter().map(|thread| tree.thread_edge(thread, slot)).collect();
        match tree.admission.begin_together(edges, &work) {
            Ok(edges) => {
                admitted.splice(from..to, edges.into_iter().map(|edge| Some(GraphEdge(edge))));
            }
            Err(_) if to - from > 1 => {
                let half = from + (to - from) / 2;
                open.extend([(half, to), (from, half)]);
            }
            Err(_) => {}
        }
    }
    admitted
}

/// The schedulers for which `is_one` holds and all schedulers below them, parents first.
pub(crate) fn doomed(tree: &Tree, is_one: impl Fn(usize, &Scheduler) -> bool) -> Result<Vec<usize>, Error> {
    let mut doomed = BTreeSet::new();
    let order = tree.parents_first();
    for at in &order {
        let Some(scheduler) = tree.scheduler(*at) else { continue };
        let is_below =
            scheduler.above.iter().any(|above| above.parent.is_some_and(|it| doomed.contains(&it)));
        if !is_below && !is_one(*at, scheduler) {
            continue;
        }
        if let Some(stays) = tree.why_it_stays(*at, scheduler) {
            let found = format!("found {stays}, `{}`, among those to be destroyed", scheduler.name);
            return Err(Error::InUse(format!("{found}, expected that it stays")));
        }
        doomed.insert(*at);
    }
    Ok(order.into_iter().filter(|at| doomed.contains(at)).collect())
}
