//! Reads a domain while it runs: here, or in the kernel.

use crate::numbers::{CoreScheduler, CoreVp};
use crate::{PolicyInfo, PolicyTable, ffi, limits, policy};
use hls_units::Nanos;
use std::fmt;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// The state of a VP, as its parent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VpState {
    /// Not runnable.
    Waiting,
    /// Runnable, without a CPU.
    Ready,
    /// Has a CPU.
    Running,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// waiting → ready
    Request,
    /// ready → running
    Grant,
    /// running → ready
    Revoke,
    /// running or ready → waiting
    Release,
    /// ready, but out of budget
    Throttle,
    /// The VP is ready but may not run, because the process that is its scheduler's policy holds it back.
    Hold {
        /// The VP is that process's own thread, which is parked.
        is_agent: bool,
    },
    /// a new budget until a new deadline
    Replenish {
        /// The budget.
        budget: Nanos,
        /// Its end, absolute.
        deadline: Nanos,
    },
    /// The VP is charged for CPU time that threads below it had without a grant.
    Pay {
        /// For how much.
        length: Nanos,
    },
    /// The CPU was used outside the hierarchy; the platform writes the record; VP 0.
    Stolen {
        /// For how long, up to about now.
        length: Nanos,
    },
    /// The CPU is offline; VP 0.
    Offline,
    /// The CPU is back; VP 0.
    Online,
    /// The policy of a scheduler broke its contract, and the fallback replaced it; VP 0.
    Fallback {
        /// The scheduler.
        scheduler: CoreScheduler,
        /// What the policy did.
        violation: &'static str,
        /// The hook that did it, such as `grant`.
        hook: &'static str,
        /// The VP of the hook's call or, for `grant`, the CPU.
        about: u32,
    },
}

/// A change of state of a watched VP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// When.
    pub at: Nanos,
    /// The VP.
    pub vp: CoreVp,
    /// Where it runs, or ran last.
    pub cpu: u16,
    /// What.
    pub kind: RecordKind,
}

/// A broken invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number in `core/check.h`.
    pub code: u32,
    /// The scheduler; 0: none in particular.
    pub scheduler: CoreScheduler,
    /// The VP; 0: none in particular.
    pub vp: CoreVp,
    /// The CPU.
    pub cpu: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invariant {} is broken: {} (scheduler {}, VP {}, CPU {})",
            self.code,
            policy::invariant(self.code),
            self.scheduler,
            self.vp,
            self.cpu
        )
    }
}

/// A VP, as a dump shows it. Indexes are the core's, and 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VpEntry {
    /// The scheduler above; 0: the machine.
    pub parent: CoreScheduler,
    /// The scheduler below; 0: it is a thread's VP.
    pub child: CoreScheduler,
    /// Its state, as its parent sees it.
    pub state: VpState,
    /// Ready, but out of budget.
    pub throttled: bool,
    /// Its changes of state are recorded.
    pub watched: bool,
    /// It claims a CPU, or seeks one.
    pub seeking: bool,
    /// Where it runs, or ran last.
    pub cpu: u8,
    /// The CPUs that it can use.
    pub usable: u64,
    /// The next child of its parent.
    pub next: CoreVp,
}

/// A scheduler, as a dump shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerEntry {
    /// Its policy's name.
    pub policy: &'static str,
    /// How the earlier policy broke its contract, if this policy is the fallback.
    pub violation: Option<&'static str>,
    /// The number of VPs that it holds of its parents.
    pub vps: u16,
    /// Of these, ready or running.
    pub requested: u16,
    /// How many children it has.
    pub children: u32,
    /// Of these, ready and with a budget.
    pub ready: u32,
    /// Of these, running.
    pub running: u32,
    /// The first of its children.
    pub first: CoreVp,
}

/// How the choices of a scheduler with pages were made, counted when it gave a CPU to a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// By a decision of the process that took the last event into account.
    pub followed: u64,
    /// Decisions that did not take it into account, and were not followed; each is counted once.
    pub stale: u64,
    /// By urgencies.
    pub by_urgency: u64,
    /// For the agent.
    pub by_agent: u64,
    /// CPU time of its agents: the cost of decisions by a process, and of all other work of its thread.
    pub agent_ran: Nanos,
}

/// A domain to be read.
pub struct View {
    hls: NonNull<ffi::Hls>,
    /// The number of records that `take_records` has handed out or missed.
    taken: u64,
    /// All policies of the build of the core that works on it; `None`: the built-in ones.
    policies: Option<PolicyTable>,
}

impl View {
    /// A view of the domain at this address.
    ///
    /// # Safety
    ///
    /// There is a `struct hls` as long as the view lives. Other code may change it meanwhile as the core does: then
    /// each read value is from some moment.
    pub unsafe fn new(hls: NonNull<u8>) -> View {
        View { hls: hls.cast(), taken: 0, policies: None }
    }

    /// From now on another build of the core, with these policies, works on the domain; `None`: the built-in one.
    /// Returns the policies of the earlier build.
    pub fn set_policies(&mut self, policies: Option<PolicyTable>) -> Option<PolicyTable> {
        std::mem::replace(&mut self.policies, policies)
    }

    /// The policy of this number.
    pub fn policy(&self, number: u8) -> Option<&PolicyInfo> {
        let known = self.policies.as_deref().unwrap_or(policy::policies());
        known.iter().find(|info| number != 0 && info.id == number)
    }

    /// The CPUs on which `schedule` is due, a bit each.
    pub fn kick(&self) -> u64 {
        // SAFETY: reads one field.
        unsafe { ffi::hls_kick(self.hls.as_ptr()) }
    }

    /// The CPUs that are offline, in order.
    pub fn offline(&self) -> impl Iterator<Item = u16> + use<> {
        // SAFETY: reads one field.
        let offline = unsafe { ffi::hls_offline_cpus(self.hls.as_ptr()) };
        (0..u64::BITS as u16).filter(move |cpu| (offline >> cpu) & 1 == 1)
    }

    /// Hands the records since the last call to `each`, in order; `false` if earlier records were lost because
    /// [`limits::MAX_RECORDS`] or more were written since. In the kernel the core writes meanwhile.
    pub fn take_records(&mut self, each: impl FnMut(RawRecord)) -> bool {
        // The core may be overwriting the oldest record that it keeps.
        let oldest = |written: u64| (written + 1).saturating_sub(limits::MAX_RECORDS as u64);
        let written = self.nr_records();
        fence(Ordering::Acquire);
        let first = self.taken.max(oldest(written));
        let read = |number| {
            // SAFETY: there is a record for each number, and all bytes are valid.
            unsafe { ffi::hls_record(self.hls.as_ptr(), number).read_volatile() }
        };
        let raw: Vec<ffi::HlsRecord> = (first..written).map(read).collect();
        fence(Ordering::Acquire);
        // The core has overwritten those of them that it no longer keeps.
        let whole = first.max(oldest(self.nr_records())).min(written);
        raw.iter().skip((whole - first) as usize).map(convert).for_each(each);
        let is_lost = whole > self.taken;
        self.taken = written;
        !is_lost
    }

    /// How many records were ever written.
    fn nr_records(&self) -> u64 {
        // SAFETY: reads one field, anew each time.
        unsafe { ffi::hls_nr_records(self.hls.as_ptr()) }
    }

    /// Has `take_records` skip all records that were written until now.
    pub(crate) fn forget_records(&mut self) {
        self.taken = self.nr_records();
    }

    /// The invariant that the last check found broken.
    pub fn fault(&self) -> Fault {
        // SAFETY: reads one field.
        let fault = unsafe { ffi::hls_fault(self.hls.as_ptr()) };
        Fault {
            code: fault.code,
            scheduler: CoreScheduler(fault.scheduler),
            vp: CoreVp(fault.vp),
            cpu: fault.cpu,
        }
    }

    /// How often the grant hook of a scheduler was called.
    pub fn decisions(&self) -> u64 {
        // SAFETY: reads one field.
        unsafe { ffi::hls_decisions(self.hls.as_ptr()) }
    }

    /// How often a decision was ended since it went round without end: a policy contradicts itself.
    pub fn cut_short(&self) -> u64 {
        // SAFETY: reads one field.
        unsafe { ffi::hls_cut_short(self.hls.as_ptr()) }
    }

    /// The address of the number of the loaded policy's hook that was called last: for a process that inspects this
    /// one from outside when the hook does not return. [`hook`](crate::hook) has its name.
    pub fn hook_at(&self) -> *const u32 {
        // SAFETY: the address of one field.
        unsafe { ffi::hls_hook(self.hls.as_ptr()) }
    }

    /// CPU time that a VP has had.
    pub fn ran(&self, vp: CoreVp, now: Nanos) -> Nanos {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        // SAFETY: the index is in range.
        Nanos(unsafe { ffi::hls_ran_ns(self.hls.as_ptr(), vp.0, now.0) })
    }

    /// How often a VP was granted a CPU, and how often it was preempted.
    pub fn grants_and_revokes(&self, vp: CoreVp) -> (u32, u32) {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        // SAFETY: the index is in range.
        unsafe { (ffi::hls_nr_grants(self.hls.as_ptr(), vp.0), ffi::hls_nr_revokes(self.hls.as_ptr(), vp.0)) }
    }

    /// A VP's data for a dump; `None`: there is no VP of this number.
    pub fn vp(&self, vp: CoreVp) -> Option<VpEntry> {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        // SAFETY: the index is in range; other code may write there meanwhile, and all bytes are valid.
        let raw = unsafe { ffi::hls_vp(self.hls.as_ptr(), vp.0).read_volatile() };
        let has = |flag| raw.flags & flag != 0;
        has(1).then(|| VpEntry {
            parent: CoreScheduler(raw.parent),
            child: CoreScheduler(raw.child),
            state: VpState::from(raw.state),
            throttled: has(2),
            watched: has(8),
            seeking: has(64),
            cpu: raw.cpu,
            usable: raw.usable,
            next: CoreVp(raw.sib_next),
        })
    }

    /// A scheduler's data for a dump; `None`: there is no scheduler of this number.
    pub fn scheduler(&self, scheduler: CoreScheduler) -> Option<SchedulerEntry> {
        assert!(scheduler.index() < limits::MAX_SCHEDULERS, "scheduler {scheduler} is out of range");
        // SAFETY: as above.
        let raw = unsafe { ffi::hls_scheduler(self.hls.as_ptr(), scheduler.0).read_volatile() };
        self.policy(raw.policy).map(|info| SchedulerEntry {
            policy: info.name,
            violation: (raw.violation != 0).then(|| policy::violation(raw.violation.into())),
            vps: raw.nr_up,
            requested: raw.nr_requested,
            children: raw.nr_children,
            ready: raw.nr_ready,
            running: raw.nr_running,
            first: CoreVp(raw.first_child),
        })
    }

    /// How its policy broke the contract, if a scheduler has the fallback for that; `None`: it has its own policy.
    pub fn why_fallback(&self, scheduler: CoreScheduler) -> Option<&'static str> {
        assert!(scheduler.index() < limits::MAX_SCHEDULERS, "scheduler {scheduler} is out of range");
        // SAFETY: as above.
        let raw = unsafe { ffi::hls_scheduler(self.hls.as_ptr(), scheduler.0).read_volatile() };
        let has_fallback = raw.violation != 0 && raw.policy < limits::FIRST_LOADED;
        has_fallback.then(|| policy::violation(raw.violation.into()))
    }

    /// The number of a scheduler's pages; `None`: its policy has no pages, or all were taken.
    pub fn pages(&self, scheduler: CoreScheduler) -> Option<NonZero<u8>> {
        assert!(scheduler.index() < limits::MAX_SCHEDULERS, "scheduler {scheduler} is out of range");
        // SAFETY: as above.
        NonZero::new(unsafe {
            (&raw const (*ffi::hls_scheduler(self.hls.as_ptr(), scheduler.0)).page).read_volatile()
        })
    }

    /// How the choices of a scheduler with pages were made; `None`: its policy has no pages.
    pub fn decided(&self, scheduler: CoreScheduler) -> Option<Decided> {
        assert!(scheduler.index() < limits::MAX_SCHEDULERS, "scheduler {scheduler} is out of range");
        // SAFETY: as above.
        let policy = unsafe { ffi::hls_scheduler(self.hls.as_ptr(), scheduler.0).read_volatile() }.policy;
        // SAFETY: as above.
        let words = unsafe { ffi::hls_scheduler_words(self.hls.as_ptr(), scheduler.0).read_volatile() };
        let [followed, stale, by_urgency, by_agent, agent_ran, ..] = words;
        let counts = Decided { followed, stale, by_urgency, by_agent, agent_ran: Nanos(agent_ran) };
        self.policy(policy).filter(|policy| policy.properties.has_pages).map(|_| counts)
    }

    /// The VPs to which a CPU is granted, the root's first, and the levels at which a decision is due, a bit each.
    pub fn path(&self, cpu: u32) -> (Vec<CoreVp>, u64) {
        assert!((cpu as usize) < limits::MAX_CPUS, "CPU {cpu} is out of range");
        // SAFETY: as above.
        let raw = unsafe { ffi::hls_cpu(self.hls.as_ptr(), cpu).read_volatile() };
        (raw.path.iter().take(raw.depth as usize).map(|step| CoreVp(step.vp)).collect(), raw.resched)
    }

    /// The scheduler above a VP; 0: the machine, or there is no such VP.
    pub fn parent(&self, vp: CoreVp) -> CoreScheduler {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        // SAFETY: the index is in range.
        CoreScheduler(unsafe { ffi::hls_parent(self.hls.as_ptr(), vp.0) })
    }

    /// Time for which a CPU was used outside the hierarchy.
    pub fn stolen(&self, cpu: u16) -> Nanos {
        assert!(usize::from(cpu) < limits::MAX_CPUS, "CPU {cpu} is out of range");
        // SAFETY: the index is in range.
        Nanos(unsafe { ffi::hls_stolen_ns(self.hls.as_ptr(), cpu.into()) })
    }

    /// The state of a VP.
    pub fn state(&self, vp: CoreVp) -> VpState {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        // SAFETY: the index is in range.
        VpState::from(unsafe { ffi::hls_vp_state(self.hls.as_ptr(), vp.0) } as u8)
    }
}

impl From<u8> for VpState {
    fn from(raw: u8) -> VpState {
        match raw {
            0 => VpState::Waiting,
            1 => VpState::Ready,
            _ => VpState::Running,
        }
    }
}

fn convert(raw: &ffi::HlsRecord) -> RawRecord {
    let kind = match raw.kind {
        1 => RecordKind::Request,
        2 => RecordKind::Grant,
        3 => RecordKind::Revoke,
        4 => RecordKind::Release,
        5 => RecordKind::Throttle,
        11 => RecordKind::Hold { is_agent: raw.a != 0 },
        12 => RecordKind::Pay { length: Nanos(raw.a) },
        7 => RecordKind::Stolen { length: Nanos(raw.a) },
        8 => RecordKind::Offline,
        9 => RecordKind::Online,
        10 => RecordKind::Fallback {
            scheduler: CoreScheduler(raw.a as u32),
            violation: policy::violation(raw.b & 0xff),
            hook: policy::hook((raw.b >> 8) & 0xff),
            about: (raw.b >> 32) as u32,
        },
        _ => RecordKind::Replenish { budget: Nanos(raw.a), deadline: Nanos(raw.b) },
    };
    RawRecord { at: Nanos(raw.at_ns), vp: CoreVp(raw.vp), cpu: raw.cpu, kind }
}
