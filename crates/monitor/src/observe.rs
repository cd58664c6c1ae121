//! Turns the stream of records into the result of the run.
//!
//! Keeps one small account for each VP, of a thread or of a scheduler alike, indexed by its number; and a supply
//! monitor for each promise. VPs and promises may come and go while the run goes on, and be looked at. Relies on
//! records in time order. Records of scheduler VPs may be absent, since an engine may leave out what nothing watches: a
//! scheduler's numbers come from what was seen, and are zero when nothing was. Records of a VP that the topology does
//! not have are ignored. Does no IO.

use crate::account::{Account, State};
use crate::demand::{Demand, Expected};
use crate::event::{ObservedScheduler, ObservedVp, Record, What};
pub use crate::promise::{Pace, Promise, Standing};
use crate::promises::{Broken, Place, Promises};
use crate::result::{
    Below, Child, PolicyDisabled, RunResult, SchedulerInfo, SchedulerResult, ThreadResult, Topology, VpInfo,
};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

/// Watches a run.
#[derive(Clone, Debug)]
pub struct Observer {
    topology: Arc<Topology>,
    /// How many VPs there were from the beginning.
    planned: usize,
    /// VPs that have left; nothing of them is kept.
    free: Vec<ObservedVp>,
    /// Schedulers that were destroyed.
    destroyed: Vec<ObservedScheduler>,
    /// What was stolen from each CPU so far. The time minus this is the CPU's clock, by which the CPU time of all VPs
    /// that run there, one below the other, comes out right without a visit to each when time is stolen.
    stolen: Vec<Nanos>,
    /// By VP.
    accounts: Vec<Account>,
    /// By VP: what the VP had counted before it was moved below another scheduler.
    before_moves: BTreeMap<ObservedVp, Account>,
    /// The CPU time that each VP had had when it was moved to where it is now.
    ran_elsewhere: BTreeMap<ObservedVp, Nanos>,
    /// By scheduler: what VPs had counted below it before they were moved away.
    moved_away: BTreeMap<ObservedScheduler, Account>,
    /// By CPU: the root's VP there, and what had been stolen from the CPU when that VP last woke up.
    roots: Vec<(ObservedVp, Nanos)>,
    /// The VPs with time that counts as stolen.
    stealing: Vec<(ObservedVp, Holds)>,
    /// The VPs that may be charged for what threads below them had without a grant.
    paying: Vec<(ObservedVp, Debt)>,
    /// The CPUs that are offline, each with the time up to which its absence has been counted as stolen.
    offline: Vec<(u16, Nanos)>,
    promises: Promises,
    /// By VP: until when its scheduler may go on with what it promised the VP before. A new promise begins then.
    settles: BTreeMap<ObservedVp, Nanos>,
    /// The promises that are yet to begin, by the time when they do.
    later: BTreeMap<(Nanos, ObservedVp), Promise>,
    /// By VP: whether its thread wants no more than expected, where that matters.
    demands: BTreeMap<ObservedVp, Demand>,
    /// When the last record was made.
    last_record_at: Nanos,
    disabled_policies: Vec<PolicyDisabled>,
}

/// Whether a VP with time that counts as stolen has a CPU.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// It has none.
    None,
    /// It has this CPU, and its time up to then has been counted.
    Since(u16, Nanos),
    /// Records before then were lost, and none has told since.
    UnknownSince(Nanos),
}

/// CPU time for which a VP was charged though it did not have it. Its next wait for a CPU that is as long counts as
/// stolen from it, and from all VPs below it: their scheduler has had that time already.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    left: Nanos,
    /// Since when the VP waits, if it does; or up to when its wait has been counted.
    waits_since: Option<Nanos>,
}

impl Debt {
    /// How long the VP has waited for the debt, of what was not counted before `at`, and when that wait ended.
    fn take_wait(&mut self, at: Nanos) -> (Nanos, Nanos) {
        let Some(since) = self.waits_since.replace(at) else {
            self.waits_since = None;
            return (Nanos::ZERO, at);
        };
        let waited = at.saturating_sub(since).min(self.left);
        self.left = self.left.saturating_sub(waited);
        (waited, since.saturating_add(waited))
    }
}

impl Observer {
    /// Begins at time 0 with nothing running. A VP has one promise: if several name it, only the last is tested.
    pub fn new(topology: impl Into<Arc<Topology>>, promises: Vec<Promise>) -> Observer {
        let topology = topology.into();
        let is_root = |(_, info): &(ObservedVp, &VpInfo)| info.parent.is_none() && has_child(info);
        let roots = (0..)
            .map(ObservedVp)
            .zip(&topology.vps)
            .filter(is_root)
            .map(|(vp, _)| (vp, Nanos::ZERO))
            .collect();
        let steals = |(vp, info): (ObservedVp, &VpInfo)| info.steals.then_some((vp, Holds::None));
        let pays = |(vp, info): (ObservedVp, &VpInfo)| info.pays.then_some((vp, Debt::default()));
        let mut observer = Observer {
            roots,
            paying: (0..).map(ObservedVp).zip(&topology.vps).filter_map(pays).collect(),
            stealing: (0..).map(ObservedVp).zip(&topology.vps).filter_map(steals).collect(),
            planned: topology.vps.len(),
            free: Vec::new(),
            destroyed: Vec::new(),
            stolen: vec![Nanos::ZERO; usize::from(topology.cpus)],
            accounts: vec![Account::default(); topology.vps.len()],
            before_moves: BTreeMap::new(),
            ran_elsewhere: BTreeMap::new(),
            moved_away: BTreeMap::new(),
            offline: Vec::new(),
            promises: Promises::new(topology.cpus),
            settles: BTreeMap::new(),
            later: BTreeMap::new(),
            demands: BTreeMap::new(),
            last_record_at: Nanos::ZERO,
            disabled_policies: Vec::new(),
            topology,
        };
        promises.into_iter().for_each(|promise| observer.watch(promise, Nanos::ZERO));
        observer
    }

    /// From now on what is missing, or too much, by at most `slack` breaks no promise. The slack is 0 without this.
    #[must_use]
    pub fn with_slack(mut self, slack: Nanos) -> Observer {
        self.promises.set_slack(slack);
        self
    }

    /// Also watches whether threads want no more than this.
    #[must_use]
    pub fn expecting(mut self, expected: Vec<Expected>) -> Observer {
        self.demands = expected.into_iter().map(|expected| (expected.vp, Demand::new(expected))).collect();
        self
    }

    /// Whether the records of this VP matter to more than the numbers of its scheduler, which the core counts as well:
    /// it is a thread's, has a promise, or has a part in what counts as stolen.
    pub fn needs_records_of(&self, vp: ObservedVp) -> bool {
        let is_of_scheduler = |info: &VpInfo| matches!(info.child, Child::Scheduler(_));
        !self.topology.vps.get(vp.index()).is_some_and(is_of_scheduler)
            || self.accounts[vp.index()].watched.is_some()
            || self.roots.iter().any(|(root, _)| *root == vp)
            || self.stealing.iter().any(|(stealing, _)| *stealing == vp)
            || self.paying.iter().any(|(paying, _)| *paying == vp)
    }

    /// Takes the next record into account.
    pub fn observe(&mut self, record: &Record) {
        let Record { at, vp, cpu, what } = *record;
        let before = mem::replace(&mut self.last_record_at, at);
        self.begin_due(at);
        self.steal_offline(at);
        self.note_stealing(vp, cpu, at, what);
        self.note_paying(vp, at, what);
        match what {
            What::Lost => return self.lose(before, at),
            What::Stolen { length } => return self.steal(cpu, at, length),
            What::Offline if self.offline.iter().all(|(other, _)| *other != cpu) => {
                return self.offline.push((cpu, at));
            }
            What::Online => return self.offline.retain(|(other, _)| *other != cpu),
            What::Request | What::Grant => self.note_wait_of_root(vp, at, what),
            _ => {}
        }
        if self.ends_wait_of_promised(vp, what) {
            self.steal_so_far(at);
        }
        let Some(account) = self.accounts.get_mut(vp.index()) else {
            return;
        };
        match what {
            What::Request => account.request(at),
            What::Grant => account.grant(at, cpu, clock(&self.stolen, Some(cpu), at)),
            What::Revoke => {
                account.revokes += 1;
                account.stop(clock(&self.stolen, account.last_cpu, at), State::Ready);
            }
            What::Release | What::Leave => {
                account.leave_open(at);
                account.stop(clock(&self.stolen, account.last_cpu, at), State::Waiting);
            }
            What::JobDone { response } => account.response.add(response),
            What::JobOpen { age } => account.leave_job_open(age),
            What::Miss { count } => account.misses = account.misses.saturating_add(count),
            What::Throttle
            | What::Hold { .. }
            | What::Pay { .. }
            | What::Replenish { .. }
            | What::Arrive
            | What::JobRelease { .. }
            | What::Stolen { .. }
            | What::Offline
            | What::Online
            | What::Lost
            | What::PolicyDisabled { .. } => {}
        }
        if let Some(demand) = self.demands.get_mut(&vp) {
            demand.note(at, account.ran, what, self.promises.slack);
        }
        if let Some(slot) = account.watched {
            self.promises.note_change(slot, account.last_cpu.unwrap_or(cpu), at, what);
        }
        if what == What::Leave && !self.is_planned_for_a_thread(vp) {
            self.remove_vp(vp, at);
        }
    }

    /// Whether a VP that has a promise has waited for a CPU until this record: then what is being stolen from it counts
    /// now. Later, when that CPU is given back, the wait has been judged.
    fn ends_wait_of_promised(&self, vp: ObservedVp, what: What) -> bool {
        let waits =
            |account: &Account| account.watched.is_some() && !matches!(account.state, State::Running(_));
        matches!(what, What::Grant | What::Release | What::Leave)
            && self.accounts.get(vp.index()).is_some_and(waits)
    }

    /// Whether the VP was planned for a thread of the file: when the thread ends, another one may have the VP.
    fn is_planned_for_a_thread(&self, vp: ObservedVp) -> bool {
        let info = self.topology.vps.get(vp.index());
        vp.index() < self.planned && info.is_some_and(|info| info.child == Child::Thread)
    }

    /// A VP of the root waits only while others are on its CPU, or the CPU is late: counts the wait as stolen, less
    /// what records of stolen time have said of it.
    fn note_wait_of_root(&mut self, vp: ObservedVp, at: Nanos, what: What) {
        let Some(cpu) = self.roots.iter().position(|(root, _)| *root == vp) else { return };
        let Some(stolen) = self.stolen.get(cpu).copied() else { return };
        if what == What::Request {
            self.roots[cpu].1 = stolen;
        } else if let Some(State::Woken(since)) = self.accounts.get(vp.index()).map(|account| account.state) {
            let recorded = stolen.saturating_sub(self.roots[cpu].1);
            let waited = at.saturating_sub(since);
            self.stolen[cpu] = stolen.saturating_add(waited.saturating_sub(recorded));
            self.promises.steal(cpu as u16, at, waited);
        }
    }

    /// A VP with time that counts as stolen gets a CPU, or loses it. This matters only to the promises to others: the
    /// VP's own time counts as its scheduler's.
    fn note_stealing(&mut self, vp: ObservedVp, cpu: u16, at: Nanos, what: What) {
        let Some(index) = self.stealing.iter().position(|(stealing, _)| *stealing == vp) else { return };
        match (what, self.stealing[index].1) {
            (What::Grant, _) => self.stealing[index].1 = Holds::Since(cpu, at),
            (What::Request, _) => self.stealing[index].1 = Holds::None,
            (What::Revoke | What::Release, holds) => {
                // The first record after a gap says that the VP has had the CPU since the gap.
                if let Holds::UnknownSince(since) = holds {
                    self.stealing[index].1 = Holds::Since(cpu, since);
                }
                self.steal_by_vps(at);
                self.stealing[index].1 = Holds::None;
            }
            _ => {}
        }
    }

    /// A VP that may be charged is, or begins or ends to wait for a CPU.
    fn note_paying(&mut self, vp: ObservedVp, at: Nanos, what: What) {
        let Some(index) = self.paying.iter().position(|(paying, _)| *paying == vp) else { return };
        self.steal_by_debt(index, at);
        let debt = &mut self.paying[index].1;
        match what {
            What::Pay { length } => debt.left = debt.left.saturating_add(length),
            What::Request | What::Revoke => debt.waits_since = Some(at),
            What::Grant | What::Release => debt.waits_since = None,
            _ => {}
        }
    }

    /// For the promises to a VP that was charged and to those below it, counts its waits as stolen.
    fn steal_by_debt(&mut self, index: usize, at: Nanos) {
        let (vp, debt) = &mut self.paying[index];
        let (length, until) = debt.take_wait(at);
        if length == Nanos::ZERO {
            return;
        }
        let Child::Scheduler(payer) = self.topology.vps[vp.index()].child else { return };
        let lineages = self.topology.lineages();
        let is_below = |of: ObservedVp| {
            let parent = self.topology.vps.get(of.index()).and_then(|info| info.parent);
            parent.is_some_and(|parent| lineages[parent.index()].contains(&payer))
        };
        self.promises.steal_of(until, length, |of| of == *vp || is_below(of));
    }

    /// For the promises, counts as stolen what the stealing VPs had until `at`.
    fn steal_by_vps(&mut self, at: Nanos) {
        for (_, holds) in &mut self.stealing {
            if let Holds::Since(cpu, since) = holds {
                self.promises.steal(*cpu, at, at.saturating_sub(*since));
                *since = at.max(*since);
            }
        }
    }

    /// For the promises, counts as stolen what is being stolen from the root's waiting VPs, until `at`. May be called
    /// repeatedly: stretches of stolen time that overlap count once.
    fn steal_so_far(&mut self, at: Nanos) {
        (0..self.paying.len()).for_each(|index| self.steal_by_debt(index, at));
        self.steal_by_vps(at);
        for (cpu, (vp, _)) in (0..).zip(&self.roots) {
            if let Some(State::Woken(since)) = self.accounts.get(vp.index()).map(|account| account.state) {
                self.promises.steal(cpu, at, at.saturating_sub(since));
            }
        }
    }

    /// Counts the time of the CPUs that are offline as stolen, until `at`.
    fn steal_offline(&mut self, at: Nanos) {
        for index in 0..self.offline.len() {
            let (cpu, since) = self.offline[index];
            self.offline[index].1 = since.max(at);
            self.steal(cpu, at, at.saturating_sub(since));
        }
    }

    /// Time was stolen from the VPs that run on a CPU, or wait for one: `length`, until `at`.
    fn steal(&mut self, cpu: u16, at: Nanos, length: Nanos) {
        if let Some(stolen) = self.stolen.get_mut(usize::from(cpu)) {
            *stolen = stolen.saturating_add(length);
            self.promises.steal(cpu, at, length);
        }
    }

    /// Adds a VP to the topology, asleep. Returns its number, which may have been the number of a VP that has left.
    pub fn add_vp(&mut self, info: VpInfo) -> ObservedVp {
        let vps = &mut Arc::make_mut(&mut self.topology).vps;
        if let Some(vp) = self.free.pop() {
            vps[vp.index()] = info;
            self.accounts[vp.index()] = Account::default();
            return vp;
        }
        vps.push(info);
        self.accounts.push(Account::default());
        ObservedVp::at(self.accounts.len() - 1)
    }

    /// Adds a scheduler to the topology. Returns its number there, which may have been a destroyed scheduler's.
    pub fn create_scheduler(&mut self, info: SchedulerInfo) -> ObservedScheduler {
        let Topology { schedulers, vps, .. } = Arc::make_mut(&mut self.topology);
        let is_spoken_of = |scheduler: &ObservedScheduler| {
            let is_it =
                |vp: &VpInfo| vp.parent == Some(*scheduler) || vp.child == Child::Scheduler(*scheduler);
            vps.iter().any(|vp| has_child(vp) && is_it(vp))
                || self.promises.ended.iter().any(|result| result.by == Some(*scheduler))
        };
        if let Some(at) = self.destroyed.iter().position(|scheduler| !is_spoken_of(scheduler)) {
            let scheduler = self.destroyed.swap_remove(at);
            schedulers[scheduler.index()] = info;
            return scheduler;
        }
        schedulers.push(info);
        ObservedScheduler::at(schedulers.len() - 1)
    }

    /// A scheduler that was created during the run is destroyed: the result has no row for it.
    pub fn destroy_scheduler(&mut self, scheduler: ObservedScheduler) {
        self.moved_away.remove(&scheduler);
        self.destroyed.push(scheduler);
    }

    /// The engine has disabled a scheduler's policy and put a fallback in its place; the engine's owner says which.
    pub fn policy_disabled(&mut self, disabled: PolicyDisabled) {
        self.disabled_policies.push(disabled);
    }

    /// A VP of a thread is below another scheduler from now on. What it was promised ends; what it has counted so far
    /// counts below the schedulers that it leaves.
    pub fn move_below(&mut self, vp: ObservedVp, scheduler: ObservedScheduler, at: Nanos) {
        self.withdraw(vp, at);
        if self.topology.vps.get(vp.index()).is_some_and(|info| info.parent != Some(scheduler)) {
            self.settles.remove(&vp);
        }
        let Some(account) = self.accounts.get_mut(vp.index()) else { return };
        let ran = account.ran_until(clock(&self.stolen, account.last_cpu, at));
        self.ran_elsewhere.insert(vp, ran);
        let counted = account.take_counts();
        for above in self.topology.above(vp) {
            self.moved_away.entry(above).or_default().include(&counted);
        }
        self.before_moves.entry(vp).or_default().include(&counted);
        Arc::make_mut(&mut self.topology).vps[vp.index()].parent = Some(scheduler);
    }

    /// A VP that joined is gone, as by a record of [`What::Leave`], and so are its promise and, unless a result names
    /// it, its account. For a VP that was planned only the promise ends.
    pub fn remove_vp(&mut self, vp: ObservedVp, at: Nanos) {
        self.withdraw(vp, at);
        self.settles.remove(&vp);
        self.ran_elsewhere.remove(&vp);
        let index = vp.index();
        let is_joined = self.planned <= index && self.topology.vps.get(index).is_some_and(has_child);
        if is_joined && !self.promises.ended.iter().any(|result| result.vp == vp) {
            Arc::make_mut(&mut self.topology).vps[index].child = Child::None;
            self.free.push(vp);
        }
    }

    /// A promise begins at `at`, or with the last record if that was later, and replaces what the VP was promised
    /// before. If the VP joined during the run, the promise also becomes its guarantee in the topology. No effect for a
    /// VP that is unknown.
    pub fn promise(&mut self, promise: Promise, at: Nanos) {
        self.promise_after(promise, at, Nanos::ZERO);
    }

    /// The same, but the promise begins `after` later, or when an earlier one was to begin if that is later. What the
    /// VP was promised before ends at `at` all the same.
    pub fn promise_after(&mut self, promise: Promise, at: Nanos, after: Nanos) {
        let at = at.max(self.last_record_at);
        self.withdraw(promise.vp, at);
        if self.planned <= promise.vp.index()
            && let Some(info) = Arc::make_mut(&mut self.topology).vps.get_mut(promise.vp.index())
        {
            info.guarantee = promise.text.as_str().into();
        }
        if self.accounts.len() <= promise.vp.index() {
            return;
        }
        let settles = self.settles.get(&promise.vp).copied().unwrap_or_default();
        let from = at.saturating_add(after).max(settles);
        if from <= at {
            return self.watch(promise, at);
        }
        self.settles.insert(promise.vp, from);
        self.later.insert((from, promise.vp), promise);
    }

    /// Begins the promises that begin by `at`. All earlier records have been taken into account.
    fn begin_due(&mut self, at: Nanos) {
        while let Some(due) = self.later.first_entry().filter(|due| due.key().0 <= at) {
            let ((from, vp), promise) = due.remove_entry();
            self.settles.remove(&vp);
            self.watch(promise, from);
        }
    }

    /// What the VP was promised ends at `at`. No effect where it was promised nothing.
    pub fn withdraw(&mut self, vp: ObservedVp, at: Nanos) {
        let at = at.max(self.last_record_at);
        if let Some(from) = self.settles.get(&vp) {
            self.later.remove(&(*from, vp));
        }
        let account = self.accounts.get_mut(vp.index());
        if let Some(slot) = account.and_then(|account| account.watched.take()) {
            self.steal_so_far(at);
            self.promises.end(slot, at, &self.topology);
        }
    }

    fn watch(&mut self, promise: Promise, at: Nanos) {
        let account = self.accounts.get_mut(promise.vp.index());
        let (place, ran) = account.as_ref().map_or((Place::Off, Nanos::ZERO), |account| {
            (account.place(), account.ran_until(clock(&self.stolen, account.last_cpu, at)))
        });
        let elsewhere = self.ran_elsewhere.get(&promise.vp).copied().unwrap_or_default();
        let slot = self.promises.begin(promise, at, place, (ran, ran.saturating_sub(elsewhere)));
        if let Some(account) = account {
            account.watched = Some(slot);
        }
    }

    /// All records that follow are later than `at`: judges the VPs that wait for a CPU until then. Without this call a
    /// promise to a VP that waits is seen to be broken only when the wait ends.
    pub fn advance(&mut self, at: Nanos) {
        self.begin_due(at);
        self.steal_offline(at);
        self.steal_so_far(at);
        self.promises.advance(at);
    }

    /// Records between `from` and `to` were lost: what a VP does from then on is known only when a record tells it.
    /// Until then it counts as asleep.
    fn lose(&mut self, from: Nanos, to: Nanos) {
        self.steal_so_far(from);
        for account in &mut self.accounts {
            account.stop(clock(&self.stolen, account.last_cpu, from), State::Waiting);
        }
        self.stealing.iter_mut().for_each(|(_, holds)| *holds = Holds::UnknownSince(to));
        self.paying.iter_mut().for_each(|(_, debt)| debt.waits_since = None);
        self.demands.values_mut().for_each(Demand::lose_track);
        self.promises.lose(from, to);
    }

    /// The promises that broke since the last time, each the first time that it did; at most a hundred.
    pub fn take_breaches(&mut self) -> Vec<Broken> {
        self.promises.take_breaches(&self.topology)
    }

    /// When the last record was made.
    pub fn last_record_at(&self) -> Nanos {
        self.last_record_at
    }

    /// The hierarchy that is observed.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How a VP stands at `at`, no earlier than the last record; all zero for a VP that is unknown.
    pub fn standing(&self, vp: ObservedVp, at: Nanos) -> Standing {
        let Some(account) = self.accounts.get(vp.index()) else { return Standing::default() };
        let ran = account.ran_until(clock(&self.stolen, account.last_cpu, at));
        let nothing = Standing { ran, ..Standing::default() };
        account.watched.map_or(nothing, |slot| self.promises.standing(slot, at, ran))
    }

    /// What was stolen so far, over all CPUs.
    pub fn stolen(&self) -> Nanos {
        self.stolen.iter().copied().fold(Nanos::ZERO, Nanos::saturating_add)
    }

    /// Ends the run at `end`. What an observer cannot know is left empty for the engine: its name, the seed, overhead,
    /// events, switches, and the work and frames of the threads.
    pub fn finish(mut self, end: Nanos) -> RunResult {
        self.begin_due(end);
        self.steal_offline(end);
        self.steal_so_far(end);
        for account in &mut self.accounts {
            account.leave_open(end);
            account.stop(clock(&self.stolen, account.last_cpu, end), State::Waiting);
        }
        for (vp, demand) in &mut self.demands {
            let ran = self.accounts.get(vp.index()).map_or(Nanos::ZERO, |account| account.ran);
            demand.note(end, ran, What::Revoke, self.promises.slack);
        }
        let threads = self.threads();
        let stolen = self.stolen();
        let ran = threads.iter().map(|thread| thread.ran).fold(Nanos::ZERO, Nanos::saturating_add);
        let all = Nanos(end.0.saturating_mul(u64::from(self.topology.cpus)));
        let last = self.promises.finish_all(end, &self.topology);
        RunResult {
            length: end,
            idle: all.saturating_sub(ran).saturating_sub(stolen),
            stolen,
            threads,
            schedulers: self.schedulers(),
            guarantees: self.promises.ended.into_iter().chain(last).collect(),
            unlisted: self.promises.unlisted,
            exceeded: self.demands.into_values().filter_map(|demand| demand.exceeded).collect(),
            disabled_policies: self.disabled_policies,
            topology: self.topology,
            ..RunResult::default()
        }
    }

    /// The threads in the order of their VPs.
    fn threads(&self) -> Vec<ThreadResult> {
        let entries = (0..).map(ObservedVp).zip(self.topology.vps.iter().zip(&self.accounts));
        let of_threads = entries.filter(|(_, (info, _))| info.child == Child::Thread);
        let result = |vp, ran, account: &Account| ThreadResult {
            vp,
            ran,
            activations: account.activations.into(),
            wake_latency: account.wake_latency(),
            response: account.response(),
            misses: account.misses.into(),
            preemptions: account.revokes.into(),
            migrations: account.migrations.into(),
            ..ThreadResult::default()
        };
        let whole = |(vp, (_, account)): (ObservedVp, (_, &Account))| match self.before_moves.get(&vp) {
            None => result(vp, account.ran, account),
            Some(before) => {
                let mut all = before.clone();
                all.include(account);
                result(vp, account.ran, &all)
            }
        };
        of_threads.map(whole).collect()
    }

    /// The schedulers, each with the sum over its VPs.
    fn schedulers(&self) -> Vec<SchedulerResult> {
        let empty = |scheduler| SchedulerResult { scheduler, ..SchedulerResult::default() };
        let mut results: Vec<_> =
            (0..self.topology.schedulers.len()).map(ObservedScheduler::at).map(empty).collect();
        for (info, account) in self.topology.vps.iter().zip(&self.accounts) {
            let Child::Scheduler(index) = info.child else {
                continue;
            };
            if let Some(result) = results.get_mut(index.index()) {
                result.ran = result.ran.saturating_add(account.ran);
                result.grants += u64::from(account.grants);
                result.revokes += u64::from(account.revokes);
            }
        }
        for (result, sum) in results.iter_mut().zip(self.sums_below()) {
            result.below = Below {
                work: Nanos::ZERO,
                activations: sum.activations.into(),
                wake_latency: sum.wake_latency(),
                response: sum.response(),
                misses: sum.misses.into(),
                preemptions: sum.revokes.into(),
                migrations: sum.migrations.into(),
            };
        }
        results.retain(|result| !self.destroyed.contains(&result.scheduler));
        results
    }

    /// For each scheduler the sum of the accounts of all threads below it.
    fn sums_below(&self) -> Vec<Account> {
        let lineages = self.topology.lineages();
        let moved_away = |scheduler| self.moved_away.get(&scheduler).cloned().unwrap_or_default();
        let mut sums: Vec<Account> =
            (0..self.topology.schedulers.len()).map(ObservedScheduler::at).map(moved_away).collect();
        for (info, account) in self.topology.vps.iter().zip(&self.accounts) {
            let (Child::Thread, Some(parent)) = (info.child, info.parent) else { continue };
            for &above in lineages.get(parent.index()).into_iter().flatten() {
                sums[above.index()].include(account);
            }
        }
        sums
    }
}

/// Whether a VP stands for anything.
fn has_child(info: &VpInfo) -> bool {
    info.child != Child::None
}

/// The time minus what was stolen from that CPU.
fn clock(stolen: &[Nanos], cpu: Option<u16>, at: Nanos) -> Nanos {
    let stolen = cpu.and_then(|cpu| stolen.get(usize::from(cpu))).copied().unwrap_or_default();
    at.saturating_sub(stolen)
}

#[cfg(test)]
mod tests;
