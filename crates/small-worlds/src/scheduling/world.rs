//! A small world: a hierarchy with its threads and CPUs, in which one event at a time happens. It plays the platform of
//! `core/core.h`, and keeps the rules that the platform has. It allows whatever the rules allow: several events at one
//! instant, time that passes while decisions are due, timers that are late by half a tick, CPUs that decide in any
//! order.

use crate::scheduling::hierarchies::{
    CPUS, Hierarchy, THREADS, TICK_NS, scheduler_params, thread_params, vp_params,
};
use crate::scheduling::pages::Written;
use hls_core::{Calls, Core, CoreError, CoreScheduler, CoreVp, PolicyInfo, Snapshot, Unit, VpState};
use hls_units::Nanos;
use std::fmt;

/// No policy has this many messages.
const UNKNOWN_MESSAGE: u32 = 99;

/// What may happen. Threads, schedulers and CPUs are named by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread wants a CPU.
    Request(usize),
    /// A thread blocks, whether it runs or only waits for a CPU.
    Block(usize),
    /// A thread that runs lets others go first.
    Yield(usize),
    /// A thread may use these CPUs only, a bit each.
    Bind(usize, u64),
    /// The first parameter of a thread's VP changes to the other of two values: priority, share, budget.
    Set(usize),
    /// The same, to a value that the policy refuses.
    SetWrong(usize),
    /// A thread sends a message that its scheduler's policy does not know.
    Tell(usize),
    /// A thread comes, below a scheduler.
    Attach(usize, usize),
    /// A thread ends.
    Detach(usize),
    /// A thread moves below a scheduler.
    Move(usize, usize),
    /// The same, with parameters there that the policy refuses.
    MoveWrong(usize, usize),
    /// A scheduler gets round robin in place of its policy.
    Replace(usize),
    /// The process of a scheduler writes.
    Write(usize, Written),
    /// A CPU goes offline.
    Offline(usize),
    /// A CPU is back.
    Online(usize),
    /// A tick passes.
    Tick,
    /// Time passes up to the next timer or end of a slice.
    Due,
    /// Time passes up to half a tick after that.
    Late,
    /// A CPU takes its decision.
    Decide(usize),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::Request(thread) => write!(f, "thread {thread} wants a CPU"),
            Event::Block(thread) => write!(f, "thread {thread} blocks"),
            Event::Yield(thread) => write!(f, "thread {thread} yields"),
            Event::Bind(thread, cpus) => write!(f, "thread {thread} is bound to the CPUs {cpus:#b}"),
            Event::Set(thread) => write!(f, "the first parameter of thread {thread} changes"),
            Event::SetWrong(thread) => write!(f, "thread {thread} asks for a budget longer than its period"),
            Event::Tell(thread) => write!(f, "thread {thread} sends message {UNKNOWN_MESSAGE}"),
            Event::Attach(thread, to) => write!(f, "thread {thread} comes, below scheduler {to}"),
            Event::Detach(thread) => write!(f, "thread {thread} ends"),
            Event::Move(thread, to) => write!(f, "thread {thread} moves below scheduler {to}"),
            Event::MoveWrong(thread, to) => {
                write!(
                    f,
                    "thread {thread} asks to move below scheduler {to} with a budget longer than its period"
                )
            }
            Event::Replace(scheduler) => write!(f, "scheduler {scheduler} gets round-robin"),
            Event::Write(scheduler, written) => {
                write!(f, "the process of scheduler {scheduler} writes {written}")
            }
            Event::Offline(cpu) => write!(f, "CPU {cpu} goes offline"),
            Event::Online(cpu) => write!(f, "CPU {cpu} is back"),
            Event::Tick => f.write_str("a tick passes"),
            Event::Due => f.write_str("time passes up to the next timer or end of a slice"),
            Event::Late => {
                f.write_str("time passes up to half a tick after the next timer or end of a slice")
            }
            Event::Decide(cpu) => write!(f, "CPU {cpu} decides"),
        }
    }
}

/// Whether the children of a scheduler with this policy have a budget and a period.
fn has_budget(policy: &PolicyInfo) -> bool {
    policy.vp_params.iter().filter(|info| info.unit == Unit::Time && info.default.is_none()).count() > 1
}

/// The state of a world: its core's state, and what the platform knows.
pub struct WorldState {
    pub(crate) core: Snapshot,
    pub(crate) platform: Platform,
}

/// What the platform knows.
#[derive(Clone, Copy)]
pub(crate) struct Platform {
    /// The VP of each thread; 0: it has ended, or did not come yet.
    pub(crate) vps: [CoreVp; THREADS],
    /// The thread's VP that each CPU was last told to run.
    pub(crate) running: [Option<CoreVp>; CPUS],
}

/// A hierarchy in which events happen.
pub struct World {
    pub(crate) core: Core,
    /// An empty core.
    empty: Snapshot,
    /// The core's number of each scheduler.
    pub(crate) schedulers: Vec<CoreScheduler>,
    pub(crate) platform: Platform,
}

impl World {
    /// A world without schedulers.
    pub fn empty() -> World {
        let core = Core::new();
        let empty = core.snapshot();
        let platform = Platform { vps: [CoreVp::NONE; THREADS], running: [None; CPUS] };
        World { core, empty, schedulers: vec![], platform }
    }

    /// Makes it a world with this hierarchy, whatever it was before. Every thread is asleep.
    ///
    /// # Errors
    /// The core's, if it refuses the hierarchy.
    pub fn build(&mut self, hierarchy: &Hierarchy) -> Result<(), CoreError> {
        self.core.restore(&self.empty);
        self.platform = Platform { vps: [CoreVp::NONE; THREADS], running: [None; CPUS] };
        let (core, mut schedulers) = (&mut self.core, vec![]);
        for cpu in 0..CPUS {
            core.add_cpu(cpu as u16)?;
        }
        for scheduler in &hierarchy.schedulers {
            let s = core.create_scheduler(scheduler.policy.id, scheduler_params(scheduler.policy))?;
            for (variant, above) in scheduler.ups().enumerate() {
                let params = vp_params(hierarchy.schedulers[above].policy, schedulers.len() + variant);
                core.attach(schedulers[above], Some(s), params)?;
            }
            schedulers.push(s);
        }
        for cpu in 0..CPUS {
            core.attach_root(schedulers[0], cpu as u16)?;
        }
        self.schedulers = schedulers;
        for (thread, above) in hierarchy.threads.iter().enumerate() {
            let Some(above) = *above else { continue };
            self.platform.vps[thread] = self.attach(thread, above)?;
        }
        Ok(())
    }

    /// Records the calls of the core from now on.
    pub fn record(&mut self) {
        self.core.record();
    }

    /// The calls that were recorded, one in words each.
    pub fn take_calls(&mut self) -> Vec<String> {
        self.core.take_tape().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.core.image().head.now_ns)
    }

    fn attach(&mut self, thread: usize, above: usize) -> Result<CoreVp, CoreError> {
        let params = thread_params(self.policy(above), thread);
        self.core.attach(self.schedulers[above], None, params)
    }

    /// The policy that a scheduler has now.
    pub(crate) fn policy(&self, place: usize) -> &'static PolicyInfo {
        let name = self.core.scheduler(self.schedulers[place]).map_or("", |scheduler| scheduler.policy);
        let known = hls_core::policies().iter().find(|policy| policy.name == name);
        known.expect("every scheduler of a world has a policy of the registry")
    }

    /// The place of the scheduler above a thread.
    fn above(&self, thread: usize) -> usize {
        let above = self.core.parent(self.platform.vps[thread]);
        self.schedulers.iter().position(|s| *s == above).unwrap_or_default()
    }

    /// The next instant at which a timer or the end of a slice is due.
    pub(crate) fn due(&mut self) -> Option<Nanos> {
        let slices = (0..CPUS as u16).map(|cpu| self.core.expires_at(cpu)).min();
        let due = self.core.timer_at().min(slices.unwrap_or(Nanos::MAX));
        (due < Nanos::MAX).then_some(due)
    }

    pub(crate) fn list_for_thread(&self, thread: usize, events: &mut Vec<Event>) {
        let vp = self.platform.vps[thread];
        if vp == CoreVp::NONE {
            events.extend((0..self.schedulers.len()).map(|to| Event::Attach(thread, to)));
            return;
        }
        let state = self.core.state(vp);
        events.push(if state == VpState::Waiting { Event::Request(thread) } else { Event::Block(thread) });
        if state == VpState::Running {
            events.push(Event::Yield(thread));
        }
        let usable = self.core.vp(vp).map_or(0, |entry| entry.usable) & 0b11;
        events.extend((1..=0b11).filter(|cpus| *cpus != usable).map(|cpus| Event::Bind(thread, cpus)));
        let above = self.above(thread);
        let params = &self.policy(above).vp_params;
        if !params.is_empty() {
            events.push(Event::Set(thread));
        }
        if has_budget(self.policy(above)) {
            events.push(Event::SetWrong(thread));
        }
        for to in (0..self.schedulers.len()).filter(|to| *to != above) {
            events.push(Event::Move(thread, to));
            if has_budget(self.policy(to)) {
                events.push(Event::MoveWrong(thread, to));
            }
        }
        events.push(Event::Detach(thread));
    }

    /// Carries an event out.
    ///
    /// # Errors
    /// Why the core has refused it.
    pub(crate) fn carry_out(&mut self, event: Event) -> Result<(), CoreError> {
        let now = self.now();
        match event {
            Event::Request(thread) => self.core.request(self.platform.vps[thread], now),
            Event::Block(thread) => self.core.release(self.platform.vps[thread], now),
            Event::Yield(thread) => self.core.yield_now(self.platform.vps[thread], now),
            Event::Bind(thread, cpus) => self.core.set_affinity(self.platform.vps[thread], cpus, now)?,
            Event::Set(thread) => {
                let vp = self.platform.vps[thread];
                let policy = self.policy(self.above(thread));
                let [one, other] = [0, 1].map(|variant| vp_params(policy, variant).0[0]);
                let value = if self.core.image().vps[vp.index()].param[0] == one { other } else { one };
                self.core.set_param(vp, 0, value, now)?;
            }
            Event::SetWrong(thread) => {
                let vp = self.platform.vps[thread];
                self.core.set_param(vp, 0, self.core.image().vps[vp.index()].param[1] + TICK_NS, now)?;
            }
            Event::Tell(thread) => {
                self.core.tell(
                    self.platform.vps[thread],
                    UNKNOWN_MESSAGE,
                    hls_core::Params::default(),
                    now,
                )?;
            }
            Event::Attach(thread, to) => self.platform.vps[thread] = self.attach(thread, to)?,
            Event::Detach(thread) => {
                self.core.detach(self.platform.vps[thread], now)?;
                self.platform.vps[thread] = CoreVp::NONE;
            }
            Event::Move(thread, to) => {
                let params = thread_params(self.policy(to), thread);
                self.core.move_to(self.platform.vps[thread], self.schedulers[to], params, now)?;
            }
            Event::MoveWrong(thread, to) => {
                let mut params = vp_params(self.policy(to), thread);
                params.0.swap(0, 1);
                self.core.move_to(self.platform.vps[thread], self.schedulers[to], params, now)?;
            }
            Event::Replace(place) => {
                let fallback = hls_core::policies().iter().find(|policy| policy.name == "round-robin");
                let fallback = fallback.ok_or(CoreError::NotFound)?;
                self.core.replace(self.schedulers[place], fallback.id, scheduler_params(fallback), now)?;
            }
            Event::Write(place, written) => written.write(&mut self.core, self.schedulers[place])?,
            Event::Offline(cpu) => {
                self.core.offline(cpu as u16, now)?;
                self.platform.running[cpu] = None;
            }
            Event::Online(cpu) => self.core.online(cpu as u16, now)?,
            Event::Tick => self.pass(now + Nanos(TICK_NS)),
            Event::Due | Event::Late => {
                let late = Nanos(if event == Event::Late { TICK_NS / 2 } else { 0 });
                let due = self.due().unwrap_or(now).max(now);
                self.pass(due + late);
            }
            Event::Decide(cpu) => self.platform.running[cpu] = self.core.schedule(cpu as u16, now),
        }
        Ok(())
    }

    /// Lets time pass up to an instant, and calls the timers and the ends of slices that are due then.
    fn pass(&mut self, to: Nanos) {
        self.core.timers(to);
        (0..CPUS as u16).for_each(|cpu| self.core.expire(cpu, to));
    }
}
