//! Threads that have a CPU for a moment without a grant: urgent ones, which were killed (`bpf/ends.h`) or hold a
//! lock of the kernel's (`bpf/holders.h`), and those that starve (`bpf/rescue.h`).

use crate::glue::engine::Engine;
use crate::glue::state::{Life, Part, Section, State, Urgency};
use hls_core::CoreVp;

impl Engine<'_> {
    /// let_all_end(), bpf/ends.h, of one thread: kept_vp() reads the thread's word without the lock.
    pub(crate) fn signal(&mut self, cpu: usize, task: usize) {
        let it = self.state.tasks[task];
        if matches!(it.life, Life::Alive | Life::Dead) && it.stored != CoreVp::NONE {
            let hurry = Section::Hurry(it.stored, (task, it.incarnation), Urgency::Ends);
            self.state.next(cpu, &[Part::Lock(hurry)]);
        }
    }

    /// look_at_stalled(), bpf/watch.h, which has found this thread: without the lock.
    pub(crate) fn find_holder(&mut self, cpu: usize, task: usize) {
        let it = self.state.tasks[task];
        let thread = self.state.thread(it.stored);
        if thread.is_queued && !thread.is_listed {
            let hurry = Section::Hurry(it.stored, (task, it.incarnation), Urgency::Holds);
            self.state.next(cpu, &[Part::Lock(hurry)]);
        }
    }

    /// The end of engine_enqueue, bpf/engine.bpf.c.
    pub(crate) fn look_at_urgent(&mut self, cpu: usize, task: usize) {
        let it = self.state.tasks[task];
        let thread = self.state.thread(it.vtime);
        if thread.is_urgent() && self.orders.enqueue_hurries {
            let hurry = Section::Hurry(it.vtime, (task, it.incarnation), Urgency::GoesOn);
            self.state.next(cpu, &[Part::Lock(hurry)]);
        }
    }

    /// hurry(), bpf/urgent.h.
    pub(crate) fn hurry(
        &mut self,
        cpu: usize,
        vp: CoreVp,
        of: (usize, u8),
        why: Urgency,
    ) -> Result<(), String> {
        let is_of = self.state.thread(vp).of == Some(of);
        if !is_of && !self.orders.kill_checks_thread && self.state.thread(vp).of.is_some() {
            return Err(format!("a thread that nobody has killed is let end: VP {} was given back", vp.0));
        }
        let mut due = 0;
        if is_of || !self.orders.kill_checks_thread {
            let thread = self.state.thread(vp);
            match why {
                Urgency::Ends => thread.is_dying = true,
                Urgency::Holds => thread.is_holder = true,
                Urgency::GoesOn => {}
            }
            due = if thread.is_urgent() { self.list_urgent(vp) } else { 0 };
        }
        self.unlock(cpu);
        if due != 0 {
            self.state.next(cpu, &[Part::Kick(due)]);
        }
        Ok(())
    }

    /// list_urgent(), bpf/urgent.h.
    fn list_urgent(&mut self, vp: CoreVp) -> u8 {
        let offline = self.core.image().head.offline as u8;
        let last = self.cpu_of(vp);
        let thread = self.state.thread(vp);
        let usable = thread.cpus & !offline;
        if !thread.is_queued || thread.is_listed || usable == 0 {
            return 0;
        }
        thread.is_listed = true;
        let cpu = if (usable >> last) & 1 == 1 { last } else { usable.trailing_zeros() as usize };
        let urgency = usize::from(!thread.is_dying);
        self.state.cpus[cpu].urgent[urgency].insert(0, vp.0 as u8);
        if self.state.cpus[cpu].rescued == 0 { 1 << cpu } else { 0 }
    }

    /// next_urgent(), bpf/urgent.h.
    fn next_urgent(&mut self, cpu: usize) -> Option<CoreVp> {
        let cpu = &mut self.state.cpus[cpu];
        let turn = cpu.urgent_turn;
        let (urgency, vp) =
            [turn, turn ^ 1].into_iter().find_map(|it| Some((it, cpu.urgent[usize::from(it)].pop()?)))?;
        cpu.urgent_turn = urgency ^ 1;
        Some(CoreVp(vp.into()))
    }

    /// insert_urgent(), bpf/urgent.h, which also returns the CPUs that are to decide. Time does not pass: moments cost
    /// nothing.
    pub(crate) fn insert_urgent(&mut self, cpu: usize, due: &mut u8) -> bool {
        while let Some(vp) = self.next_urgent(cpu) {
            let thread = self.state.thread(vp);
            thread.is_listed = false;
            if !thread.is_urgent() || !thread.is_queued {
                continue;
            }
            if (thread.cpus >> cpu) & 1 == 1 {
                self.begin_moment(cpu, vp);
                return true;
            }
            if self.orders.urgent_follow_affinity {
                *due |= self.list_urgent(vp);
            }
        }
        false
    }

    /// begin_moment(), bpf/moment.h.
    fn begin_moment(&mut self, cpu: usize, vp: CoreVp) {
        self.state.cpus[cpu].rescued = vp.0 as u8;
        let waits_on = !self.orders.moment_ends_wait;
        let thread = self.state.thread(vp);
        thread.is_queued &= waits_on;
        if let Some(task) = thread.task {
            self.insert(cpu, task, cpu);
        }
    }

    /// look_at_moment(), bpf/moment.h, where the moment is over, or its thread has let its lock go.
    pub(crate) fn look_at_moment(&mut self, cpu: usize) -> u8 {
        let vp = CoreVp(self.state.cpus[cpu].rescued.into());
        if vp == CoreVp::NONE {
            return 0;
        }
        // Holders let their lock go as soon as they have the CPU.
        let current = self.state.cpus[cpu].current;
        if current.is_some_and(|current| self.state.tasks[current].vtime == vp) {
            self.state.thread(vp).is_holder = false;
        }
        self.end_moment(cpu)
    }

    /// end_moment(), bpf/moment.h.
    pub(crate) fn end_moment(&mut self, cpu: usize) -> u8 {
        self.state.cpus[cpu].rescued = 0;
        1 << cpu
    }

    /// rescue_starved(), bpf/rescue.h, about one thread: without the lock.
    pub(crate) fn rescue(&mut self, cpu: usize, vp: CoreVp) -> Result<(), String> {
        let free = self.state.cpus.iter().zip(0..).filter(|(it, _)| it.rescue == 0 && it.rescued == 0);
        let free = free.fold(0, |free, (_, cpu)| free | 1 << cpu) & !self.core.image().head.offline as u8;
        let is_stranded = self.is_stranded(vp);
        let thread = self.state.thread(vp);
        let usable = if is_stranded { free } else { free & thread.cpus };
        if !thread.is_queued || usable == 0 {
            return Ok(());
        }
        let on = usable.trailing_zeros() as usize;
        self.state.cpus[on].rescue = vp.0 as u8;
        self.kick_all(cpu, 1 << on)
    }

    /// The same, for stranded threads, which are rescued however briefly they have waited.
    pub(crate) fn rescue_stranded(&mut self, cpu: usize) -> Result<(), String> {
        let is_stranded =
            |vp: &u32| self.state.threads[*vp as usize].is_queued && self.is_stranded(CoreVp(*vp));
        let stranded: Vec<u32> = (0..self.state.threads.len() as u32).filter(is_stranded).collect();
        stranded.into_iter().try_for_each(|vp| self.rescue(cpu, CoreVp(vp)))
    }

    /// is_stranded(), bpf/rescue.h.
    fn is_stranded(&self, vp: CoreVp) -> bool {
        is_stranded(self.state, self.core.image().head.offline as u8, vp)
    }

    /// insert_starved(), bpf/rescue.h.
    pub(crate) fn insert_starved(&mut self, cpu: usize) -> bool {
        let vp = CoreVp(std::mem::take(&mut self.state.cpus[cpu].rescue).into());
        let is_stranded = self.is_stranded(vp);
        let thread = self.state.thread(vp);
        if !thread.is_queued {
            return false;
        }
        if is_stranded {
            // insert_stranded(): on the CPU where it is.
            thread.is_queued = false;
            if let Some(task) = thread.task {
                self.insert(cpu, task, self.state.tasks[task].run_queue);
            }
            return false;
        }
        let is_due = (thread.cpus >> cpu) & 1 == 1;
        if is_due {
            self.begin_moment(cpu, vp);
        }
        is_due
    }

    /// forget_urgent(), bpf/cpus.h.
    pub(crate) fn forget_urgent(&mut self, cpu: usize) {
        for vp in std::mem::take(&mut self.state.cpus[cpu].urgent).into_iter().flatten() {
            self.state.thread(CoreVp(vp.into())).is_listed = false;
        }
    }
}

/// Whether all CPUs that a thread may use have gone: is_stranded(), bpf/rescue.h.
pub(crate) fn is_stranded(state: &State, offline: u8, vp: CoreVp) -> bool {
    state.threads[vp.0 as usize % 8].cpus & !offline == 0
}
