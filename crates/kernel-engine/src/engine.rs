//! A hierarchy that schedules the threads of this machine: loads it into the kernel, attaches it, gives the threads
//! that the file names their places as they come, and hands on what the core records.
//!
//! Relies on the plan's having a default scheduler (`Hierarchy::with_default`) and as many CPUs as the machine. When an
//! [`Engine`] goes, or its process ends however it may, the kernel takes its threads back.

use crate::domain::Domain;
use crate::dump::dump;
use crate::news::{self, News, Ring};
use crate::next_engine::{Programs, SharedMaps};
use crate::proc;
use crate::{Error, Exit, exit};
use hls_core::{Call, Calls, CoreError, CoreScheduler, CoreVp, Library, Op, Params, View};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::RunResult;
use hls_plan::assign::{Assignment, Assignments, Instance, RealThread, Successor};
use hls_plan::{
    Built, ChangeableEngine, EngineThread, Plan, ThreadKey, planned_record, unplaced_params, vp_params,
};
use hls_units::Nanos;
use libbpf_rs::{Link, MapCore, MapFlags};
use std::collections::{HashMap, HashSet};
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The kernel says within this time why it has taken its threads back.
const PATIENCE_MS: u64 = 5_000;

/// Something that whoever runs the engine should hear of; the run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A thread fits two threads of the file, and so neither.
    Conflict {
        /// Its TID.
        tid: u32,
        /// Indexes into the hierarchy's threads.
        nodes: (usize, usize),
    },
    /// All instances of a thread of the file are taken.
    Full {
        /// Its TID.
        tid: u32,
        /// Index into the hierarchy's threads.
        node: usize,
    },
    /// There is no room for a further thread: its creation was refused.
    NoRoom {
        /// The process.
        tgid: u32,
    },
    /// Records came faster than they were read: what is reported from here on is not all.
    Lost,
}

/// Whoever takes the records of a run.
pub type Sink<'a> = dyn FnMut(&Record) + 'a;

/// A thread of the machine that is known to have a VP.
#[derive(Clone, Copy, Debug)]
struct Known {
    core_vp: CoreVp,
    tgid: u32,
}

/// A loaded hierarchy.
pub struct Engine {
    /// What keeps it attached. Goes first: without the maps that the domain has nobody would be scheduled.
    links: Vec<Link>,
    plan: Plan,
    built: Built<Domain>,
    ring: Ring,
    assignments: Assignments,
    /// Whether any thread of the file has a rule.
    has_rules: bool,
    /// By TID.
    known: HashMap<u32, Known>,
    /// TIDs of threads that a request has moved.
    moved: HashSet<u32>,
    /// Places of the plan that nobody takes any more: their schedulers may have gone, whose numbers others have then.
    closed: HashSet<ObservedVp>,
    /// The core's scheduler for all threads that the file does not name, and the parameters there.
    default: (CoreScheduler, Params),
    /// The kernel's time at which the run began,
    began: Nanos,
    /// and how many decisions had been taken by then.
    decisions: u64,
    notices: Vec<Notice>,
    /// Records that have not been handed on: the core's, and the engine's own.
    told: Vec<Record>,
}

fn refused(what: &str, error: CoreError) -> Error {
    Error::Failed(format!("{what}: {error}"))
}

impl Engine {
    /// Builds the hierarchy of a plan in an empty domain. Nothing is attached yet.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] where this kernel or this user cannot have it; [`Error::Failed`] for all else.
    ///
    /// # Panics
    /// When the hierarchy has no default scheduler.
    pub fn new(plan: Plan, domain: Domain) -> Result<Engine, Error> {
        let default = plan.hierarchy.default_scheduler().expect("the hierarchy has a default scheduler");
        let built = Built::new(domain, &plan, |_| true)
            .map_err(|error| refused("the hierarchy cannot be built", error))?;
        let ring = Ring::new(&built.core.loaded.map("events")?)?;
        let mut engine = Engine {
            default: (built.schedulers[default], unplaced_params(&plan.hierarchy, default)),
            assignments: Assignments::new(&plan),
            has_rules: plan.hierarchy.threads.iter().any(|thread| thread.who.is_some()),
            plan,
            built,
            ring,
            links: Vec::new(),
            known: HashMap::new(),
            moved: HashSet::new(),
            closed: HashSet::new(),
            began: Nanos::ZERO,
            decisions: 0,
            notices: Vec::new(),
            told: Vec::new(),
        };
        let (scheduler, params) = engine.default;
        engine.built.core.set_default(scheduler, params, std::process::id());
        engine.built.core.tell_stolen();
        Ok(engine)
    }

    /// Has the hierarchy schedule the machine from now on.
    ///
    /// # Errors
    /// The kernel does not take it: another scheduler is there, or what it looks at is not as it must be.
    pub fn attach(&mut self) -> Result<(), Error> {
        self.links.push(self.built.core.loaded.attach("hls_renamed")?);
        self.links.push(self.built.core.loaded.attach("hls_moved")?);
        self.links.push(self.built.core.loaded.attach_ops("hls_ops")?);
        self.began = self.time()?;
        Ok(())
    }

    /// Begins the run anew: records from before are dropped, and times and totals count from now. Of whoever wants a
    /// CPU already, or has one, that is recorded first.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.poll(&mut |_| ())?;
        self.began = self.time()?;
        let gone = |cpu| Record { at: self.began, vp: ObservedVp::NONE, cpu, what: What::Offline };
        self.told.extend(self.built.core.view().offline().map(gone));
        let Built { core, planned, of_schedulers, .. } = &mut self.built;
        self.decisions = core.view().decisions();
        of_schedulers.begin(core.view(), self.began);
        for core_vp in
            (0..).zip(planned).filter(|(_, vp)| **vp != ObservedVp::NONE).map(|(core_vp, _)| core_vp)
        {
            // A thread that ended meanwhile has nothing to be told.
            let _ = core.watch(CoreVp(core_vp), true);
        }
        Ok(())
    }

    /// The kernel's time; why it has taken its threads back, if it has.
    fn time(&mut self) -> Result<Nanos, Error> {
        let error = match self.built.core.now() {
            Ok(now) => return Ok(now),
            Err(error) => error,
        };
        // It says why only when all of them are its own again.
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

    /// Why the kernel let go of the engine, if it did.
    fn exit(&self) -> Result<Option<Exit>, Error> {
        let failed = || Error::Failed("why the kernel lets go of the scheduler cannot be read".into());
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

    /// The engine has started this process for the command of that thread of the file; to be told before the process
    /// has run anything.
    pub fn started(&mut self, node: usize, tgid: u32) {
        self.assignments.start(node, tgid);
    }

    /// Gives threads that came, or changed, their places, and hands on what was recorded since the last time.
    ///
    /// # Errors
    /// [`Error::Ended`] when the kernel has taken its threads back.
    pub fn poll(&mut self, sink: &mut Sink) -> Result<Vec<Notice>, Error> {
        for news in self.ring.take() {
            self.hear(news);
        }
        self.take_records();
        let told = mem::take(&mut self.told);
        for record in told.into_iter().filter(|record| record.at >= self.began) {
            sink(&Record { at: record.at - self.began, ..record });
        }
        self.look_for_exit()?;
        Ok(mem::take(&mut self.notices))
    }

    /// Takes what the core has recorded, under the numbers that VPs have now: always before one gets another.
    fn take_records(&mut self) {
        let (Built { core, planned, observed, .. }, told) = (&mut self.built, &mut self.told);
        if !core.view().take_records(|raw| told.extend(planned_record(planned, observed, raw))) {
            self.notices.push(Notice::Lost);
        }
    }

    fn hear(&mut self, news: News) {
        match news.what {
            news::What::Came => {
                self.known.insert(news.tid, Known { core_vp: news.vp, tgid: news.tgid });
                self.assign(news.tid, None);
            }
            news::What::Renamed(comm) => self.assign(news.tid, Some(&comm)),
            news::What::Moved => {
                let of_process = self.known.iter().filter(|(_, known)| known.tgid == news.tgid);
                let tids: Vec<u32> = of_process.map(|(&tid, _)| tid).collect();
                tids.into_iter().for_each(|tid| self.assign(tid, None));
            }
            news::What::Refused => self.notices.push(Notice::NoRoom { tgid: news.tgid }),
            news::What::Gone => {
                self.moved.remove(&news.tid);
                if self.known.remove(&news.tid).is_some() {
                    self.unwatch(news.vp);
                    let successor = self.assignments.exit(news.tid);
                    self.succeed(successor);
                }
            }
        }
    }

    /// Gives a thread the place that the rules of the file give it now. `comm`: a name that it is being given.
    fn assign(&mut self, tid: u32, comm: Option<&[u8]>) {
        let Some(known) = self.known.get(&tid).copied() else { return };
        if !self.has_rules || self.moved.contains(&tid) {
            return;
        }
        let Some(described) = proc::describe(known.tgid, tid) else { return };
        let before = self.assignments.assignment(tid).unwrap_or(Assignment::Default);
        let real = RealThread {
            tid,
            tgid: known.tgid,
            parent: described.parent,
            comm: comm.unwrap_or(&described.comm),
            cgroup: &described.cgroup,
        };
        let (assignment, successor) = self.assignments.update(&real);
        if assignment != before {
            match assignment {
                Assignment::Instance(instance) => self.place_instance(tid, instance),
                _ => self.place_in_default(tid),
            }
            match assignment {
                Assignment::Conflict(one, other) => {
                    self.notices.push(Notice::Conflict { tid, nodes: (one, other) });
                }
                Assignment::Full(node) => self.notices.push(Notice::Full { tid, node }),
                Assignment::Instance(_) | Assignment::Default => {}
            }
        }
        self.succeed(successor);
    }

    fn succeed(&mut self, successor: Option<Successor>) {
        if let Some(Successor { tid, instance }) = successor {
            self.place_instance(tid, instance);
        }
    }

    fn place_instance(&mut self, tid: u32, Instance { node, instance }: Instance) {
        let is_of = |group: &&hls_plan::PlannedThreads| {
            self.plan.hierarchy.edge(group.edge).child == hls_hierarchy::model::Child::Thread(node)
        };
        if let Some(vp) = self.plan.groups.iter().find(is_of).map(|group| group.first_vp.plus(instance)) {
            // A thread that ended meanwhile has no place; news of that are on their way.
            let _ = self.place(tid, vp);
        }
    }

    /// Makes a thread of the machine the thread of the plan with this VP, or, where that is closed, one of the default
    /// scheduler.
    ///
    /// # Errors
    /// The thread is not known (any more), or the core refuses.
    pub fn place(&mut self, tid: u32, vp: ObservedVp) -> Result<(), CoreError> {
        if self.closed.contains(&vp) {
            self.place_in_default(tid);
            return Ok(());
        }
        let group = self.plan.groups.iter().find(|group| group.vps().any(|of_group| of_group == vp));
        let edge = self.plan.hierarchy.edge(group.ok_or(CoreError::NotFound)?.edge);
        let parent = edge.parent.ok_or(CoreError::NotFound)?;
        let to = (self.built.schedulers[parent], vp_params(&self.plan.hierarchy, edge));
        let core_vp = self.move_below(tid, to)?;
        self.unwatch(core_vp);
        self.tell(vp, What::Arrive);
        self.watch(core_vp, tid, vp)
    }

    fn place_in_default(&mut self, tid: u32) {
        // A thread that ended needs no place.
        if let Ok(core_vp) = self.move_below(tid, self.default) {
            self.unwatch(core_vp);
        }
    }

    fn tell(&mut self, vp: ObservedVp, what: What) {
        if let Ok(at) = self.built.core.now() {
            self.told.push(Record { at, vp, cpu: 0, what });
        }
    }

    fn move_below(&mut self, tid: u32, (to, params): (CoreScheduler, Params)) -> Result<CoreVp, CoreError> {
        self.call_about(tid, Op::Move, Call { b: to.0, params: params.0, ..Call::default() })
    }

    /// Makes the call about a thread's VP, if that is still the thread's; which VP that is.
    fn call_about(&mut self, tid: u32, op: Op, call: Call) -> Result<CoreVp, CoreError> {
        let core_vp = self.known.get(&tid).ok_or(CoreError::NotFound)?.core_vp;
        self.make(op, Call { a: core_vp.0, tid, ..call }).map(|()| core_vp)
    }

    fn make(&mut self, op: Op, call: Call) -> Result<(), CoreError> {
        match self.built.core.make(op, call)? {
            0 => Ok(()),
            error => Err(CoreError::from_answer(error)),
        }
    }

    /// The maps that a next engine shares with this one.
    ///
    /// # Errors
    /// The system's.
    pub fn shared_maps(&self) -> Result<SharedMaps, Error> {
        self.built.core.shared_maps()
    }

    /// The program by which threads talk to their schedulers: see [`Domain::messenger`].
    ///
    /// # Errors
    /// The system's.
    pub fn messenger(&self) -> Result<OwnedFd, Error> {
        self.built.core.messenger()
    }

    /// Another engine takes over: see [`Domain::take_over`].
    ///
    /// # Errors
    /// The next engine may have taken over in part: then the run must end.
    pub fn take_over(
        &mut self,
        next: Option<(Programs, Arc<Library>)>,
    ) -> Result<Option<(Programs, Arc<Library>)>, Error> {
        self.built.core.take_over(next)
    }

    /// Checks every invariant of the core, at a moment when no decision is due.
    ///
    /// # Errors
    /// What is broken; the kernel cannot be asked.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.built.core.check()? {
            None => Ok(()),
            Some(fault) => Err(Error::Broken(fault)),
        }
    }

    /// The state of the whole hierarchy in words, by the numbers that a broken invariant has. After one was found it
    /// is the state in which it was.
    pub fn dump(&mut self) -> String {
        dump(&mut self.built.core)
    }

    /// Fills in what only the engine knows of the result.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn complete(&mut self, result: &mut RunResult) -> Result<(), Error> {
        let now = self.time()?;
        result.engine = "kernel".into();
        let Built { core, of_schedulers, .. } = &mut self.built;
        result.events = core.view().decisions() - self.decisions;
        of_schedulers.complete(core.view(), now, result);
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

    fn view(&mut self) -> &View {
        self.built.core.view()
    }

    /// The kernel charges by itself.
    fn charge_until_now(&mut self) -> Result<Nanos, CoreError> {
        self.built.core.now()
    }

    fn watch(&mut self, core_vp: CoreVp, tid: u32, vp: ObservedVp) -> Result<(), CoreError> {
        self.take_records();
        self.built.name(core_vp, vp);
        let watched = self.make(Op::Watch, Call { a: core_vp.0, b: 1, tid, ..Call::default() });
        if watched.is_err() {
            self.built.name(core_vp, ObservedVp::NONE);
        }
        watched
    }

    fn unwatch(&mut self, core_vp: CoreVp) {
        let vp = self.built.number(core_vp);
        if vp != ObservedVp::NONE {
            self.take_records();
            self.built.name(core_vp, ObservedVp::NONE);
            self.tell(vp, What::Leave);
        }
    }

    fn thread(&mut self, tid: u32) -> Option<EngineThread> {
        let core_vp = self.known.get(&tid)?.core_vp;
        let entry = self.built.core.thread(core_vp);
        (entry.pid == tid).then(|| EngineThread {
            key: ThreadKey { tid, vp: core_vp, since: entry.since },
            cpus: entry.cpus,
            scheduler: self.built.core.view().parent(core_vp),
            vp: self.built.number(core_vp),
        })
    }

    fn tids(&self) -> Vec<u32> {
        let mut tids: Vec<u32> = self.known.keys().copied().collect();
        tids.sort_unstable();
        tids
    }

    fn move_thread(
        &mut self,
        tid: u32,
        to: CoreScheduler,
        params: Params,
        _: &[ObservedScheduler],
    ) -> Result<(), CoreError> {
        let core_vp = self.move_below(tid, (to, params))?;
        self.unwatch(core_vp);
        self.moved.insert(tid);
        let successor = self.assignments.exit(tid);
        self.succeed(successor);
        Ok(())
    }

    fn set_parameter(&mut self, tid: u32, param: u32, value: u64) -> Result<(), CoreError> {
        self.call_about(tid, Op::Message, Call { b: param, value, ..Call::default() }).map(drop)
    }

    /// Whoever comes to the default scheduler has no number there.
    fn close_place(&mut self, vp: ObservedVp) -> Option<CoreScheduler> {
        self.closed.insert(vp);
        None
    }

    fn ran(&mut self, core_vp: CoreVp) -> Nanos {
        let now = self.built.core.now().unwrap_or_default();
        self.built.core.view().ran(core_vp, now)
    }

    fn stolen(&mut self) -> Nanos {
        let cpus = self.plan.topology.cpus;
        let view = self.built.core.view();
        (0..cpus).map(|cpu| view.stolen(cpu)).fold(Nanos::ZERO, Nanos::saturating_add)
    }
}

impl AsFd for Engine {
    /// Can be read when [`Engine::poll`] should be called: a thread came, went or changed, or there are many records.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }
}
