//! A core and its CPUs, without programs that run on them. Calls the core by the rules of `core/core.h`, and checks
//! that the core keeps its own.

use hls_core::{Calls, Core, CoreError, CoreScheduler, CoreVp, Fault, Library, RecordKind, limits};
use hls_units::Nanos;
use std::fmt;
use std::sync::Arc;

/// Rounds of timers, slices and decisions that may follow each other while no time passes.
const MAX_ROUNDS: u32 = 10_000;

/// The core has disabled a policy that broke the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyDisabled {
    /// The instant at which the core took the policy out.
    pub at: Nanos,
    /// The core's number of the scheduler that had the policy.
    pub scheduler: CoreScheduler,
    /// What the policy did.
    pub violation: &'static str,
    /// The hook in which the policy did it.
    pub hook: &'static str,
    /// The core's VP that the hook was called for or, of `grant`, the CPU.
    pub about: u32,
}

/// Why a trial fails. VPs have their numbers of the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An invariant of the core is broken.
    Broken(Fault),
    /// The core has disabled a policy.
    PolicyDisabled(PolicyDisabled),
    /// A thread's VP runs on two CPUs.
    TwoCpus(CoreVp),
    /// Timers, slices and decisions follow each other without end while no time passes.
    Endless,
    /// A decision for this CPU went round without end until the core ended it: a policy contradicts itself.
    Circular(u16),
    /// A VP is READY, but runs on no CPU, though no other thread wants one and nothing is due.
    Stuck(CoreVp),
}

impl Failure {
    /// Whether this failure probably has the same cause as the other one.
    pub(crate) fn is_like(&self, other: &Failure) -> bool {
        match (self, other) {
            (Failure::Broken(one), Failure::Broken(other)) => one.code == other.code,
            (Failure::PolicyDisabled(one), Failure::PolicyDisabled(other)) => {
                (one.violation, one.hook) == (other.violation, other.hook)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Broken(fault) => fault.fmt(f),
            Failure::PolicyDisabled(PolicyDisabled { scheduler, violation, hook, about, .. }) => {
                write!(f, "the policy of scheduler {scheduler} was disabled: {violation} ({hook}, {about})")
            }
            Failure::TwoCpus(vp) => write!(f, "VP {vp} runs on two CPUs"),
            Failure::Endless => f.write_str("timers, slices and decisions follow each other without end"),
            Failure::Circular(cpu) => {
                write!(f, "a decision for CPU {cpu} goes round without end: a policy contradicts itself")
            }
            Failure::Stuck(vp) => write!(f, "VP {vp} is ready and would wait for ever"),
        }
    }
}

/// A core and its CPUs: schedules every CPU that the core kicks, and checks the invariants after every event. The core
/// writes down every call.
pub struct Machine {
    /// The core.
    pub core: Core,
    /// The number of CPUs, which are numbered from 0 on.
    pub cpus: u16,
    /// The VP of the thread that each CPU runs.
    pub running: Vec<Option<CoreVp>>,
    /// The present instant.
    pub now: Nanos,
    /// The VP above the root for each CPU, by which the machine grants that CPU.
    pub roots: Vec<CoreVp>,
    /// The policies that the core has disabled, in order of time.
    pub disabled_policies: Vec<PolicyDisabled>,
}

impl Machine {
    /// A machine with this number of CPUs, at least one and at most as many as the core holds, and with this build of
    /// the core; `None`: the one that is built in.
    pub fn new(cpus: u16, library: Option<Arc<Library>>) -> Machine {
        let cpus = cpus.clamp(1, limits::MAX_CPUS as u16);
        let mut core = Core::new();
        core.record();
        core.set_library(library);
        for cpu in 0..cpus {
            // Not refused: the core holds this many.
            let _ = core.add_cpu(cpu);
        }
        let running = vec![None; cpus.into()];
        Machine { core, cpus, running, now: Nanos(0), roots: Vec::new(), disabled_policies: Vec::new() }
    }

    /// Makes a scheduler the root of all CPUs.
    pub fn make_root(&mut self, s: CoreScheduler) -> Result<(), CoreError> {
        self.roots = (0..self.cpus).map(|cpu| self.core.attach_root(s, cpu)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Takes a CPU offline. To be followed by [`Machine::settle`].
    pub fn offline(&mut self, cpu: u16) -> Result<(), CoreError> {
        self.core.offline(cpu, self.now)?;
        self.running[usize::from(cpu)] = None;
        Ok(())
    }

    /// Takes all decisions that are due, and checks the invariants of the core.
    pub fn settle(&mut self) -> Result<(), Failure> {
        for round in 0.. {
            let kick = self.core.kick();
            if kick == 0 {
                break;
            }
            if round > MAX_ROUNDS {
                return Err(Failure::Endless);
            }
            let cpu = kick.trailing_zeros() as u16;
            let cut_short = self.core.cut_short();
            self.running[usize::from(cpu)] = self.core.schedule(cpu, self.now);
            if self.core.cut_short() > cut_short {
                return Err(Failure::Circular(cpu));
            }
        }
        let disabled_policies = &mut self.disabled_policies;
        self.core.take_records(|record| {
            if let RecordKind::Fallback { scheduler, violation, hook, about } = record.kind {
                disabled_policies.push(PolicyDisabled { at: record.at, scheduler, violation, hook, about });
            }
        });
        self.core.check().map_err(Failure::Broken)?;
        let twice = |(i, vp): (usize, &Option<CoreVp>)| vp.filter(|_| self.running[..i].contains(vp));
        self.running.iter().enumerate().find_map(twice).map_or(Ok(()), |vp| Err(Failure::TwoCpus(vp)))
    }

    /// The next instant at which a timer or the end of a slice is due; [`Nanos::MAX`]: none is set.
    pub fn due(&mut self) -> Nanos {
        let slices = (0..self.cpus).map(|cpu| self.core.expires_at(cpu)).min().unwrap_or(Nanos::MAX);
        slices.min(self.core.timer_at()).max(self.now)
    }

    /// Lets time pass up to `end`, with all timers and ends of slices in it.
    pub fn run_until(&mut self, end: Nanos) -> Result<(), Failure> {
        let mut rounds = 0;
        loop {
            let next = self.due();
            if next > end {
                break;
            }
            rounds = if next > self.now { 0 } else { rounds + 1 };
            if rounds > MAX_ROUNDS {
                return Err(Failure::Endless);
            }
            self.now = next;
            self.core.timers(self.now);
            (0..self.cpus).for_each(|cpu| self.core.expire(cpu, self.now));
            self.settle()?;
        }
        self.now = end.max(self.now);
        Ok(())
    }

    /// Lets an interrupt take a CPU for this long. Timers that are due meanwhile go off when it ends; where other CPUs
    /// go on, it ends before a timer or the end of a slice is due.
    pub fn interrupt(&mut self, cpu: u16, length: Nanos) -> Result<(), Failure> {
        let end = self.now + length;
        let end = if self.cpus == 1 { end } else { end.min(self.due()) };
        self.core.steal(cpu, end - self.now, end);
        self.now = end;
        self.core.timers(end);
        self.core.expire(cpu, end);
        self.settle()
    }
}
