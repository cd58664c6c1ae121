//! What a thread does: a short program of steps that an engine carries out.
//!
//! Every way to state a workload (rt-app's JSON, the shapes of the hierarchy file) is translated to this, so an
//! engine knows one language only. Nothing here runs anything.

use hls_units::Nanos;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A length of time that is drawn anew, uniformly and from the run's seed, each time the step is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The least value.
    pub min: Nanos,
    /// The greatest value; equal to `min` for a constant. Invariant: `min <= max`.
    pub max: Nanos,
}

impl Span {
    /// Always exactly `length`.
    pub const fn exactly(length: Nanos) -> Span {
        Span { min: length, max: length }
    }
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Compute for this much CPU time (rt-app `run`, and the shapes of the hierarchy file).
    Run(Span),
    /// Compute until this much wall-clock time has passed since the step began, running or not (rt-app `runtime`).
    RunUntilElapsed(Nanos),
    /// Compute for ever.
    RunForever,
    /// Serve periodic tasks for ever: their jobs compute, preemptively, in the order that the set states; the thread
    /// blocks while none is ready.
    Serve(Arc<ServedTasks>),
    /// Block for this long (rt-app `sleep`).
    Sleep(Span),
    /// Block for this long in the middle of a job and against the thread's will, as in a page fault.
    Stall(Span),
    /// Block until the next expiry of a periodic timer of this thread (rt-app `timer`). The first use arms it: the
    /// present instant is its first expiry, so that use does not block, except for the jitter. Each later expiry is
    /// `period` after the one before; `when_late` says what happens when the expiry has passed already. The activation
    /// that follows has the expiry as its release and, when `deadline` is given, the release plus `deadline` as its
    /// deadline.
    AwaitTimer {
        /// Index into [`Workload::timers`].
        timer: u32,
        /// Distance of two expiries.
        period: Nanos,
        /// What follows when the expiry has passed already.
        when_late: WhenLate,
        /// Relative deadline of the activation that the expiry releases.
        deadline: Option<Nanos>,
        /// Extra delay of the wake-up behind the expiry: release jitter.
        jitter: Span,
    },
    /// Take a mutex; block while another thread holds it.
    Lock(ResourceId),
    /// Release a mutex.
    Unlock(ResourceId),
    /// Release the mutex, block until the condition is signalled, take the mutex again.
    Wait {
        /// The condition.
        condition: ResourceId,
        /// The mutex held while waiting begins.
        mutex: ResourceId,
    },
    /// Wake one waiter of a condition.
    Signal(ResourceId),
    /// Wake all waiters of a condition.
    Broadcast(ResourceId),
    /// Count a post of a semaphore, or wake the first thread that awaits one (rt-app `sem_post`).
    Post(ResourceId),
    /// Take a post of a semaphore; block while there is none (rt-app `sem_wait`). A job begins; its release is the
    /// instant of the post.
    AwaitPost(ResourceId),
    /// Block until this many threads have arrived at the barrier (rt-app `barrier`).
    Barrier(ResourceId),
    /// Take the first entry of a queue; block while there is none. A job begins, with the release of the entry.
    Take(QueueId),
    /// Put an entry into a queue, with the release of the present job. A full queue drops it.
    Put(QueueId),
    /// Put an entry into the queue that the last entry was to go on to, if it was.
    PassOn,
    /// Let other threads of the same scheduler run first.
    Yield,
    /// Bind the thread to these CPUs; `None`: it may use every CPU again.
    SetAffinity(Option<Vec<u32>>),
    /// The thread is the agent of a scheduler with a process as its policy, and its turn begins: it reads the pages.
    Look(Agent),
    /// The turn ends: the agent writes what it has made up its mind to write, and parks, or does what its kind does.
    Act,
    /// A frame is finished. The renderer of thesis 10.5.2: every full `gap` between two finished frames is one miss.
    FrameDone {
        /// The longest time allowed between two finished frames.
        gap: Nanos,
    },
    /// Jump back to step `target`, `times` times in all, and then go on with the next step. `times` = `None`: for ever.
    Repeat {
        /// Index of the step to go on with.
        target: usize,
        /// How many times to jump (loop count minus one).
        times: Option<u32>,
        /// Which of the program's counters holds the jumps done; loops that enclose each other have different ones.
        counter: u32,
    },
    /// The thread ends.
    Exit,
}

/// A periodic task, as one of several that a thread serves, or as all that it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedTask {
    /// Its name, unique in its set.
    pub name: String,
    /// CPU time of each job.
    pub run: Span,
    /// Distance of two releases.
    pub every: Nanos,
    /// How long after its release a job is to be done.
    pub deadline: Nanos,
    /// The time from the thread's coming to the first release.
    pub offset: Nanos,
    /// How long after its release a job becomes ready.
    pub jitter: Span,
}

/// Which job of a set of tasks runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServedBy {
    /// The job with the earliest deadline; among equals, the job of the first task.
    Edf,
    /// The job of the first task that has one ready.
    Priority,
}

/// Tasks that share a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedTasks {
    /// Which job runs first. Jobs of one task run in the order of their releases.
    pub by: ServedBy,
    /// The tasks; by priority the highest first.
    pub tasks: Vec<ServedTask>,
}

/// What the agent of a scheduler with a process as its policy (`user-level`) does, where it is simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agent {
    /// Decides by the urgencies that the hierarchy states.
    FixedPriority,
    /// Lets the children have turns.
    RoundRobin {
        /// How long a turn is.
        slice: Nanos,
    },
    /// As `FixedPriority`, but its decisions say that they know no more than what was known `behind` events ago.
    Stale {
        /// How many events it is behind.
        behind: u64,
    },
    /// Wants to be asked about everything, and sleeps for ever.
    Dead,
    /// Wants to be asked about everything and all the time, and yields without an answer.
    Storms,
    /// Wants to be asked about everything, and never parks.
    Loops,
    /// Writes anything.
    Garbage,
    /// A program's `hls_agent_turn` (`include/hls_turn.h`), in the shared object of this path.
    Object(String),
}

/// What a timer does if it is used after its expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenLate {
    /// It begins a new period now: rt-app's `relative`.
    Restart,
    /// It does not block, and keeps its grid of expiries: rt-app's `absolute`.
    CatchUp,
    /// It keeps its grid, and blocks until the next expiry there: rt-app's `yield` of a thread of SCHED_DEADLINE.
    Skip,
}

/// Index into [`Workload::resources`].
pub type ResourceId = u32;

/// Index into the queues of a hierarchy.
pub type QueueId = u32;

/// Events that wait for a thread, counted: what interrupts and threads put into it, one entry each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The name that it has in the hierarchy file.
    pub name: String,
    /// How many entries may wait; what comes then is dropped.
    pub holds: u32,
}

/// What waits in a queue: an event, such as a packet that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When the event happened. Jobs that deal with it have this release.
    pub release: Nanos,
    /// The queue that the entry goes on to, unless the thread that serves this queue names another.
    pub next: Option<QueueId>,
}

/// A thread's program. The step after the last one is `Exit`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Program {
    /// The steps, shared between instances.
    pub steps: Arc<[Step]>,
    /// How many loop counters `Repeat` steps use.
    pub counters: u32,
}

/// The kinds of things that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceKind {
    /// A mutex, for `Lock`, `Unlock` and `Wait`.
    Mutex,
    /// A condition, for `Wait`, `Signal` and `Broadcast`.
    Condition,
    /// A barrier, for `Barrier`, and for how many threads it waits.
    Barrier(u32),
    /// A semaphore, for `Post` and `AwaitPost`; nothing is posted at the start.
    Semaphore,
}

/// A named thing that threads share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// The name it has in the workload file.
    pub name: String,
    /// What it is.
    pub kind: ResourceKind,
}

/// A task of a workload file: `instances` threads that run one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The name; must be the name of a thread of the hierarchy.
    pub name: String,
    /// How many threads.
    pub instances: u32,
    /// How long after the start of the run the threads begin.
    pub start_at: Nanos,
    /// What each of them does.
    pub program: Program,
    /// The CPUs that the threads may use; `None`: all.
    pub cpus: Option<Vec<u32>>,
    /// Where its name stands in the file: the offset in bytes.
    pub at: usize,
}

/// A whole workload file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Workload {
    /// The tasks in file order.
    pub tasks: Vec<Task>,
    /// What the tasks share.
    pub resources: Vec<Resource>,
    /// Names of timers, unique per task (`task/timer`) or shared.
    pub timers: Vec<String>,
    /// How long the file says that the run takes (rt-app `global.duration`).
    pub duration: Option<Nanos>,
    /// What the file asks for and a run does not do: one sentence each, with its place. Never silently ignored.
    pub unsupported: Vec<String>,
}

impl Program {
    /// Computes for ever.
    pub fn cpu_bound() -> Program {
        Program { steps: Arc::new([Step::RunForever]), counters: 0 }
    }

    /// Serves tasks for ever.
    pub fn serving(tasks: ServedTasks) -> Program {
        Program { steps: Arc::new([Step::Serve(Arc::new(tasks))]), counters: 0 }
    }

    /// One periodic task, in steps that a thread can also be given one by one.
    pub fn periodic(task: &ServedTask) -> Program {
        let ServedTask { run, every, deadline, offset, jitter, .. } = *task;
        let mut steps = Vec::new();
        if offset > Nanos::ZERO {
            steps.push(Step::Sleep(Span::exactly(offset)));
        }
        let target = steps.len();
        let deadline = Some(deadline);
        steps.push(Step::AwaitTimer {
            timer: 0,
            period: every,
            when_late: WhenLate::CatchUp,
            deadline,
            jitter,
        });
        steps.push(Step::Run(run));
        steps.push(Step::Repeat { target, times: None, counter: 0 });
        Program { steps: steps.into(), counters: 1 }
    }

    /// The program, a [`Program::periodic`] one, which puts an entry into a queue whenever it has computed.
    pub fn putting(self, to: Option<QueueId>) -> Program {
        let Some(to) = to else { return self };
        let mut steps = self.steps.to_vec();
        steps.insert(steps.len() - 1, Step::Put(to));
        Program { steps: steps.into(), ..self }
    }

    /// Has a turn as the agent of a scheduler whenever the thread has a CPU; each turn takes this much CPU time.
    pub fn agent(agent: Agent, cost: Span) -> Program {
        Program::forever(vec![Step::Look(agent), Step::Run(cost), Step::Act])
    }

    /// What the thread does as the agent of a scheduler, if it is one.
    pub fn as_agent(&self) -> Option<&Agent> {
        self.steps.iter().find_map(|step| if let Step::Look(agent) = step { Some(agent) } else { None })
    }

    /// The path of the shared object that has the agent's turns, if the thread is such an agent.
    pub fn agent_object(&self) -> Option<&str> {
        if let Some(Agent::Object(path)) = self.as_agent() { Some(path) } else { None }
    }

    /// The tasks that the program serves: the tasks of [`Program::serving`], or the one of [`Program::periodic`], which
    /// has no name.
    pub fn tasks(&self) -> Option<Arc<ServedTasks>> {
        let offset = |steps: &[Step]| match steps {
            [Step::Sleep(Span { min, max }), ..] if min == max => *min,
            _ => Nanos::ZERO,
        };
        match &self.steps[..] {
            [Step::Serve(tasks)] => Some(Arc::clone(tasks)),
            [.., Step::AwaitTimer { period, deadline, jitter, .. }, Step::Run(run), Step::Repeat { .. }] => {
                let task = ServedTask {
                    name: String::new(),
                    run: *run,
                    every: *period,
                    deadline: (*deadline)?,
                    offset: offset(&self.steps),
                    jitter: *jitter,
                };
                let is_that = Program::periodic(&task) == *self;
                is_that.then(|| Arc::new(ServedTasks { by: ServedBy::Edf, tasks: vec![task] }))
            }
            _ => None,
        }
    }

    /// The steps over and over again.
    pub fn forever(mut steps: Vec<Step>) -> Program {
        steps.push(Step::Repeat { target: 0, times: None, counter: 0 });
        Program { steps: steps.into(), counters: 1 }
    }
}
