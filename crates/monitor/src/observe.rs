//! Turns the stream of records into the result of the run.
//!
//! Keeps one small account for each VP, of a thread or of a scheduler alike, indexed by its number; and a supply
//! monitor for each promise. VPs and promises may come and go while the run goes on, and be looked at. Relies on
//! records in time order. Records of scheduler VPs may be absent, since an engine may leave out what nobody watches: a
//! scheduler's numbers come from what was seen, and are zero when nothing was. Records of a VP that the topology does
//! not have are ignored. Does no IO.

use crate::account::{Account, State};
use crate::event::{ObservedScheduler, ObservedVp, Record, What};
pub use crate::promise::{Pace, Promise, Standing};
use crate::promises::{Broken, Place, Promises};
use crate::result::{
    Below, Child, PolicyDisabled, RunResult, SchedulerInfo, SchedulerResult, ThreadResult, Topology, VpInfo,
};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Watches a run.
#[derive(Clone, Debug)]
pub struct Observer {
    topology: Arc<Topology>,
    /// How many VPs there were from the beginning.
    planned: usize,
    /// VPs that have left, of which nothing is kept.
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
    /// By scheduler: what VPs had counted below it before they were moved away.
    moved_away: BTreeMap<ObservedScheduler, Account>,
    /// By CPU: the root's VP there, and what had been stolen from the CPU when that VP last woke up.
    roots: Vec<(ObservedVp, Nanos)>,
    /// The CPUs that are offline, each with the time up to which its absence has been counted as stolen.
    offline: Vec<(u16, Nanos)>,
    promises: Promises,
    /// When the last record was made.
    last_record_at: Nanos,
    disabled_policies: Vec<PolicyDisabled>,
}

impl Observer {
    /// Begins at time 0 with nothing running. A VP has one promise; of several, only the last is held against the run.
    pub fn new(topology: impl Into<Arc<Topology>>, promises: Vec<Promise>) -> Observer {
        let topology = topology.into();
        let is_root = |(_, info): &(ObservedVp, &VpInfo)| info.parent.is_none() && has_child(info);
        let roots = (0..)
            .map(ObservedVp)
            .zip(&topology.vps)
            .filter(is_root)
            .map(|(vp, _)| (vp, Nanos::ZERO))
            .collect();
        let mut observer = Observer {
            roots,
            planned: topology.vps.len(),
            free: Vec::new(),
            destroyed: Vec::new(),
            stolen: vec![Nanos::ZERO; usize::from(topology.cpus)],
            accounts: vec![Account::default(); topology.vps.len()],
            before_moves: BTreeMap::new(),
            moved_away: BTreeMap::new(),
            offline: Vec::new(),
            promises: Promises::new(topology.cpus),
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

    /// Takes the next record into account.
    pub fn observe(&mut self, record: &Record) {
        let Record { at, vp, cpu, what } = *record;
        self.last_record_at = at;
        self.steal_offline(at);
        match what {
            What::Stolen { length } => return self.steal(cpu, at, length),
            What::Offline if self.offline.iter().all(|(other, _)| *other != cpu) => {
                return self.offline.push((cpu, at));
            }
            What::Online => return self.offline.retain(|(other, _)| *other != cpu),
            What::Request | What::Grant => self.note_wait_of_root(vp, at, what),
            _ => {}
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
                account.stop(clock(&self.stolen, account.last_cpu, at), State::Waiting);
            }
            What::JobDone { response } => account.response.add(response),
            What::Miss { count } => account.misses = account.misses.saturating_add(count),
            What::Throttle
            | What::Replenish { .. }
            | What::Arrive
            | What::JobRelease { .. }
            | What::Stolen { .. }
            | What::Offline
            | What::Online
            | What::PolicyDisabled { .. } => {}
        }
        if let Some(slot) = account.watched {
            self.promises.note_change(slot, account.last_cpu.unwrap_or(cpu), at, what);
        }
        if what == What::Leave && !self.is_planned_for_a_thread(vp) {
            self.remove_vp(vp, at);
        }
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

    /// Takes into account for the promises what is being stolen from the root's VPs that wait, until `at`. May be
    /// called repeatedly: stretches of stolen time that overlap count once.
    fn steal_so_far(&mut self, at: Nanos) {
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

    /// Adds a VP to the topology, asleep. Returns its number, which may be that of a VP that has left.
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

    /// Adds a scheduler to the topology. Returns its number there, which may be that of a scheduler that was destroyed.
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
        let Some(account) = self.accounts.get_mut(vp.index()) else { return };
        let counted = account.take_counts();
        for above in self.topology.above(vp) {
            self.moved_away.entry(above).or_default().include(&counted);
        }
        self.before_moves.entry(vp).or_default().include(&counted);
        Arc::make_mut(&mut self.topology).vps[vp.index()].parent = Some(scheduler);
    }

    /// A VP that joined is gone, as by a record of [`What::Leave`], and so are its promise and, unless a result speaks
    /// of it, its account. Of others the promise ends.
    pub fn remove_vp(&mut self, vp: ObservedVp, at: Nanos) {
        self.withdraw(vp, at);
        let index = vp.index();
        let is_joined = self.planned <= index && self.topology.vps.get(index).is_some_and(has_child);
        if is_joined && !self.promises.ended.iter().any(|result| result.vp == vp) {
            Arc::make_mut(&mut self.topology).vps[index].child = Child::None;
            self.free.push(vp);
        }
    }

    /// A promise begins at `at`, or with the last record if that was later, in the place of what the VP was promised
    /// before. No effect for a VP that is unknown.
    pub fn promise(&mut self, promise: Promise, at: Nanos) {
        let at = at.max(self.last_record_at);
        self.withdraw(promise.vp, at);
        if self.accounts.len() > promise.vp.index() {
            self.watch(promise, at);
        }
    }

    /// What the VP was promised ends at `at`. No effect where it was promised nothing.
    pub fn withdraw(&mut self, vp: ObservedVp, at: Nanos) {
        let at = at.max(self.last_record_at);
        let account = self.accounts.get_mut(vp.index());
        if let Some(slot) = account.and_then(|account| account.watched.take()) {
            self.promises.end(slot, at, &self.topology);
        }
    }

    fn watch(&mut self, promise: Promise, at: Nanos) {
        let account = self.accounts.get_mut(promise.vp.index());
        let (place, ran) = account.as_ref().map_or((Place::Off, Nanos::ZERO), |account| {
            (account.place(), account.ran_until(clock(&self.stolen, account.last_cpu, at)))
        });
        let slot = self.promises.begin(promise, at, place, ran);
        if let Some(account) = account {
            account.watched = Some(slot);
        }
    }

    /// All records that follow are later than `at`: judges the VPs that wait for a CPU until then. Without this call a
    /// promise to a VP that waits is seen to be broken only when the wait ends.
    pub fn advance(&mut self, at: Nanos) {
        self.steal_offline(at);
        self.steal_so_far(at);
        self.promises.advance(at);
    }

    /// Records between the last one and `at` were lost.
    pub fn lose(&mut self, at: Nanos) {
        self.promises.lose(self.last_record_at.min(at), at);
        // The records that said that a CPU is back may be among those lost.
        self.offline.clear();
    }

    /// The promises that broke since the last time, each the first time that it did; at most a hundred.
    pub fn take_breaches(&mut self) -> Vec<Broken> {
        self.promises.take_breaches(&self.topology)
    }

    /// Who there is.
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
        self.steal_offline(end);
        self.steal_so_far(end);
        for account in &mut self.accounts {
            account.stop(clock(&self.stolen, account.last_cpu, end), State::Waiting);
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
            wake_latency: account.wake_latency.percentiles(),
            response: account.response.percentiles(),
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
                wake_latency: sum.wake_latency.percentiles(),
                response: sum.response.percentiles(),
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
mod tests {
    use super::*;
    use crate::result::{Cause, Counts, GuaranteeResult};
    use crate::windows::Window;

    /// Scheduler 0 with VPs 1 and 2 of a machine with two CPUs, and the threads 3 and 4.
    fn topology() -> Topology {
        let vp = |name: &str, parent, child| VpInfo { name: name.into(), parent, child, ..VpInfo::default() };
        let root = |name| vp(name, None, Child::Scheduler(ObservedScheduler(0)));
        let thread = |name| vp(name, Some(ObservedScheduler(0)), Child::Thread);
        Topology {
            cpus: 2,
            schedulers: vec![SchedulerInfo { name: "root".into(), policy: "round-robin".into() }],
            vps: vec![VpInfo::default(), root("root"), root("root"), thread("a"), thread("b")],
        }
    }

    /// Observes `(at, vp, cpu, what)` until 100.
    fn observe(promises: Vec<Promise>, records: &[(u64, u32, u16, What)]) -> RunResult {
        let mut observer = Observer::new(topology(), promises);
        for &(at, vp, cpu, what) in records {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
        }
        observer.finish(Nanos(100))
    }

    #[test]
    fn an_empty_run_is_idle() {
        let result = observe(vec![], &[]);
        assert_eq!((result.idle, result.stolen, result.length), (Nanos(200), Nanos(0), Nanos(100)));
        assert_eq!((result.threads.len(), result.schedulers.len()), (2, 1));
    }

    #[test]
    fn counts_what_a_thread_lives_through() {
        let done = What::JobDone { response: Nanos(27) };
        let result = observe(
            vec![],
            &[
                (0, 1, 0, What::Grant),
                (10, 3, 0, What::Request),
                (15, 3, 0, What::Grant),
                (25, 3, 0, What::Revoke),
                (30, 3, 1, What::Grant),
                (37, 3, 0, done),
                (37, 3, 0, What::Miss { count: 2 }),
                (37, 3, 1, What::Release),
                (40, 1, 0, What::Revoke),
                (50, 3, 0, What::Request),
                (60, 3, 0, What::Release),
                (70, 3, 0, What::Request),
                (90, 3, 1, What::Grant),
            ],
        );
        let thread = &result.threads[0];
        assert_eq!((thread.vp, thread.ran, thread.activations), (ObservedVp(3), Nanos(10 + 7 + 10), 3));
        assert_eq!((thread.preemptions, thread.migrations, thread.misses), (1, 1, 2));
        let latency = thread.wake_latency;
        assert_eq!((latency.count, latency.p50, latency.worst), (2, Nanos(5), Nanos(20)));
        assert_eq!((thread.response.count, thread.response.worst), (1, Nanos(27)));
        assert_eq!(result.idle, Nanos(200 - 27));
        let scheduler = &result.schedulers[0];
        assert_eq!((scheduler.ran, scheduler.grants, scheduler.revokes), (Nanos(40), 1, 1));
    }

    /// In each window of `length` so much, above what `accounted` may take.
    fn promise(vp: u32, length: u64, promised: u64, accounted: u64) -> Promise {
        let (length, promised, accounted) = (Nanos(length), Nanos(promised), Nanos(accounted));
        let windows = vec![Window { length, promised, allowed: None, accounted }];
        Promise {
            vp: ObservedVp(vp),
            text: format!("{promised} in {length}"),
            windows,
            requests: None,
            pace: Pace::default(),
        }
    }

    #[test]
    fn stolen_time_is_nobodys() {
        for accounted in [0, 20] {
            let stolen = What::Stolen { length: Nanos(5) };
            let result = observe(
                vec![promise(3, 20, 20, accounted), promise(4, 20, 20, accounted)],
                &[
                    (0, 3, 0, What::Request),
                    (0, 4, 0, What::Request),
                    (0, 3, 0, What::Grant),
                    (0, 4, 1, What::Grant),
                    (30, 0, 0, stolen),
                    (40, 3, 0, What::Release),
                    (60, 0, 0, stolen),
                ],
            );
            assert_eq!((result.threads[0].ran, result.threads[1].ran), (Nanos(35), Nanos(100)));
            assert_eq!((result.stolen, result.idle), (Nanos(10), Nanos(200 - 35 - 100 - 10)));
            let [first, second] = &result.guarantees[..] else { panic!("two promises") };
            assert_eq!((first.vp, first.windows[0].least), (ObservedVp(3), Some(Nanos(15))));
            // What the promise takes into account is no excuse.
            assert_eq!(
                (first.counts.short, first.counts.stolen),
                if accounted > 0 { (1, 0) } else { (0, 1) }
            );
            assert_eq!(
                (second.vp, second.counts, second.windows[0].least),
                (ObservedVp(4), Counts::default(), Some(Nanos(20)))
            );
        }
    }

    /// A promise to the scheduler and one below it, both broken from 0 to 50; thread `b` is broken later, alone.
    #[test]
    fn what_broke_above_is_a_cause() {
        let records = [
            (0, 1, 0, What::Request),
            (0, 1, 0, What::Grant),
            (0, 1, 0, What::Revoke),
            (0, 3, 0, What::Request),
            (50, 1, 0, What::Grant),
            (50, 3, 0, What::Grant),
            (60, 3, 0, What::Release),
            (65, 4, 0, What::Request),
        ];
        let promises = || vec![promise(1, 20, 10, 0), promise(3, 20, 10, 0), promise(4, 20, 10, 0)];
        let result = observe(promises(), &records);
        let causes = result.guarantees.iter().map(|result| (result.counts.short, result.cause));
        assert_eq!(
            causes.collect::<Vec<_>>(),
            [(1, None), (1, Some(Cause::Above(ObservedVp(1)))), (1, None)]
        );

        let mut observer = Observer::new(topology(), promises());
        observer.observe(&Record { at: Nanos(0), vp: ObservedVp(3), cpu: 0, what: What::Request });
        observer.lose(Nanos(5));
        observer.advance(Nanos(30));
        let broken = observer.take_breaches();
        assert_eq!(
            broken.iter().map(|b| (b.vp, b.cause)).collect::<Vec<_>>(),
            [(ObservedVp(3), Some(Cause::Lost))]
        );
        assert_eq!((broken[0].breach.to, broken[0].breach.got), (Nanos(20), Nanos(0)), "the first of them");
        assert_eq!(observer.take_breaches(), []);
    }

    /// A CPU that does not come is the machine's fault, not that of the hierarchy.
    #[test]
    fn the_root_waits_for_none_but_the_machine() {
        let promises = || vec![promise(1, 20, 20, 0), promise(3, 20, 20, 0)];
        let records = [
            (10, 1, 0, What::Request),
            (10, 3, 0, What::Request),
            (40, 0, 0, What::Stolen { length: Nanos(12) }),
            (50, 1, 0, What::Grant),
            (50, 3, 0, What::Grant),
        ];
        let result = observe(promises(), &records);
        assert_eq!(result.stolen, Nanos(40), "recorded or not");
        let counts = Counts { stolen: 1, ..Counts::default() };
        assert!(result.guarantees.iter().all(|result| result.counts == counts), "{:?}", result.guarantees);

        let mut observer = Observer::new(topology(), promises());
        for &(at, vp, cpu, what) in &records[..2] {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
        }
        [40, 45, 60].into_iter().for_each(|at| observer.advance(Nanos(at)));
        assert_eq!(
            (observer.take_breaches(), observer.standing(ObservedVp(3), Nanos(60)).stolen),
            (vec![], Nanos(50))
        );
    }

    /// All that waits does so for the CPU that has gone; who runs on the other is not held up.
    #[test]
    fn the_time_of_a_cpu_that_has_gone_is_stolen() {
        let promises = || vec![promise(3, 20, 10, 0), promise(4, 20, 10, 0)];
        let records = |is_recorded| {
            let mut records = vec![
                (0, 3, 0, What::Request),
                (0, 3, 0, What::Grant),
                (0, 4, 1, What::Request),
                (0, 4, 1, What::Grant),
                (20, 0, 1, What::Offline),
                (20, 4, 1, What::Revoke),
                (60, 3, 0, What::Revoke),
                (60, 4, 0, What::Grant),
                (70, 0, 1, What::Online),
                (70, 3, 1, What::Grant),
            ];
            records.retain(|(_, _, _, what)| is_recorded || !matches!(what, What::Offline | What::Online));
            records
        };
        let counts = |result: &RunResult| result.guarantees.iter().map(|g| g.counts).collect::<Vec<_>>();
        let stolen = Counts { stolen: 1, ..Counts::default() };
        let short = Counts { short: 1, ..Counts::default() };
        let result = observe(promises(), &records(true));
        assert_eq!((result.stolen, result.idle), (Nanos(50), Nanos(0)));
        assert_eq!(counts(&result), [Counts::default(), stolen]);
        assert_eq!(counts(&observe(promises(), &records(false))), [Counts::default(), short]);

        // Recorded twice it counts once, and when records are lost nobody knows that it is still gone.
        let mut observer = Observer::new(topology(), promises());
        for &(at, vp, cpu, what) in
            &[(0, 4, 1, What::Request), (0, 0, 1, What::Offline), (5, 0, 1, What::Offline)]
        {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
        }
        observer.advance(Nanos(40));
        observer.advance(Nanos(30));
        assert_eq!((observer.take_breaches(), observer.stolen()), (vec![], Nanos(40)));
        observer.lose(Nanos(40));
        observer.advance(Nanos(80));
        assert_eq!((observer.take_breaches().len(), observer.stolen()), (1, Nanos(40)));
    }

    #[test]
    fn promises_come_and_go_while_the_run_goes_on() {
        let mut observer = Observer::new(topology(), vec![]);
        let observe = |observer: &mut Observer, at, vp, what| {
            observer.observe(&Record { at: Nanos(at), vp, cpu: 0, what });
        };
        observe(&mut observer, 0, ObservedVp(3), What::Request);
        observe(&mut observer, 5, ObservedVp(3), What::Grant);
        // It runs already, then waits for too long.
        observer.promise(promise(3, 20, 10, 0), Nanos(10));
        observe(&mut observer, 30, ObservedVp(3), What::Revoke);
        assert_eq!(observer.take_breaches(), []);
        observer.advance(Nanos(45));
        assert_eq!(observer.take_breaches().len(), 1);
        let standing = observer.standing(ObservedVp(3), Nanos(45));
        assert_eq!((standing.ran, standing.counts.broken()), (Nanos(20), 1), "since the promise began");
        observer.withdraw(ObservedVp(3), Nanos(45));
        observer.advance(Nanos(90));
        assert_eq!(
            observer.standing(ObservedVp(3), Nanos(90)),
            Standing { ran: Nanos(25), ..Standing::default() }
        );
        // It waits already.
        observer.promise(promise(3, 20, 10, 0), Nanos(90));
        let result = observer.finish(Nanos(100));
        let seen =
            |result: &GuaranteeResult| (result.from, result.to, result.windows[0].least, result.is_kept());
        let seen: Vec<_> = result.guarantees.iter().map(seen).collect();
        assert_eq!(
            seen,
            [(Nanos(10), Nanos(45), Some(Nanos(5)), false), (Nanos(90), Nanos(100), None, true)]
        );
    }

    #[test]
    fn threads_that_join_are_seen_and_their_numbers_used_again() {
        let mut observer = Observer::new(topology(), vec![]);
        let guest = |name: &str| VpInfo {
            name: name.into(),
            parent: Some(ObservedScheduler(0)),
            child: Child::Thread,
            ..VpInfo::default()
        };
        let one = observer.add_vp(guest("one"));
        observer.observe(&Record { at: Nanos(0), vp: one, cpu: 0, what: What::Grant });
        assert_eq!(observer.standing(one, Nanos(7)).ran, Nanos(7));
        observer.observe(&Record { at: Nanos(7), vp: one, cpu: 0, what: What::Leave });
        observer.remove_vp(one, Nanos(7));
        let other = observer.add_vp(guest("other"));
        assert_eq!(
            (one, other, observer.add_vp(guest("third"))),
            (ObservedVp(5), ObservedVp(5), ObservedVp(6))
        );
        observer.promise(promise(other.0, 20, 10, 0), Nanos(10));
        observer.remove_vp(other, Nanos(20));
        assert_eq!(observer.add_vp(guest("fourth")), ObservedVp(7), "a result speaks of 5");
        observer.remove_vp(ObservedVp(3), Nanos(20));
        let result = observer.finish(Nanos(100));
        let names: Vec<_> = result.threads.iter().map(|t| result.topology.child_name(t.vp)).collect();
        assert_eq!(names, ["a", "b", "other", "third", "fourth"]);
    }

    /// What a thread counts before it is moved stays where it was; its own row has all of it.
    #[test]
    fn a_thread_is_moved() {
        let mut observer = Observer::new(topology(), vec![promise(3, 20, 10, 0)]);
        let other =
            observer.create_scheduler(SchedulerInfo { name: "other".into(), policy: "round-robin".into() });
        let child = Child::Scheduler(other);
        observer.add_vp(VpInfo {
            name: "other".into(),
            parent: Some(ObservedScheduler(0)),
            child,
            ..VpInfo::default()
        });
        let record = |(at, what)| Record { at: Nanos(at), vp: ObservedVp(3), cpu: 0, what };
        let before = [(0, What::Request), (5, What::Grant), (10, What::Miss { count: 2 })];
        before.map(record).iter().for_each(|record| observer.observe(record));
        observer.move_below(ObservedVp(3), other, Nanos(10));
        let behind =
            [(20, What::Release), (30, What::Request), (37, What::Grant), (40, What::Miss { count: 1 })];
        behind.map(record).iter().for_each(|record| observer.observe(record));
        observer.promise(promise(3, 20, 10, 0), Nanos(40));
        let result = observer.finish(Nanos(100));
        let a = &result.threads[0];
        assert_eq!((a.ran, a.misses, a.activations, a.wake_latency.worst), (Nanos(78), 3, 2, Nanos(7)));
        assert_eq!(result.topology.parent_name(a.vp), Some("other"));
        let below: Vec<(u64, u64)> =
            result.schedulers.iter().map(|all| (all.below.misses, all.below.activations)).collect();
        assert_eq!(below, [(3, 2), (1, 1)]);
        let promised: Vec<_> = result.guarantees.iter().map(|of| (of.by, of.from, of.to)).collect();
        let [begin, moved, again, end] = [0, 10, 40, 100].map(Nanos);
        assert_eq!(promised, [(Some(ObservedScheduler(0)), begin, moved), (Some(other), again, end)]);
    }

    /// A scheduler is created, promised something, and destroyed; the next one may have its number only if nothing is
    /// said of the first.
    #[test]
    fn schedulers_come_and_go() {
        for is_promised in [false, true] {
            let mut observer = Observer::new(topology(), vec![]);
            let policy = || "round-robin".to_owned();
            let one = observer.create_scheduler(SchedulerInfo { name: "one".into(), policy: policy() });
            let child = Child::Scheduler(one);
            let vp = observer.add_vp(VpInfo {
                name: "one".into(),
                parent: Some(ObservedScheduler(0)),
                child,
                ..VpInfo::default()
            });
            observer.observe(&Record { at: Nanos(0), vp, cpu: 0, what: What::Grant });
            if is_promised {
                observer.promise(promise(vp.0, 20, 10, 0), Nanos(5));
            }
            assert_eq!(observer.clone().finish(Nanos(30)).schedulers[1].ran, Nanos(30));
            observer.destroy_scheduler(one);
            observer.observe(&Record { at: Nanos(30), vp, cpu: 0, what: What::Leave });
            assert_eq!(observer.clone().finish(Nanos(40)).schedulers.len(), 1);
            let other = observer.create_scheduler(SchedulerInfo { name: "other".into(), policy: policy() });
            assert_eq!((one, other), (ObservedScheduler(1), ObservedScheduler(1 + u32::from(is_promised))));
            let result = observer.finish(Nanos(40));
            assert_eq!(result.guarantees.len(), usize::from(is_promised));
            assert!(result.guarantees.iter().all(|result| result.to == Nanos(30)));
        }
    }

    #[test]
    fn what_has_ended_takes_no_more_memory_than_it_may() {
        let mut observer = Observer::new(topology(), vec![]);
        (0..1_500).for_each(|at| observer.promise(promise(3, 20, 10, 0), Nanos(at)));
        let result = observer.finish(Nanos(10_000));
        assert_eq!((result.guarantees.len(), result.unlisted), (1_001, 499));
    }

    #[test]
    fn what_the_topology_does_not_have_is_ignored() {
        let stolen = What::Stolen { length: Nanos(5) };
        let promise = promise(99, 20, 10, 0);
        let records =
            [(1, 77, 0, What::Grant), (2, 3, 9, What::Grant), (3, 0, 9, stolen), (4, 3, 9, What::Leave)];
        let result = observe(vec![promise], &records);
        assert_eq!((result.threads[0].ran, result.guarantees.len()), (Nanos(2), 1));
    }
}
