//! Agents of user-level schedulers from programs: shared objects that export `hls_agent_turn` (`include/hls_turn.h`),
//! for whoever plays the process of a scheduler.

use crate::pages::{KernelPage, UserPage};
use std::error::Error;
use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// `hls_agent_turn`.
type Turn = unsafe extern "C" fn(*const KernelPage, *mut UserPage, *mut *mut c_void);

// SAFETY: the function of the C library, of which this program has one.
unsafe extern "C" {
    fn free(memory: *mut c_void);
}

/// A program that was opened. It goes with the last agent that it has.
pub struct AgentProgram {
    turn: Turn,
    /// The shared object in which `turn` lies; closed last.
    _object: libloading::Library,
}

impl fmt::Debug for AgentProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentProgram")
    }
}

impl AgentProgram {
    /// Opens a shared object, whose code then runs in this process with all its rights: so open what this user may run.
    ///
    /// # Errors
    /// Why the dynamic linker does not take it, or what it lacks.
    pub fn open(path: &Path) -> Result<Arc<AgentProgram>, String> {
        // SAFETY: its initialisers may do anything: that the user may run it is what this function's text asks for.
        let object = unsafe { libloading::Library::new(path) }.map_err(in_words)?;
        // SAFETY: the type is that of include/hls_turn.h.
        let turn = *unsafe { object.get::<Turn>(b"hls_agent_turn\0") }.map_err(in_words)?;
        Ok(Arc::new(AgentProgram { turn, _object: object }))
    }
}

/// What the dynamic linker says.
fn in_words(error: libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// An agent, whose policy is a program's.
#[derive(Debug)]
pub struct ProgramAgent {
    program: Arc<AgentProgram>,
    /// The program's own; NULL before the first turn.
    state: *mut c_void,
}

// SAFETY: the state is this agent's alone, and what it does not lead to the program does not use.
unsafe impl Send for ProgramAgent {}

impl ProgramAgent {
    /// An agent that had no turn yet.
    pub fn new(program: Arc<AgentProgram>) -> ProgramAgent {
        ProgramAgent { program, state: ptr::null_mut() }
    }

    /// A turn: reads the one page, and changes the other.
    pub fn turn(&mut self, kernel: &KernelPage, user: &mut UserPage) {
        // SAFETY: the function is that of include/hls_turn.h: it uses the pages and its own state, while it runs.
        unsafe { (self.program.turn)(kernel, user, &mut self.state) };
    }
}

impl Drop for ProgramAgent {
    fn drop(&mut self) {
        // SAFETY: as include/hls_turn.h says, the caller's to free when there are no more turns.
        unsafe { free(self.state) };
    }
}
