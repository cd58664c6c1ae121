//! What may happen in a hierarchy, as data. Schedulers and threads have numbers by which later events name them. An
//! event does nothing if the core refuses it, or if it names a scheduler or thread that does not exist: so any part of
//! a script is a script.

use hls_core::{About, Call, Op, Params, PolicyInfo};
use hls_units::Nanos;
use std::fmt;

/// Something that happens in a hierarchy. Schedulers and threads are named by their numbers in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A scheduler is created and attached: as the root, or below others with a VP for each CPU that it may hold at
    /// once. If its number is odd, it pays for what threads below it have without a grant.
    Scheduler {
        /// The number that the scheduler has from now on.
        number: usize,
        /// The number of its policy.
        policy: u8,
        /// The parameters of the scheduler.
        params: Params,
        /// For each of its VPs the scheduler above and the parameters there; none for the root.
        below: Vec<(usize, Params)>,
    },
    /// A thread arrives.
    Thread {
        /// The number that the thread has from now on.
        number: usize,
        /// The scheduler above it.
        below: usize,
        /// The parameters of its VP.
        params: Params,
    },
    /// Time passes, with all timers and ends of slices in it.
    Pass(Nanos),
    /// Time passes up to the next timer or end of a slice, which happens only after the events that follow.
    Reach,
    /// An interrupt takes the CPU for this long.
    Steal(u16, Nanos),
    /// This call is made about the thread.
    Call(usize, About),
    /// The thread ends.
    Leave(usize),
    /// The thread moves below another scheduler, with these parameters there.
    Move(usize, usize, Params),
    /// A process writes a word into the user page of its scheduler. The numbers of events are not known when a script
    /// is drawn: so a decision has the number of events that it lacks in place of the last one that it knows, and
    /// `answered` has the number of events that the agent has not answered.
    WritePage {
        /// Which of the schedulers that have pages, in the order of their numbers.
        scheduler: usize,
        /// The place of the word in the page.
        word: usize,
        /// What is written.
        value: u64,
    },
    /// Another process decides for the scheduler at this place in the list of schedulers with pages.
    RenewPages(usize),
    /// The scheduler gets the policy of this number in the place of its own, with these parameters.
    Replace(usize, u8, Params),
    /// The CPU goes offline.
    Offline(u16),
    /// The CPU is online again.
    Online(u16),
    /// The CPUs take all decisions that are due. The events before this happened at one instant.
    Settle,
    /// For this long only this thread wants a CPU.
    Alone(usize, Nanos),
}

/// An event in words, with the names of these policies.
pub struct EventInWords<'e>(pub &'e Event, pub &'e [PolicyInfo]);

impl EventInWords<'_> {
    fn policy(&self, number: u8) -> &'static str {
        self.1.iter().find(|policy| policy.id == number).map_or("a policy", |policy| policy.name)
    }
}

impl fmt::Display for EventInWords<'_> {
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
            Event::Steal(cpu, length) => write!(f, "interrupts take CPU {cpu} for {length}"),
            Event::Call(thread, about) => write!(f, "thread {thread} {}", AboutInWords(about)),
            Event::Leave(thread) => write!(f, "thread {thread} ends"),
            Event::Move(thread, to, params) => {
                write!(f, "thread {thread} moves to scheduler {to} with {}", Values(params))
            }
            Event::WritePage { scheduler, word, value } => {
                write!(
                    f,
                    "{value:#x} is written to word {word} of the page of scheduler {scheduler} with pages"
                )
            }
            Event::RenewPages(scheduler) => write!(f, "scheduler {scheduler} with pages gets fresh ones"),
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

/// What a call does to a thread, in words.
struct AboutInWords<'c>(&'c About);

impl fmt::Display for AboutInWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let About { op, call: Call { b, value, params, .. } } = self.0;
        match op {
            Op::Request => f.write_str("wakes up"),
            Op::Release => f.write_str("blocks"),
            Op::Stall => f.write_str("stalls"),
            Op::Yield => f.write_str("yields"),
            Op::Suspend => f.write_str(if *b == 0 { "is resumed" } else { "is suspended" }),
            Op::Owe => write!(f, "has had a CPU for {} without a grant", Nanos(*value)),
            Op::SetAffinity => write!(f, "is bound to CPUs {value:#b}"),
            Op::SetParam => write!(f, "has its parameter {b} set to {value}"),
            Op::Tell => write!(f, "sends message {b} with {}", Values(&Params(*params))),
            op => write!(f, "gets the call {op:?} with {b}, {value} and {}", Values(&Params(*params))),
        }
    }
}

/// The values of parameters in the order of the policy's list, without the zeros at the end.
struct Values<'p>(&'p Params);

impl fmt::Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.0.0.iter().rposition(|&value| value != 0).map_or(0, |last| last + 1);
        write!(f, "{:?}", &self.0.0[..used])
    }
}

/// A machine, and what happens on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The number of CPUs of the machine.
    pub cpus: u16,
    /// The events, in order.
    pub events: Vec<Event>,
}
