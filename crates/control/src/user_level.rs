//! User-level schedulers, with a process as their policy: promote, demote, grant and revoke (G. Parmer and R. West,
//! "Predictable and Configurable Component-Based Scheduling in the Composite OS", ACM TECS 13(1s), 2013, Table I).
//!
//! A promoted scheduler is destroyed when its last thread has left or ended. Its process may end and be started again
//! meanwhile; the new process asks for new pages. Relies on the engine for the pages, and to take them away with
//! their scheduler.

use crate::asked::{Asked, Serve};
use crate::engine::{RunningEngine, Thread};
use crate::error::{Error, after_undoing};
use crate::evacuate::{Evacuated, doomed};
use crate::manager::{Manager, Peer};
use crate::operations::Granted;
use crate::params::Reader;
use crate::policies::REST;
use crate::tree::{Scheduler, Slot};
use crate::varlink::Fault;
use hls_check::unenforceable_budget;
use hls_client::interface::{
    self, CreateReply, Demote, DemoteReply, Grant, GrantReply, PagesReply, Promote, PromoteReply, Revoke,
    RevokeReply,
};
use hls_client::{Pages, Texts};
use hls_core::pages::VERSION;
use hls_core::{PolicyInfo, pages};
use std::collections::BTreeSet;
use std::thread::sleep;

/// The policy of schedulers that are promoted.
const POLICY: &str = "user-level";

/// The most schedulers with pages that a user other than root may have at a time; all users: [`pages::MAX_PAGES`].
const MAX_PAGED_OF_A_USER: usize = 16;
/// How many threads a demotion moves before other requests have their turn.
const MOST_AT_ONCE: usize = 64;

/// A promoted scheduler, and what its process needs.
#[derive(Debug)]
pub struct Promoted {
    /// The scheduler, and what it is promised.
    pub granted: Granted,
    /// How many CPUs it may have at once.
    pub width: u16,
    /// Its pages.
    pub pages: Pages,
}

impl Serve for Promote {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<PromoteReply, Fault> {
        let Promote { name, below, agent, parameters } = self;
        let promote = |it: &mut Manager<E>| it.promote(asked.who, &name, &below, agent, &parameters);
        let Promoted { granted, width, pages } = asked.with_policy(promote)?;
        asked.answer.descriptors.extend([pages.kernel, pages.user]);
        let CreateReply { scheduler, guarantee } = granted.into();
        Ok(PromoteReply { scheduler, guarantee, width, version: VERSION })
    }
}

impl Serve for interface::Pages {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<PagesReply, Fault> {
        let (width, pages) = asked.with(|it| it.pages(asked.who, &self.name))?;
        asked.answer.descriptors.extend([pages.kernel, pages.user]);
        Ok(PagesReply { width, version: VERSION })
    }
}

impl Serve for Demote {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<DemoteReply, Fault> {
        let mut done = Evacuated::default();
        loop {
            if let Some(reply) = asked.with(|it| it.demote_some(asked.who, &self.name, &mut done))? {
                return Ok(reply);
            }
            // Others' requests, and threads of the hierarchy, come in between.
            asked.aside(|| {
                sleep(REST);
                Ok(())
            })?;
        }
    }
}

impl Serve for Grant {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<GrantReply, Fault> {
        let Grant { name, thread, urgency, slot } = self;
        let numbers = [("urgency", urgency), ("slot", slot)];
        let text = |(name, number): (&str, Option<u64>)| Some((name.to_owned(), number?.to_string()));
        let texts = numbers.into_iter().filter_map(text).collect();
        asked.with(|it| it.grant(asked.who, &name, thread, &texts)).map(GrantReply::from)
    }
}

impl Serve for Revoke {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<RevokeReply, Fault> {
        asked.with(|it| it.revoke(asked.who, self.thread)).map(RevokeReply::from)
    }
}

impl<E: RunningEngine> Manager<E> {
    /// Creates a user-level scheduler with the thread `agent` as its agent; the thread's process is its policy.
    /// `texts` is as for [`Manager::create`].
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn promote(
        &mut self,
        who: Peer,
        name: &str,
        below: &str,
        agent: u32,
        texts: &Texts,
    ) -> Result<Promoted, Error> {
        self.sweep()?;
        let agent = self.thread(who, agent)?;
        let granted = self.create(who, POLICY, name, below, texts)?;
        let (number, _) = self.tree.find(name)?;
        match self.hand_over(who, number, &agent) {
            Ok((width, pages)) => Ok(Promoted { granted, width, pages }),
            Err(error) => Err(after_undoing(error, self.take_down(number))),
        }
    }

    /// Makes the pages of a new scheduler, and makes the thread its agent. Returns the scheduler's width and the
    /// pages.
    fn hand_over(&mut self, who: Peer, number: usize, agent: &Thread) -> Result<(u16, Pages), Error> {
        let (width, pages) = self.fresh_pages(number)?;
        let policy = self.tree.scheduler(number).map_or(&[][..], |scheduler| &scheduler.policy.vp_params);
        let texts = Texts::from([(pages::SLOT.into(), pages::AGENTS_SLOT.to_string())]);
        let params = Reader::new(&texts).values(policy, None)?;
        self.place(who, agent, Slot { scheduler: number, params, need: None })?;
        self.tree.schedulers[number].as_mut().into_iter().for_each(|known| known.is_promoted = true);
        Ok((width, pages))
    }

    /// Makes new pages for a user-level scheduler, when a new process takes it over. The old pages are no longer
    /// used. Every user that may change what is below the scheduler may ask for this.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed, unless the system failed: then the scheduler may be without
    /// pages.
    pub fn pages(&mut self, who: Peer, name: &str) -> Result<(u16, Pages), Error> {
        self.sweep()?;
        let number = self.user_level(name)?;
        self.may_change_below(who, number)?;
        self.fresh_pages(number)
    }

    fn fresh_pages(&mut self, number: usize) -> Result<(u16, Pages), Error> {
        let Some(scheduler) = self.tree.scheduler(number) else {
            return Err(Error::NotFound("found no scheduler of that number".into()));
        };
        Ok((self.tree.held(scheduler), self.engine.make_pages(scheduler.id)?))
    }

    /// Ends a user-level scheduler, and all schedulers below it. Their threads go to the scheduler above it if that
    /// scheduler accepts them with default parameters, else to the default scheduler.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed, unless the system failed: then the error also has what was done.
    pub fn demote(&mut self, who: Peer, name: &str) -> Result<DemoteReply, Error> {
        let mut done = Evacuated::default();
        loop {
            if let Some(reply) = self.demote_some(who, name, &mut done)? {
                return Ok(reply);
            }
        }
    }

    /// A part of [`Manager::demote`], after which the hierarchy is sound: moves some threads, or, where not many are
    /// left, does the rest. `None`: there is more to do. Between two parts other requests may change anything.
    fn demote_some(
        &mut self,
        who: Peer,
        name: &str,
        done: &mut Evacuated,
    ) -> Result<Option<DemoteReply>, Error> {
        let reply = self.demote_part(who, name, done);
        reply.map_err(|error| done.before(error))
    }

    fn demote_part(
        &mut self,
        who: Peer,
        name: &str,
        done: &mut Evacuated,
    ) -> Result<Option<DemoteReply>, Error> {
        self.sweep()?;
        let found = self.user_level(name);
        let id = found.as_ref().ok().and_then(|number| self.tree.scheduler(*number)).map(|found| found.id);
        let number = match found {
            // It has gone with its last thread since the part before; its name may be another one's.
            Err(Error::NotFound(_)) if done.of.is_some() => return Ok(Some(done.reply())),
            Ok(_) if done.of.is_some_and(|of| Some(of) != id) => return Ok(Some(done.reply())),
            number => number?,
        };
        done.of = id;
        let doomed = doomed(&self.tree, |at, _| at == number)?;
        for scheduler in doomed.iter().filter_map(|at| self.tree.scheduler(*at)) {
            let parents = scheduler.above.iter().filter_map(|above| above.parent);
            parents.into_iter().try_for_each(|parent| self.may_change_below(who, parent))?;
        }
        let has_places = self.tree.slots.values().any(|slot| doomed.contains(&slot.scheduler));
        if has_places && !who.is_root() {
            let found = format!("found places of the hierarchy file below `{name}`");
            return Err(Error::Denied(format!("{found}, expected root: other users may be promised them")));
        }
        let above = self.above(number);
        let (placed, before) = (self.placed(&doomed), done.threads);
        if let Some((some, [_, ..])) = placed.split_at_checked(MOST_AT_ONCE) {
            self.move_out(&doomed, some, above, &mut done.threads)?;
            if done.threads > before {
                return Ok(None);
            }
        }
        self.remove(&doomed, above, done)?;
        Ok(Some(done.reply()))
    }

    /// Moves a thread below a user-level scheduler, with these parameters.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn grant(&mut self, who: Peer, name: &str, tid: u32, texts: &Texts) -> Result<Granted, Error> {
        self.sweep()?;
        self.user_level(name)?;
        self.move_thread(who, tid, name, texts)
    }

    /// Moves a thread from a user-level scheduler to that scheduler's parent, if the user may do so and the parent
    /// accepts the thread with default parameters; else to the default scheduler.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn revoke(&mut self, who: Peer, tid: u32) -> Result<Granted, Error> {
        self.sweep()?;
        let thread = self.thread(who, tid)?;
        let number = self.scheduler_of(&thread)?;
        if let Some(scheduler) = self.tree.scheduler(number) {
            is_user_level(scheduler).map_err(|error| Error::BadValue(format!("thread {tid}: {error}")))?;
        }
        let above = self.above(number);
        let may = self.may_change_below(who, above).is_ok();
        self.place_with_presets(who, &thread, if may { above } else { self.tree.default })
    }

    /// The parent of a scheduler that has at most one; for the root, the default scheduler.
    fn above(&self, number: usize) -> usize {
        let above = self.tree.scheduler(number).and_then(|scheduler| scheduler.above.first()?.parent);
        above.unwrap_or(self.tree.default)
    }

    /// The user-level scheduler of this name.
    fn user_level(&self, name: &str) -> Result<usize, Error> {
        let (number, scheduler) = self.tree.find(name)?;
        is_user_level(scheduler).map_err(Error::BadValue)?;
        Ok(number)
    }

    /// Puts a thread below a scheduler with default parameters; into the default scheduler if a parameter has no
    /// default, or if the scheduler does not accept the thread.
    fn place_with_presets(&mut self, who: Peer, thread: &Thread, to: usize) -> Result<Granted, Error> {
        if let Some(slot) = self.slot_with_presets(to) {
            match self.place(who, thread, slot) {
                Err(Error::Refused(_) | Error::InUse(_) | Error::BadValue(_)) => {}
                placed => return placed,
            }
        }
        self.place_in_default(who, thread)
    }

    /// A place below a scheduler with default parameters; `None` in the default scheduler, or if a parameter has no
    /// default, or one that the machine cannot enforce.
    pub(crate) fn slot_with_presets(&self, scheduler: usize) -> Option<Slot> {
        let policy = self.tree.scheduler(scheduler).filter(|_| scheduler != self.tree.default)?.policy;
        let params = policy.vp_params.iter().map(|info| info.default).collect::<Option<Vec<u64>>>()?;
        let is_enforceable = unenforceable_budget(policy, &params, self.tree.overrun).is_none();
        is_enforceable.then_some(Slot { scheduler, params, need: None })
    }

    /// Whether the user may have one more scheduler of this policy, if the policy has pages.
    pub(crate) fn may_have_pages(&self, who: Peer, policy: &PolicyInfo) -> Result<(), Error> {
        if !policy.properties.has_pages {
            return Ok(());
        }
        let all = || self.tree.all().filter(|(_, scheduler)| scheduler.policy.properties.has_pages);
        let own = all().filter(|(_, scheduler)| scheduler.creator == Some(who.uid)).count();
        if all().count() >= pages::MAX_PAGES {
            let found = format!("found {} schedulers whose policy is a process", pages::MAX_PAGES);
            return Err(Error::InUse(format!("{found}, expected fewer: each has pages")));
        }
        if !who.is_root() && own >= MAX_PAGED_OF_A_USER {
            let found = format!("found {own} schedulers of user {} whose policy is a process", who.uid);
            return Err(Error::InUse(format!("{found}, expected at most {MAX_PAGED_OF_A_USER}")));
        }
        Ok(())
    }

    /// Ends promoted schedulers that have no threads left.
    pub(crate) fn remove_abandoned(&mut self) -> Result<(), Error> {
        let promoted = self.tree.all().filter(|(_, scheduler)| scheduler.is_promoted).map(|(at, _)| at);
        let promoted: Vec<usize> = promoted.collect();
        // Every thread below a promoted scheduler was put there by a request.
        let used: BTreeSet<usize> = self.tree.leases.values().map(|lease| lease.slot.scheduler).collect();
        for number in promoted {
            let Ok(doomed) = doomed(&self.tree, |at, _| at == number) else { continue };
            if !doomed.iter().any(|at| used.contains(at)) {
                // After any other error this is tried again before the next request.
                if let Err(Error::Ended) = self.remove(&doomed, self.tree.default, &mut Evacuated::default())
                {
                    return Err(Error::Ended);
                }
            }
        }
        Ok(())
    }
}

fn is_user_level(scheduler: &Scheduler) -> Result<(), String> {
    let Scheduler { name, policy, .. } = scheduler;
    if policy.properties.has_pages {
        return Ok(());
    }
    Err(format!(
        "found `{name}`, whose policy is {}, expected a scheduler whose policy is a process: {POLICY}",
        policy.name
    ))
}
