//! What the engine leaves to timers: errands about threads (`bpf/errands.h`), and CPUs that come and go (`bpf/cpus.h`).

use crate::glue::engine::{Engine, NOW};
use crate::glue::orders::{Back, Noted};
use crate::glue::state::{BIND, CPUS, GO, LEAVE, Lock, Part, Section};
use hls_core::{Calls, CoreVp, VpState};

/// `ERRANDS_IN_A_ROW`: fewer than the engine's, so that a row ends before the list does.
const IN_A_ROW: u8 = 2;

impl Engine<'_> {
    /// Whether an interrupt that this CPU sends arrives. If not, may_not_send() of bpf/due.h has to know.
    fn may_send(&self, cpu: usize) -> Result<bool, String> {
        if !self.state.cpus[cpu].is_off {
            return Ok(true);
        }
        let is_noted = self.orders.knows_noted && self.state.cpus_gone != 0;
        if self.core.image().head.offline == 0 && !is_noted {
            return Err(format!("CPU {cpu} is off, and sends itself an interrupt, which never arrives"));
        }
        Ok(false)
    }

    /// kick_all(), bpf/due.h.
    pub(crate) fn kick_all(&mut self, cpu: usize, cpus: u8) -> Result<(), String> {
        if self.may_send(cpu)? {
            self.state.kick(cpus);
        } else {
            self.state.next(cpu, &[Part::Lock(Section::PutOffKicks(cpus))]);
        }
        Ok(())
    }

    /// start_timer() with no delay, bpf/due.h. Pulses are not started.
    fn start_timer(&mut self, cpu: usize) -> Result<(), String> {
        if self.has_pulses {
            return Ok(());
        }
        if self.may_send(cpu)? {
            self.state.cpus[cpu].timer = true;
        } else {
            self.state.has_lost_a_timer = true;
        }
        Ok(())
    }

    /// leave_errand(), bpf/errands.h.
    pub(crate) fn leave_errand(
        &mut self,
        cpu: usize,
        vp: CoreVp,
        task: usize,
        errand: u8,
    ) -> Result<(), String> {
        let about = (task, self.state.tasks[task].incarnation);
        if self.state.thread(vp).errands == 0 || !self.orders.links_once {
            self.state.thread(vp).next = 0;
            if self.state.first_errand == 0 {
                self.state.first_errand = vp.0 as u8;
            } else {
                let last = CoreVp(self.state.last_errand.into());
                self.state.thread(last).next = vp.0 as u8;
            }
            self.state.last_errand = vp.0 as u8;
        }
        self.state.thread(vp).errands |= errand;
        self.state.thread(vp).about = Some(about);
        self.start_timer(cpu)
    }

    /// change_affinity(), bpf/errands.h.
    pub(crate) fn change_affinity(&mut self, cpu: usize, task: usize) -> Result<(), String> {
        self.leave_errand(cpu, self.state.tasks[task].vtime, task, BIND)?;
        self.unlock(cpu);
        Ok(())
    }

    /// leave_class(), bpf/errands.h.
    pub(crate) fn leave_class(&mut self, cpu: usize, task: usize) -> Result<(), String> {
        let vp = self.state.tasks[task].stored;
        if self.core.state(vp) != VpState::Waiting {
            if self.orders.back == Back::Enqueue {
                self.state.thread(vp).cpus = 0;
            }
            self.leave_errand(cpu, vp, task, LEAVE)?;
        }
        self.unlock(cpu);
        Ok(())
    }

    /// See [`Back::Enable`].
    pub(crate) fn take_back(&mut self, cpu: usize, task: usize) {
        let vp = self.state.tasks[task].stored;
        self.state.thread(vp).errands &= !LEAVE;
        self.unlock(cpu);
    }

    /// do_errands(), bpf/errands.h: reads the list without the lock.
    pub(crate) fn do_errands(&mut self, cpu: usize, done: u8) {
        if self.state.first_errand != 0 && done < IN_A_ROW && self.may_lock() {
            let is_last = done + 1 == IN_A_ROW;
            let first = Part::Lock(Section::FirstErrand(is_last));
            self.state.next(cpu, &[first, Part::DoErrands(done + 1)]);
        }
    }

    /// Whether a loop goes on: it ends where the lock is sealed.
    fn may_lock(&self) -> bool {
        self.state.lock != Lock::Sealed || !self.orders.errands_heed_seal
    }

    /// do_first_errand(), bpf/errands.h.
    pub(crate) fn do_first_errand(&mut self, cpu: usize, is_last: bool) -> Result<(), String> {
        let first = CoreVp(self.state.first_errand.into());
        if first != CoreVp::NONE {
            self.state.first_errand = self.state.thread(first).next;
            self.do_errand(first)?;
        }
        if is_last && self.state.first_errand != 0 {
            self.start_timer(cpu)?;
        }
        self.state.has_lost_a_timer &= self.state.is_something_left();
        self.then(cpu, &[]);
        Ok(())
    }

    /// do_errand(), bpf/errands.h.
    fn do_errand(&mut self, vp: CoreVp) -> Result<(), String> {
        let thread = *self.state.thread(vp);
        if thread.errands != 0 && thread.of.is_some() && thread.of != thread.about {
            return Err(format!("an errand meets another thread: VP {} was given back meanwhile", vp.0));
        }
        let thread = self.state.thread(vp);
        let errands = std::mem::take(&mut thread.errands);
        thread.about = None;
        let is_away = errands & LEAVE != 0 && (thread.cpus == 0 || self.orders.back != Back::Enqueue);
        if is_away || errands & GO != 0 {
            thread.is_queued = false;
            self.core.release(vp, NOW);
        }
        if errands & GO != 0 {
            let detached = self.core.detach(vp, NOW);
            detached.map_err(|error| format!("VP {} cannot be detached: {error}", vp.0))?;
        } else if !self.state.thread(vp).is_queued || !self.orders.spares_queued {
            self.follow_thread(vp)?;
        }
        Ok(())
    }

    /// follow_thread(), bpf/errands.h. Of a thread that may not leave its CPU the kernel does not always say so here.
    fn follow_thread(&mut self, vp: CoreVp) -> Result<(), String> {
        let Some(task) = self.state.thread(vp).task else { return Ok(()) };
        let cpus = self.state.tasks[task].cpus;
        if self.state.thread(vp).cpus != cpus {
            self.state.thread(vp).cpus = cpus;
            self.core.set_affinity(vp, cpus.into(), NOW).map_err(|error| format!("an affinity: {error}"))?;
        }
        Ok(())
    }

    /// note_cpu(), bpf/cpus.h.
    pub(crate) fn note_cpu(&mut self, cpu: usize, is_back: bool) -> Result<(), String> {
        let bit = 1 << cpu;
        let (gone, back) = (self.state.cpus_gone & !bit, self.state.cpus_back & !bit);
        self.state.cpus_gone = if is_back { gone } else { gone | bit };
        self.state.cpus_back = if is_back { back | bit } else { back };
        self.start_timer(cpu)?;
        self.unlock(cpu);
        Ok(())
    }

    /// look_for_leaving(), bpf/cpus.h.
    pub(crate) fn look_for_leaving(&mut self, cpu: usize) {
        let offline = self.core.image().head.offline;
        let is_new = |cpu: &usize| self.state.cpus[*cpu].is_leaving && (offline >> cpu) & 1 == 0;
        let leaving = (0..CPUS).filter(is_new).fold(0, |leaving, cpu| leaving | 1 << cpu);
        self.state.cpus_gone |= leaving;
        self.state.cpus_back &= !leaving;
        self.unlock(cpu);
    }

    /// change_noted_cpus(), bpf/cpus.h: reads the notes without the lock.
    pub(crate) fn change_noted_cpus(&mut self, cpu: usize) {
        let (gone, back) = (self.state.cpus_gone, self.state.cpus_back);
        if gone | back == 0 || !self.may_lock() {
            return;
        }
        if self.orders.noted != Noted::TakenFirst {
            let first = Part::Lock(Section::ChangeNotedCpu);
            self.state.next(cpu, &[first, Part::ChangeNotedCpus]);
            return;
        }
        self.state.cpus_gone = 0;
        self.state.cpus_back = 0;
        let change = |is_back| move |cpu| Part::Lock(Section::ChangeCpu(cpu, is_back));
        let of = |cpus: u8| (0..CPUS).filter(move |cpu| (cpus >> cpu) & 1 == 1);
        let changes: Vec<Part> = of(back).map(change(true)).chain(of(gone).map(change(false))).collect();
        self.state.next(cpu, &changes);
    }

    /// change_noted_cpu(), bpf/cpus.h.
    pub(crate) fn change_noted_cpu(&mut self, cpu: usize) -> Result<(), String> {
        let (gone, back) = (self.state.cpus_gone, self.state.cpus_back);
        let cpus = if back != 0 && self.orders.noted == Noted::BackFirst { back } else { gone | back };
        if cpus != 0 {
            let changed = cpus.trailing_zeros() as usize;
            self.change_cpu(changed, (back >> changed) & 1 == 1)?;
            self.state.cpus_gone &= !(1 << changed);
            self.state.cpus_back &= !(1 << changed);
            if self.orders.return_kicks && (back >> changed) & 1 == 1 {
                self.state.next(cpu, &[Part::Kick(1 << changed)]);
            }
        }
        self.state.has_lost_a_timer &= self.state.is_something_left();
        self.then(cpu, &[]);
        Ok(())
    }

    /// change_cpu(), bpf/cpus.h. A refusal ends the run.
    pub(crate) fn change_cpu(&mut self, cpu: usize, is_back: bool) -> Result<(), String> {
        self.state.kicked &= !(1 << cpu);
        self.forget_urgent(cpu);
        let changed = match is_back {
            true => self.core.online(cpu as u16, NOW),
            false => self.core.offline(cpu as u16, NOW),
        };
        changed.map_err(|error| format!("a CPU came or went that the hierarchy does not have: {error}"))
    }
}
