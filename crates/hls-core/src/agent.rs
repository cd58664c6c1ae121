//! Agents of user-level schedulers from programs: shared objects that export `hls_agent_turn` (`include/hls_turn.h`),
//! for code that simulates the process of a scheduler.

use crate::pages::{KernelPage, UserPage};
use crate::shared_object::SharedObject;
use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// `hls_agent_turn`.
type Turn = unsafe extern "C" fn(*const KernelPage, *mut UserPage, *mut *mut c_void);

// SAFETY: the C library's function; this program has one C library.
#[cfg(unix)]
unsafe extern "C" {
    fn free(memory: *mut c_void);
}

/// A program that was opened. It is closed with its last agent.
pub struct AgentProgram {
    turn: Turn,
    /// The shared object in which `turn` lies; closed last.
    _object: SharedObject,
}

impl fmt::Debug for AgentProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentProgram")
    }
}

impl AgentProgram {
    /// Opens a shared object. Its code then runs in this process, with all rights of the process: so open only what
    /// this user may run.
    ///
    /// # Errors
    /// Why the dynamic linker refuses it, or which symbol it lacks.
    pub fn open(path: &Path) -> Result<Arc<AgentProgram>, String> {
        // SAFETY: its initialisers may do anything; the caller opens only what the user may run, as the text above
        // demands.
        let object = unsafe { SharedObject::open(path) }?;
        // SAFETY: the type is the one in include/hls_turn.h.
        let turn = unsafe { object.symbol::<Turn>(b"hls_agent_turn\0") }?;
        Ok(Arc::new(AgentProgram { turn, _object: object }))
    }
}

/// An agent with the policy of a program.
#[derive(Debug)]
pub struct ProgramAgent {
    program: Arc<AgentProgram>,
    /// Belongs to the program; NULL before the first turn.
    state: *mut c_void,
}

// SAFETY: the state belongs to this agent alone, and the program uses nothing that is not reachable from it.
unsafe impl Send for ProgramAgent {}

impl ProgramAgent {
    /// An agent that had no turn yet.
    pub fn new(program: Arc<AgentProgram>) -> ProgramAgent {
        ProgramAgent { program, state: ptr::null_mut() }
    }

    /// A turn: reads the kernel page, and changes the user page.
    pub fn turn(&mut self, kernel: &KernelPage, user: &mut UserPage) {
        // SAFETY: the function is the one of include/hls_turn.h: it uses only the pages and its own state, while it
        // runs.
        unsafe { (self.program.turn)(kernel, user, &mut self.state) };
    }
}

impl Drop for ProgramAgent {
    fn drop(&mut self) {
        // SAFETY: as include/hls_turn.h says, the caller frees it when there are no more turns.
        #[cfg(unix)]
        unsafe {
            free(self.state)
        };
    }
}
