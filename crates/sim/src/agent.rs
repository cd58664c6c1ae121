//! Agents: what runs the policy of a scheduler that is a process (`user-level`), in simulated time.
//!
//! An agent has turns, each while its thread, the one in slot 0 of the scheduler, has a CPU. At the beginning of a turn
//! it reads the pages and makes up its mind; then the turn takes CPU time; at its end the words that the agent has
//! changed are written, and the thread parks. The agent does not know what happens in between: its decisions are stale
//! then, as a real agent's would be. Words are written by calls of the core, so that a tape has them.

use hls_core::ProgramAgent;
use hls_core::pages::{KernelPage, UserPage};
use hls_units::Nanos;

/// What an agent sees when its turn begins.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What the engine has written.
    pub kernel: &'a KernelPage,
    /// The time, which a process can read from a clock.
    pub now: Nanos,
}

/// What the agent's thread does when its turn is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It yields. If the agent has answered all that it was asked, it is parked until it is asked again.
    Park,
    /// It goes on with the next turn.
    GoOn,
    /// It sleeps for ever.
    Sleep,
}

/// What runs the policy of a scheduler.
pub trait Agent: Send {
    /// A turn: changes the words of the page that are to be written.
    fn turn(&mut self, seen: &Seen, user: &mut UserPage) -> Then;
}

impl Agent for ProgramAgent {
    fn turn(&mut self, seen: &Seen, user: &mut UserPage) -> Then {
        ProgramAgent::turn(self, seen.kernel, user);
        Then::Park
    }
}
