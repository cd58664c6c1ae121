//! A hierarchy that schedules the threads of this machine: loads it into the kernel, attaches it, puts the threads
//! that the file names below their schedulers when they come, and hands on the core's records.
//!
//! Relies on the plan having everything that a machine needs (`Hierarchy::for_a_machine`) and as many CPUs as the
//! machine. When no process holds the descriptors of [`Engine::attach`], the kernel takes its threads back.

use crate::domain::{Check, Domain, MAX_BRANDS};
use crate::doorbell::Doorbell;
use crate::dump::dump;
use crate::next_engine::{Programs, SharedMaps};
use crate::object::may_set_timers;
use crate::pages::Pages;
use crate::pulse::Pulses;
use crate::state::State;
use crate::threads::Threads;
use crate::told::Told;
use crate::weighing::Weighing;
use crate::{Error, Exit, exit};
use hls_core::{About, Call, Calls, CoreError, CoreScheduler, CoreVp, Op, Params, PolicyTable};
use hls_engine::{Built, ChangeableEngine, EngineThread, ThreadKey, unplaced_params};
use hls_hierarchy::model::{Hierarchy, Source};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_units::Nanos;
use libbpf_rs::{Link, MapCore, MapFlags};
use std::collections::HashSet;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

/// The time within which the kernel reports why it has taken its threads back.
const PATIENCE_MS: u64 = 5_000;

/// Something that the caller should know; the run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The rules of two threads of the file match one thread of the machine; the thread gets neither place.
    Conflict {
        /// The TID of the thread of the machine.
        tid: u32,
        /// Indexes into the hierarchy's threads.
        nodes: (usize, usize),
    },
    /// All instances of a thread of the file are taken by other threads of the machine, or will be.
    Full {
        /// The TID of the thread of the machine.
        tid: u32,
        /// Index into the hierarchy's threads.
        node: usize,
    },
    /// The core has no VP left for a new thread: the creation of the thread was refused.
    NoRoom {
        /// The process of the new thread.
        tgid: u32,
    },
    /// Records came faster than they were read, and some were lost: the report is not complete. [`What::Lost`] tells
    /// where.
    Lost,
}

/// The receiver of the records of a run.
pub type Sink<'a> = dyn FnMut(&Record) + 'a;

/// A loaded hierarchy.
pub struct Engine {
    /// The links of tracing programs.
    links: Vec<Link>,
    pulses: Pulses,
    pub(crate) plan: Plan,
    pub(crate) built: Built<Domain>,
    doorbell: Doorbell,
    /// Whether sched_ext schedules.
    state: State,
    pub(crate) threads: Threads,
    pub(crate) weighing: Weighing,
    /// Whether there was more to look at than time allowed.
    is_behind: bool,
    /// Closed places of the plan: their schedulers may be gone, and other schedulers may have their numbers.
    pub(crate) closed: HashSet<ObservedVp>,
    /// The kernel's time at which the run began.
    began: Nanos,
    /// How many decisions the core had made before the run began.
    decisions: u64,
    pub(crate) notices: Vec<Notice>,
    /// Records of the core and of the engine itself that have not been handed on.
    pub(crate) undelivered: Vec<Record>,
    pub(crate) told: Told,
}

fn refused(what: &str, error: CoreError) -> Error {
    Error::Failed(format!("{what}: {error}"))
}

/// A VP lost its number at `at`: later records of the VP are not about that number.
fn end_records(records: &mut Vec<Record>, vp: ObservedVp, at: Nanos) {
    records.retain(|record| record.vp != vp || record.at <= at);
    records.push(Record { at, vp, cpu: 0, what: What::Leave });
}

/// The sources of interrupts that the hierarchy names.
fn sources(hierarchy: &Hierarchy) -> Result<Vec<Source>, Error> {
    let sources: Vec<Source> =
        hierarchy.threads.iter().filter_map(|thread| thread.source().cloned()).collect();
    match sources.len() <= MAX_BRANDS {
        true => Ok(sources),
        false => Err(Error::Failed(format!(
            "found {} sources of interrupts in the hierarchy, expected {MAX_BRANDS} at most",
            sources.len()
        ))),
    }
}

impl Engine {
    /// Builds the hierarchy of a plan in an empty domain. The hierarchy is not attached yet.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] where this kernel or this user may not load it; [`Error::Failed`] for any other reason.
    ///
    /// # Panics
    /// When the hierarchy has no default scheduler, or none for the threads of this process.
    pub fn new(plan: Plan, domain: Domain) -> Result<Engine, Error> {
        let default = plan.hierarchy.default_scheduler().expect("the hierarchy has a default scheduler");
        let built = Built::new(domain, &plan, |_| true)
            .map_err(|error| refused("the hierarchy cannot be built", error))?;
        let doorbell = Doorbell::new(&built.core.loaded.map("doorbell")?)?;
        let mut engine = Engine {
            threads: Threads::new(&plan),
            weighing: Weighing::default(),
            plan,
            built,
            doorbell,
            state: State::open()?,
            is_behind: false,
            links: Vec::new(),
            pulses: Pulses::default(),
            closed: HashSet::new(),
            began: Nanos::ZERO,
            decisions: 0,
            notices: Vec::new(),
            undelivered: Vec::new(),
            told: Told::default(),
        };
        let (scheduler, params) = engine.built.default;
        let policy = engine.plan.hierarchy.schedulers[default].policy;
        let share = policy.vp_params.iter().position(|param| param.name == "share");
        engine.built.core.set_default(scheduler, params, share);
        let service = engine.plan.hierarchy.service_scheduler().expect("the hierarchy has one for hls");
        let params = unplaced_params(&engine.plan.hierarchy, service);
        engine.built.core.set_service(engine.built.schedulers[service], params, std::process::id());
        engine.built.core.set_brands(&sources(&engine.plan.hierarchy)?);
        engine.built.core.record_stolen_time();
        Ok(engine)
    }

    /// Has the hierarchy schedule the machine from now on, as long as a process holds the descriptors that this
    /// returns; the first one must be closed first. The threads of the process `keeper` never wait for a grant.
    ///
    /// # Errors
    /// The kernel refuses the hierarchy: another BPF scheduler is loaded, or the kernel finds the engine's operations
    /// wrong.
    pub fn attach(&mut self, keeper: u32) -> Result<Vec<OwnedFd>, Error> {
        let domain = &mut self.built.core;
        domain.set_keeper(keeper);
        self.links.push(domain.loaded.attach("hls_renamed")?);
        self.links.push(domain.loaded.attach("hls_moved")?);
        self.links.push(domain.loaded.attach("hls_signalled")?);
        if !may_set_timers() {
            self.links.push(domain.loaded.attach("hls_pulse")?);
            self.pulses.begin_all()?;
        }
        let mut attachment = domain.what_must_stay()?;
        domain.note_offline_cpus()?;
        let link = domain.loaded.attach_ops("hls_ops")?;
        let link = link.as_fd().try_clone_to_owned();
        attachment
            .insert(0, link.map_err(|error| Error::Failed(format!("the link cannot be had: {error}")))?);
        self.began = self.time()?;
        Ok(attachment)
    }

    /// Begins the run anew: earlier records are dropped, and times and totals count from now; notices about threads
    /// stay. The first records are the states of VPs that are runnable or running now. Of the VPs of schedulers only
    /// those are recorded for which `needs` is true.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn begin(&mut self, needs: impl Fn(ObservedVp) -> bool) -> Result<(), Error> {
        self.poll(&mut |_| ())?;
        self.notices.retain(|notice| *notice != Notice::Lost);
        self.began = self.time()?;
        self.told.offline = self.built.core.view().offline().collect();
        let gone = |&cpu| Record { at: self.began, vp: ObservedVp::NONE, cpu, what: What::Offline };
        self.undelivered.extend(self.told.offline.iter().map(gone));
        let Built { core, planned, of_schedulers, .. } = &mut self.built;
        self.decisions = core.view().decisions();
        of_schedulers.begin(core.view(), self.began);
        for (core_vp, &mut vp) in (0..).map(CoreVp).zip(planned).filter(|(_, vp)| **vp != ObservedVp::NONE) {
            // A thread that ended meanwhile has nothing to be recorded.
            let _ = core.watch(core_vp, needs(vp));
        }
        Ok(())
    }

    /// The kernel's time; fails with the reason if the kernel has taken its threads back.
    fn time(&mut self) -> Result<Nanos, Error> {
        let error = match self.built.core.now() {
            Ok(now) => return Ok(now),
            Err(error) => error,
        };
        // The kernel gives its reason only when it has all threads back.
        for _ in 0..PATIENCE_MS {
            self.look_for_exit()?;
            sleep(Duration::from_millis(1));
        }
        Err(refused("the kernel does not tell the time", error))
    }

    /// Fails if the kernel has taken its threads back.
    fn look_for_exit(&mut self) -> Result<(), Error> {
        match self.exit()? {
            None => Ok(()),
            Some(exit) if exit.is_error() => Err(Error::Ended(Exit { dump: self.dump(), ..exit })),
            Some(exit) => Err(Error::Ended(exit)),
        }
    }

    /// Whether the hierarchy still has the threads of the machine. While the kernel takes them back, and afterwards,
    /// the engine finds none of them: a thread that was not found before this returned true did not exist.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn is_attached(&self) -> Result<bool, Error> {
        // In this order: when another scheduler has been enabled after ours, the end of ours is already noted.
        Ok(self.state.is_enabled()? && self.exit()?.is_none() && !self.built.core.is_sealed())
    }

    /// Why the kernel ended the engine, if it did.
    fn exit(&self) -> Result<Option<Exit>, Error> {
        let failed = || Error::Failed("why the kernel ended the scheduler cannot be read".into());
        let map = self.built.core.loaded.map(".data.exit")?;
        let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        exit::parse(&bytes.ok_or_else(failed)?).ok_or_else(failed)
    }

    /// How long the run has lasted.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn now(&mut self) -> Result<Nanos, Error> {
        let now = self.time()?;
        Ok(now.saturating_sub(self.began))
    }

    /// The engine has started this process for the command of this thread of the file; to be called before the
    /// process has run anything.
    pub fn started(&mut self, node: usize, tgid: u32) {
        self.threads.started(node, tgid);
    }

    /// Puts new and changed threads below their schedulers, and hands on the records since the last call.
    ///
    /// # Errors
    /// [`Error::Ended`] when the kernel has taken its threads back.
    pub fn poll(&mut self, sink: &mut Sink) -> Result<(), Error> {
        self.doorbell.silence();
        self.is_behind = self.look_at_threads();
        self.take_records();
        let undelivered = mem::take(&mut self.undelivered);
        let is_back = |record: &&Record| record.what == What::Online && !may_set_timers();
        for record in undelivered.iter().filter(is_back) {
            self.pulses.begin(record.cpu.into())?;
        }
        for record in undelivered.into_iter().filter(|record| record.at >= self.began) {
            sink(&Record { at: record.at - self.began, ..record });
        }
        self.look_for_exit()
    }

    /// The notices since the last call, also from polls before the run began.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        mem::take(&mut self.notices)
    }

    /// The longest hold of the lock, of which one in sixteen is measured, and the longest wait of a CPU for it.
    pub fn longest_hold_and_wait(&self) -> (Nanos, Nanos) {
        self.built.core.longest_hold_and_wait()
    }

    /// Whether the last poll had no time to look at all threads.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    pub(crate) fn add_record(&mut self, vp: ObservedVp, what: What) {
        if let Ok(at) = self.built.core.now() {
            self.undelivered.push(Record { at, vp, cpu: 0, what });
        }
    }

    /// Takes the number of a VP of the core away. The VP had it until `at`, which is no earlier than the last poll.
    pub(crate) fn unwatch_from(&mut self, core_vp: CoreVp, at: Nanos) {
        let vp = self.built.number(core_vp);
        if vp != ObservedVp::NONE {
            self.take_records();
            self.built.name(core_vp, ObservedVp::NONE);
            end_records(&mut self.undelivered, vp, at);
        }
    }

    /// Where a known thread is, if it lives.
    fn known(&mut self, tid: u32) -> Option<EngineThread> {
        let (core_vp, generation) = self.threads.vp(tid)?;
        let entry = self.built.core.thread(core_vp);
        (entry.pid == tid && entry.generation == generation).then(|| EngineThread {
            key: ThreadKey { tid, vp: core_vp, generation },
            name: String::from_utf8_lossy(entry.comm()).into_owned(),
            process: entry.tgid,
            cpus: entry.cpus,
            scheduler: self.built.core.view().parent(core_vp),
            vp: self.built.number(core_vp),
        })
    }

    pub(crate) fn make(&mut self, op: Op, call: Call) -> Result<(), CoreError> {
        match self.built.core.make(op, call)? {
            0 => Ok(()),
            error => Err(CoreError::from_answer(error)),
        }
    }

    /// The maps that a next engine shares with this one.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn shared_maps(&self) -> Result<SharedMaps, Error> {
        self.built.core.shared_maps()
    }

    /// The program with which threads send messages to their schedulers: see [`Domain::messenger`].
    ///
    /// # Errors
    /// The errors of the system.
    pub fn messenger(&self) -> Result<OwnedFd, Error> {
        self.built.core.messenger()
    }

    /// Makes new pages for a scheduler of a policy with pages (`include/hls_pages.h`), for the process that runs it
    /// from now on. The scheduler no longer reads older pages of an earlier process. Until it gets pages, it uses the
    /// parameters in the hierarchy.
    ///
    /// # Errors
    /// The policy has no pages, or all were taken when the scheduler was created; the errors of the system, which
    /// leave the scheduler without pages.
    pub fn make_pages(&mut self, scheduler: CoreScheduler) -> Result<Pages, Error> {
        self.built.core.make_pages(scheduler)
    }

    /// Removes the pages of a scheduler, if it has any: it goes on with the parameters in the hierarchy. When a
    /// scheduler is destroyed, or gets another policy, its pages are removed, too.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn remove_pages(&mut self, scheduler: CoreScheduler) -> Result<(), Error> {
        self.built.core.remove_pages(scheduler)
    }

    /// Another engine takes over: see [`Domain::take_over`].
    ///
    /// # Errors
    /// The next engine may have taken over in part: then the run must end.
    pub fn take_over(
        &mut self,
        next: Option<(Programs, PolicyTable)>,
    ) -> Result<Option<(Programs, PolicyTable)>, Error> {
        self.built.core.take_over(next)
    }

    /// Checks every invariant of the core, at a moment when no decision is due; `false`: there was no such moment.
    ///
    /// # Errors
    /// What is broken; the kernel cannot be asked.
    pub fn check(&mut self) -> Result<bool, Error> {
        match self.built.core.check()? {
            Check::Held => Ok(true),
            Check::NotMade => Ok(false),
            Check::Broken(fault) => Err(Error::Broken(fault)),
        }
    }

    /// The state of the whole hierarchy as text, with the core's numbers, as in the report of a broken invariant.
    /// After a broken invariant was found, the state in which it was found.
    pub fn dump(&mut self) -> String {
        dump(&mut self.built.core)
    }

    /// Fills in the parts of the result that only the engine knows.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn complete(&mut self, result: &mut RunResult) -> Result<(), Error> {
        let now = self.time()?;
        result.engine = "kernel".into();
        result.events = self.built.core.view().decisions() - self.decisions;
        self.built.complete(now, result);
        let all = Nanos(result.length.0.saturating_mul(u64::from(self.plan.topology.cpus)));
        let used = result.schedulers.first().map_or(Nanos::ZERO, |root| root.ran);
        result.idle = all.saturating_sub(used).saturating_sub(result.stolen);
        Ok(())
    }
}

impl ChangeableEngine for Engine {
    type Core = Domain;

    fn built(&mut self) -> &mut Built<Domain> {
        &mut self.built
    }

    fn elapsed(&mut self) -> Nanos {
        let now = self.built.core.now().unwrap_or(self.built.core.called_at());
        now.saturating_sub(self.began)
    }

    /// The kernel engine charges threads without being asked.
    fn charge_until_now(&mut self) -> Result<Nanos, CoreError> {
        self.built.core.now()
    }

    fn watch(&mut self, core_vp: CoreVp, tid: u32, vp: ObservedVp) -> Result<(), CoreError> {
        if tid == 0 {
            self.forget_thread_of(core_vp);
        }
        self.take_records();
        let generation = match tid {
            0 => 0,
            _ => self.threads.vp(tid).ok_or(CoreError::NotFound)?.1,
        };
        self.make(Op::Watch, Call { a: core_vp.0, b: 1, generation, ..Call::default() })?;
        // Only after the call has succeeded: the VP of a thread that has ended may belong to a scheduler by now, with
        // a number of its own.
        self.built.name(core_vp, vp);
        Ok(())
    }

    fn unwatch(&mut self, core_vp: CoreVp) {
        let now = self.built.core.now().unwrap_or(self.built.core.called_at());
        self.unwatch_from(core_vp, now);
    }

    fn thread(&mut self, tid: u32) -> Option<EngineThread> {
        self.known(tid).or_else(|| {
            let found = self.look_at_new_threads(|entry| entry.pid == tid);
            found.into_iter().for_each(|tid| self.assign_anew(tid));
            self.known(tid)
        })
    }

    fn tids(&mut self) -> Vec<u32> {
        self.look_at_new_threads(|_| true);
        self.threads.tids()
    }

    fn move_thread(
        &mut self,
        tid: u32,
        to: CoreScheduler,
        params: Params,
        _: &[ObservedScheduler],
    ) -> Result<(), CoreError> {
        self.place_by_request(tid, (to, params))
    }

    /// Refused where the VP no longer belongs to the thread.
    fn call_about(&mut self, tid: u32, About { op, call }: About) -> Result<CoreVp, CoreError> {
        let (core_vp, generation) = self.threads.vp(tid).ok_or(CoreError::NotFound)?;
        self.make(op, Call { a: core_vp.0, generation, ..call }).map(|()| core_vp)
    }

    /// Threads that come to the default scheduler have no number there.
    fn close_place(&mut self, vp: ObservedVp) -> Option<CoreScheduler> {
        self.closed.insert(vp);
        None
    }

    /// As of the last call of the core: a call for each of thousands of threads would take long.
    fn ran(&mut self, core_vp: CoreVp) -> Nanos {
        let called_at = self.built.core.called_at();
        self.built.core.view().ran(core_vp, called_at)
    }
}

impl AsFd for Engine {
    /// Readable when [`Engine::poll`] should be called: a thread came, went or changed, or there are many records.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.doorbell.fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread is moved at 20 to a place without an upper limit, and runs there before the move is noted.
    #[test]
    fn what_a_thread_has_after_its_move_is_not_recorded_under_its_old_number() {
        let (moved, other) = (ObservedVp(3), ObservedVp(4));
        let record = |at, vp, what| Record { at: Nanos(at), vp, cpu: 0, what };
        let before = [record(10, moved, What::Grant), record(20, moved, What::Release)];
        let of_other = [record(5, other, What::Grant), record(30, other, What::Revoke)];
        let after = [record(21, moved, What::Grant), record(40, moved, What::Revoke)];
        let mut records = [&of_other[..], &before, &after].concat();
        end_records(&mut records, moved, Nanos(20));
        let left = [record(20, moved, What::Leave)];
        assert_eq!(records, [&of_other[..], &before, &left].concat());
    }
}
