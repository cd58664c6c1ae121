//! What may happen in a hierarchy, as data. Schedulers and threads have numbers by which later events name them; an
//! event about one that is not there, or that the core refuses, does nothing. So any part of a script is a script.

use hls_core::{Params, PolicyInfo};
use hls_units::Nanos;
use std::fmt;

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A scheduler comes: the root, or below others, once for each CPU that it may hold at once.
    Scheduler {
        /// Which.
        number: usize,
        /// The number of its policy.
        policy: u8,
        /// Of the scheduler.
        params: Params,
        /// The schedulers above, and what its VP there has; none: it is the root.
        below: Vec<(usize, Params)>,
    },
    /// A thread comes.
    Thread {
        /// Which.
        number: usize,
        /// The scheduler above.
        below: usize,
        /// Of its VP.
        params: Params,
    },
    /// Time passes, with all timers and slices in it.
    Pass(Nanos),
    /// Time passes up to the next timer or end of a slice, and what comes next comes before that.
    Reach,
    /// Interrupts have a CPU.
    Steal(u16, Nanos),
    /// A thread wants a CPU.
    Wake(usize),
    /// It does not any more.
    Block(usize),
    /// It lets others go first.
    Yield(usize),
    /// It is bound to CPUs, a bit each.
    Bind(usize, u64),
    /// It ends.
    Leave(usize),
    /// One of its parameters changes.
    Set(usize, u32, u64),
    /// It tells its scheduler something.
    Tell(usize, u32, Params),
    /// It moves below another scheduler.
    Move(usize, usize, Params),
    /// A scheduler gets another policy, with parameters.
    Replace(usize, u8, Params),
    /// A CPU goes.
    Offline(u16),
    /// A CPU is back.
    Online(u16),
    /// All decisions are taken that are due. Until then several things happen in one instant.
    Settle,
    /// For so long no thread wants a CPU but this one.
    Alone(usize, Nanos),
}

/// An event in words, with the names of policies.
pub struct Told<'e>(pub &'e Event, pub &'e [PolicyInfo]);

impl Told<'_> {
    fn policy(&self, number: u8) -> &'static str {
        self.1.iter().find(|policy| policy.id == number).map_or("a policy", |policy| policy.name)
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Event::Scheduler { number, policy, params, below } => {
                write!(f, "scheduler {number} comes, {} with {}", self.policy(*policy), Values(params))?;
                let above =
                    below.iter().map(|(above, params)| format!("below {above} with {}", Values(params)));
                match below.is_empty() {
                    true => f.write_str(", the root"),
                    false => write!(f, ", {}", above.collect::<Vec<_>>().join(", ")),
                }
            }
            Event::Thread { number, below, params } => {
                write!(f, "thread {number} comes, below scheduler {below} with {}", Values(params))
            }
            Event::Pass(length) => write!(f, "{length} pass"),
            Event::Reach => f.write_str("time passes up to the next timer or end of a slice"),
            Event::Steal(cpu, length) => write!(f, "interrupts have CPU {cpu} for {length}"),
            Event::Wake(thread) => write!(f, "thread {thread} wakes up"),
            Event::Block(thread) => write!(f, "thread {thread} blocks"),
            Event::Yield(thread) => write!(f, "thread {thread} yields"),
            Event::Bind(thread, cpus) => write!(f, "thread {thread} is bound to CPUs {cpus:#b}"),
            Event::Leave(thread) => write!(f, "thread {thread} ends"),
            Event::Set(thread, param, value) => {
                write!(f, "thread {thread} has its parameter {param} set to {value}")
            }
            Event::Tell(thread, message, payload) => {
                write!(f, "thread {thread} sends message {message} with {}", Values(payload))
            }
            Event::Move(thread, to, params) => {
                write!(f, "thread {thread} moves to scheduler {to} with {}", Values(params))
            }
            Event::Replace(scheduler, policy, params) => {
                write!(f, "scheduler {scheduler} becomes {} with {}", self.policy(*policy), Values(params))
            }
            Event::Offline(cpu) => write!(f, "CPU {cpu} goes"),
            Event::Online(cpu) => write!(f, "CPU {cpu} is back"),
            Event::Settle => f.write_str("decisions are taken"),
            Event::Alone(thread, length) => write!(f, "for {length} only thread {thread} wants a CPU"),
        }
    }
}

/// Values as they stand in a policy's list of parameters.
struct Values<'p>(&'p Params);

impl fmt::Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.0.0.iter().rposition(|&value| value != 0).map_or(0, |last| last + 1);
        write!(f, "{:?}", &self.0.0[..used])
    }
}

/// A machine, and what happens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// How many CPUs it has.
    pub cpus: u16,
    /// What happens, in order.
    pub events: Vec<Event>,
}
