//! What the engine does: its sections under the lock, and what it does outside of them. Each names the function of
//! `bpf/` that it stands for.

use crate::glue::orders::{Back, Insert, Orders};
use crate::glue::state::{CPUS, GO, Life, Lock, Part, Place, Section, State};
use hls_core::{Calls, Core, CoreScheduler, CoreVp, Params, VpState};
use hls_units::Nanos;

/// The time: it does not pass.
pub(crate) const NOW: Nanos = Nanos(0);

/// The scheduler below which new threads are attached, `domain->root`.
pub(crate) const ROOT: CoreScheduler = CoreScheduler(1);

/// The engine's code, over the core.
pub(crate) struct Engine<'e> {
    pub(crate) core: &'e mut Core,
    pub(crate) state: &'e mut State,
    pub(crate) orders: Orders,
    /// Programs may not set timers: instead a timer of the kernel's own goes off on each CPU every so often.
    pub(crate) has_pulses: bool,
}

impl Engine<'_> {
    /// `lock()`, bpf/lock.h. Where the lock is sealed the operation does nothing more.
    pub(crate) fn lock(&mut self, cpu: usize, section: Section) {
        if self.state.lock == Lock::Free {
            self.state.lock = Lock::Held(cpu);
            self.state.next(cpu, &[Part::Do(section)]);
        } else if matches!(section, Section::FirstErrand(_)) && !self.orders.errands_heed_seal {
            self.state.next(cpu, &[Part::Do(section)]);
        }
    }

    /// `unlock()`, bpf/lock.h.
    pub(crate) fn unlock(&mut self, cpu: usize) {
        self.state.sealed_while_held_by = None;
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
    pub(crate) fn then(&mut self, cpu: usize, parts: &[Part]) {
        self.then_kick(cpu, 0, parts);
    }

    /// The same, with a kick of further CPUs.
    pub(crate) fn then_kick(&mut self, cpu: usize, others: u8, parts: &[Part]) {
        let due = self.take_kicks() | others;
        self.unlock(cpu);
        if due != 0 {
            self.state.next(cpu, &[Part::Kick(due)]);
        }
        self.state.next(cpu, parts);
    }

    /// A section under the lock, and `unlock()`.
    pub(crate) fn section(&mut self, cpu: usize, section: Section) -> Result<(), String> {
        if self.state.lock == Lock::Sealed && self.state.sealed_while_held_by != Some(cpu) {
            return Err(format!("the lock is sealed, and CPU {cpu} does its section ({section:?})"));
        }
        match section {
            Section::Attach(task) => self.attach(cpu, task)?,
            Section::Detach(task) => self.detach(cpu, task)?,
            Section::Enqueue(task) => self.enqueue(cpu, task),
            Section::Stop(task) => self.stop(cpu, task),
            Section::LeaveQueue(task) => {
                // leave_queue(), bpf/engine.bpf.c
                let vp = self.state.tasks[task].vtime;
                self.state.thread(vp).is_queued = false;
                self.unlock(cpu);
            }
            Section::LeaveClass(task) => self.leave_class(cpu, task)?,
            Section::ChangeAffinity(task) => self.change_affinity(cpu, task)?,
            Section::TakeBack(task) => self.take_back(cpu, task),
            Section::FirstErrand(is_last) => self.do_first_errand(cpu, is_last)?,
            Section::Dispatch(before) => self.dispatch(cpu, before),
            Section::Yield(task) => self.yielded(cpu, task),
            Section::NoteCpu(is_back) => self.note_cpu(cpu, is_back)?,
            Section::ChangeNotedCpu => self.change_noted_cpu(cpu)?,
            Section::ChangeCpu(changed, is_back) => {
                self.change_cpu(changed, is_back)?;
                self.then(cpu, &[]);
            }
            Section::LookForLeaving => self.look_for_leaving(cpu),
            Section::Hurry(vp, of, why) => return self.hurry(cpu, vp, of, why),
            Section::EndMoment(of) => {
                let ended = self.look_at_moment(of);
                self.then_kick(cpu, ended, &[]);
            }
            Section::PutOffKicks(cpus) => {
                // put_off_kicks(), bpf/due.h
                self.state.kicked &= !cpus;
                self.unlock(cpu);
            }
            Section::LookForKicks => self.then(cpu, &[]),
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
        thread.is_dying = false;
        thread.is_holder = false;
        thread.was_cut_short = false;
        if it.cpus != all {
            let bound = self.core.set_affinity(vp, it.cpus.into(), NOW);
            bound.map_err(|error| format!("the affinity of a new thread: {error}"))?;
        }
        self.unlock(cpu); // Nothing is due: a VP that was attached is WAITING.
        let parts = [Part::StoreVp(task, vp), Part::KeepTask(task, vp)];
        self.state.next(cpu, &parts);
        Ok(())
    }

    /// engine_exit_task, bpf/threads.h: from `lock()` to `unlock()`.
    fn detach(&mut self, cpu: usize, task: usize) -> Result<(), String> {
        let vp = self.state.tasks[task].stored;
        self.state.thread(vp).of = None;
        let waits = self.orders.exit_waits_for_errands && self.state.thread(vp).errands != 0;
        if self.core.state(vp) == VpState::Waiting && !waits {
            self.core.detach(vp, NOW).map_err(|error| format!("VP {} cannot be detached: {error}", vp.0))?;
        } else {
            self.leave_errand(cpu, vp, task, GO)?;
        }
        self.unlock(cpu);
        let drop = (!self.orders.exit_drops_first).then_some(Part::DropTask(vp));
        self.state.next(cpu, &drop.into_iter().collect::<Vec<_>>());
        Ok(())
    }

    /// engine_enqueue, bpf/engine.bpf.c, with follow_affinity().
    fn enqueue(&mut self, cpu: usize, task: usize) {
        let it = self.state.tasks[task];
        let vp = it.vtime;
        let cpus = if it.is_bound { 1 << it.run_queue } else { it.cpus };
        if self.state.thread(vp).cpus != cpus {
            self.state.thread(vp).cpus = cpus;
            self.core.release(vp, NOW);
            // Refused only for an affinity without a CPU, which the kernel does not give.
            let _ = self.core.set_affinity(vp, cpus.into(), NOW);
        }
        self.core.request(vp, NOW);
        let on = self.cpu_of(vp);
        let is_leaving = on != cpu && self.state.cpus[on].is_leaving;
        if self.core.state(vp) == VpState::Running && is_leaving {
            // Refused for the last CPU, which does not leave.
            let _ = self.core.offline(on as u16, NOW);
        }
        let granted = self.core.state(vp) == VpState::Running;
        self.state.thread(vp).is_queued = !granted;
        let insert = [Part::InsertOn(task, on)];
        self.state.next(cpu, &[Part::LookAtUrgent(task)]);
        self.then(cpu, if granted { &insert } else { &[] });
    }

    /// stop(), bpf/engine.bpf.c.
    fn stop(&mut self, cpu: usize, task: usize) {
        let vp = self.state.tasks[task].vtime;
        let gives_up = self.is_granted_here(vp, cpu);
        self.state.thread(vp).is_queued = false;
        self.core.release(vp, NOW);
        if gives_up {
            self.state.kicked |= 1 << cpu;
        }
        let is_rescued = u32::from(self.state.cpus[cpu].rescued) == vp.0;
        let ended = if is_rescued { self.end_moment(cpu) } else { 0 };
        self.then_kick(cpu, ended, &[]);
    }

    /// leaves_granted(), bpf/engine.bpf.c.
    fn is_granted_here(&self, vp: CoreVp, cpu: usize) -> bool {
        self.core.state(vp) == VpState::Running && self.cpu_of(vp) == cpu
    }

    /// The CPU that the core has granted to a VP, or had granted last.
    pub(crate) fn cpu_of(&self, vp: CoreVp) -> usize {
        usize::from(self.core.image().vps[vp.0 as usize].cpu)
    }

    /// engine_yielded, bpf/engine.bpf.c.
    fn yielded(&mut self, cpu: usize, task: usize) {
        let vp = self.state.tasks[task].vtime;
        if self.is_granted_here(vp, cpu) {
            self.state.kicked |= 1 << cpu;
        }
        self.core.yield_now(vp, NOW);
        self.state.tasks[task].has_slice = false;
        self.state.cpus[cpu].resched = true;
        self.then(cpu, &[]);
    }

    /// engine_dispatch, bpf/engine.bpf.c.
    fn dispatch(&mut self, cpu: usize, before: Option<usize>) {
        if self.state.cpus[cpu].rescued != 0 {
            self.end_moment(cpu);
        }
        let chosen = self.core.schedule(cpu as u16, NOW);
        self.state.kicked &= !(1 << cpu);
        let mut parts = vec![];
        let mut inserted = None;
        let mut others = 0;
        let is_rescue = self.insert_urgent(cpu, &mut others) || self.insert_starved(cpu);
        if let Some(vp) = chosen {
            let is_before = before.is_some_and(|before| self.state.tasks[before].vtime == vp);
            let thread = self.state.thread(vp);
            if is_before && !thread.is_queued && !is_rescue {
                parts.extend(before.map(Part::SetSlice));
            }
            inserted = if thread.is_queued { thread.task } else { None };
            thread.is_queued = false;
        }
        if let Some(task) = inserted {
            match self.orders.insert {
                Insert::UnderLock => self.insert(cpu, task, cpu),
                Insert::BehindLock => parts.push(Part::Insert(task)),
                Insert::BehindLockChecked => parts.push(Part::InsertIfAllowed(task)),
            }
        }
        let due = self.take_kicks() | (others & !self.state.kicked);
        self.state.kicked |= others;
        self.unlock(cpu);
        if due != 0 {
            parts.push(Part::Kick(due));
        }
        self.state.next(cpu, &parts);
    }

    /// make_call and is_of(), bpf/calls.h.
    fn call(&mut self, cpu: usize, task: usize, vp: CoreVp, incarnation: u8) {
        if self.state.thread(vp).of == Some((task, incarnation)) {
            let priority = self.core.image().vps[vp.0 as usize].param[0];
            // Not refused: there is such a VP, and both are priorities.
            let _ = self.core.set_param(vp, 0, 3 - priority, NOW);
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

    /// hls_running, bpf/engine.bpf.c: reads the core without its lock. Where a CPU has changed the class or the
    /// affinity of a thread that runs, the kernel calls it on that CPU.
    pub(crate) fn running(&mut self, cpu: usize, task: usize) {
        let image = self.core.image();
        let vp = &image.vps[self.state.tasks[task].vtime.0 as usize];
        let v = self.state.tasks[task].vtime.0;
        let it = &self.state.cpus[cpu];
        let is_granted = vp.state == 2 && usize::from(vp.cpu) == cpu;
        let is_due = !is_granted
            || (image.head.kick >> cpu) & 1 == 1
            || it.rescue != 0
            || it.urgent != [vec![], vec![]];
        let is_due = is_due && v != it.rescued.into();
        let is_going = (image.head.offline >> cpu) & 1 == 1 || self.state.cpus[cpu].is_leaving;
        if is_due && !is_going {
            self.state.kick(1 << cpu);
        }
    }

    /// What hls_enable does with a thread that comes back.
    pub(crate) fn enable_again(&self, task: usize) -> Vec<Part> {
        let it = &self.state.tasks[task];
        let has_errands = self.state.threads[it.stored.0 as usize % 8].errands != 0;
        let takes_back = self.orders.back == Back::Enable && has_errands;
        let back = takes_back.then_some(Part::Lock(Section::TakeBack(task)));
        let kick = match it.place {
            Place::Current(on) if self.orders.enable_kicks => Some(Part::Kick(1 << on)),
            _ => None,
        };
        [Part::Enable(task)].into_iter().chain(kick).chain(back).collect()
    }
}
