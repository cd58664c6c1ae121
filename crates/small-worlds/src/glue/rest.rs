//! What must hold when each CPU has done what it was about to do.

use crate::glue::model::Glue;
use crate::glue::state::{CPUS, Life, Place, TASKS};
use hls_core::{Image, VpState};

impl Glue {
    /// At any time: a thread is in one queue at most, once, and has one CPU at most.
    pub(crate) fn check_queues(&self) -> Result<(), String> {
        for (at, task) in self.state.tasks.iter().enumerate() {
            let queued = self.state.cpus.iter().flat_map(|cpu| &cpu.local).filter(|queued| **queued == at);
            let have = self.state.cpus.iter().filter(|cpu| cpu.current == Some(at)).count();
            let is_queued = usize::from(matches!(task.place, Place::Local(_)));
            if queued.count() != is_queued || have > 1 {
                return Err(format!("thread {at} is {:?}, and in another queue or on two CPUs", task.place));
            }
        }
        Ok(())
    }

    /// What is left to do waits for the watcher only where another timer was lost.
    pub(crate) fn check_noted(&self) -> Result<(), String> {
        if self.state.is_something_left() && !self.state.has_lost_a_timer {
            return Err("something is left to do, and no timer is to do it".into());
        }
        Ok(())
    }

    /// What must hold when each CPU has done what it was about to do.
    pub(crate) fn check_rest(&mut self) -> Result<(), String> {
        if let Some(cpu) = (0..CPUS).find(|cpu| !self.state.cpus[*cpu].todo.is_empty()) {
            return Err(format!("CPU {cpu} waits for a lock for ever"));
        }
        self.check_left()?;
        if !self.state.is_ending {
            self.check_decisions()?;
            self.check_cpus()?;
        }
        self.check_vps()?;
        let image = self.core.image();
        let alive = |at: &usize| self.state.tasks[*at].life == Life::Alive;
        (0..TASKS).filter(alive).try_for_each(|at| self.check_thread(at, &image))
    }

    /// Each decision that is due will be taken, and the core's invariants hold. Real-time threads, say, may have a CPU
    /// for as long as they like.
    fn check_decisions(&mut self) -> Result<(), String> {
        let will_look = |cpu: &usize| {
            let current = self.state.cpus[*cpu].current.map(|current| self.state.tasks[current]);
            current.is_some_and(|current| current.is_away || (self.may_be_late && current.is_refilled))
        };
        let leaving = (0..CPUS).filter(|cpu| self.state.cpus[*cpu].is_leaving || will_look(cpu));
        let forgotten = self.core.kick() & !leaving.fold(0, |leaving, cpu| leaving | 1 << cpu);
        if forgotten != 0 {
            return Err(format!("decisions are due on the CPUs {forgotten:#b}, and nobody takes them"));
        }
        if self.core.kick() == 0 {
            self.core.check().map_err(|fault| fault.to_string())?;
        }
        Ok(())
    }

    /// Whether each of these CPUs decides, so that an urgent thread has one for a moment. Where it waits for a
    /// CPU that a real-time thread has, it gets another one when it starves.
    fn may_have_moment(&self, cpus: u8) -> bool {
        let decides = |cpu: usize| {
            let it = &self.state.cpus[cpu];
            !it.is_leaving && !it.current.is_some_and(|current| self.state.tasks[current].is_away)
        };
        (0..CPUS).all(|cpu| (cpus >> cpu) & 1 == 0 || decides(cpu))
    }

    /// Nothing is left to do.
    fn check_left(&self) -> Result<(), String> {
        if self.state.is_something_left() {
            return Err("what was left to a timer is lost".into());
        }
        match self.state.threads.iter().position(|thread| thread.errands != 0) {
            Some(vp) => Err(format!("the errands about VP {vp} are lost")),
            None => Ok(()),
        }
    }

    /// Each VP belongs to a thread, and leads to that thread.
    fn check_vps(&self) -> Result<(), String> {
        let image = self.core.image();
        for (vp, thread) in self.state.threads.iter().enumerate() {
            let owner = self.state.tasks.iter().position(|task| task.stored.0 as usize == vp && vp != 0);
            if self.checks_maps && thread.task.is_some() && thread.task != owner {
                return Err(format!("VP {vp} leads to thread {:?}, but belongs to {owner:?}", thread.task));
            }
            let is_threads = image.vps.get(vp).is_some_and(|vp| vp.is_used() && vp.parent != 0);
            if is_threads && owner.is_none() {
                return Err(format!("VP {vp} belongs to no thread, and was not given back"));
            }
        }
        Ok(())
    }

    /// The core has the CPUs that the kernel has.
    fn check_cpus(&self) -> Result<(), String> {
        let offline = self.core.image().head.offline;
        let differs = |cpu: &usize| ((offline >> cpu) & 1 == 1) != self.state.cpus[*cpu].is_leaving;
        match (0..CPUS).find(differs) {
            Some(cpu) => {
                Err(format!("CPU {cpu} is offline for the kernel, or for the core, but not for both"))
            }
            None => Ok(()),
        }
    }

    fn check_thread(&self, at: usize, image: &Image<'_>) -> Result<(), String> {
        let task = &self.state.tasks[at];
        let vp = task.stored;
        let thread = &self.state.threads[vp.0 as usize];
        let is_known = task.is_away || task.vtime == vp;
        if self.checks_maps && (!is_known || thread.task != Some(at)) {
            return Err(format!("VP {} belongs to thread {at}, but leads to thread {:?}", vp.0, thread.task));
        }
        let state = self.core.state(vp);
        if task.is_away && state != VpState::Waiting {
            return Err(format!("thread {at} has left the class, and is {state:?} for the core"));
        }
        if task.is_away {
            return Ok(());
        }
        if task.place != Place::Asleep && !task.is_bound && thread.cpus != task.cpus {
            let (cpus, known) = (task.cpus, thread.cpus);
            return Err(format!("thread {at} may use the CPUs {cpus:#b}, and the core believes {known:#b}"));
        }
        // It goes on on a CPU that is going, whatever the core believes of it, or is to be put there.
        let on_leaving = |cpu: usize| self.state.cpus[cpu].is_leaving && task.is_bound;
        match task.place {
            Place::Current(cpu) | Place::Local(cpu) if on_leaving(cpu) => return Ok(()),
            Place::WithEngine if on_leaving(task.run_queue) => {
                let is_to_rescue = self.state.cpus.iter().any(|cpu| u32::from(cpu.rescue) == vp.0);
                return if is_to_rescue { Ok(()) } else { Err(format!("thread {at} is stranded")) };
            }
            _ => {}
        }
        if thread.is_urgent() && task.place == Place::WithEngine && self.may_have_moment(thread.cpus) {
            let why = if thread.is_dying { "was killed" } else { "holds a lock" };
            return Err(format!("thread {at} {why}, and waits for a CPU"));
        }
        let on = usize::from(image.vps[vp.0 as usize].cpu);
        match (task.place, state) {
            (Place::Asleep, VpState::Waiting) => Ok(()),
            (Place::WithEngine, VpState::Ready) => Ok(()),
            (Place::Current(cpu), VpState::Running) if cpu == on => Ok(()),
            // It is taken from there when the slice of the CPU's thread is over.
            (Place::Local(cpu), VpState::Ready) if self.state.cpus[cpu].current.is_some() => Ok(()),
            (Place::Local(cpu), VpState::Running)
                if self.may_be_late && self.state.cpus[cpu].current.is_some() =>
            {
                Ok(())
            }
            (Place::Global, VpState::Ready | VpState::Running) if self.may_be_late => Ok(()),
            (Place::WithEngine, VpState::Running) => {
                Err(format!("thread {at} is lost: it is granted CPU {on}, and in no queue"))
            }
            (Place::WithEngine, VpState::Waiting) => {
                Err(format!("thread {at} is lost: it wants a CPU, and the core does not know that"))
            }
            (place, state) => Err(format!("thread {at} is {place:?}, and {state:?} for the core (CPU {on})")),
        }
    }
}
