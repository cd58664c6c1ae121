//! What the engine does: its sections under the lock, and what it does outside of them. Each names the function of
//! `bpf/` that it stands for.

use crate::glue::state::{CPUS, Life, Lock, Part, Section, State};
use hls_core::{Calls, Core, CoreScheduler, CoreVp, Params, VpState};
use hls_units::Nanos;

/// When, in `engine_dispatch`, the engine inserts the thread that the core has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// Under the lock: what the core knows of the thread's affinity is true of the stay in the queue that the kernel
    /// notes.
    UnderLock,
    /// When the lock is free again.
    BehindLock,
    /// When the lock is free again, if the thread may use the CPU then.
    BehindLockChecked,
}

/// The orders in which the engine does things, where another order was a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders {
    /// `engine_exit_task` empties the VP's place in the map `tasks` before it gives the VP back.
    pub exit_drops_first: bool,
    /// See [`Insert`].
    pub insert: Insert,
    /// The seal is no state of the lock that `unlock` could change.
    pub unlock_keeps_seal: bool,
}

impl Orders {
    /// Those of the engine: to be changed with it.
    pub const TODAY: Orders =
        Orders { exit_drops_first: true, insert: Insert::UnderLock, unlock_keeps_seal: true };
}

/// The time: it does not pass.
pub(crate) const NOW: Nanos = Nanos(0);

/// The scheduler below which new threads are attached, `domain->root`.
pub(crate) const ROOT: CoreScheduler = CoreScheduler(1);

/// The engine's code, over the core.
pub(crate) struct Engine<'e> {
    pub(crate) core: &'e mut Core,
    pub(crate) state: &'e mut State,
    pub(crate) orders: Orders,
}

impl Engine<'_> {
    /// `lock()`, bpf/lock.h. Where the lock is sealed the operation does nothing more.
    pub(crate) fn lock(&mut self, cpu: usize, section: Section) {
        if self.state.lock == Lock::Free {
            self.state.lock = Lock::Held(cpu);
            self.state.next(cpu, &[Part::Do(section)]);
        }
    }

    /// `unlock()`, bpf/lock.h.
    fn unlock(&mut self, cpu: usize) {
        if !self.orders.unlock_keeps_seal || self.state.lock == Lock::Held(cpu) {
            self.state.lock = Lock::Free;
        }
    }

    /// `to_kick()`, bpf/due.h.
    fn take_kicks(&mut self) -> u8 {
        let fresh = self.core.kick() as u8 & !self.state.kicked;
        self.state.kicked |= fresh;
        fresh
    }

    /// What follows a section outside of the lock, with the kick that is last.
    fn then(&mut self, cpu: usize, parts: &[Part]) {
        let due = self.take_kicks();
        self.unlock(cpu);
        if due != 0 {
            self.state.next(cpu, &[Part::Kick(due)]);
        }
        self.state.next(cpu, parts);
    }

    /// A section under the lock, and `unlock()`.
    pub(crate) fn section(&mut self, cpu: usize, section: Section) -> Result<(), String> {
        match section {
            Section::Attach(task) => self.attach(cpu, task)?,
            Section::Detach(task) => self.detach(cpu, task)?,
            Section::Enqueue(task) => self.enqueue(cpu, task),
            Section::Stop(task, blocks) => self.stop(cpu, task, blocks),
            Section::LeaveQueue(task) => {
                // leave_queue(), bpf/engine.bpf.c
                let vp = self.state.tasks[task].vtime;
                self.state.thread(vp).is_queued = false;
                self.unlock(cpu);
            }
            Section::SetCpumask(task) => self.set_cpumask(cpu, task)?,
            Section::Dispatch(before) => self.dispatch(cpu, before),
            Section::Yield(task) => {
                // engine_yielded, bpf/engine.bpf.c
                self.core.yield_now(self.state.tasks[task].vtime, NOW);
                self.state.kicked |= 1 << cpu;
                self.state.tasks[task].has_slice = false;
                self.state.cpus[cpu].resched = true;
                self.then(cpu, &[]);
            }
            Section::ChangeCpu(is_back) => self.change_cpu(cpu, is_back)?,
            Section::Call(task, vp, incarnation) => self.call(cpu, task, vp, incarnation),
        }
        Ok(())
    }

    /// engine_init_task, bpf/threads.h: from `lock()` to the return.
    fn attach(&mut self, cpu: usize, task: usize) -> Result<(), String> {
        let params = Params::from_slice(&[1]);
        let vp = self.core.attach(ROOT, None, params).map_err(|error| format!("no VP: {error}"))?;
        let it = self.state.tasks[task];
        let all = (1 << CPUS) - 1;
        let thread = self.state.thread(vp);
        thread.of = Some((task, it.incarnation));
        thread.known = thread.of;
        thread.cpus = it.cpus & all;
        thread.is_queued = false;
        if it.cpus != all {
            let bound = self.core.set_affinity(vp, it.cpus.into(), NOW);
            bound.map_err(|error| format!("the affinity of a new thread: {error}"))?;
        }
        self.unlock(cpu); // Nothing is due: a VP that was attached is WAITING.
        let parts = [Part::StoreVp(task, vp), Part::KeepTask(task, vp)];
        self.state.next(cpu, &parts);
        Ok(())
    }

    /// engine_exit_task, bpf/threads.h: from `lock()` to `kick()`.
    fn detach(&mut self, cpu: usize, task: usize) -> Result<(), String> {
        let vp = self.state.tasks[task].stored;
        self.state.thread(vp).of = None;
        self.core.detach(vp, NOW).map_err(|error| format!("VP {} cannot be detached: {error}", vp.0))?;
        let drop = (!self.orders.exit_drops_first).then_some(Part::DropTask(vp));
        self.then(cpu, &drop.into_iter().collect::<Vec<_>>());
        Ok(())
    }

    /// engine_enqueue, bpf/engine.bpf.c, with follow_affinity().
    fn enqueue(&mut self, cpu: usize, task: usize) {
        let it = self.state.tasks[task];
        let vp = it.vtime;
        if self.state.thread(vp).cpus != it.cpus {
            self.state.thread(vp).cpus = it.cpus;
            // Refused only for an affinity without a CPU, which the kernel does not give.
            let _ = self.core.set_affinity(vp, it.cpus.into(), NOW);
        }
        self.core.request(vp, NOW);
        let on = usize::from(self.core.image().vps[vp.0 as usize].cpu);
        let is_leaving = on != cpu && self.state.cpus[on].is_leaving;
        if self.core.state(vp) == VpState::Running && is_leaving {
            // Refused for the last CPU, which does not leave.
            let _ = self.core.offline(on as u16, NOW);
        }
        let granted = self.core.state(vp) == VpState::Running;
        let on = usize::from(self.core.image().vps[vp.0 as usize].cpu);
        self.state.thread(vp).is_queued = !granted;
        let insert = [Part::InsertOn(task, on)];
        self.then(cpu, if granted { &insert } else { &[] });
    }

    /// stop(), bpf/engine.bpf.c.
    fn stop(&mut self, cpu: usize, task: usize, blocks: bool) {
        let vp = self.state.tasks[task].vtime;
        self.state.thread(vp).is_queued = false;
        self.core.release(vp, NOW);
        if blocks {
            self.state.kicked |= 1 << cpu;
        }
        self.then(cpu, &[]);
    }

    /// engine_set_cpumask, bpf/engine.bpf.c.
    fn set_cpumask(&mut self, cpu: usize, task: usize) -> Result<(), String> {
        let it = self.state.tasks[task];
        if self.state.thread(it.vtime).cpus != it.cpus {
            self.state.thread(it.vtime).cpus = it.cpus;
            let bound = self.core.set_affinity(it.vtime, it.cpus.into(), NOW);
            bound.map_err(|error| format!("an affinity: {error}"))?;
        }
        self.then(cpu, &[]);
        Ok(())
    }

    /// engine_dispatch, bpf/engine.bpf.c.
    fn dispatch(&mut self, cpu: usize, before: Option<usize>) {
        let chosen = self.core.schedule(cpu as u16, NOW);
        self.state.kicked &= !(1 << cpu);
        let mut parts = vec![];
        let mut inserted = None;
        if let Some(vp) = chosen {
            let is_before = before.is_some_and(|before| self.state.tasks[before].vtime == vp);
            let thread = self.state.thread(vp);
            if is_before && !thread.is_queued {
                parts.extend(before.map(Part::SetSlice));
            }
            inserted = if thread.is_queued { thread.task } else { None };
            thread.is_queued = false;
        }
        if let Some(task) = inserted {
            match self.orders.insert {
                Insert::UnderLock => self.insert(cpu, task),
                Insert::BehindLock => parts.push(Part::Insert(task)),
                Insert::BehindLockChecked => parts.push(Part::InsertIfAllowed(task)),
            }
        }
        let due = self.take_kicks();
        self.unlock(cpu);
        if due != 0 {
            parts.push(Part::Kick(due));
        }
        self.state.next(cpu, &parts);
    }

    /// change_cpu(), bpf/engine.bpf.c.
    fn change_cpu(&mut self, cpu: usize, is_back: bool) -> Result<(), String> {
        self.state.kicked &= !(1 << cpu);
        let changed = match is_back {
            true => self.core.online(cpu as u16, NOW),
            false => self.core.offline(cpu as u16, NOW),
        };
        changed.map_err(|error| format!("a CPU came or went that the hierarchy does not have: {error}"))?;
        self.then(cpu, &[]);
        Ok(())
    }

    /// make_call and is_of(), bpf/calls.h.
    fn call(&mut self, cpu: usize, task: usize, vp: CoreVp, incarnation: u8) {
        if self.state.thread(vp).of == Some((task, incarnation)) {
            let priority = self.core.image().vps[vp.0 as usize].param[0];
            // Not refused: there is such a VP, and both are priorities.
            let _ = self.core.message(vp, 0, 3 - priority, NOW);
        }
        self.then(cpu, &[]);
    }

    /// What the engine does outside of its lock, one part at a time.
    pub(crate) fn outside(&mut self, part: Part) -> Result<(), String> {
        match part {
            Part::StoreVp(task, vp) => self.state.tasks[task].stored = vp,
            Part::KeepTask(task, vp) => self.state.thread(vp).task = Some(task),
            Part::DropTask(vp) => self.state.thread(vp).task = None,
            Part::Enable(task) => {
                // hls_enable, bpf/engine.bpf.c
                self.state.tasks[task].vtime = self.state.tasks[task].stored;
                self.state.tasks[task].life = Life::Alive;
            }
            _ => {}
        }
        Ok(())
    }

    /// hls_running, bpf/engine.bpf.c: reads the core without its lock.
    pub(crate) fn running(&mut self, cpu: usize, task: usize) {
        let image = self.core.image();
        let vp = &image.vps[self.state.tasks[task].vtime.0 as usize];
        let is_due = vp.state != 2 || usize::from(vp.cpu) != cpu || (image.head.kick >> cpu) & 1 == 1;
        if is_due {
            self.state.kick(1 << cpu);
        }
    }
}
