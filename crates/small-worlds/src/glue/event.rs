//! What may happen in the model, and the steps that are due.

use hls_core::CoreVp;
use std::fmt;

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
    /// The CPU kills a thread.
    Kill(usize, usize),
    /// On this CPU the watcher finds that this thread starves.
    Starve(usize, usize),
    /// On this CPU, the timer that looks for threads with a lock of the kernel's goes off, and finds this one.
    Holds(usize, usize),
    /// The moment for which a thread has had the CPU without a grant is over.
    MomentEnds(usize),
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
    /// The CPU is off.
    GoOff(usize),
    /// The CPU puts a thread into another class, or back.
    ChangeClass(usize, usize),
    /// A thread in another class, without a CPU here, stops on the CPU's run queue; whether that is its end.
    StopAway(usize, usize, bool),
    /// The CPU's thread may not leave the CPU any more, or again.
    Bind(usize),
    /// On this CPU, user space has another engine take over.
    TakeOver(usize),
    /// On this CPU, user space ends the run, without an error.
    EndRun(usize),
    /// On this CPU, sched_ext asks for a dump before it ends the run.
    Dump(usize),
    /// The CPU goes on.
    Go(usize),
    /// A kick of the CPU takes effect.
    KickArrives(usize),
    /// The CPU's timer goes off, or a pulse.
    TimerGoesOff(usize),
    /// On this CPU the watcher goes off.
    LookForStarved(usize),
    /// On this CPU user space makes a call, and kicks what was put off.
    LookForKicks(usize),
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
            Event::Kill(cpu, task) => write!(f, "CPU {cpu}: kills thread {task}"),
            Event::Starve(cpu, task) => write!(f, "CPU {cpu}: finds that thread {task} starves"),
            Event::Holds(cpu, task) => write!(f, "CPU {cpu}: finds that thread {task} holds a lock"),
            Event::MomentEnds(cpu) => write!(f, "  CPU {cpu}: the moment of a rescued thread is over"),
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
            Event::GoOff(cpu) => write!(f, "  CPU {cpu}: is off"),
            Event::ChangeClass(cpu, task) => {
                write!(f, "CPU {cpu}: puts thread {task} into another class, or back")
            }
            Event::StopAway(_, task, dies) => {
                write!(f, "in another class thread {task} {}", if dies { "ends" } else { "blocks" })
            }
            Event::Bind(cpu) => write!(f, "CPU {cpu}: its thread may not leave it, or may again"),
            Event::TakeOver(cpu) => write!(f, "CPU {cpu}: another engine takes over"),
            Event::EndRun(cpu) => write!(f, "CPU {cpu}: ends the run"),
            Event::Dump(cpu) => write!(f, "CPU {cpu}: dump"),
            Event::Go(cpu) => write!(f, "  CPU {cpu}: goes on"),
            Event::KickArrives(cpu) => write!(f, "  CPU {cpu}: the kick takes effect"),
            Event::TimerGoesOff(cpu) => write!(f, "  CPU {cpu}: its timer goes off"),
            Event::LookForStarved(cpu) => {
                write!(f, "  CPU {cpu}: the watcher goes off")
            }
            Event::LookForKicks(cpu) => write!(f, "  CPU {cpu}: user space makes a call"),
            Event::Schedule(cpu) => write!(f, "  CPU {cpu}: schedules"),
            Event::RunDeferred(task) => {
                write!(f, "  thread {task} arrives in the queue for which it was inserted")
            }
            Event::Migrate(cpu, task) => write!(f, "  CPU {cpu}: the stopper moves thread {task} away"),
        }
    }
}
