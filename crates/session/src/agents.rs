//! Agents of user-level schedulers that are programs: opens the shared objects that a hierarchy file names. Their
//! code then runs in this process. Only the simulator runs such agents; real threads cannot.

use crate::console::Error;
use hls_core::AgentProgram;
use hls_hierarchy::Diagnostic;
use hls_hierarchy::model::{Hierarchy, Thread};
use hls_policy_build::other_writer;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The programs of agents, by their paths in the hierarchy file.
pub type AgentPrograms = BTreeMap<String, Arc<AgentProgram>>;

/// Opens the programs that the threads of a hierarchy name, by their paths relative to this folder. As root, opens
/// only files that root alone can have written.
///
/// # Errors
/// [`Error::Hierarchy`]: the programs that cannot be opened, with their places in the file.
pub fn open_agents(hierarchy: &Hierarchy, folder: &Path) -> Result<AgentPrograms, Error> {
    let (mut programs, mut wrong) = (AgentPrograms::new(), Vec::new());
    for thread in &hierarchy.threads {
        let Some(path) = thread.program.as_ref().and_then(|program| program.agent_object()) else { continue };
        match open(&folder.join(path)) {
            Ok(program) => drop(programs.insert(path.to_owned(), program)),
            Err(why) => {
                let expected =
                    "a shared object that exports hls_agent_turn, by its path from this file's folder";
                wrong.push(complaint(thread, format!("the agent `{path}` ({why})"), expected));
            }
        }
    }
    if wrong.is_empty() { Ok(programs) } else { Err(Error::Hierarchy(wrong)) }
}

fn open(path: &Path) -> Result<Arc<AgentProgram>, String> {
    if rustix::process::geteuid().is_root() {
        let metadata = path.metadata().map_err(|error| error.to_string())?;
        if let Some(who) = other_writer(&metadata) {
            return Err(format!("{who} can write to it, and its code would run as root"));
        }
    }
    // Without a slash the dynamic linker would look elsewhere.
    AgentProgram::open(&Path::new(".").join(path))
}

/// Refuses a hierarchy with agents for a run with real threads.
///
/// # Errors
/// [`Error::Hierarchy`], with the places of all agents.
pub fn refuse_agents(hierarchy: &Hierarchy) -> Result<(), Error> {
    let agents = hierarchy
        .threads
        .iter()
        .filter(|thread| thread.program.as_ref().is_some_and(|program| program.as_agent().is_some()));
    let expected = "another workload, or none: only the simulator plays agents";
    let wrong: Vec<Diagnostic> =
        agents.map(|thread| complaint(thread, "an agent for real threads".to_owned(), expected)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::Hierarchy(wrong)) }
}

fn complaint(thread: &Thread, found: String, expected: &str) -> Diagnostic {
    Diagnostic::error(thread.span.clone(), format!("thread `{}`", thread.name), found, expected)
}
