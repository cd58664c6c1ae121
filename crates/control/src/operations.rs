//! The operations of users on schedulers and threads of a running hierarchy (HLSCtl; HLS thesis, section 10.2).
//!
//! Every operation has the same steps: check that it is allowed and well formed, ask the calculus on a copy of the
//! tree, and have the engine make the change; then the copy becomes the hierarchy. If a step refuses, nothing has
//! changed. Relies on the engine to make a change as a whole or not at all.

use crate::asked::{Asked, Serve};
use crate::building::{build, tear_down};
use crate::changes::change;
use crate::engine::{HierarchyChange, Promisee, RunningEngine, Thread};
use crate::error::{Case, Error, Refusal, not_taken, refused};
use crate::loaded::policy_of;
use crate::manager::{Manager, Peer, nowhere};
use crate::params::{self, Reader};
use crate::tree::{Above, Lease, Scheduler, Slot, Tree, named, share_scale};
use crate::varlink::Fault;
use hls_calculus::{Child, Edge, GraphEdge, Guarantee, Rational, Work};
use hls_check::{at_least, unenforceable_budget};
use hls_client::Texts;
use hls_client::interface::{
    Change, Create, CreateReply, Destroy, DestroyReply, Kind, Message, MessageReply, Messenger,
    MessengerReply, Move, MoveReply, Release, ReleaseReply, Reserve, ReserveReply,
};
use hls_core::pages::number_of_scheduler;
use hls_core::{About, Params};
use hls_hierarchy::analysis::graph_scheduler;
use hls_hierarchy::model::params_of_the_unplaced;
use hls_hierarchy::params::set_by;
use hls_hierarchy::{Policy, default_width};
use hls_units::{Nanos, is_hidden};
use std::os::fd::OwnedFd;

/// The longest name, in bytes.
const MAX_NAME: usize = 64;
/// The most existing schedulers that one user other than root may have created.
const MAX_SCHEDULERS_OF_A_USER: usize = 64;
/// The most threads that one user other than root may have placed outside the default scheduler.
const MAX_THREADS_OF_A_USER: usize = 1024;
/// The most elementary steps of the calculus for the check of a request of a user other than root: about a tenth of a
/// second, for which root's requests may have to wait. Root's own have no bound: root's hierarchies may be large.
pub(crate) const MOST_STEPS_OF_A_USER: u64 = 20_000;

/// What a request was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The scheduler that grants it.
    pub scheduler: String,
    /// What is promised; `NULL` where nothing is.
    pub guarantee: Guarantee,
}

/// The reply to a method that says what was granted.
impl From<Granted> for CreateReply {
    fn from(Granted { scheduler, guarantee }: Granted) -> CreateReply {
        CreateReply { scheduler, guarantee: guarantee.rounded_for_people() }
    }
}

impl Serve for Create {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<CreateReply, Fault> {
        let Create { policy, name, below, parameters } = self;
        let create = |it: &mut Manager<E>| it.create(asked.who, &policy, &name, &below, &parameters);
        asked.with_policy(create).map(CreateReply::from)
    }
}

impl Serve for Destroy {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<DestroyReply, Fault> {
        asked.with(|it| it.destroy(asked.who, &self.name))?;
        Ok(DestroyReply {})
    }
}

impl Serve for Move {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<MoveReply, Fault> {
        let Move { thread, to, parameters } = self;
        asked.with(|it| it.move_thread(asked.who, thread, &to, &parameters)).map(MoveReply::from)
    }
}

impl Serve for Reserve {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<ReserveReply, Fault> {
        let Reserve { thread, guarantee, below } = self;
        asked.with(|it| it.reserve(asked.who, thread, &guarantee, below.as_deref())).map(ReserveReply::from)
    }
}

impl Serve for Release {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<ReleaseReply, Fault> {
        asked.with(|it| it.release(asked.who, self.thread))?;
        Ok(ReleaseReply {})
    }
}

impl Serve for Message {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<MessageReply, Fault> {
        let Message { thread, parameter, value } = self;
        asked.with(|it| it.message(asked.who, thread, &parameter, &value)).map(MessageReply::from)
    }
}

impl Serve for Messenger {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<MessengerReply, Fault> {
        asked.answer.descriptors.push(asked.with(Manager::messenger)?);
        Ok(MessengerReply {})
    }
}

impl<E: RunningEngine> Manager<E> {
    /// Creates a scheduler below another. `texts` has the parameters of both policies, `guarantee`, and `width`.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn create(
        &mut self,
        who: Peer,
        policy: &str,
        name: &str,
        below: &str,
        texts: &Texts,
    ) -> Result<Granted, Error> {
        self.sweep()?;
        let (parent, above) = self.tree.find(below)?;
        self.may_change_below(who, parent)?;
        self.may_create(who, name)?;
        may_place(who, &self.tree)?;
        let Policy { info: policy, declared } = policy_of(&self.policies, policy)?;
        let (policy, declared) = (*policy, declared.clone());
        self.may_have_pages(who, policy)?;
        let mut reader = Reader::new(texts);
        let need = reader.guarantee()?;
        let own = reader.values(&policy.scheduler_params, None)?;
        let values = reader.values(&above.policy.vp_params, need.as_ref())?;
        let held = self.tree.held(above);
        let width = reader.width(held)?.unwrap_or_else(|| default_width(above.policy, policy, held));
        reader.finish()?;
        if !above.may_divide_shares(width) {
            let expected = format!("one that divides the shares below `{below}`, such as 1 and {held}");
            return Err(Error::BadValue(format!("parameter `width`: found {width}, expected {expected}")));
        }

        let mut tree = self.tree.clone();
        let params = named(&policy.scheduler_params, &own);
        let to_create = graph_scheduler(name, policy, declared.as_ref(), params.clone());
        let number = tree.admission.create(to_create);
        let edge = Edge {
            parent: Some(parent),
            child: Child::Scheduler(number),
            params: named(&above.policy.vp_params, &values),
            requested: need,
            width,
            pinned: false,
        };
        let edge = self.admit(&work_for(who), &mut tree, edge, &values)?;

        let of_vp = tree.core_params(parent, &values, width, number_of_scheduler(number));
        let own = Params::from_slice(&own);
        let (id, vps) = build(&mut self.engine, name, (policy.id, own), (above, of_vp), width)?;
        tree.schedulers.resize(tree.schedulers.len().max(number + 1), None);
        tree.schedulers[number] = Some(Scheduler {
            name: name.into(),
            policy,
            params,
            id,
            owner: None,
            creator: Some(who.uid),
            is_promoted: false,
            above: vec![Above { edge, parent: Some(parent), vps, params: of_vp }],
            scale: share_scale(policy, std::iter::empty(), width),
            lost: None,
        });
        let guarantee = tree.promised(edge).0;
        self.commit(tree);
        Ok(Granted { scheduler: name.into(), guarantee })
    }

    /// Destroys a scheduler that has no children.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn destroy(&mut self, who: Peer, name: &str) -> Result<(), Error> {
        self.sweep()?;
        let (number, scheduler) = self.tree.find(name)?;
        let parents: Vec<usize> = scheduler.above.iter().filter_map(|above| above.parent).collect();
        if let Some(which) = self.tree.why_it_stays(number, scheduler) {
            return Err(Error::InUse(format!("found {which}, `{name}`, expected another scheduler")));
        }
        parents.into_iter().try_for_each(|parent| self.may_change_below(who, parent))?;
        self.take_down(number)
    }

    /// Destroys the scheduler of this number, if it has no children.
    pub(crate) fn take_down(&mut self, number: usize) -> Result<(), Error> {
        let children = self.tree.children(number);
        if let Some(first) = children.first() {
            let more =
                if children.len() > 1 { format!(" and {} more", children.len() - 1) } else { String::new() };
            let name = self.tree.scheduler(number).map_or("?", |scheduler| &scheduler.name);
            return Err(Error::InUse(format!("found {first}{more} below `{name}`, expected no children")));
        }
        let mut tree = self.tree.clone();
        let removed = tree.schedulers[number].take();
        let Some(removed) = removed else { return Ok(()) };
        let now = self.engine.now()?;
        tree.end_resting(|it| it.scheduler == number)?;
        for above in &removed.above {
            tree.leave_by(&removed, above.edge, now, &Work::of(MOST_STEPS_OF_A_USER))?;
        }
        tree.admission.destroy(number).map_err(refused)?;
        tear_down(&mut self.engine, &mut self.tree, number, &removed)?;
        self.commit(tree);
        Ok(())
    }

    /// Moves a thread below a scheduler. `texts` has the VP parameters of the scheduler's policy, and `guarantee`.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn move_thread(&mut self, who: Peer, tid: u32, to: &str, texts: &Texts) -> Result<Granted, Error> {
        self.sweep()?;
        let thread = self.thread(who, tid)?;
        let (scheduler, found) = self.tree.find(to)?;
        self.may_change_below(who, scheduler)?;
        let mut reader = Reader::new(texts);
        let need = reader.guarantee()?;
        let params = reader.values(&found.policy.vp_params, need.as_ref())?;
        reader.finish()?;
        self.place(who, &thread, Slot { scheduler, params, need })
    }

    /// Moves a thread below a scheduler that gives it this guarantee: `below`, or else, in the order of the
    /// hierarchy, the first scheduler that reserves CPU time and can grant it.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn reserve(
        &mut self,
        who: Peer,
        tid: u32,
        guarantee: &str,
        below: Option<&str>,
    ) -> Result<Granted, Error> {
        self.sweep()?;
        let thread = self.thread(who, tid)?;
        let need = params::guarantee(guarantee)?;
        if let Some(below) = below {
            let texts = Texts::from([("guarantee".into(), guarantee.into())]);
            return self.move_thread(who, tid, below, &texts);
        }
        let (mut last, work) = (None, work_for(who));
        for scheduler in self.reserving(who, &need) {
            let Some(found) = self.tree.scheduler(scheduler) else { continue };
            let params = Reader::new(&Texts::new()).values(&found.policy.vp_params, Some(&need));
            let slot = params.map(|params| Slot { scheduler, params, need: Some(need.clone()) });
            let placed = slot.and_then(|slot| self.place_within(&work, who, &thread, slot));
            match placed {
                // Another scheduler may have room. Any other error is about the request or the thread, or the request
                // is too hard to check.
                Err(error @ (Error::Refused(Refusal { case: Some(_), .. }) | Error::InUse(_))) => {
                    last = last.or(Some(error));
                }
                done => return done,
            }
        }
        Err(last.unwrap_or_else(|| match who.is_root() {
            true => Error::NotFound(format!(
                "found no scheduler that reserves {need} by itself, expected one, or its name"
            )),
            false => Error::Denied(format!(
                "found no scheduler of user {} that reserves {need}, expected one",
                who.uid
            )),
        }))
    }

    /// Moves a thread back to the default scheduler. No effect where it is there, and no request has placed it: a
    /// request would exempt it from the rules of the file.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn release(&mut self, who: Peer, tid: u32) -> Result<(), Error> {
        self.sweep()?;
        let thread = self.thread(who, tid)?;
        if self.scheduler_of(&thread)? == self.tree.default && !self.tree.leases.contains_key(&tid) {
            return Ok(());
        }
        self.place_in_default(who, &thread).map(drop)
    }

    /// Puts a thread into the default scheduler.
    pub(crate) fn place_in_default(&mut self, who: Peer, thread: &Thread) -> Result<Granted, Error> {
        self.place(who, thread, self.default_slot())
    }

    /// A place in the default scheduler.
    pub(crate) fn default_slot(&self) -> Slot {
        let scheduler = self.tree.default;
        let found = self.tree.scheduler(scheduler);
        let params = found.map_or_else(Vec::new, |found| params_of_the_unplaced(found.policy));
        Slot { scheduler, params, need: None }
    }

    /// Sends the scheduler above a thread a message that sets one parameter of the thread's VP.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn message(&mut self, who: Peer, tid: u32, name: &str, text: &str) -> Result<Granted, Error> {
        self.sweep()?;
        let thread = self.thread(who, tid)?;
        let at = self.scheduler_of(&thread)?;
        self.may_change_below(who, at)?;
        let Some(scheduler) = self.tree.scheduler(at) else { return Err(nowhere(&thread)) };
        let infos = &scheduler.policy.vp_params;
        let Some(index) = infos.iter().position(|info| info.name == name) else {
            let names: Vec<&str> = infos.iter().map(|info| info.name).collect();
            let expected = format!("one of a VP below `{}` ({})", scheduler.name, names.join(", "));
            return Err(Error::BadValue(format!("found the parameter `{name}`, expected {expected}")));
        };
        let value = params::value(&infos[index], text)?;
        let lease = self.tree.leases.get(&tid).map(|lease| &lease.slot);
        let slot = lease.or_else(|| self.tree.slots.get(&thread.slot?)).cloned();
        let Some(mut slot) = slot else {
            let (thread, about) = (thread.key, About::set_param(index as u32, value));
            self.engine.change(HierarchyChange::CallAbout { thread, about })?;
            return Ok(Granted { scheduler: scheduler.name.clone(), guarantee: Guarantee::Null });
        };
        slot.params[index] = value;
        if let Some(need) = &mut slot.need
            && let Some(number) = set_by(need, name)
        {
            *need = need.with_number(number, &hls_calculus::Rational::from_integer(value.into()));
            need.check().map_err(|fault| {
                Error::BadValue(format!("parameter `{name}`: found {text}, expected {}", fault.expected))
            })?;
        }
        self.place(who, &thread, slot)
    }

    /// A descriptor through which a thread sends messages to its scheduler; the scheduler's policy defines their
    /// meaning. Every user may have it: a thread's messages are about that thread alone.
    ///
    /// # Errors
    /// The engine has none.
    pub fn messenger(&mut self) -> Result<OwnedFd, Error> {
        Ok(self.engine.messenger()?)
    }

    /// Puts a thread into a place. A guarantee that an earlier request gave the thread ends. The file's promise to
    /// the thread's old place stays, as another thread may take that place.
    pub(crate) fn place(&mut self, who: Peer, thread: &Thread, slot: Slot) -> Result<Granted, Error> {
        self.place_within(&work_for(who), who, thread, slot)
    }

    /// The same, in the elementary steps of `work`.
    fn place_within(
        &mut self,
        work: &Work,
        who: Peer,
        thread: &Thread,
        slot: Slot,
    ) -> Result<Granted, Error> {
        let tid = thread.key.tid;
        let mut tree = self.tree.clone();
        match tree.leases.remove(&tid) {
            // Its scheduler goes on with the thread.
            Some(old) if old.slot.scheduler == slot.scheduler => {
                tree.admission.end(old.edge.0).map_err(refused)?;
            }
            Some(old) => tree.leave(&[old], self.engine.now()?)?,
            None => {}
        }
        let Some(to) = tree.scheduler(slot.scheduler) else { return Err(nowhere(thread)) };
        let scheduler = to.name.clone();
        let mut edge = None;
        // The default scheduler promises nothing to any thread.
        if slot.scheduler != tree.default || slot.need.is_some() {
            may_place(who, &tree)?;
            let to = tree.thread_edge(thread, &slot);
            let of_thread = self.admit(work, &mut tree, to, &slot.params)?;
            let lease = Lease { key: thread.key, edge: of_thread, slot: slot.clone(), placer: who.uid };
            tree.leases.insert(tid, lease);
            edge = Some(of_thread);
        }
        let begins_after = self.carried_over(thread, slot.scheduler, &tree);
        self.carry(thread, &slot)?;
        // The move has ended the old promise to the thread, even if the new promise is the same.
        self.tree.leases.remove(&tid);
        let placed = Promisee::Thread(thread.key);
        self.commit_later(tree, |to| if to == placed { begins_after } else { Nanos::ZERO });
        self.note_place(tid, edge.map(|edge| (slot.scheduler, edge)));
        let guarantee = edge.map_or(Guarantee::Null, |edge| self.tree.promised(edge).0);
        Ok(Granted { scheduler, guarantee })
    }

    /// How long `scheduler` may go on with what it promises a thread now, when the thread gets another place below it
    /// in `tree`. The scheduler ends the period in progress first. Or it has the thread pay for what the thread is
    /// ahead of its share. That is no more than the share's error, so in the virtual time of the old share `delta /
    /// share`; virtual time passes the more slowly, the more shares there are. A thread from elsewhere begins anew.
    fn carried_over(&self, thread: &Thread, scheduler: usize, tree: &Tree) -> Nanos {
        if self.tree.of_core(thread.scheduler) != Some(scheduler) {
            return Nanos::ZERO;
        }
        let lease = self.tree.leases.get(&thread.key.tid);
        let edge = lease.map(|lease| lease.edge).or(thread.slot);
        let [before, after] = [&self.tree, tree].map(|tree| tree.shares_below(scheduler).max(1));
        let pace = Rational::new(after.into(), before.into());
        edge.map_or(Nanos::ZERO, |edge| self.tree.promised(edge).0.settles_at_pace(&pace))
    }

    /// Has the engine move a thread into a place.
    pub(crate) fn carry(&mut self, thread: &Thread, slot: &Slot) -> Result<(), Error> {
        let Some(to) = self.tree.scheduler(slot.scheduler) else { return Err(nowhere(thread)) };
        let params = self.tree.core_params(slot.scheduler, &slot.params, 1, thread.key.tid.into());
        let moved = HierarchyChange::MoveThread { thread: thread.key, to: to.id, params };
        let done = self.engine.change(moved).map(drop);
        done.map_err(|error| not_taken(error, (&to.name, to.policy), &params.0))
    }

    /// Tells subscribers where a thread is now: below this scheduler, by this edge, or in the default scheduler.
    pub(crate) fn note_place(&self, tid: u32, place: Option<(usize, GraphEdge)>) {
        self.changes.add(|| {
            let scheduler = self.tree.scheduler(place.map_or(self.tree.default, |(scheduler, _)| scheduler));
            [Change {
                scheduler: scheduler.map(|scheduler| scheduler.name.clone()),
                thread: Some(tid),
                guarantee: place.map(|(_, edge)| self.tree.promised(edge).0.rounded_for_people()),
                ..change(if place.is_some() { Kind::Placed } else { Kind::Released })
            }]
        });
    }

    /// Asks the calculus for one more edge, with these parameter values; refuses a budget that the machine cannot
    /// enforce.
    fn admit(&self, work: &Work, tree: &mut Tree, edge: Edge, values: &[u64]) -> Result<GraphEdge, Error> {
        let above = edge.parent.and_then(|parent| tree.scheduler(parent));
        let budget = above.and_then(|above| unenforceable_budget(above.policy, values, tree.overrun));
        if let Some(budget) = budget {
            let expected = at_least(tree.overrun);
            return Err(Error::BadValue(format!("parameter `budget`: found {budget}, expected {expected}")));
        }
        tree.admission.begin_within(edge.clone(), work).map(GraphEdge).map_err(|problem| {
            if work.left().is_none() {
                return refused(problem);
            }
            let above = edge.parent.and_then(|parent| tree.scheduler(parent));
            let infos = above.map_or(&[][..], |above| &above.policy.vp_params);
            let more = edge.parent.map_or_else(String::new, |parent| tree.until_rests_end(parent));
            let mut graph = tree.admission.graph();
            graph.edges.push(edge);
            let case = Case { graph, mode: tree.mode, infos, values: values.to_vec() };
            Error::Refused(Refusal { reason: problem.message + &more, case: Some(Box::new(case)) })
        })
    }

    /// The schedulers that need only such a guarantee to reserve CPU time, and to which the user may move threads.
    fn reserving(&self, who: Peer, need: &Guarantee) -> Vec<usize> {
        let states = |scheduler: &Scheduler| {
            scheduler.policy.vp_params.iter().any(|info| set_by(need, info.name).is_some())
        };
        let all = self
            .tree
            .all()
            .filter(|(at, scheduler)| states(scheduler) && self.may_change_below(who, *at).is_ok());
        all.map(|(at, _)| at).collect()
    }

    /// Whether the user may create one more scheduler, with this name.
    fn may_create(&self, who: Peer, name: &str) -> Result<(), Error> {
        if name.is_empty() || name.len() > MAX_NAME || name.contains(is_hidden) {
            let expected = format!("expected 1 to {MAX_NAME} bytes without hidden characters");
            return Err(Error::BadValue(format!("found the name {name:?}, {expected}")));
        }
        if let Ok((_, it)) = self.tree.find(name) {
            let whose = it.creator.map_or("of the file".to_owned(), |user| format!("of user {user}"));
            let found = format!("found a scheduler `{name}` already, a `{}` {whose}", it.policy.name);
            return Err(Error::InUse(format!("{found}, expected a new name")));
        }
        let own = self.tree.all().filter(|(_, scheduler)| scheduler.creator == Some(who.uid)).count();
        if !who.is_root() && own >= MAX_SCHEDULERS_OF_A_USER {
            return Err(Error::InUse(format!(
                "found {own} schedulers of user {}, expected at most {MAX_SCHEDULERS_OF_A_USER}",
                who.uid
            )));
        }
        Ok(())
    }
}

/// How much work the check of a request of this user may be.
fn work_for(who: Peer) -> Work {
    if who.is_root() { Work::unlimited() } else { Work::of(MOST_STEPS_OF_A_USER) }
}

/// Whether the user may have one more place outside the default scheduler. Places that rest are among the user's.
fn may_place(who: Peer, tree: &Tree) -> Result<(), Error> {
    let threads = tree.leases.values().filter(|lease| lease.placer == who.uid).count();
    let resting = tree.resting.values().filter(|it| it.placer == Some(who.uid)).count();
    if who.is_root() || threads + resting < MAX_THREADS_OF_A_USER {
        return Ok(());
    }
    let found = format!("found {threads} threads that user {} has placed", who.uid);
    let left = if resting == 0 { String::new() } else { format!(" and {resting} places that still count") };
    Err(Error::InUse(format!("{found}{left}, expected at most {MAX_THREADS_OF_A_USER}")))
}
