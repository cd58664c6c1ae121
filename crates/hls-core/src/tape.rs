//! Calls of the core as data, and tapes of them: `core/call.h`. The same tape gives the same results, and leaves the
//! same bytes, in every build of the core.

use crate::{limits, mirror};
use hls_units::Nanos;
use std::fmt;

/// Makes the enum of entry points from their names and numbers.
macro_rules! ops {
    ($($name:ident = $number:literal,)*) => {
        /// An entry point of the core. `core/call.h` says how each uses the fields of a [`Call`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        #[allow(missing_docs, reason = "they are named like the entry points")]
        pub enum Op {
            $($name = $number,)*
        }

        impl Op {
            /// How many there are. They are numbered from 1 on.
            pub const COUNT: usize = [$($number),*].len();

            /// The entry point with this number.
            pub fn from_number(number: u32) -> Option<Op> {
                match number {
                    $($number => Some(Op::$name),)*
                    _ => None,
                }
            }
        }
    };
}

// From the list of `core/call.h`, by build.rs.
include!(concat!(env!("OUT_DIR"), "/ops.rs"));

mirror! {
    /// One call of an entry point: its arguments and its result.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Call = "struct hls_call" {
        /// The time.
        pub now_ns: u64,
        /// The entry point's 64-bit argument: a parameter's value, CPUs, or nanoseconds.
        pub value: u64,
        /// The number of an [`Op`].
        pub op: u32,
        /// The first scheduler, VP, CPU or policy that the entry point takes.
        pub a: u32,
        /// The second, or the number of a parameter.
        pub b: u32,
        /// The kernel engine refuses the call unless VP `a` belongs to the thread of this generation; 0: any thread.
        pub generation: u32,
        /// Parameters of a scheduler or of a VP, or the payload of a message.
        pub params: [u64; limits::SCHEDULER_PARAMS],
        /// What the entry point returned.
        pub result: i64,
    }
}

impl Op {
    /// Whether this is an event of a thread: the core never refuses one, and its result is a set of CPUs.
    pub(crate) fn is_event_of_a_thread(self) -> bool {
        matches!(self, Op::Request | Op::Release | Op::Stall | Op::Yield | Op::Owe)
    }
}

impl Call {
    /// A call at a time about a VP or a CPU.
    pub(crate) fn at(now: Nanos, a: u32) -> Call {
        Call { now_ns: now.0, a, ..Call::default() }
    }

    /// Whether every build of the core can make the call: there is an entry point of that number, and the index that
    /// the core does not check itself is in range.
    pub fn is_sound(&self) -> bool {
        let end = match Op::from_number(self.op) {
            None => 0,
            Some(op) if op.is_event_of_a_thread() => limits::MAX_VPS,
            Some(Op::Expire | Op::Steal | Op::ExpiresAt | Op::Schedule) => limits::MAX_CPUS,
            Some(_) => return true,
        };
        (self.a as usize) < end
    }
}

impl fmt::Display for Call {
    /// `Move(a 7, b 2, value 0, params [10, 20, 0, 0]) at 5ns = 0`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Op::from_number(self.op) {
            Some(op) => write!(f, "{op:?}")?,
            None => write!(f, "entry point {}", self.op)?,
        }
        let Call { a, b, value, params, now_ns, result, .. } = self;
        write!(f, "(a {a}, b {b}, value {value}, params {params:?}) at {now_ns}ns = {result}")
    }
}

/// A call of a tape that no build of the core can make: there is no such entry point, or the index of a VP or CPU is
/// beyond [`limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// Its place in the tape, from 0 on.
    pub at: usize,
    /// The call.
    pub call: Call,
}

impl Unsound {
    /// Looks for the first such call of a tape.
    pub fn first_of(tape: &[Call]) -> Result<(), Unsound> {
        let unsound = tape.iter().position(|call| !call.is_sound());
        unsound.map_or(Ok(()), |at| Err(Unsound { at, call: tape[at] }))
    }
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsound { at, call } = self;
        write!(f, "call {at} of the tape has no entry point, or an index out of range: {call}")
    }
}

impl std::error::Error for Unsound {}
