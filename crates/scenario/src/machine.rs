//! A core and its CPUs, without anything that runs there: keeps the rules of `core/hls.h` and looks whether the core
//! does.

use hls_core::{Calls, Core, CoreError, Fault, Library, RecordKind, limits};
use hls_units::Nanos;
use std::fmt;
use std::sync::Arc;

/// Rounds of timers, slices and decisions that may follow each other while no time passes.
const MOST_ROUNDS: u32 = 10_000;

/// A policy was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenOut {
    /// When.
    pub at: Nanos,
    /// Its scheduler.
    pub scheduler: u32,
    /// What it did.
    pub offence: &'static str,
    /// In which of its hooks.
    pub hook: &'static str,
    /// Which VP that was called about or, of a `grant`, which CPU.
    pub about: u32,
}

/// What a trial fails by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An invariant is broken.
    Broken(Fault),
    /// A policy was taken out.
    TakenOut(TakenOut),
    /// A thread's VP runs on two CPUs.
    TwoCpus(u32),
    /// Timers, slices and decisions follow each other without end while no time passes.
    Endless,
    /// A VP is READY, nothing runs that it has to wait for, and nothing is due.
    Stuck(u32),
}

impl Failure {
    /// Whether two are the same to whoever looks for their cause.
    pub(crate) fn is_like(&self, other: &Failure) -> bool {
        match (self, other) {
            (Failure::Broken(one), Failure::Broken(other)) => one.code == other.code,
            (Failure::TakenOut(one), Failure::TakenOut(other)) => {
                (one.offence, one.hook) == (other.offence, other.hook)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Broken(fault) => fault.fmt(f),
            Failure::TakenOut(TakenOut { scheduler, offence, hook, about, .. }) => {
                write!(f, "the policy of scheduler {scheduler} was taken out: {offence} ({hook}, {about})")
            }
            Failure::TwoCpus(vp) => write!(f, "VP {vp} runs on two CPUs"),
            Failure::Endless => f.write_str("timers, slices and decisions follow each other without end"),
            Failure::Stuck(vp) => write!(f, "VP {vp} is ready and would wait for ever"),
        }
    }
}

/// A core that keeps the rules: schedules what is kicked and checks the invariants after every event. It writes down
/// every call.
pub struct Machine {
    /// The core.
    pub core: Core,
    /// The CPUs that there are, from 0 on.
    pub cpus: u16,
    /// The thread's VP that each CPU runs.
    pub running: Vec<Option<u32>>,
    /// The time.
    pub now: Nanos,
    /// The VPs by which the machine grants each CPU.
    pub roots: Vec<u32>,
    /// The policies that were taken out.
    pub taken_out: Vec<TakenOut>,
}

impl Machine {
    /// One with so many CPUs, as far as there may be as many, and this build of the core; `None`: the one built in.
    pub fn new(cpus: u16, library: Option<Arc<Library>>) -> Machine {
        let cpus = cpus.clamp(1, limits::MAX_CPUS as u16);
        let mut core = Core::new();
        core.record();
        core.set_library(library);
        for cpu in 0..cpus {
            // There are as many.
            let _ = core.add_cpu(cpu);
        }
        let running = vec![None; cpus.into()];
        Machine { core, cpus, running, now: Nanos(0), roots: Vec::new(), taken_out: Vec::new() }
    }

    /// Makes a scheduler the root of all CPUs.
    pub fn make_root(&mut self, s: u32) -> Result<(), CoreError> {
        self.roots = (0..self.cpus).map(|cpu| self.core.attach_root(s, cpu)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Has a CPU go. To be followed by `settle`.
    pub fn offline(&mut self, cpu: u16) -> Result<(), CoreError> {
        self.core.offline(cpu, self.now)?;
        self.running[usize::from(cpu)] = None;
        Ok(())
    }

    /// Has all decisions taken that are due, and looks whether all is as it must be then.
    pub fn settle(&mut self) -> Result<(), Failure> {
        for round in 0.. {
            let kick = self.core.kick();
            if kick == 0 {
                break;
            }
            if round > MOST_ROUNDS {
                return Err(Failure::Endless);
            }
            let cpu = kick.trailing_zeros() as u16;
            self.running[usize::from(cpu)] = self.core.schedule(cpu, self.now);
        }
        let taken_out = &mut self.taken_out;
        self.core.take_records(|record| {
            if let RecordKind::TakenOut { scheduler, offence, hook, about } = record.kind {
                taken_out.push(TakenOut { at: record.at, scheduler, offence, hook, about });
            }
        });
        self.core.check().map_err(Failure::Broken)?;
        let twice = |(i, vp): (usize, &Option<u32>)| vp.filter(|_| self.running[..i].contains(vp));
        self.running.iter().enumerate().find_map(twice).map_or(Ok(()), |vp| Err(Failure::TwoCpus(vp)))
    }

    /// The next instant at which the core wants to be called; [`Nanos::MAX`]: not before something else happens.
    pub fn due(&mut self) -> Nanos {
        let slices = (0..self.cpus).map(|cpu| self.core.expires_at(cpu)).min().unwrap_or(Nanos::MAX);
        slices.min(self.core.timer_at()).max(self.now)
    }

    /// Lets time pass, with all timers and slices in it.
    pub fn run_until(&mut self, end: Nanos) -> Result<(), Failure> {
        let mut rounds = 0;
        loop {
            let next = self.due();
            if next > end {
                break;
            }
            rounds = if next > self.now { 0 } else { rounds + 1 };
            if rounds > MOST_ROUNDS {
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

    /// Interrupts have a CPU for a while, at most until something else happens.
    pub fn interrupt(&mut self, cpu: u16, length: Nanos) {
        let end = (self.now + length).min(self.due());
        self.core.steal(cpu, end - self.now);
        self.now = end;
    }
}
