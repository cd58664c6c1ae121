//! The promises that are held against the run, each with its monitor: where each promised VP is, so that stolen time is
//! credited to the VPs from which it was stolen; which promises broke, and the cause where it is known.
//!
//! Relies on records in time order. A promise may begin and end while the run goes on. Memory is bounded: breaches
//! beyond a hundred that are not taken are dropped, and beyond a thousand promises that ended only their number is
//! kept.

use crate::event::{ObservedVp, What};
use crate::promise::{Promise, Standing};
use crate::result::{Cause, Child, GuaranteeResult, Topology};
use crate::windows::{Breach, Monitor};
use hls_units::Nanos;
use std::mem;

/// A promise that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The VP that was promised something.
    pub vp: ObservedVp,
    /// The promise as text.
    pub guarantee: String,
    /// The window or request in which it broke.
    pub breach: Breach,
    /// Why, where that is known.
    pub cause: Option<Cause>,
}

/// Where a promised VP is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It wants no CPU.
    Off,
    /// It waits for a CPU.
    Ready,
    /// It runs on this CPU.
    On(u16),
}

/// A promise and what is known of its VP.
#[derive(Clone, Debug)]
struct WatchedPromise {
    promise: Promise,
    monitor: Monitor,
    from: Nanos,
    /// CPU time that the VP had had when the promise began.
    ran_before: Nanos,
    place: Place,
    /// Index into [`Promises::ready`], while the VP waits for a CPU.
    ready_at: usize,
    wanted_since: Option<Nanos>,
    /// What was promised for the VP's earlier requests, roughly: see [`crate::observe::Pace`].
    promised: Nanos,
    /// The first and the latest breach.
    broken: Option<(Breach, Breach)>,
}

impl WatchedPromise {
    fn promised_until(&self, at: Nanos) -> Nanos {
        let open = self.wanted_since.map_or(Nanos::ZERO, |since| at.saturating_sub(since));
        self.promised.saturating_add(self.promise.pace.promised_in(open))
    }

    /// Whether the VP got too little at some time of that breach, so far as is remembered.
    fn was_short_in(&self, window: &Breach) -> bool {
        let meets = |mine: &Breach, to| !mine.is_over() && mine.from < window.to && window.from < to;
        let latest_to = self.monitor.short_until();
        self.broken.as_ref().is_some_and(|(first, latest)| meets(first, first.to) || meets(latest, latest_to))
    }
}

/// At most this many breaches wait for [`Promises::take_breaches`].
const MAX_UNREPORTED: usize = 100;
/// The results of at most this many promises that ended are kept.
const MAX_ENDED: usize = 1_000;

/// All promises, each in a slot with a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    slots: Vec<Option<WatchedPromise>>,
    free: Vec<u32>,
    /// For each CPU the slots of the VPs that run there; at most one for each level of the hierarchy.
    running: Vec<Vec<u32>>,
    /// The slots of the VPs that wait for a CPU.
    ready: Vec<u32>,
    /// Breaches that [`Promises::take_breaches`] has not handed over, each with its slot.
    unreported: Vec<(u32, Breach)>,
    pub slack: Nanos,
    pub ended: Vec<GuaranteeResult>,
    pub unlisted: u64,
}

impl Promises {
    pub fn new(cpus: u16) -> Promises {
        Promises { running: vec![Vec::new(); usize::from(cpus)], ..Promises::default() }
    }

    /// Watches a promise from `at` on to a VP that is at `place`, has had `ran_before` of CPU time, and has had
    /// `ran_here` below its scheduler; returns its slot.
    pub fn begin(
        &mut self,
        promise: Promise,
        at: Nanos,
        place: Place,
        (ran_before, ran_here): (Nanos, Nanos),
    ) -> u32 {
        let monitor = Monitor::new(promise.windows.clone(), at, self.slack).with_requests(
            promise.requests,
            at,
            ran_here,
        );
        let entry = WatchedPromise {
            promise,
            monitor,
            from: at,
            ran_before,
            place: Place::Off,
            ready_at: 0,
            wanted_since: None,
            promised: Nanos::ZERO,
            broken: None,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(entry);
        if place != Place::Off {
            self.note_change(slot, 0, at, What::Request);
        }
        if let Place::On(cpu) = place {
            self.note_change(slot, cpu, at, What::Grant);
        }
        slot
    }

    /// Ends the promise in that slot.
    pub fn end(&mut self, slot: u32, at: Nanos, topology: &Topology) {
        let Some(result) = self.finish(slot, at, topology) else { return };
        self.set_place(slot, Place::Off);
        self.unreported.retain(|(of, _)| *of != slot);
        self.slots[slot as usize] = None;
        self.free.push(slot);
        if self.ended.len() < MAX_ENDED {
            self.ended.push(result);
        } else {
            self.unlisted += 1;
        }
    }

    /// Sets the slack of all promises from now on.
    pub fn set_slack(&mut self, slack: Nanos) {
        self.slack = slack;
        self.slots.iter_mut().flatten().for_each(|entry| entry.monitor.set_slack(slack));
    }

    /// Records between `from` and `to` were lost: no promise is judged over that time, nor afterwards, until a record
    /// tells what its VP does.
    pub fn lose(&mut self, from: Nanos, to: Nanos) {
        for slot in 0..self.slots.len() as u32 {
            let Some(Some(entry)) = self.slots.get_mut(slot as usize) else { continue };
            entry.monitor.lose_track(from, to);
            entry.promised = entry.promised_until(from);
            entry.wanted_since = None;
            self.note_breaches(slot);
            self.set_place(slot, Place::Off);
        }
    }

    /// Takes what happened to the VP of a promise into account; it is or was on `cpu`.
    pub fn note_change(&mut self, slot: u32, cpu: u16, at: Nanos, what: What) {
        let Some(Some(entry)) = self.slots.get_mut(slot as usize) else { return };
        let place = match what {
            What::Request => {
                entry.monitor.request(at);
                entry.wanted_since.get_or_insert(at);
                if entry.place == Place::Off { Place::Ready } else { entry.place }
            }
            What::Grant => {
                entry.monitor.grant(at);
                entry.wanted_since.get_or_insert(at);
                Place::On(cpu)
            }
            What::Revoke => {
                entry.monitor.revoke(at);
                entry.wanted_since.get_or_insert(at);
                Place::Ready
            }
            What::Release | What::Leave => {
                match what {
                    What::Leave => entry.monitor.leave(at),
                    _ => entry.monitor.release(at),
                }
                entry.promised = entry.promised_until(at);
                entry.wanted_since = None;
                Place::Off
            }
            _ => return,
        };
        self.note_breaches(slot);
        self.set_place(slot, place);
    }

    /// That CPU was taken for `length` until `at`, from the VPs that run there and from those that might have run
    /// there.
    pub fn steal(&mut self, cpu: u16, at: Nanos, length: Nanos) {
        let held_up = self.running.get(usize::from(cpu)).into_iter().flatten().chain(&self.ready);
        self.steal_from(held_up.copied().collect(), at, length);
    }

    /// Of the VPs for which `is_one` is true, those that wait for a CPU have done so for `length`, until `until`. This
    /// counts as stolen.
    pub fn steal_of(&mut self, until: Nanos, length: Nanos, is_one: impl Fn(ObservedVp) -> bool) {
        let watched = |slot: &u32| self.slots.get(*slot as usize)?.as_ref().map(|entry| entry.promise.vp);
        let waiting = self.ready.iter().filter(|slot| watched(slot).is_some_and(&is_one)).copied().collect();
        self.steal_from(waiting, until, length);
    }

    fn steal_from(&mut self, slots: Vec<u32>, at: Nanos, length: Nanos) {
        for slot in slots {
            if let Some(Some(entry)) = self.slots.get_mut(slot as usize) {
                entry.monitor.steal(at, length);
                self.note_breaches(slot);
            }
        }
    }

    /// All records that follow are later than `at`: judges the VPs that wait for a CPU until then.
    pub fn advance(&mut self, at: Nanos) {
        for slot in self.ready.clone() {
            if let Some(Some(entry)) = self.slots.get_mut(slot as usize) {
                entry.monitor.advance(at);
                self.note_breaches(slot);
            }
        }
    }

    /// The promises that broke since the last time.
    pub fn take_breaches(&mut self, topology: &Topology) -> Vec<Broken> {
        let unreported = mem::take(&mut self.unreported);
        let broken = |(slot, breach): (u32, Breach)| {
            let promise = &self.slots.get(slot as usize)?.as_ref()?.promise;
            let cause = self.cause(promise.vp, &breach, topology);
            Some(Broken { vp: promise.vp, guarantee: promise.text.clone(), breach, cause })
        };
        unreported.into_iter().filter_map(broken).collect()
    }

    /// How the promise in a slot stands at `at`, when its VP has had `ran` of CPU time.
    pub fn standing(&self, slot: u32, at: Nanos, ran: Nanos) -> Standing {
        let entry = self.slots.get(slot as usize).and_then(Option::as_ref);
        entry.map_or_else(Standing::default, |entry| Standing {
            ran: ran.saturating_sub(entry.ran_before),
            promised: entry.promised_until(at),
            stolen: entry.monitor.stolen(),
            counts: entry.monitor.counts(),
        })
    }

    /// The results at `at` of all promises that have not ended.
    pub fn finish_all(&mut self, at: Nanos, topology: &Topology) -> Vec<GuaranteeResult> {
        // All monitors first: a scheduler's own shortfall may be noticed only now.
        for slot in 0..self.slots.len() as u32 {
            if let Some(Some(entry)) = self.slots.get_mut(slot as usize) {
                entry.monitor.finish(at);
                self.note_breaches(slot);
            }
        }
        (0..self.slots.len() as u32).filter_map(|slot| self.finish(slot, at, topology)).collect()
    }

    fn finish(&mut self, slot: u32, at: Nanos, topology: &Topology) -> Option<GuaranteeResult> {
        let windows = self.slots.get_mut(slot as usize)?.as_mut()?.monitor.finish(at);
        self.note_breaches(slot);
        let entry = self.slots[slot as usize].as_ref()?;
        let Promise { vp, ref text, .. } = entry.promise;
        let cause = entry.broken.and_then(|(first, _)| self.cause(vp, &first, topology));
        let (from, counts, requests) = (entry.from, entry.monitor.counts(), entry.monitor.requests());
        let by = topology.vps.get(vp.index()).and_then(|info| info.parent);
        Some(GuaranteeResult {
            vp,
            by,
            guarantee: text.clone(),
            from,
            to: at,
            windows,
            requests,
            counts,
            cause,
        })
    }

    fn note_breaches(&mut self, slot: u32) {
        let Some(Some(entry)) = self.slots.get_mut(slot as usize) else { return };
        for breach in entry.monitor.take_breaches() {
            let first = entry.broken.map_or(breach, |(first, _)| first);
            entry.broken = Some((first, breach));
            if self.unreported.len() < MAX_UNREPORTED {
                self.unreported.push((slot, breach));
            }
        }
    }

    /// Why a promise to `vp` broke: the scheduler above got too little itself.
    fn cause(&self, vp: ObservedVp, breach: &Breach, topology: &Topology) -> Option<Cause> {
        let parent = topology.vps.get(vp.index())?.parent?;
        let is_above = |vp: ObservedVp| {
            topology.vps.get(vp.index()).is_some_and(|info| info.child == Child::Scheduler(parent))
        };
        let mut short = self.slots.iter().flatten().filter(|entry| entry.was_short_in(breach));
        let above = short.find(|entry| !breach.is_over() && is_above(entry.promise.vp))?;
        Some(Cause::Above(above.promise.vp))
    }

    /// Moves the slot of a VP to where the VP is now: in `ready`, in `running` of a CPU, or nowhere.
    fn set_place(&mut self, slot: u32, place: Place) {
        let Some(Some(entry)) = self.slots.get_mut(slot as usize) else { return };
        let (before, ready_at) = (mem::replace(&mut entry.place, place), entry.ready_at);
        if before == place {
            return;
        }
        entry.ready_at = self.ready.len() - usize::from(before == Place::Ready);
        match before {
            Place::Off => {}
            Place::Ready => {
                self.ready.swap_remove(ready_at);
                if let Some(&moved) = self.ready.get(ready_at)
                    && let Some(moved) = &mut self.slots[moved as usize]
                {
                    moved.ready_at = ready_at;
                }
            }
            Place::On(cpu) => {
                let running = self.running.get_mut(usize::from(cpu));
                running.into_iter().for_each(|running| running.retain(|&other| other != slot));
            }
        }
        match place {
            Place::Off => {}
            Place::Ready => self.ready.push(slot),
            Place::On(cpu) => self.running.get_mut(usize::from(cpu)).into_iter().for_each(|r| r.push(slot)),
        }
    }
}
