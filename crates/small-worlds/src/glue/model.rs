//! The model as a whole: what may happen, what each CPU can do next, and what must hold.

use crate::glue::engine::{Engine, NOW, Orders};
use crate::glue::kernel::{is_enabled, is_private};
use crate::glue::state::{CPUS, Life, Lock, Part, Place, Section, State, TASKS, Task, VPS};
use crate::scheduling::add_core;
use crate::states::{Digest, Model};
use hls_core::{Calls, Core, CoreVp, Image, Params, Snapshot, VpState, policies};
use std::fmt;
use std::hash::Hash;

/// Something that happens, on a CPU that is in the middle of nothing; or a step that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The CPU forks a thread, which wakes up then.
    Fork(usize, usize),
    /// The CPU wakes a thread up.
    Wake(usize, usize),
    /// The CPU's thread blocks.
    Block(usize),
    /// The CPU's thread ends.
    Die(usize),
    /// The CPU forgets a thread that has ended (`sched_ext_free`).
    Exit(usize, usize),
    /// The CPU gives a thread another affinity.
    Affine(usize, usize, u8),
    /// The slice of the CPU's thread is over.
    SliceEnds(usize),
    /// The CPU's thread yields.
    Yield(usize),
    /// On this CPU, user space changes the priority of the thread that it knows by this VP.
    Call(usize, CoreVp),
    /// The kernel begins to empty the CPU.
    Leave(usize),
    /// The CPU is back.
    Return(usize),
    /// The kernel tells the engine that the CPU goes offline.
    TellOffline(usize),
    /// On this CPU, sched_ext asks for a dump before it ends the run.
    Dump(usize),
    /// The CPU goes on.
    Go(usize),
    /// A kick of the CPU takes effect.
    KickArrives(usize),
    /// The CPU looks for what to run.
    Schedule(usize),
    /// A thread that was inserted for another CPU arrives there.
    RunDeferred(usize),
    /// The kernel takes a thread away from a CPU that it may not use any more.
    Migrate(usize, usize),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::Fork(cpu, task) => write!(f, "CPU {cpu}: fork of thread {task}"),
            Event::Wake(cpu, task) => write!(f, "CPU {cpu}: wakes thread {task}"),
            Event::Block(cpu) => write!(f, "CPU {cpu}: its thread blocks"),
            Event::Die(cpu) => write!(f, "CPU {cpu}: its thread ends"),
            Event::Exit(cpu, task) => write!(f, "CPU {cpu}: forgets thread {task}, which has ended"),
            Event::Affine(cpu, task, cpus) => write!(f, "CPU {cpu}: binds thread {task} to CPUs {cpus:#b}"),
            Event::SliceEnds(cpu) => write!(f, "CPU {cpu}: the slice of its thread is over"),
            Event::Yield(cpu) => write!(f, "CPU {cpu}: its thread yields"),
            Event::Call(cpu, vp) => {
                write!(f, "CPU {cpu}: user space changes the priority of VP {}", vp.0)
            }
            Event::Leave(cpu) => write!(f, "CPU {cpu}: the kernel begins to empty it"),
            Event::Return(cpu) => write!(f, "CPU {cpu}: is back"),
            Event::TellOffline(cpu) => write!(f, "  CPU {cpu}: goes offline"),
            Event::Dump(cpu) => write!(f, "CPU {cpu}: dump"),
            Event::Go(cpu) => write!(f, "  CPU {cpu}: goes on"),
            Event::KickArrives(cpu) => write!(f, "  CPU {cpu}: the kick takes effect"),
            Event::Schedule(cpu) => write!(f, "  CPU {cpu}: schedules"),
            Event::RunDeferred(task) => {
                write!(f, "  thread {task} arrives in the queue for which it was inserted")
            }
            Event::Migrate(cpu, task) => write!(f, "  CPU {cpu}: the stopper moves thread {task} away"),
        }
    }
}

/// A copy of the model's state.
pub struct GlueState {
    core: Snapshot,
    state: State,
}

/// The engine's glue, the kernel around it, and the core.
pub struct Glue {
    core: Core,
    state: State,
    orders: Orders,
    may_dump: bool,
    may_leave: bool,
    may_be_late: bool,
    checks_maps: bool,
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
        Ok(Glue {
            core,
            state: State::empty(),
            orders,
            may_dump: false,
            may_leave: true,
            may_be_late: true,
            checks_maps: true,
        })
    }

    /// The same, where sched_ext may ask for a dump, which seals the lock: once in a sequence.
    pub fn with_dumps(self) -> Glue {
        Glue { may_dump: true, ..self }
    }

    /// The same, where no CPU goes offline: many fewer states.
    pub fn without_hotplug(self) -> Glue {
        Glue { may_leave: false, ..self }
    }

    /// The same, where a thread that is granted a CPU must not be in another CPU's queue, not even until the slice of
    /// the thread there is over.
    pub fn without_delays(self) -> Glue {
        Glue { may_be_late: false, ..self }
    }

    /// The same, where a VP may lead to a wrong thread: only what comes of that counts.
    pub fn without_maps(self) -> Glue {
        Glue { checks_maps: false, ..self }
    }

    /// The states from which sequences begin: two threads run; a third one waits; and one of the three has ended, and
    /// nobody has forgotten it yet. To be called once.
    ///
    /// # Errors
    /// What is broken on the way there.
    pub fn starts(&mut self) -> Result<[GlueState; 3], String> {
        let mut fork = |task| {
            self.perform(Event::Fork(0, task))?;
            self.settle()?;
            Ok::<GlueState, String>(self.state())
        };
        fork(0)?;
        let (two, three) = (fork(1)?, fork(2)?);
        self.perform(Event::Die(1))?;
        self.settle()?;
        Ok([two, three, self.state()])
    }

    /// Takes the steps that are due, the first of them first, until none is.
    fn settle(&mut self) -> Result<(), String> {
        loop {
            let mut due = vec![];
            self.list_due(&mut due);
            let Some(step) = due.first() else { return self.check() };
            self.perform(*step)?;
        }
    }

    fn engine(&mut self) -> Engine<'_> {
        Engine { core: &mut self.core, state: &mut self.state, orders: self.orders }
    }

    /// Does the parts that come next as long as no other CPU can see or hinder them: so there is nothing to interleave.
    fn go_on_in_private(&mut self, cpu: usize) -> Result<(), String> {
        while let Some(part) = self.state.cpus[cpu].todo.last().copied() {
            // Nobody but a dump sees that the engine's lock is held: the work under it might as well begin later.
            let is_private = is_private(part) || (matches!(part, Part::Do(_)) && !self.may_dump);
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
        match it.is_leaving {
            // The kernel ends the one before it begins the other.
            true if it.is_going || it.current.is_some() || !it.local.is_empty() => return,
            true => {
                events.push(Event::Return(cpu));
                return;
            }
            false if self.may_leave && self.state.cpus.iter().all(|cpu| !cpu.is_leaving) => {
                events.push(Event::Leave(cpu));
            }
            false => {}
        }
        if self.state.cpus[cpu].current.is_some() {
            events.extend([Event::Block(cpu), Event::Die(cpu), Event::SliceEnds(cpu), Event::Yield(cpu)]);
        }
        for (at, task) in self.state.tasks.iter().enumerate() {
            match task.life {
                // While somebody holds a reference to the thread that was there, its memory is no other thread's.
                Life::Absent if self.state.is_referred_to(at) || self.has_all_vps() => {}
                Life::Absent => events.push(Event::Fork(cpu, at)),
                Life::Dead => events.push(Event::Exit(cpu, at)),
                Life::Alive => {
                    if task.place == Place::Asleep {
                        events.push(Event::Wake(cpu, at));
                    }
                    let active = (0..CPUS).filter(|cpu| !self.state.cpus[*cpu].is_leaving);
                    let active = active.fold(0, |active, cpu| active | 1 << cpu);
                    let others = (1..1 << CPUS).filter(|cpus| *cpus != task.cpus && cpus & active != 0);
                    events.extend(others.map(|cpus| Event::Affine(cpu, at, cpus)));
                }
                Life::Forked | Life::Ending => {}
            }
        }
        for (vp, thread) in (0..).zip(&self.state.threads) {
            if thread.known.is_some() {
                events.push(Event::Call(cpu, CoreVp(vp)));
            }
        }
        if self.may_dump {
            events.push(Event::Dump(cpu));
        }
    }

    /// The parts of the operation that an event begins.
    fn parts_of(&mut self, event: Event) -> (usize, Vec<Part>) {
        match event {
            Event::Fork(cpu, task) => {
                let it = &mut self.state.tasks[task];
                it.life = Life::Forked;
                it.run_queue = cpu;
                let wake = [Part::LockRunQueueOf(task), Part::Enqueue(task), Part::UnlockRunQueue];
                (cpu, [&[Part::Lock(Section::Attach(task)), Part::Enable(task)][..], &wake].concat())
            }
            Event::Wake(cpu, task) => {
                (cpu, vec![Part::LockRunQueueOf(task), Part::Enqueue(task), Part::UnlockRunQueue])
            }
            Event::Block(cpu) | Event::Die(cpu) => {
                let task = self.state.cpus[cpu].current.unwrap_or_default();
                let stop = Part::Lock(Section::Stop(task, true));
                let dies = matches!(event, Event::Die(_));
                let parts =
                    [Part::LockRunQueueOf(task), stop, Part::Blocked(task, dies), Part::Balance(None)];
                (cpu, parts.to_vec())
            }
            Event::Exit(cpu, task) => (cpu, self.exit(task)),
            Event::Affine(cpu, task, cpus) => {
                let change = [Part::Dequeue(task), Part::Affine(task, cpus)];
                (cpu, [&[Part::LockRunQueueOf(task)], &change[..], &[Part::UnlockRunQueue]].concat())
            }
            Event::Yield(cpu) => {
                let task = self.state.cpus[cpu].current.unwrap_or_default();
                let parts = [Part::LockRunQueueOf(task), Part::Lock(Section::Yield(task))];
                (cpu, [&parts[..], &[Part::UnlockRunQueue]].concat())
            }
            Event::Call(cpu, vp) => {
                let known = self.state.thread(vp).known;
                let call = known.map(|(task, incarnation)| Section::Call(task, vp, incarnation));
                (cpu, call.map(Part::Lock).into_iter().collect())
            }
            Event::Leave(cpu) => {
                self.state.cpus[cpu].is_leaving = true;
                self.state.cpus[cpu].is_going = true;
                (cpu, vec![])
            }
            Event::TellOffline(cpu) => {
                self.state.cpus[cpu].is_going = false;
                (cpu, vec![Part::Lock(Section::ChangeCpu(false))])
            }
            Event::Return(cpu) => {
                self.state.cpus[cpu].is_leaving = false;
                (cpu, vec![Part::Lock(Section::ChangeCpu(true))])
            }
            Event::Dump(cpu) => (cpu, vec![Part::Seal]),
            _ => (0, vec![]),
        }
    }

    /// engine_exit_task, bpf/threads.h, behind engine_disable, under the lock of the thread's run queue.
    fn exit(&mut self, task: usize) -> Vec<Part> {
        self.state.tasks[task].life = Life::Ending;
        let vp = self.state.tasks[task].stored;
        let mut parts = vec![Part::LockRunQueueOf(task), Part::Lock(Section::Stop(task, false))];
        parts.extend(self.orders.exit_drops_first.then_some(Part::DropTask(vp)));
        parts.extend([Part::Lock(Section::Detach(task)), Part::Forget(task), Part::UnlockRunQueue]);
        parts
    }

    fn check_thread(&self, at: usize, image: &Image<'_>) -> Result<(), String> {
        let task = &self.state.tasks[at];
        let vp = task.stored;
        let thread = &self.state.threads[vp.0 as usize];
        if self.checks_maps && (task.vtime != vp || thread.task != Some(at)) {
            return Err(format!("VP {} is that of thread {at}, and leads to thread {:?}", vp.0, thread.task));
        }
        let state = self.core.state(vp);
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

    /// What must hold when each CPU has done what it was about to do.
    fn check_rest(&mut self) -> Result<(), String> {
        if let Some(cpu) = (0..CPUS).find(|cpu| !self.state.cpus[*cpu].todo.is_empty()) {
            return Err(format!("CPU {cpu} waits for a lock for ever"));
        }
        let will_look = |cpu: &usize| {
            let current = self.state.cpus[*cpu].current;
            self.may_be_late && current.is_some_and(|current| self.state.tasks[current].is_refilled)
        };
        let leaving = (0..CPUS).filter(|cpu| self.state.cpus[*cpu].is_leaving || will_look(cpu));
        let forgotten = self.core.kick() & !leaving.fold(0, |leaving, cpu| leaving | 1 << cpu);
        if forgotten != 0 {
            return Err(format!("decisions are due on the CPUs {forgotten:#b}, and nobody takes them"));
        }
        if self.core.kick() == 0 {
            self.core.check().map_err(|fault| fault.to_string())?;
        }
        let image = self.core.image();
        let alive = |at: &usize| self.state.tasks[*at].life == Life::Alive;
        (0..TASKS).filter(alive).try_for_each(|at| self.check_thread(at, &image))?;
        for (vp, thread) in self.state.threads.iter().enumerate() {
            let owner = self.state.tasks.iter().position(|task| task.stored.0 as usize == vp && vp != 0);
            if self.checks_maps && thread.task.is_some() && thread.task != owner {
                return Err(format!("VP {vp} leads to thread {:?}, and is that of {owner:?}", thread.task));
            }
        }
        Ok(())
    }
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
        if self.state.was_sealed {
            return; // The run is over.
        }
        for cpu in (0..CPUS).filter(|cpu| self.state.cpus[*cpu].todo.is_empty()) {
            self.list_for_cpu(cpu, events);
        }
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
            if it.is_kicked && is_free(cpu) {
                steps.push(Event::KickArrives(cpu));
            }
            if it.is_going && it.todo.is_empty() {
                steps.push(Event::TellOffline(cpu));
            }
            match it.todo.last() {
                // The stopper takes away what runs, or would run, on a CPU that is leaving.
                None if it.is_leaving && (it.current.is_some() || !it.local.is_empty()) => {}
                Some(part) if is_enabled(state, cpu, *part) => steps.push(Event::Go(cpu)),
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
                    let must_go = state.cpus[cpu].is_leaving || !state.may_use(at, cpu);
                    steps.extend(must_go.then_some(Event::Migrate(cpu, at)));
                }
                _ => {}
            }
        }
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
        let mut due = vec![];
        self.list_due(&mut due);
        if !due.is_empty() || self.state.was_sealed {
            return Ok(());
        }
        self.check_rest()
    }
}
