//! What the model knows besides the core: the kernel's threads, run queues and locks; the engine's maps, lock and words
//! about threads; and for each CPU what it is about to do.

use hls_core::CoreVp;

/// CPUs.
pub(crate) const CPUS: usize = 2;

/// VPs of threads: there are no more threads, except those that have given their VPs back.
pub(crate) const VPS: usize = 3;

/// Threads that the kernel can have in memory: one has given its VP back already while another one comes.
pub(crate) const TASKS: usize = VPS + 1;

/// Why a thread is urgent (`hurry()`, bpf/urgent.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Urgency {
    /// It has been told to end.
    Ends,
    /// It holds a lock of the kernel's.
    Holds,
    /// It was urgent, and waits for a CPU again.
    GoesOn,
}

/// What a section does under the engine's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// `engine_init_task`: attaches a VP for a new thread.
    Attach(usize),
    /// `engine_exit_task`: detaches the VP of a thread, or leaves an errand to do so.
    Detach(usize),
    /// `engine_enqueue`: requests a thread's VP.
    Enqueue(usize),
    /// `stop`, by `engine_quiescent`: releases the VP of a thread, which blocks.
    Stop(usize),
    /// `leave_queue`, by `engine_quiescent`: the kernel is about to change a thread's properties.
    LeaveQueue(usize),
    /// `leave_class`, by `hls_disable`: leaves an errand about a thread that wants no CPU of the class any more.
    LeaveClass(usize),
    /// `change_affinity`, by `hls_set_cpumask`: leaves an errand about a thread's affinity.
    ChangeAffinity(usize),
    /// What [`Back::Enable`](crate::glue::Back::Enable) has `hls_enable` do: takes the errand back.
    TakeBack(usize),
    /// `do_first_errand`; whether it is the last of a row.
    FirstErrand(bool),
    /// `engine_dispatch`: the CPU decides. The thread that ran there, if it is runnable.
    Dispatch(Option<usize>),
    /// `engine_yielded`: a thread lets others go first.
    Yield(usize),
    /// `note_cpu`, by `hls_cpu_offline` and `hls_cpu_online`, on the CPU itself: whether it is back.
    NoteCpu(bool),
    /// `change_noted_cpu`: tells the core of one CPU.
    ChangeNotedCpu,
    /// What [`Noted::TakenFirst`](crate::glue::Noted::TakenFirst) has done instead: tells the core of this CPU, and
    /// whether it is back.
    ChangeCpu(usize, bool),
    /// `look_for_leaving`: notes the CPUs that are about to go.
    LookForLeaving,
    /// `hurry`: the thread of a VP is urgent; it is checked that the VP still belongs to that thread.
    Hurry(CoreVp, (usize, u8), Urgency),
    /// `act_on_time` on a CPU that a thread has for a moment: the moment is over, or the thread has let its lock go.
    EndMoment(usize),
    /// `put_off_kicks`: leaves kicks of these CPUs to a later section.
    PutOffKicks(u8),
    /// `make_call`, ten times a second, to make kicks that were put off.
    LookForKicks,
    /// `make_call`: user space changes the priority of the VP that, as far as it knows, a thread has.
    Call(usize, CoreVp, u8),
}

/// An atomic part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Takes the lock of the run queue that a thread is on (`task_rq_lock`).
    LockRunQueueOf(usize),
    /// Releases the locks of run queues that the CPU holds.
    UnlockRunQueue,
    /// `lock()`: takes the engine's lock. What follows under it.
    Lock(Section),
    /// What the section does, and `unlock()`.
    Do(Section),
    /// `kick()`: kicks these CPUs.
    Kick(u8),
    /// `*task_vp = v` in `engine_init_task`.
    StoreVp(usize, CoreVp),
    /// `keep_task()`.
    KeepTask(usize, CoreVp),
    /// `drop_task()`.
    DropTask(CoreVp),
    /// `hls_enable`, which the kernel calls next: the thread is alive, and in the class.
    Enable(usize),
    /// `do_errands`: goes on while there are errands; how many of a row were done.
    DoErrands(u8),
    /// `change_noted_cpus`: goes on while there are CPUs that were noted.
    ChangeNotedCpus,
    /// Another engine takes over a CPU's timer (`bpf_timer_set_callback` in `take_over_timers`).
    TakeOverTimer(usize),
    /// The kernel puts a thread into another class (`sched_setscheduler`), and calls `hls_disable`.
    LeaveClass(usize),
    /// The kernel puts a thread back into the class, and calls `hls_enable`.
    JoinClass(usize),
    /// The run ends for a thread, if it is there still: it leaves the class for good (`scx_disable_workfn`).
    EndRunFor(usize),
    /// The thread's end in the kernel, behind `engine_exit_task`.
    Forget(usize),
    /// The kernel takes a queued thread out of whatever queue it is in, to change it (`dequeue_task_scx`).
    Dequeue(usize),
    /// The kernel changes a thread's affinity (`set_cpus_allowed_common`).
    Affine(usize, u8),
    /// `try_to_wake_up`, under the lock: wakes the thread, unless it was woken meanwhile.
    Wake(usize),
    /// The kernel queues the thread again.
    Requeue(usize),
    /// The kernel moves a queued thread to a run queue that it may be on (`move_queued_task`).
    Move(usize),
    /// `enqueue_task_scx`, on the run queue that the thread is on: calls `engine_enqueue`.
    Enqueue(usize),
    /// The end of `enqueue_task_scx`: without a direct insert, the thread stays with the engine.
    Enqueued(usize),
    /// `insert(p, SCX_DSQ_LOCAL_ON | cpu)` in `engine_enqueue`.
    InsertOn(usize, usize),
    /// Inserts a thread, if it may use the CPU.
    InsertIfAllowed(usize),
    /// `insert(p, SCX_DSQ_LOCAL)` in `engine_dispatch`: notes the thread and the number of its enqueueing.
    Insert(usize),
    /// `finish_dispatch`: the insert takes effect, unless the thread was dequeued since; for which CPU.
    FinishInsert(usize, bool, usize),
    /// What `balance_one` does behind `engine_dispatch`; whether that has inserted a thread.
    AfterDispatch(Option<usize>, bool),
    /// `scx_bpf_task_set_slice` in `engine_dispatch`: the thread goes on.
    SetSlice(usize),
    /// The CPU takes the first thread of its local queue.
    Pick,
    /// `hls_running`: a thread is on this CPU.
    Running(usize),
    /// The CPU looks for what to run (`balance_one`); the thread that ran, if it is runnable.
    Balance(Option<usize>),
    /// The current thread blocks: it is on no run queue any more. Whether that is its end.
    Blocked(usize, bool),
    /// `seal()` by `hls_dump`.
    Seal,
    /// `let_all_end`, of one thread: finds the thread's VP.
    Signal(usize),
    /// `look_at_stalled`, without the lock: finds a thread that holds a lock.
    FindHolder(usize),
    /// The end of `engine_enqueue`: an urgent thread is to have a CPU.
    LookAtUrgent(usize),
    /// `rescue_starved`, without the lock: has a CPU rescue a thread that has waited for long.
    Rescue(usize),
    /// The same, of threads that are stranded.
    RescueStranded,
}

/// Where a thread is, for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// It wants no CPU.
    Asleep,
    /// It is being queued: `engine_enqueue` has been called, or is about to be.
    Queueing,
    /// In none of the kernel's queues: the engine has it.
    WithEngine,
    /// On its way to the local queue of another run queue's CPU.
    Deferred(usize),
    /// In the local queue of a CPU.
    Local(usize),
    /// In the queue of all CPUs, where sched_ext puts a thread that was inserted for a CPU that is leaving.
    Global,
    /// In another class: it wants a CPU, or has one, and our class does not hear of it.
    Away,
    /// It has this CPU.
    Current(usize),
    /// Taken out of its queue by this CPU, to be changed or moved (`task_on_rq_migrating`).
    Moving(usize),
}

/// How far a thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    /// There is none.
    Absent,
    /// It is being made.
    Forked,
    Alive,
    /// It has blocked for the last time.
    Dead,
    /// It is being forgotten.
    Ending,
}

/// A thread, as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Task {
    pub life: Life,
    pub place: Place,
    /// The run queue that it is on.
    pub run_queue: usize,
    /// `cpus_ptr`, a bit for each CPU.
    pub cpus: u8,
    /// `dsq_vtime`: what `vp_of()` returns.
    pub vtime: CoreVp,
    /// The thread's VP in the map `task_vps`.
    pub stored: CoreVp,
    /// It is in another class.
    pub is_away: bool,
    /// It may not leave the CPU where it is (`migration_disabled`).
    pub is_bound: bool,
    /// Whether any of its slice is left.
    pub has_slice: bool,
    /// It got its slice while it ran, by an insert that comes too late to have another effect: a kick that came before
    /// is forgotten until that slice is over.
    pub is_refilled: bool,
    /// Which of the threads that had this place in the list: the earlier ones are gone.
    pub incarnation: u8,
}

/// A CPU, as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cpu {
    pub current: Option<usize>,
    /// The local queue.
    pub local: Vec<usize>,
    /// It is to look for what to run.
    pub resched: bool,
    /// It was kicked, and will notice as soon as the lock of its run queue is free.
    pub is_kicked: bool,
    /// The kernel empties it, or has done so (`balance_push_set`, and `cpu_active` is false): it calls no dispatch
    /// there, and no enqueue for its run queue.
    pub is_leaving: bool,
    /// `hls_cpu_offline` is still to be called.
    pub is_going: bool,
    /// It is off (not in `cpu_online_mask`): what it sends itself never arrives.
    pub is_off: bool,
    /// Its timer was started with no delay, and goes off as soon as interrupts are on.
    pub timer: bool,
    /// Which engine's function that timer calls.
    pub engine: u8,
    /// The VP of a thread that it is to rescue; 0: none.
    pub rescue: u8,
    /// The VP of a thread that has it for a moment, without a grant; 0: none.
    pub rescued: u8,
    /// The VPs of urgent threads that wait for such a moment, the first one last: those that end, and holders.
    pub urgent: [Vec<u8>; 2],
    /// The list from which the next urgent thread comes, if it has any.
    pub urgent_turn: u8,
    /// The CPU that holds the lock of its run queue.
    pub run_queue_held_by: Option<usize>,
    /// The parts of operations that it is about to do, the next one last.
    pub todo: Vec<Part>,
}

/// What the engine knows of a VP's thread (`struct engine_thread`), and what user space knows of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    /// `pid`: which thread, and which incarnation of it.
    pub of: Option<(usize, u8)>,
    pub cpus: u8,
    /// Whether `queued_at_ns` is set.
    pub is_queued: bool,
    /// It has been told to end.
    pub is_dying: bool,
    /// It holds a lock of the kernel's that others wait for.
    pub is_holder: bool,
    /// It is in the list `urgent` of some CPU.
    pub is_listed: bool,
    /// Not in the engine: a kick that came late has cut its moment short. That happens once: a moment is a millisecond.
    pub was_cut_short: bool,
    /// What is left to do about it: `LEAVE`, `GO`, `BIND`.
    pub errands: u8,
    /// `next_errand`: the VP behind it in the list, if it is there.
    pub next: u8,
    /// Not in the engine: the thread that the errands are about.
    pub about: Option<(usize, u8)>,
    /// The map `tasks`: what `thread_of()` returns.
    pub task: Option<usize>,
    /// The thread that user space may take for the VP's, since it saw it here last.
    pub known: Option<(usize, u8)>,
}

impl Thread {
    /// `is_urgent()`, bpf/urgent.h.
    pub(crate) fn is_urgent(&self) -> bool {
        self.is_dying || self.is_holder
    }
}

/// The engine's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lock {
    Free,
    Held(usize),
    Sealed,
}

/// The state of the model, without the core.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub tasks: [Task; TASKS],
    pub cpus: [Cpu; CPUS],
    /// By the numbers of VPs: there are a few more numbers than threads.
    pub threads: [Thread; 8],
    pub lock: Lock,
    /// Whether some CPU has sealed the lock.
    pub was_sealed: bool,
    /// The CPU that had the lock then: it may end its section.
    pub sealed_while_held_by: Option<usize>,
    /// `domain->kicked`.
    pub kicked: u8,
    /// `domain->first_errand` and `last_errand`.
    pub first_errand: u8,
    pub last_errand: u8,
    /// `domain->cpus_gone` and `cpus_back`.
    pub cpus_gone: u8,
    pub cpus_back: u8,
    /// Not in the engine: a timer could not be started, or was lost with its CPU, so that what it was to do waits for
    /// the watcher.
    pub has_lost_a_timer: bool,
    /// The run ends, without an error: sched_ext only asks the engine to let go of its threads.
    pub is_ending: bool,
}

/// The thread has left the class, and wants no CPU of it (`enum errand`).
pub(crate) const LEAVE: u8 = 1;
/// The thread has gone: its VP is to be detached.
pub(crate) const GO: u8 = 2;
/// The thread has another affinity.
pub(crate) const BIND: u8 = 4;

impl State {
    /// No thread, two idle CPUs.
    pub(crate) fn empty() -> State {
        let task = Task {
            life: Life::Absent,
            place: Place::Asleep,
            run_queue: 0,
            cpus: (1 << CPUS) - 1,
            vtime: CoreVp::NONE,
            stored: CoreVp::NONE,
            is_away: false,
            is_bound: false,
            has_slice: false,
            is_refilled: false,
            incarnation: 0,
        };
        let cpu = || Cpu {
            current: None,
            local: vec![],
            resched: false,
            is_kicked: false,
            is_leaving: false,
            is_going: false,
            is_off: false,
            timer: false,
            engine: 0,
            rescue: 0,
            rescued: 0,
            urgent: [vec![], vec![]],
            urgent_turn: 0,
            run_queue_held_by: None,
            todo: vec![],
        };
        State {
            tasks: [task; TASKS],
            cpus: [cpu(), cpu()],
            threads: [Thread::default(); 8],
            lock: Lock::Free,
            was_sealed: false,
            sealed_while_held_by: None,
            kicked: 0,
            first_errand: 0,
            last_errand: 0,
            cpus_gone: 0,
            cpus_back: 0,
            has_lost_a_timer: false,
            is_ending: false,
        }
    }

    pub(crate) fn thread(&mut self, vp: CoreVp) -> &mut Thread {
        &mut self.threads[vp.0 as usize % 8]
    }

    /// The thread is enqueued anew, or taken out of its queue: inserts that noted its enqueueing have no effect.
    pub(crate) fn forget_inserts(&mut self, task: usize) {
        for part in self.cpus.iter_mut().flat_map(|cpu| &mut cpu.todo) {
            if let Part::FinishInsert(inserted, is_valid, _) = part {
                *is_valid &= *inserted != task;
            }
        }
    }

    /// Puts parts before those that a CPU is about to do; they are done in the order given.
    pub(crate) fn next(&mut self, cpu: usize, parts: &[Part]) {
        self.cpus[cpu].todo.extend(parts.iter().rev());
    }

    /// Whether a CPU is about to do something to a thread.
    pub(crate) fn is_referred_to(&self, task: usize) -> bool {
        let mut parts = self.cpus.iter().flat_map(|cpu| &cpu.todo);
        parts.any(|part| match *part {
            Part::LockRunQueueOf(of)
            | Part::Dequeue(of)
            | Part::LeaveClass(of)
            | Part::JoinClass(of)
            | Part::Affine(of, _)
            | Part::Requeue(of)
            | Part::Move(of)
            | Part::Insert(of)
            | Part::InsertIfAllowed(of)
            | Part::FinishInsert(of, ..)
            | Part::Signal(of)
            | Part::Lock(Section::Hurry(_, (of, _), _)) => of == task,
            _ => false,
        })
    }

    /// The run queue for a thread: one that it may be on, of a CPU that is not leaving (`select_task_rq`).
    pub(crate) fn queue_for(&self, task: usize) -> Option<usize> {
        let it = &self.tasks[task];
        let may_be_on = |queue: &usize| self.may_use(task, *queue) && !self.cpus[*queue].is_leaving;
        [it.run_queue].into_iter().chain(0..CPUS).find(may_be_on)
    }

    /// A thread in the queue of all CPUs that may use this CPU.
    pub(crate) fn first_of_all(&self, cpu: usize) -> Option<usize> {
        (0..TASKS).find(|task| self.tasks[*task].place == Place::Global && self.may_use(*task, cpu))
    }

    /// Whether a thread may use a CPU.
    pub(crate) fn may_use(&self, task: usize, cpu: usize) -> bool {
        let it = &self.tasks[task];
        if it.is_bound { it.run_queue == cpu } else { (it.cpus >> cpu) & 1 == 1 }
    }

    /// Whether the kernel takes a thread off this CPU, which is leaving: the thread may leave it.
    pub(crate) fn must_push(&self, task: usize, cpu: usize) -> bool {
        self.cpus[cpu].is_leaving && !self.tasks[task].is_bound
    }

    /// Whether there is such a thread.
    pub(crate) fn has_to_push(&self, cpu: usize) -> bool {
        let it = &self.cpus[cpu];
        it.local.iter().chain(&it.current).any(|task| self.must_push(*task, cpu))
    }

    /// Whether a thread without a CPU is on the CPU's run queue: the kernel waits for it to leave
    /// (balance_hotplug_wait).
    pub(crate) fn has_queued(&self, cpu: usize) -> bool {
        let waits = |place| !matches!(place, Place::Asleep | Place::Away | Place::Current(_));
        self.tasks.iter().any(|task| task.run_queue == cpu && waits(task.place))
    }

    /// Whether something is noted that a timer is to do.
    pub(crate) fn is_something_left(&self) -> bool {
        self.first_errand != 0 || self.cpus_gone | self.cpus_back != 0
    }

    /// Whether an interrupt of this CPU may call a timer's function: nothing goes on there with interrupts off. A
    /// program that makes a thread has them on.
    pub(crate) fn has_interrupts_on(&self, cpu: usize) -> bool {
        let it = &self.cpus[cpu];
        !it.is_off && matches!(it.todo.last(), None | Some(Part::KeepTask(..)))
    }

    /// Whether a CPU is off, or goes or comes: the kernel ends the one before it begins the other.
    pub(crate) fn is_a_cpu_changing(&self) -> bool {
        let tells =
            |part: &Part| matches!(part, Part::Lock(Section::NoteCpu(_)) | Part::Do(Section::NoteCpu(_)));
        self.cpus.iter().any(|cpu| cpu.is_leaving || cpu.todo.iter().any(tells))
    }

    /// Whether all CPUs can stop what they do, for one of them to go off (`stop_machine`): no interrupt is on its way.
    pub(crate) fn may_stop_machine(&self) -> bool {
        let is_deferred = |task: &Task| matches!(task.place, Place::Deferred(_));
        (0..CPUS).all(|cpu| self.has_interrupts_on(cpu) && !self.cpus[cpu].is_kicked)
            && !self.tasks.iter().any(is_deferred)
    }

    /// scx_bpf_kick_cpu: an interrupt will do the rest, unless the run ends (scx_rq_bypassing).
    pub(crate) fn kick(&mut self, cpus: u8) {
        for cpu in (0..CPUS).filter(|cpu| (cpus >> cpu) & 1 == 1 && !self.is_ending) {
            self.cpus[cpu].is_kicked = true;
        }
    }

    /// Whether an urgent thread has the CPU for a moment.
    pub(crate) fn has_urgent_on(&self, cpu: usize) -> bool {
        let rescued = self.cpus[cpu].rescued;
        let current = self.cpus[cpu].current.map(|current| self.tasks[current].vtime);
        rescued != 0
            && current == Some(CoreVp(rescued.into()))
            && self.threads[rescued as usize % 8].is_urgent()
    }

    /// kick_one_cpu, under the lock of the CPU's run queue: the CPU is to look for what to run, and the slice of its
    /// thread is over.
    pub(crate) fn kick_arrives(&mut self, cpu: usize) {
        self.cpus[cpu].is_kicked = false;
        if self.cpus[cpu].current.is_some_and(|current| self.tasks[current].is_away) {
            return; // Dropped: sched_ext has no say over that class.
        }
        self.cpus[cpu].resched = true;
        if let Some(current) = self.cpus[cpu].current {
            if self.has_urgent_on(cpu) {
                self.thread(self.tasks[current].vtime).was_cut_short = true;
            }
            self.tasks[current].has_slice = false;
            self.tasks[current].is_refilled = false;
        }
    }
}
