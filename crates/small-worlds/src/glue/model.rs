//! The model as a whole: what may happen, what each CPU can do next, and what must hold.

use crate::glue::engine::{Engine, NOW};
use crate::glue::event::Event;
use crate::glue::kernel::{is_enabled, is_private};
use crate::glue::moments::is_stranded;
use crate::glue::orders::Orders;
use crate::glue::state::{CPUS, Life, Lock, Part, Place, Section, State, Task, VPS};
use crate::glue::worlds::World;
use crate::scheduling::add_core;
use crate::states::{Digest, Model};
use hls_core::{Calls, Core, CoreVp, Params, Snapshot, policies};
use std::hash::Hash;

/// What sequences begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Two threads run.
    Two,
    /// Two threads run, and a third one waits.
    Three,
    /// One of three threads has ended, and waits to be forgotten.
    Dead,
    /// One of two threads that run has been bound to its CPU, and the errand about that is not done.
    Noted,
    /// That thread has ended since.
    NotedDead,
    /// One of two CPUs is off; one of three threads has the other.
    Off,
}

/// A copy of the model's state.
pub struct GlueState {
    core: Snapshot,
    state: State,
}

/// The engine's glue, the kernel around it, and the core.
pub struct Glue {
    pub(crate) core: Core,
    pub(crate) state: State,
    orders: Orders,
    /// What may happen.
    events: fn(&Event) -> bool,
    has_pulses: bool,
    pub(crate) may_be_late: bool,
    pub(crate) checks_maps: bool,
}

impl Glue {
    /// The model with two CPUs on which nothing runs. The root scheduler has fixed priorities.
    ///
    /// # Errors
    /// The core has refused the hierarchy.
    pub fn new(orders: Orders) -> Result<Glue, hls_core::CoreError> {
        let mut core = Core::new();
        let policy = policies().iter().find(|policy| policy.name == "fixed-priority");
        let policy = policy.ok_or(hls_core::CoreError::NotFound)?;
        let preset = policy.scheduler_params.iter().map(|info| info.default.unwrap_or(info.min));
        for cpu in 0..CPUS as u16 {
            core.add_cpu(cpu)?;
        }
        let root = core.create_scheduler(policy.id, Params::from_slice(&preset.collect::<Vec<_>>()))?;
        for cpu in 0..CPUS as u16 {
            core.attach_root(root, cpu)?;
        }
        let state = State::empty();
        let (has_pulses, may_be_late, checks_maps) = (false, true, true);
        Ok(Glue { core, state, orders, events: |_| true, has_pulses, may_be_late, checks_maps })
    }

    /// The same, in one of the worlds.
    pub fn in_world(self, world: &World) -> Glue {
        Glue { events: world.events, has_pulses: world.has_pulses, ..self }
    }

    /// The same, where only these events happen: many fewer states.
    pub fn with_only(self, events: fn(&Event) -> bool) -> Glue {
        Glue { events, ..self }
    }

    /// The same under PREEMPT_RT, where pulses take the place of timers.
    pub fn with_pulses(self) -> Glue {
        Glue { has_pulses: true, ..self }
    }

    /// The same, where a thread that is granted a CPU must not be in another CPU's queue, not even until the slice of
    /// the thread there is over.
    pub fn without_delays(self) -> Glue {
        Glue { may_be_late: false, ..self }
    }

    /// The same, where a VP may lead to a wrong thread: only the consequences count.
    pub fn without_maps(self) -> Glue {
        Glue { checks_maps: false, ..self }
    }

    /// The states from which sequences begin, in the order of [`Start`].
    ///
    /// # Errors
    /// What is broken on the way there.
    pub fn starts(&mut self) -> Result<Vec<GlueState>, String> {
        let all = |_: &Event| true;
        let but_timers = |step: &Event| !matches!(step, Event::TimerGoesOff(_) | Event::LookForStarved(_));
        self.state_behind(Event::Fork(0, 0), all)?;
        let two = self.state_behind(Event::Fork(0, 1), all)?;
        let three = self.state_behind(Event::Fork(0, 2), all)?;
        let off = self.state_behind(Event::Leave(1), all)?;
        self.set(&three);
        let dead = self.state_behind(Event::Die(1), all)?;
        self.set(&two);
        let noted = self.state_behind(Event::Affine(0, 1, 2), but_timers)?;
        let noted_dead = self.state_behind(Event::Die(1), but_timers)?;
        Ok(vec![two, three, dead, noted, noted_dead, off])
    }

    /// Lets an event happen, and takes the steps that are due and meant, timers first, until none is.
    fn state_behind(&mut self, event: Event, is_meant: fn(&Event) -> bool) -> Result<GlueState, String> {
        self.perform(event)?;
        loop {
            let mut due = vec![];
            self.list_due(&mut due);
            let Some(step) = due.into_iter().rev().find(is_meant) else { break };
            self.perform(step)?;
        }
        self.check()?;
        Ok(self.state())
    }

    fn engine(&mut self) -> Engine<'_> {
        let (orders, has_pulses) = (self.orders, self.has_pulses);
        Engine { core: &mut self.core, state: &mut self.state, orders, has_pulses }
    }

    /// Does the parts that come next as long as no other CPU can see or hinder them: so there is nothing to interleave.
    fn go_on_in_private(&mut self, cpu: usize) -> Result<(), String> {
        while let Some(part) = self.state.cpus[cpu].todo.last().copied() {
            // Only a dump sees that the engine's lock is held: the work under it might as well begin later.
            let may_be_seen = (self.events)(&Event::Dump(cpu));
            let is_private = is_private(part) || (matches!(part, Part::Do(_)) && !may_be_seen);
            if !is_private {
                break;
            }
            self.engine().go(cpu)?;
        }
        Ok(())
    }

    /// Whether all VPs are taken, or promised to a thread that is being forked.
    fn has_all_vps(&self) -> bool {
        let taken = self.core.image().vps.iter().filter(|vp| vp.is_used() && vp.parent != 0).count();
        let promised = |task: &&Task| task.life == Life::Forked && task.stored.0 == 0;
        taken + self.state.tasks.iter().filter(promised).count() >= VPS
    }

    fn list_for_cpu(&self, cpu: usize, events: &mut Vec<Event>) {
        let it = &self.state.cpus[cpu];
        if it.is_leaving {
            if it.is_off {
                events.push(Event::Return(cpu));
                // The last thing that it does is to wake the thread that waits for its end.
                let waiters = (0..).zip(&self.state.tasks).filter(|(_, task)| is_asleep(task));
                events.extend(waiters.map(|(at, _)| Event::Wake(cpu, at)));
            }
            // A thread that may not leave the CPU goes on there.
            let is_bound = it.current.is_some_and(|current| self.state.tasks[current].is_bound);
            events.extend(is_bound.then_some([Event::Block(cpu), Event::Bind(cpu)]).into_iter().flatten());
            return;
        }
        if !self.state.is_a_cpu_changing() {
            events.push(Event::Leave(cpu));
        }
        if let Some(current) = it.current {
            self.list_for_current(cpu, &self.state.tasks[current], events);
        }
        for at in 0..self.state.tasks.len() {
            self.list_for_task(cpu, at, events);
        }
        for (vp, thread) in (0..).zip(&self.state.threads) {
            if thread.known.is_some() {
                events.push(Event::Call(cpu, CoreVp(vp)));
            }
        }
        if self.state.is_something_left() && !it.timer {
            events.push(Event::TimerGoesOff(cpu)); // Because of a slice, say.
        }
        if self.orders.looks_for_what_was_left && self.has_leaving() {
            events.push(Event::LookForStarved(cpu));
        }
        events.extend([Event::Dump(cpu), Event::TakeOver(cpu)]);
        // A fork keeps the kernel from ending the run meanwhile.
        let is_forking = self.state.tasks.iter().any(|task| task.life == Life::Forked);
        events.extend((!is_forking).then_some(Event::EndRun(cpu)));
    }

    /// What the thread that has the CPU does.
    fn list_for_current(&self, cpu: usize, task: &Task, events: &mut Vec<Event>) {
        events.push(Event::Block(cpu));
        events.extend((self.state.cpus[cpu].rescued != 0).then_some(Event::MomentEnds(cpu)));
        if !task.is_bound {
            events.push(Event::Die(cpu));
        }
        if !task.is_away {
            events.extend([Event::SliceEnds(cpu), Event::Yield(cpu)]);
            events.push(Event::Bind(cpu));
        }
    }

    /// What the CPU does to a thread, or the thread in another class.
    fn list_for_task(&self, cpu: usize, at: usize, events: &mut Vec<Event>) {
        let task = &self.state.tasks[at];
        match task.life {
            // While a reference to the thread that was there is held, its memory is no other thread's.
            Life::Absent if self.state.is_referred_to(at) || self.has_all_vps() => {}
            Life::Absent => events.push(Event::Fork(cpu, at)),
            // The killer of the process may have found the thread before it ended.
            Life::Dead => events.extend([Event::Exit(cpu, at), Event::Kill(cpu, at)]),
            Life::Alive => {
                events.push(Event::Kill(cpu, at));
                let waits = self.is_queued(at);
                events.extend(
                    waits.then_some([Event::Starve(cpu, at), Event::Holds(cpu, at)]).into_iter().flatten(),
                );
                if is_asleep(task) {
                    events.push(Event::Wake(cpu, at));
                }
                let is_left_alone = !self.state.is_referred_to(at)
                    && self.state.cpus[task.run_queue].run_queue_held_by.is_none();
                if task.place == Place::Away && task.run_queue == cpu && is_left_alone {
                    events.extend([false, true].map(|dies| Event::StopAway(cpu, at, dies)));
                }
                events.extend((!task.is_bound).then_some(Event::ChangeClass(cpu, at)));
                let active = (0..CPUS).filter(|cpu| !self.state.cpus[*cpu].is_leaving);
                let active = active.fold(0, |active, cpu| active | 1 << cpu);
                let others = (1..1 << CPUS).filter(|cpus| *cpus != task.cpus && cpus & active != 0);
                events.extend(others.map(|cpus| Event::Affine(cpu, at, cpus)));
            }
            Life::Forked | Life::Ending => {}
        }
    }

    /// The parts of the operation that an event or a step begins.
    fn parts_of(&mut self, event: Event) -> (usize, Vec<Part>) {
        match event {
            Event::Fork(cpu, task) => {
                let it = &mut self.state.tasks[task];
                it.life = Life::Forked;
                it.run_queue = cpu;
                let wake = [Part::LockRunQueueOf(task), Part::Enqueue(task), Part::UnlockRunQueue];
                (cpu, [&[Part::Lock(Section::Attach(task)), Part::Enable(task)][..], &wake].concat())
            }
            Event::Wake(cpu, task) => (cpu, under_run_queue_of(task, &[Part::Wake(task)])),
            Event::Block(cpu) | Event::Die(cpu) => (cpu, self.stop(cpu, matches!(event, Event::Die(_)))),
            Event::Exit(cpu, task) => (cpu, self.exit(task)),
            Event::Kill(cpu, task) => (cpu, vec![Part::Signal(task)]),
            Event::Starve(cpu, task) => (cpu, vec![Part::Rescue(task)]),
            Event::Holds(cpu, task) => (cpu, vec![Part::FindHolder(task)]),
            Event::MomentEnds(cpu) => (self.timekeeper_of(cpu), vec![Part::Lock(Section::EndMoment(cpu))]),
            Event::Affine(cpu, task, cpus) => {
                (cpu, under_run_queue_of(task, &[Part::Dequeue(task), Part::Affine(task, cpus)]))
            }
            Event::ChangeClass(cpu, task) if self.state.tasks[task].is_away => {
                (cpu, under_run_queue_of(task, &[Part::JoinClass(task)]))
            }
            Event::ChangeClass(cpu, task) => {
                (cpu, under_run_queue_of(task, &[Part::Dequeue(task), Part::LeaveClass(task)]))
            }
            Event::Bind(cpu) => (cpu, self.bind(cpu)),
            Event::Yield(cpu) => {
                let task = self.state.cpus[cpu].current.unwrap_or_default();
                (cpu, under_run_queue_of(task, &[Part::Lock(Section::Yield(task))]))
            }
            Event::Call(cpu, vp) => {
                let known = self.state.thread(vp).known;
                let call = known.map(|(task, incarnation)| Section::Call(task, vp, incarnation));
                (cpu, call.map(Part::Lock).into_iter().collect())
            }
            Event::TakeOver(cpu) => (cpu, (0..CPUS).map(Part::TakeOverTimer).collect()),
            Event::EndRun(cpu) => {
                self.state.is_ending = true;
                let end = |task| [Part::LockRunQueueOf(task), Part::EndRunFor(task)];
                (cpu, (0..self.state.tasks.len()).flat_map(end).collect())
            }
            Event::Dump(cpu) => (cpu, vec![Part::Seal]),
            Event::TimerGoesOff(cpu) => {
                self.state.cpus[cpu].timer = false;
                (cpu, vec![Part::DoErrands(0), Part::ChangeNotedCpus])
            }
            Event::LookForStarved(cpu) => {
                let look = self.has_leaving().then_some(Part::Lock(Section::LookForLeaving));
                let rescue = self.orders.rescues_stranded.then_some(Part::RescueStranded);
                let left = [Part::DoErrands(0), Part::ChangeNotedCpus];
                (cpu, look.into_iter().chain(left).chain(rescue).collect())
            }
            Event::LookForKicks(cpu) => (cpu, vec![Part::Lock(Section::LookForKicks)]),
            _ => self.parts_of_hotplug(event),
        }
    }

    /// The same, for a CPU that goes or comes.
    fn parts_of_hotplug(&mut self, event: Event) -> (usize, Vec<Part>) {
        match event {
            Event::Leave(cpu) => {
                self.state.cpus[cpu].is_leaving = true;
                self.state.cpus[cpu].is_going = true;
                (cpu, vec![])
            }
            Event::TellOffline(cpu) => {
                self.state.cpus[cpu].is_going = false;
                (cpu, vec![Part::Lock(Section::NoteCpu(false))])
            }
            Event::GoOff(cpu) => {
                let it = &mut self.state.cpus[cpu];
                it.is_off = true;
                // The kernel gives its timers to another CPU. Nothing here relies on that.
                let is_lost = std::mem::take(&mut it.timer);
                self.state.has_lost_a_timer |= is_lost && self.state.is_something_left();
                (cpu, vec![])
            }
            Event::Return(cpu) => {
                self.state.cpus[cpu].is_leaving = false;
                self.state.cpus[cpu].is_off = false;
                (cpu, vec![Part::Lock(Section::NoteCpu(true))])
            }
            _ => (0, vec![]),
        }
    }

    /// The thread of a CPU blocks, or ends. In another class our operations are not called.
    fn stop(&self, cpu: usize, dies: bool) -> Vec<Part> {
        let task = self.state.cpus[cpu].current.unwrap_or_default();
        let stop = (!self.state.tasks[task].is_away).then_some(Part::Lock(Section::Stop(task)));
        let rest = [Part::Blocked(task, dies), Part::Balance(None)];
        [Part::LockRunQueueOf(task)].into_iter().chain(stop).chain(rest).collect()
    }

    /// migrate_disable; or migrate_enable, behind which the kernel gives a thread all of its affinity back.
    fn bind(&mut self, cpu: usize) -> Vec<Part> {
        let task = self.state.cpus[cpu].current.unwrap_or_default();
        let it = &mut self.state.tasks[task];
        it.is_bound = !it.is_bound;
        match it.is_bound {
            true => vec![],
            false => under_run_queue_of(task, &[Part::Lock(Section::ChangeAffinity(task))]),
        }
    }

    /// sched_ext_free: behind hls_disable, if the thread is in the class, engine_exit_task.
    fn exit(&mut self, task: usize) -> Vec<Part> {
        self.state.tasks[task].life = Life::Ending;
        let disable = Part::Lock(Section::LeaveClass(task));
        let disable = (!self.state.tasks[task].is_away).then_some(disable);
        let exit = self.engine().exit_task(task);
        [Part::LockRunQueueOf(task)].into_iter().chain(disable).chain(exit).collect()
    }

    /// Whether a thread waits for a CPU that the engine gives.
    fn is_queued(&self, at: usize) -> bool {
        self.state.threads[self.state.tasks[at].stored.0 as usize % 8].is_queued
    }

    /// The CPU where the timer of a CPU goes off: the kernel gives the timers of one that is off to another one.
    fn timekeeper_of(&self, cpu: usize) -> usize {
        if self.state.cpus[cpu].is_off { 1 - cpu } else { cpu }
    }

    /// A moment that ends. A thread that was killed ends in it as soon as it has the CPU, and a holder
    /// lets its lock go.
    fn list_moments(&self, steps: &mut Vec<Event>) {
        for (cpu, it) in self.state.cpus.iter().enumerate().filter(|(_, it)| it.rescued != 0) {
            let thread = &self.state.threads[it.rescued as usize % 8];
            let is_its = |at: usize| self.state.tasks[at].vtime.0 == it.rescued.into();
            let is_on_its_way = |part: &Part| matches!(part, Part::FinishInsert(at, true, _) if is_its(*at));
            let will_have_it = it.local.iter().any(|at| is_its(*at)) || it.todo.iter().any(is_on_its_way);
            if thread.is_dying && self.state.has_urgent_on(cpu) {
                steps.extend(it.todo.is_empty().then_some(Event::Die(cpu)));
            } else if !(thread.is_urgent() && will_have_it)
                && self.state.has_interrupts_on(self.timekeeper_of(cpu))
            {
                steps.push(Event::MomentEnds(cpu));
            }
        }
    }

    /// Whether a CPU is about to go, and the core has it still.
    pub(crate) fn has_leaving(&self) -> bool {
        let offline = self.core.image().head.offline;
        (0..CPUS).any(|cpu| self.state.cpus[cpu].is_leaving && (offline >> cpu) & 1 == 0)
    }

    /// Whether a thread is stranded, and no CPU is to rescue it yet.
    fn has_stranded(&self) -> bool {
        let offline = self.core.image().head.offline as u8;
        let is_to_rescue = |vp: u32| self.state.cpus.iter().any(|cpu| u32::from(cpu.rescue) == vp);
        let waits = |vp: u32| self.state.threads[vp as usize].is_queued && !is_to_rescue(vp);
        let all = 0..self.state.threads.len() as u32;
        !self.state.was_sealed
            && all.into_iter().any(|vp| waits(vp) && is_stranded(&self.state, offline, CoreVp(vp)))
    }

    /// Whether a CPU has a thread that may not use it, while the thread's own CPUs have gone.
    fn has_misplaced(&self, cpu: usize) -> bool {
        let offline = self.core.image().head.offline as u8;
        let is_misplaced = |at: usize| {
            !self.state.may_use(at, cpu) && is_stranded(&self.state, offline, self.state.tasks[at].stored)
        };
        self.state.cpus[cpu].current.is_some_and(is_misplaced)
    }

    /// Timers that may go off now. Pulses come all the time, but do something only if something is left to do. The
    /// watcher goes off when nothing else happens, or where another one was lost.
    fn list_timers(&self, steps: &mut Vec<Event>) {
        // What is left where the lock is sealed is never done.
        let is_left = self.state.is_something_left() && !self.state.was_sealed;
        let looks = self.orders.looks_for_what_was_left && (is_left || self.has_leaving());
        let looks = looks && (self.state.has_lost_a_timer || steps.is_empty());
        let looks = looks || (self.has_stranded() && steps.is_empty() && self.orders.rescues_stranded);
        for cpu in (0..CPUS).filter(|cpu| self.state.has_interrupts_on(*cpu)) {
            if self.state.cpus[cpu].timer || (self.has_pulses && is_left) {
                steps.push(Event::TimerGoesOff(cpu));
            } else if looks {
                steps.push(Event::LookForStarved(cpu));
            }
        }
    }

    /// Steps that come when their time has come: nothing else waits for them, or only where that is said.
    pub(crate) fn is_late(step: Event) -> bool {
        matches!(step, Event::LookForStarved(_) | Event::LookForKicks(_))
    }
}

/// An operation under the lock of a thread's run queue.
fn under_run_queue_of(task: usize, parts: &[Part]) -> Vec<Part> {
    [&[Part::LockRunQueueOf(task)], parts, &[Part::UnlockRunQueue]].concat()
}

/// Whether a thread is alive and wants no CPU.
fn is_asleep(task: &Task) -> bool {
    task.life == Life::Alive && task.place == Place::Asleep
}

/// Lets a state's own hash make a key.
struct Hasher(Digest);

impl std::hash::Hasher for Hasher {
    fn finish(&self) -> u64 {
        self.0.key() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0.add((*byte).into()));
    }

    fn write_usize(&mut self, number: usize) {
        self.0.add(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.0.add(number as u64);
    }

    fn write_u32(&mut self, number: u32) {
        self.0.add(number.into());
    }
}

impl Model for Glue {
    type State = GlueState;
    type Step = Event;

    fn state(&self) -> GlueState {
        GlueState { core: self.core.snapshot(), state: self.state.clone() }
    }

    fn state_into(&self, other: &mut GlueState) {
        self.core.snapshot_into(&mut other.core);
        other.state.clone_from(&self.state);
    }

    fn set(&mut self, state: &GlueState) {
        self.core.restore(&state.core);
        self.state.clone_from(&state.state);
    }

    fn key(&mut self) -> u128 {
        let mut digest = Digest::default();
        add_core(&mut digest, &self.core.image());
        let mut hasher = Hasher(digest);
        self.state.hash(&mut hasher);
        hasher.0.key()
    }

    fn list_events(&mut self, events: &mut Vec<Event>) {
        if self.state.was_sealed || self.state.is_ending {
            return; // The run is over.
        }
        for cpu in (0..CPUS).filter(|cpu| self.state.cpus[*cpu].todo.is_empty()) {
            self.list_for_cpu(cpu, events);
        }
        events.retain(self.events);
    }

    fn list_due(&mut self, steps: &mut Vec<Event>) {
        let state = &self.state;
        // A CPU that idles looks at the queue of all CPUs when a kernel thread has had it for a moment.
        let looks_soon = |cpu: usize| {
            let it = &state.cpus[cpu];
            it.current.is_none() && !it.is_leaving && state.first_of_all(cpu).is_some()
        };
        let is_free = |cpu: usize| state.cpus[cpu].run_queue_held_by.is_none();
        for (cpu, it) in state.cpus.iter().enumerate() {
            let was_cut_short = state.threads[it.rescued as usize % 8].was_cut_short;
            if it.is_kicked && is_free(cpu) && !(was_cut_short && state.has_urgent_on(cpu)) {
                steps.push(Event::KickArrives(cpu));
            }
            if it.is_going && it.todo.is_empty() {
                steps.push(Event::TellOffline(cpu));
            }
            let is_empty = it.current.is_none() && it.local.is_empty();
            let is_vacated = is_empty && !state.has_queued(cpu);
            if it.is_leaving && !it.is_going && is_vacated && state.may_stop_machine() {
                steps.push(Event::GoOff(cpu));
            }
            let is_others = it.current.is_some_and(|current| state.tasks[current].is_away);
            match it.todo.last() {
                // The stopper takes away what runs, or would run, on a CPU that is leaving.
                None if it.is_leaving && state.has_to_push(cpu) => {}
                // Nor does it wait with a thread that was put where it may not be, since its own CPU went meanwhile.
                None if self.has_misplaced(cpu) => {}
                Some(part) if is_enabled(state, cpu, *part) => steps.push(Event::Go(cpu)),
                None if is_others => {}
                None if (it.resched || looks_soon(cpu)) && is_free(cpu) => steps.push(Event::Schedule(cpu)),
                _ => {}
            }
        }
        for (at, task) in state.tasks.iter().enumerate() {
            match task.place {
                Place::Deferred(on) if is_free(task.run_queue) && is_free(on) => {
                    steps.push(Event::RunDeferred(at));
                }
                Place::Current(cpu) | Place::Local(cpu)
                    if is_free(cpu) && state.cpus[cpu].todo.is_empty() =>
                {
                    let must_go = state.must_push(at, cpu) || !state.may_use(at, cpu);
                    steps.extend(must_go.then_some(Event::Migrate(cpu, at)));
                }
                _ => {}
            }
        }
        if self.core.kick() as u8 & !state.kicked != 0 && state.lock == Lock::Free {
            let calls =
                (0..CPUS).filter(|cpu| !state.cpus[*cpu].is_leaving && state.cpus[*cpu].todo.is_empty());
            steps.extend(calls.map(Event::LookForKicks));
        }
        self.list_moments(steps);
        self.list_timers(steps);
    }

    fn describe(&self, event: Event) -> String {
        match event {
            Event::Go(cpu) => {
                let part = self.state.cpus[cpu].todo.last();
                part.map_or_else(|| event.to_string(), |part| format!("  CPU {cpu}: {part:?}"))
            }
            _ => event.to_string(),
        }
    }

    fn perform(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Go(cpu) => {
                self.engine().go(cpu)?;
                self.go_on_in_private(cpu)?;
            }
            Event::KickArrives(cpu) => self.state.kick_arrives(cpu),
            Event::Schedule(cpu) => {
                self.engine().schedule(cpu);
                self.go_on_in_private(cpu)?;
            }
            Event::RunDeferred(task) => self.engine().run_deferred(task)?,
            Event::Migrate(cpu, task) => self.engine().push(cpu, task),
            Event::SliceEnds(cpu) => self.state.kick(1 << cpu),
            Event::StopAway(_, task, dies) => {
                let it = &mut self.state.tasks[task];
                it.place = Place::Asleep;
                it.life = if dies { Life::Dead } else { it.life };
            }
            _ => {
                let (cpu, parts) = self.parts_of(event);
                self.state.next(cpu, &parts);
            }
        }
        if self.state.was_sealed && self.state.lock != Lock::Sealed {
            return Err("an unlock has undone the seal of another CPU".into());
        }
        debug_assert!(self.core.image().head.now_ns == NOW.0);
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        self.check_queues()?;
        let mut due = vec![];
        self.list_due(&mut due);
        if self.state.was_sealed || due.iter().any(|step| !Glue::is_late(*step)) {
            return Ok(());
        }
        self.check_noted()?;
        if due.is_empty() { self.check_rest() } else { Ok(()) }
    }
}
