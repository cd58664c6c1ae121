//! Turns the stream of records into the result of the run.
//!
//! Keeps one small account for each VP, of a thread or of a scheduler alike, indexed by its number; and a supply
//! monitor for each promise. Relies on records in time order. Records of scheduler VPs may be absent, since an engine
//! may leave out what nobody watches: a scheduler's numbers come from what was seen, and are zero when nothing was.
//! Records of a VP that the topology does not have are ignored. Does no IO.

use crate::event::{Record, VpId, What};
use crate::histogram::Histogram;
use crate::result::{Below, Child, GuaranteeResult, RunResult, SchedulerResult, ThreadResult, Topology};
use crate::windows::{Monitor, Window};
use hls_units::Nanos;
use std::sync::Arc;

/// What one VP was promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The VP.
    pub vp: VpId,
    /// The guarantee as text.
    pub text: String,
    /// The lengths of windows to watch, with what is promised for each.
    pub windows: Vec<Window>,
}

/// Where a VP is, as far as its account goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Waiting, or ready again after a revoke.
    #[default]
    Off,
    /// Woken up at that time, and not granted a CPU since.
    Woken(Nanos),
    /// Running since the clock of its CPU showed that (see [`Cpu`]).
    Running(Nanos),
}

/// What one VP got.
#[derive(Clone, Debug, Default)]
struct Account {
    place: Place,
    /// The CPU that it was granted last.
    last_cpu: Option<u16>,
    /// Index into [`Observer::watched`].
    watched: Option<u32>,
    ran: Nanos,
    activations: u32,
    grants: u32,
    revokes: u32,
    migrations: u32,
    misses: u32,
    wake_latency: Histogram,
    response: Histogram,
}

impl Account {
    fn request(&mut self, at: Nanos) {
        self.activations += 1;
        self.place = Place::Woken(at);
    }

    fn grant(&mut self, at: Nanos, cpu: u16, clock: Nanos) {
        if let Place::Woken(since) = self.place {
            self.wake_latency.add(at.saturating_sub(since));
        }
        self.place = Place::Running(clock);
        self.grants += 1;
        self.migrations += u32::from(self.last_cpu.is_some_and(|last| last != cpu));
        self.last_cpu = Some(cpu);
    }

    /// Adds what another account has counted.
    fn include(&mut self, other: &Account) {
        self.activations = self.activations.saturating_add(other.activations);
        self.misses = self.misses.saturating_add(other.misses);
        self.revokes = self.revokes.saturating_add(other.revokes);
        self.migrations = self.migrations.saturating_add(other.migrations);
        self.wake_latency.add_all(&other.wake_latency);
        self.response.add_all(&other.response);
    }

    fn stop(&mut self, clock: Nanos) {
        if let Place::Running(since) = self.place {
            self.ran = self.ran.saturating_add(clock.saturating_sub(since));
        }
        self.place = Place::Off;
    }
}

/// One CPU.
#[derive(Clone, Debug, Default)]
struct Cpu {
    /// What was stolen so far. The CPU's clock is the time minus this; with it, the CPU time of every VP of the chain
    /// that runs here comes out right without a visit to each.
    stolen: Nanos,
    /// The promises (indexes into [`Observer::watched`]) whose VP runs here; at most one a level of the hierarchy.
    watched: Vec<u32>,
}

/// Watches a run.
#[derive(Clone, Debug)]
pub struct Observer {
    topology: Arc<Topology>,
    cpus: Vec<Cpu>,
    /// By VP.
    accounts: Vec<Account>,
    watched: Vec<(Promise, Monitor)>,
}

impl Observer {
    /// Begins at time 0 with nothing running. A VP has one promise; of several, only the last is held against the run.
    pub fn new(topology: impl Into<Arc<Topology>>, promises: Vec<Promise>) -> Observer {
        let topology = topology.into();
        let mut accounts = vec![Account::default(); topology.vps.len()];
        for (index, promise) in (0..).zip(&promises) {
            if let Some(account) = accounts.get_mut(promise.vp as usize) {
                account.watched = Some(index);
            }
        }
        let with_monitor = |promise: Promise| {
            let monitor = Monitor::new(promise.windows.clone());
            (promise, monitor)
        };
        Observer {
            cpus: vec![Cpu::default(); usize::from(topology.cpus)],
            accounts,
            watched: promises.into_iter().map(with_monitor).collect(),
            topology,
        }
    }

    /// Takes the next record into account.
    pub fn observe(&mut self, record: &Record) {
        let Record { at, vp, cpu, what } = *record;
        if let What::Stolen { length } = what {
            return self.steal(cpu, at, length);
        }
        let Some(account) = self.accounts.get_mut(vp as usize) else {
            return;
        };
        match what {
            What::Request => account.request(at),
            What::Grant => account.grant(at, cpu, clock(&self.cpus, Some(cpu), at)),
            What::Revoke => {
                account.revokes += 1;
                account.stop(clock(&self.cpus, account.last_cpu, at));
            }
            What::Release | What::Leave => account.stop(clock(&self.cpus, account.last_cpu, at)),
            What::JobDone { response } => account.response.add(response),
            What::Miss { count } => account.misses = account.misses.saturating_add(count),
            What::Throttle
            | What::Replenish { .. }
            | What::Arrive
            | What::JobRelease { .. }
            | What::Stolen { .. } => {}
        }
        if let Some(index) = account.watched {
            let cpu = account.last_cpu.unwrap_or(cpu);
            self.watch(index, cpu, at, what);
        }
    }

    /// Tells the monitor of a promise what happened to its VP, which is or was on `cpu`.
    fn watch(&mut self, index: u32, cpu: u16, at: Nanos, what: What) {
        let Some((_, monitor)) = self.watched.get_mut(index as usize) else {
            return;
        };
        match what {
            What::Request => return monitor.request(at),
            What::Grant => monitor.grant(at),
            What::Revoke => monitor.revoke(at),
            What::Release | What::Leave => monitor.release(at),
            _ => return,
        }
        if let Some(cpu) = self.cpus.get_mut(usize::from(cpu)) {
            cpu.watched.retain(|&running| running != index);
            if what == What::Grant {
                cpu.watched.push(index);
            }
        }
    }

    /// The CPU was taken from whoever runs on it for `length` until `at`.
    fn steal(&mut self, cpu: u16, at: Nanos, length: Nanos) {
        let Some(cpu) = self.cpus.get_mut(usize::from(cpu)) else {
            return;
        };
        cpu.stolen = cpu.stolen.saturating_add(length);
        for &index in &cpu.watched {
            if let Some((_, monitor)) = self.watched.get_mut(index as usize) {
                monitor.steal(at, length);
            }
        }
    }

    /// Ends the run at `end`. What an observer cannot know is left empty for the engine: its name, the seed, overhead,
    /// events, switches, and the work and frames of the threads.
    pub fn finish(mut self, end: Nanos) -> RunResult {
        for account in &mut self.accounts {
            account.stop(clock(&self.cpus, account.last_cpu, end));
        }
        let threads = self.threads();
        let stolen = self.cpus.iter().map(|cpu| cpu.stolen).fold(Nanos::ZERO, Nanos::saturating_add);
        let ran = threads.iter().map(|thread| thread.ran).fold(Nanos::ZERO, Nanos::saturating_add);
        let all = Nanos(end.0.saturating_mul(u64::from(self.topology.cpus)));
        RunResult {
            length: end,
            idle: all.saturating_sub(ran).saturating_sub(stolen),
            stolen,
            threads,
            schedulers: self.schedulers(),
            guarantees: self
                .watched
                .into_iter()
                .map(|(promise, monitor)| hold(promise, monitor, end))
                .collect(),
            topology: self.topology,
            ..RunResult::default()
        }
    }

    /// The threads in the order of their VPs.
    fn threads(&self) -> Vec<ThreadResult> {
        let entries = (0..).zip(self.topology.vps.iter().zip(&self.accounts));
        let of_threads = entries.filter(|(_, (info, _))| info.child == Child::Thread);
        let result = |(vp, (_, account)): (VpId, (_, &Account))| ThreadResult {
            vp,
            ran: account.ran,
            activations: account.activations.into(),
            wake_latency: account.wake_latency.percentiles(),
            response: account.response.percentiles(),
            misses: account.misses.into(),
            preemptions: account.revokes.into(),
            migrations: account.migrations.into(),
            ..ThreadResult::default()
        };
        of_threads.map(result).collect()
    }

    /// The schedulers, each with the sum over its VPs.
    fn schedulers(&self) -> Vec<SchedulerResult> {
        let empty = |scheduler| SchedulerResult { scheduler, ..SchedulerResult::default() };
        let mut results: Vec<_> = (0..self.topology.schedulers.len() as u32).map(empty).collect();
        for (info, account) in self.topology.vps.iter().zip(&self.accounts) {
            let Child::Scheduler(index) = info.child else {
                continue;
            };
            if let Some(result) = results.get_mut(index as usize) {
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
        results
    }

    /// For each scheduler the sum of the accounts of all threads below it.
    fn sums_below(&self) -> Vec<Account> {
        let lineages = self.topology.lineages();
        let mut sums = vec![Account::default(); self.topology.schedulers.len()];
        for (info, account) in self.topology.vps.iter().zip(&self.accounts) {
            let (Child::Thread, Some(parent)) = (info.child, info.parent) else { continue };
            for &above in lineages.get(parent as usize).into_iter().flatten() {
                sums[above as usize].include(account);
            }
        }
        sums
    }
}

/// The time minus what was stolen from that CPU.
fn clock(cpus: &[Cpu], cpu: Option<u16>, at: Nanos) -> Nanos {
    let stolen = cpu.and_then(|cpu| cpus.get(usize::from(cpu))).map_or(Nanos::ZERO, |cpu| cpu.stolen);
    at.saturating_sub(stolen)
}

/// Holds a promise against what its monitor saw.
fn hold(promise: Promise, monitor: Monitor, end: Nanos) -> GuaranteeResult {
    let (windows, broken) = monitor.finish(end);
    GuaranteeResult { vp: promise.vp, guarantee: promise.text, windows, broken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{SchedulerInfo, VpInfo};

    /// Scheduler 0 with VPs 1 and 2 of a machine with two CPUs, and the threads 3 and 4.
    fn topology() -> Topology {
        let vp = |name: &str, parent, child| VpInfo { name: name.into(), parent, child, ..VpInfo::default() };
        let root = |name| vp(name, None, Child::Scheduler(0));
        let thread = |name| vp(name, Some(0), Child::Thread);
        Topology {
            cpus: 2,
            schedulers: vec![SchedulerInfo { name: "root".into(), policy: "round-robin".into() }],
            vps: vec![VpInfo::default(), root("root"), root("root"), thread("a"), thread("b")],
        }
    }

    /// Observes `(at, vp, cpu, what)` until 100.
    fn observe(promises: Vec<Promise>, records: &[(u64, VpId, u16, What)]) -> RunResult {
        let mut observer = Observer::new(topology(), promises);
        for &(at, vp, cpu, what) in records {
            observer.observe(&Record { at: Nanos(at), vp, cpu, what });
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
        assert_eq!((thread.vp, thread.ran, thread.activations), (3, Nanos(10 + 7 + 10), 3));
        assert_eq!((thread.preemptions, thread.migrations, thread.misses), (1, 1, 2));
        let latency = thread.wake_latency;
        assert_eq!((latency.count, latency.p50, latency.worst), (2, Nanos(5), Nanos(20)));
        assert_eq!((thread.response.count, thread.response.worst), (1, Nanos(27)));
        assert_eq!(result.idle, Nanos(200 - 27));
        let scheduler = &result.schedulers[0];
        assert_eq!((scheduler.ran, scheduler.grants, scheduler.revokes), (Nanos(40), 1, 1));
    }

    #[test]
    fn stolen_time_is_nobodys() {
        let window = Window { length: Nanos(20), promised: Nanos(20), allowed: None };
        let promise = |vp| Promise { vp, text: "ALL".into(), windows: vec![window] };
        let stolen = What::Stolen { length: Nanos(5) };
        let result = observe(
            vec![promise(3), promise(4)],
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
        assert_eq!((first.vp, first.broken, first.windows[0].least), (3, 1, Some(Nanos(15))));
        assert_eq!((second.vp, second.broken, second.windows[0].least), (4, 0, Some(Nanos(20))));
    }

    #[test]
    fn what_the_topology_does_not_have_is_ignored() {
        let stolen = What::Stolen { length: Nanos(5) };
        let promise = Promise { vp: 99, text: String::new(), windows: vec![] };
        let records =
            [(1, 77, 0, What::Grant), (2, 3, 9, What::Grant), (3, 0, 9, stolen), (4, 3, 9, What::Leave)];
        let result = observe(vec![promise], &records);
        assert_eq!((result.threads[0].ran, result.guarantees.len()), (Nanos(2), 1));
    }

    #[test]
    fn an_account_is_small() {
        assert!(size_of::<Account>() <= 184, "{} bytes for each of 65,536 threads", size_of::<Account>());
    }
}
