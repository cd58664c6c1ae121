//! Empties and destroys schedulers together with all schedulers below them: moves their threads elsewhere, one by
//! one, and destroys the schedulers from the bottom up.
//!
//! If a step fails, the earlier steps stay done: every step leaves a sound hierarchy. Relies on the engine to put no
//! thread into a closed place of the file.

use crate::engine::{HierarchyChange, Promisee, RunningEngine};
use crate::error::{Error, refused};
use crate::manager::Manager;
use crate::tree::{Scheduler, Tree};
use hls_calculus::{GraphEdge, Guarantee};
use std::collections::BTreeSet;

/// How many times newly arrived threads are moved before the request fails.
const ROUNDS: usize = 100;

/// What an evacuation has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evacuated {
    /// How many places of the hierarchy file were closed.
    places: u64,
    /// How many threads were moved.
    pub(crate) threads: u64,
    /// The schedulers that were destroyed.
    pub(crate) schedulers: Vec<String>,
}

impl Evacuated {
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
        self.remove(&doomed, self.tree.default)
    }

    /// Moves the threads below these schedulers (parents first) to `to`, or to the default scheduler if `to` does not
    /// accept them with default parameters; then destroys the schedulers.
    pub(crate) fn remove(&mut self, doomed: &[usize], to: usize) -> Result<Evacuated, Error> {
        let mut done = Evacuated::default();
        self.remove_each(doomed, to, &mut done).map_err(|error| done.before(error))?;
        Ok(done)
    }

    fn remove_each(&mut self, doomed: &[usize], to: usize, done: &mut Evacuated) -> Result<(), Error> {
        self.close_places(doomed, &mut done.places)?;
        for at in doomed.iter().rev() {
            let Some(name) = self.tree.scheduler(*at).map(|scheduler| scheduler.name.clone()) else {
                continue;
            };
            let mut rounds = 0..ROUNDS;
            loop {
                self.move_out(*at, to, &mut done.threads)?;
                self.end_leases()?;
                match self.take_down(*at) {
                    // Threads may come at any time until the scheduler is destroyed.
                    Err(Error::InUse(_)) if rounds.next().is_some() => {}
                    destroyed => break destroyed?,
                }
            }
            done.schedulers.push(name);
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
        for place in &closed {
            tree.admission.end(place.0).map_err(refused)?;
        }
        for place in closed {
            self.engine.promise(Promisee::Place(place), &Guarantee::Null);
            self.engine.change(HierarchyChange::ClosePlace { place })?;
            *count += 1;
        }
        self.commit(tree);
        Ok(())
    }

    /// Moves all threads of a scheduler to another one, or to the default scheduler, and counts them.
    fn move_out(&mut self, at: usize, to: usize, moved: &mut u64) -> Result<(), Error> {
        let Some(id) = self.tree.scheduler(at).map(|scheduler| scheduler.id) else { return Ok(()) };
        for found in self.engine.threads()?.into_iter().filter(|thread| thread.scheduler == id) {
            // Meanwhile it may have ended, and another thread may have its number; or it is elsewhere.
            let thread = self.engine.thread(found.key.tid)?;
            let Some(thread) = thread.filter(|it| it.key == found.key && it.scheduler == id) else {
                continue;
            };
            match self.place_with_presets(&thread, to) {
                // The thread has ended.
                Err(Error::NotFound(_)) => {}
                placed => {
                    placed?;
                    *moved += 1;
                }
            }
        }
        Ok(())
    }
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
