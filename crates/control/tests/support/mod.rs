//! A mock hierarchy for the tests to query: the native core, with threads that are only numbers.
//!
//! Relies on the core to check its invariants after every call.

// Each test file uses a part of this.
#![allow(dead_code)]

use hls_calculus::{GraphEdge, Guarantee, Mode};
use hls_client::interface::StatusReply;
use hls_client::{Pages, Texts};
use hls_control::{
    Counts, Created, DisabledPolicies, EngineError, Error, HierarchyChange, Layout, Manager, Observed, Peer,
    PolicyDisabled, PolicySource, Preparation, Prepared, Promisee, Readings, RunningEngine, Socket, Thread,
    ThreadKey, serve,
};
use hls_core::{Calls, Core, CoreScheduler, CoreVp, Library, Params, RecordKind};
use hls_hierarchy::analysis::Input;
use hls_hierarchy::model::{Child, Hierarchy, ModelEdge};
use hls_policy_build::{Builder, PolicyFile, Target};
use hls_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The user that owns `ALICE` in [`FILE`].
pub const ALICE: Peer = Peer { uid: 1000 };
/// A user that owns nothing.
pub const BOB: Peer = Peer { uid: 1001 };
/// A place of the file, filled by thread 10.
pub const VIDEO: u32 = 10;
/// Threads of Alice and of Bob, in the default scheduler.
pub const ALICES: [u32; 3] = [100, 101, 102];
pub const BOBS: u32 = 200;

/// A test that waits for longer than this fails.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Files that stand for pages, so that the two can be distinguished.
pub const KERNEL_PAGE: &str = "/dev/zero";
pub const USER_PAGE: &str = "/dev/null";

/// Half a CPU for Alice, a place for a video player, the rest by time sharing.
pub const FILE: &str = r#"
fixed-priority "FP" {
    reservation "RES" priority=2 {
        thread "video" guarantee="RESBH 5ms 50ms"
        proportional-share "ALICE" guarantee="RESBH 10ms 20ms" quantum="1ms" {
            thread "first" share=1
        }
    }
    time-sharing "rest" priority=0 { thread "other" }
}
"#;

/// The engine.
pub struct Native {
    pub core: Core,
    now: Nanos,
    /// How much time passes before each answer to what time it is.
    pub passes: Nanos,
    threads: BTreeMap<u32, Thread>,
    /// The core's number of the default scheduler.
    default: CoreScheduler,
    /// The promises that the engine is to watch.
    pub promises: BTreeMap<Promisee, String>,
    /// How long after it was made the last promise to each began.
    pub begins_after: BTreeMap<Promisee, Nanos>,
    /// How often it was told of a promise, or of the end of one.
    pub promised: u32,
    /// How often it was asked for all threads.
    pub listed: u32,
    /// How many calls the engine does before it fails once.
    pub fails_after: Option<usize>,
    /// How many questions the engine answers before the run ends: from then on it knows no thread.
    pub ends_after: Option<usize>,
    /// How many policies were disabled.
    pub disabled: usize,
    disabled_policies: DisabledPolicies,
    /// Places that no thread takes any more.
    pub closed: Vec<GraphEdge>,
    /// The schedulers that pages were made for.
    pub pages_of: Vec<CoreScheduler>,
    /// The number of a thread that ends after the next question about many threads; a thread of Bob's gets the number.
    pub reused: Option<u32>,
    /// Gets a message when the next thread moves.
    pub moving: Option<Sender<()>>,
    /// Whether the next call panics.
    pub panics: bool,
    /// Whether it knows the real threads of this machine as well.
    pub knows_real: bool,
    /// The real threads that it knows.
    real: BTreeSet<u32>,
    /// Whether it compiles policies, so that they may be loaded.
    pub compiles: bool,
    /// How the next preparation of an engine says that it has begun, and what it then waits for.
    pub gate: Option<(Sender<()>, Receiver<()>)>,
    /// The built-in policy that the engine was made without, and whether the next one is to have it.
    pub left_out: Option<u8>,
    brings_in: bool,
}

impl Native {
    /// The file in the core, and its layout for the manager.
    pub fn new(file: &str, owners: &[(&str, u32)]) -> (Native, Layout) {
        let (hierarchy, _) = hls_hierarchy::read(file.as_bytes()).expect("a valid file");
        let input = Input::new(&hierarchy);
        let mut core = Core::new();
        (0..hierarchy.machine.cpus).for_each(|cpu| core.add_cpu(cpu).unwrap());
        let create = |scheduler: &hls_hierarchy::model::Scheduler| {
            core.create_scheduler(scheduler.policy.id, Params::from_slice(&scheduler.params)).unwrap()
        };
        let schedulers: Vec<CoreScheduler> = hierarchy.schedulers.iter().map(create).collect();
        let vps: Vec<Vec<CoreVp>> = input
            .origins
            .iter()
            .map(|origin| attach(&mut core, &hierarchy, &schedulers, origin.edge))
            .collect();
        let named = |name: &str| hierarchy.schedulers.iter().position(|scheduler| scheduler.name == name);
        let owner = |scheduler: &hls_hierarchy::model::Scheduler| {
            owners.iter().find(|(name, _)| *name == scheduler.name).map(|(_, uid)| *uid)
        };
        let layout = Layout {
            graph: input.graph,
            owners: hierarchy.schedulers.iter().map(owner).collect(),
            default: named("rest").expect("a default"),
            service: named("hls"),
            added: ["for-hls", "hls"].into_iter().filter_map(named).collect(),
            overrun: hls_units::Nanos(30_000),
            vps,
            schedulers,
            loaded: Vec::new(),
            disabled_policies: DisabledPolicies::default(),
        };
        let native = Native {
            core,
            now: Nanos(1),
            passes: Nanos::ZERO,
            threads: BTreeMap::new(),
            default: layout.schedulers[layout.default],
            promises: BTreeMap::new(),
            begins_after: BTreeMap::new(),
            promised: 0,
            listed: 0,
            fails_after: None,
            ends_after: None,
            reused: None,
            disabled: 0,
            disabled_policies: layout.disabled_policies.clone(),
            closed: Vec::new(),
            pages_of: Vec::new(),
            moving: None,
            panics: false,
            knows_real: false,
            real: BTreeSet::new(),
            compiles: true,
            gate: None,
            left_out: None,
            brings_in: false,
        };
        (native, layout)
    }

    /// One more thread in the default scheduler, or in a place of the file.
    pub fn spawn(&mut self, tid: u32, uid: Option<u32>, slot: Option<(GraphEdge, CoreScheduler, Params)>) {
        let (scheduler, params) =
            slot.map_or((self.default, Params::default()), |(_, at, params)| (at, params));
        let vp = self.core.attach(scheduler, None, params).unwrap();
        let key = ThreadKey { tid, vp, generation: self.now.0 as u32 };
        let (comm, slot) = (format!("t{tid}"), slot.map(|(edge, ..)| edge));
        self.threads.insert(tid, Thread { key, pid: tid, comm, uid, pinned: false, scheduler, slot });
        // Half of them are runnable.
        if tid.is_multiple_of(2) {
            self.core.request(vp, self.now);
        }
        self.settle();
    }

    /// Whether there is a thread of this number.
    pub fn has(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// A thread ends.
    pub fn exit(&mut self, tid: u32) {
        let thread = self.threads.remove(&tid).expect("a living thread");
        self.now.0 += 1;
        self.core.detach(thread.key.vp, self.now).unwrap();
        self.promises.remove(&Promisee::Thread(thread.key));
        self.settle();
    }

    /// A thread becomes runnable.
    pub fn wake(&mut self, tid: u32) {
        self.core.request(self.threads[&tid].key.vp, self.now);
        self.settle();
    }

    /// A thread may use some of the CPUs only.
    pub fn pin(&mut self, tid: u32) {
        self.threads.get_mut(&tid).unwrap().pinned = true;
    }

    /// Time passes, decisions are taken, and everything is as it must be.
    fn settle(&mut self) {
        self.now.0 += 1_000;
        self.core.timers(self.now);
        for cpu in (0..64).filter(|cpu| self.core.kick() >> cpu & 1 == 1).collect::<Vec<u16>>() {
            self.core.schedule(cpu, self.now);
        }
        while self.core.kick() != 0 {
            let cpu = self.core.kick().trailing_zeros() as u16;
            self.core.schedule(cpu, self.now);
        }
        self.core.check().unwrap();
        let mut disabled = Vec::new();
        self.core.take_records(|raw| {
            if let RecordKind::Fallback { scheduler, violation, .. } = raw.kind {
                disabled.push((scheduler, violation.to_owned()));
            }
        });
        for (scheduler, violation) in disabled {
            let fallback = self.core.scheduler(scheduler).unwrap().policy.to_owned();
            self.disabled += 1;
            self.disabled_policies.push(PolicyDisabled { scheduler, violation, fallback });
        }
    }

    /// This much time passes.
    pub fn pass(&mut self, time: Nanos) {
        self.now.0 += time.0;
        for cpu in 0..64 {
            if self.core.expires_at(cpu) <= self.now {
                self.core.expire(cpu, self.now);
            }
        }
        self.settle();
    }

    /// A question of the manager, before which the run may have ended.
    fn question(&mut self) -> Result<(), EngineError> {
        match &mut self.ends_after {
            Some(0) => return Err(EngineError::Ended),
            Some(questions) => *questions -= 1,
            None => {}
        }
        Ok(())
    }

    /// A call of the manager, which may be the one that fails.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Core, Nanos) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.question()?;
        assert!(!self.panics, "a panic that a test asked for");
        match &mut self.fails_after {
            Some(0) => {
                self.fails_after = None;
                return Err(EngineError::Failed("found a failure that a test asked for".into()));
            }
            Some(calls) => *calls -= 1,
            None => {}
        }
        let result = call(&mut self.core, self.now)?;
        self.settle();
        Ok(result)
    }

    fn call_that_creates_nothing(&mut self, change: HierarchyChange) -> Result<(), EngineError> {
        match change {
            HierarchyChange::DestroyScheduler { scheduler } => {
                self.call(|core, _| Ok(core.destroy_scheduler(scheduler)?))
            }
            HierarchyChange::DetachScheduler { vp } => {
                self.call(|core, now| Ok(core.detach(vp, now)?))?;
                self.promises.remove(&Promisee::Scheduler(vp));
                Ok(())
            }
            HierarchyChange::ReplacePolicy { scheduler, policy, params } => {
                self.call(|core, now| Ok(core.replace(scheduler, policy, params, now)?))
            }
            HierarchyChange::ClosePlace { place } => {
                self.call(|_, _| Ok(()))?;
                self.closed.push(place);
                Ok(())
            }
            HierarchyChange::MoveThread { thread, to, params } => {
                if let Some(moving) = self.moving.take() {
                    moving.send(()).unwrap();
                }
                self.living(thread)?;
                self.call(|core, now| Ok(core.move_to(thread.vp, to, params, now)?))?;
                self.promises.remove(&Promisee::Thread(thread));
                let known = self.threads.get_mut(&thread.tid).expect("it lives");
                (known.scheduler, known.slot) = (to, None);
                Ok(())
            }
            HierarchyChange::CallAbout { thread, about } => {
                self.living(thread)?;
                self.call(|core, now| Ok(core.make_about(thread.vp, about, now).map(drop)?))
            }
            HierarchyChange::CreateScheduler { .. } | HierarchyChange::AttachScheduler { .. } => {
                unreachable!("these create something")
            }
        }
    }

    /// Comes to know a real thread, unless it has ended.
    fn find_real(&mut self, tid: u32) -> Option<()> {
        let uid = std::fs::metadata(format!("/proc/{tid}")).ok()?.uid();
        let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let (pid, comm) = (field("Tgid:")?.parse().ok()?, field("Name:")?.to_owned());
        self.spawn(tid, Some(uid), None);
        self.real.insert(tid);
        let thread = self.threads.get_mut(&tid)?;
        (thread.pid, thread.comm) = (pid, comm);
        Some(())
    }

    fn reuse(&mut self) {
        if let Some(tid) = self.reused.take() {
            self.exit(tid);
            self.spawn(tid, Some(BOB.uid), None);
        }
    }

    fn living(&mut self, thread: ThreadKey) -> Result<(), EngineError> {
        if self.live(&[thread])?[0] { Ok(()) } else { Err(EngineError::Gone) }
    }
}

/// Attaches the VPs of an edge to a scheduler.
fn attach(
    core: &mut Core,
    hierarchy: &Hierarchy,
    schedulers: &[CoreScheduler],
    edge: ModelEdge,
) -> Vec<CoreVp> {
    let edge = hierarchy.edge(edge);
    let Child::Scheduler(child) = edge.child else { return Vec::new() };
    let params = Params::from_slice(&edge.params);
    let one = |cpu: u16| match edge.parent {
        None => core.attach_root(schedulers[child], cpu).unwrap(),
        Some(parent) => core.attach(schedulers[parent], Some(schedulers[child]), params).unwrap(),
    };
    (0..edge.width).map(one).collect()
}

fn prepare(policies: &[PolicySource]) -> Result<Prepared<Arc<Library>>, EngineError> {
    let next = library(policies).map_err(EngineError::Policy)?;
    let policies = next.policies().to_vec();
    Ok(Prepared { next, policies, build: Duration::ZERO, verify: Duration::ZERO })
}

/// The core with these policies. It is built only once for all tests that load the same policies: a build takes
/// seconds.
fn library(policies: &[PolicySource]) -> Result<Arc<Library>, String> {
    type Built = OnceLock<Result<Arc<Library>, String>>;
    static BUILT: Mutex<BTreeMap<String, Arc<Built>>> = Mutex::new(BTreeMap::new());
    let built = BUILT.lock().unwrap().entry(format!("{policies:?}")).or_default().clone();
    built.get_or_init(|| build(policies).map_err(|error| error.to_string())).clone()
}

fn build(policies: &[PolicySource]) -> Result<Arc<Library>, hls_policy_build::Error> {
    let file = |source: &PolicySource| {
        let file = PolicyFile::new(&source.path, source.text.clone().into_bytes())?;
        Ok((source.number, if file.name() == source.name { file } else { file.renamed(&source.name)? }))
    };
    let files = policies.iter().map(file).collect::<Result<Vec<_>, hls_policy_build::Error>>()?;
    let built = Builder::default().build(Target::Native, &files)?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.so");
    std::fs::write(&path, &built.bytes).unwrap();
    Ok(Arc::new(Library::open(&path).unwrap()))
}

impl RunningEngine for Native {
    type NextEngine = Arc<Library>;

    fn now(&mut self) -> Result<Nanos, EngineError> {
        self.question()?;
        self.now.0 += self.passes.0;
        Ok(self.now)
    }

    fn change(&mut self, change: HierarchyChange) -> Result<Created, EngineError> {
        match change {
            HierarchyChange::CreateScheduler { policy, .. } if self.left_out == Some(policy) => {
                Err(EngineError::LeftOut(policy))
            }
            HierarchyChange::CreateScheduler { policy, params, .. } => {
                self.call(|core, _| Ok(Created::Scheduler(core.create_scheduler(policy, params)?)))
            }
            HierarchyChange::AttachScheduler { parent, child, params } => {
                self.call(|core, _| Ok(Created::Vp(core.attach(parent, Some(child), params)?)))
            }
            other => self.call_that_creates_nothing(other).map(|()| Created::Nothing),
        }
    }

    fn prepare(
        &mut self,
        policies: Vec<PolicySource>,
        built_in: Option<u8>,
    ) -> Result<Preparation<Arc<Library>>, EngineError> {
        self.question()?;
        self.brings_in = built_in.is_some() && built_in == self.left_out;
        if !self.compiles {
            return Err(EngineError::Policy(
                "found a policy, expected none where nothing is compiled".into(),
            ));
        }
        let gate = self.gate.take();
        Ok(Box::new(move || {
            if let Some((begun, go_on)) = gate {
                begun.send(()).unwrap();
                go_on.recv_timeout(PATIENCE).expect("the test lets it go on");
            }
            prepare(&policies)
        }))
    }

    fn take_over(&mut self, next: Arc<Library>) -> Result<(), EngineError> {
        if std::mem::take(&mut self.brings_in) {
            self.left_out = None;
        }
        self.call(|core, _| {
            core.set_library(Some(next));
            Ok(())
        })
    }

    fn messenger(&mut self) -> Result<OwnedFd, EngineError> {
        self.question()?;
        // A file that can be distinguished from others.
        Ok(std::fs::File::open("/dev/zero").expect("it is on every system").into())
    }

    fn make_pages(&mut self, scheduler: CoreScheduler) -> Result<Pages, EngineError> {
        self.call(|core, now| Ok(core.renew_pages(scheduler, now)?))?;
        self.pages_of.push(scheduler);
        let file = |name: &str| std::fs::File::open(name).expect("it is on every system").into();
        Ok(Pages { kernel: file(KERNEL_PAGE), user: file(USER_PAGE) })
    }

    fn thread(&mut self, tid: u32) -> Result<Option<Thread>, EngineError> {
        self.question()?;
        if self.knows_real && !self.threads.contains_key(&tid) {
            self.find_real(tid);
        }
        Ok(self.threads.get(&tid).cloned())
    }

    fn live(&mut self, threads: &[ThreadKey]) -> Result<Vec<bool>, EngineError> {
        self.question()?;
        let mut lives = |thread: &ThreadKey| {
            if self.real.contains(&thread.tid) && !Path::new(&format!("/proc/{}", thread.tid)).exists() {
                self.real.remove(&thread.tid);
                self.exit(thread.tid);
            }
            self.threads.get(&thread.tid).is_some_and(|known| known.key == *thread)
        };
        let all = threads.iter().map(&mut lives).collect();
        self.reuse();
        Ok(all)
    }

    fn promise(&mut self, to: Promisee, guarantee: &Guarantee, after: Nanos) {
        self.promised += 1;
        self.begins_after.insert(to, after);
        self.promises.insert(to, guarantee.rounded_for_people());
    }
}

impl Readings for Native {
    fn threads(&mut self) -> Result<Vec<Thread>, EngineError> {
        self.question()?;
        self.listed += 1;
        let all = self.threads.values().cloned().collect();
        self.reuse();
        Ok(all)
    }

    fn observed(&mut self, vps: &[CoreVp]) -> Result<Vec<Observed>, EngineError> {
        self.question()?;
        let of = |vp: &CoreVp| Observed { ran: self.core.ran(*vp, self.now), ..Observed::default() };
        Ok(vps.iter().map(of).collect())
    }

    fn counts(&mut self) -> Result<Counts, EngineError> {
        self.question()?;
        let schedulers = (1..hls_core::limits::MAX_SCHEDULERS as u32).map(CoreScheduler);
        let decided = schedulers.filter_map(|scheduler| Some((scheduler, self.core.decided(scheduler)?)));
        Ok(Counts { decided: decided.collect(), ..Counts::default() })
    }
}

/// The manager of this file, which is [`FILE`] or like it, with some threads.
pub fn manager_of(file: &str) -> Manager<Native> {
    let (mut native, layout) = Native::new(file, &[("ALICE", ALICE.uid)]);
    let slot_of = |name: &str| {
        let is_it = |edge: &hls_calculus::Edge| edge.child == hls_calculus::Child::Thread(name.into());
        layout.graph.edges.iter().position(is_it).expect("a thread of the file")
    };
    let slot = slot_of("video");
    let edge = &layout.graph.edges[slot];
    let values: Vec<u64> = edge.params.iter().map(|(_, value)| *value).collect();
    let at = layout.schedulers[edge.parent.unwrap()];
    native.spawn(VIDEO, Some(BOB.uid), Some((GraphEdge(slot), at, Params::from_slice(&values))));
    ALICES.into_iter().for_each(|tid| native.spawn(tid, Some(ALICE.uid), None));
    native.spawn(BOBS, Some(BOB.uid), None);
    Manager::new(native, layout, Mode::Tight).expect("a hierarchy that composes")
}

/// The manager of [`FILE`].
pub fn manager() -> Manager<Native> {
    manager_of(FILE)
}

/// Parameters.
pub fn texts(texts: &[(&str, &str)]) -> Texts {
    texts.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// The status with the CPU times left out.
pub fn still(manager: &mut Manager<Native>) -> StatusReply {
    let mut status = manager.status().unwrap();
    let processors = status.schedulers.iter_mut().flat_map(|scheduler| &mut scheduler.processors);
    processors
        .map(|processor| &mut processor.ran_ns)
        .chain(status.threads.iter_mut().map(|thread| &mut thread.ran_ns))
        .for_each(|ran_ns| *ran_ns = 0);
    status
}

/// The request is refused for this reason, and nothing has changed.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(
    manager: &mut Manager<Native>,
    reason: &str,
    request: impl FnOnce(&mut Manager<Native>) -> Result<T, Error>,
) -> Error {
    let (before, promises) = (still(manager), manager.engine().promises.clone());
    let error = request(manager).expect_err("a refusal");
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(still(manager), before, "{error}");
    assert_eq!(manager.engine().promises, promises, "{error}");
    error
}

/// Where a thread is, and what it is promised.
pub fn place(manager: &mut Manager<Native>, tid: u32) -> (String, String) {
    let status = manager.status().unwrap();
    let thread = status.threads.iter().find(|thread| thread.thread == tid).expect("a living thread");
    (thread.scheduler.clone(), thread.guarantee.clone())
}

pub fn at(scheduler: &str, guarantee: &str) -> (String, String) {
    (scheduler.into(), guarantee.into())
}

/// Runs `test` with the path of a socket that serves `manager`; ends the server, and gives the manager back.
pub fn with_server(manager: Manager<Native>, test: impl FnOnce(&Path)) -> Manager<Native> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("below/control.sock");
    // Other users must be able to reach it.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), all).unwrap();
    let (socket, stop, manager) = (Socket::bind(&path).unwrap(), AtomicBool::new(false), Mutex::new(manager));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(&socket, &manager, &stop));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&path)));
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    drop(socket);
    assert!(!path.exists(), "the socket's file goes with it");
    manager.into_inner().unwrap()
}
